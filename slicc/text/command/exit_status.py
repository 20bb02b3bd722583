"""How a command ends: its exit status, and what it says if it could not do its work.

``slicc``, ``gpu-tester`` and ``gcn`` end alike. Invariant: what was given wrongly is one message
without a traceback; a fault of ours has its traceback and is never taken for one of the input.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType

from slicc.text.terminal import guarded

FINE, FOUND, MISUSED, DISAGREE, OURS, INTERRUPTED, NO_READER = 0, 1, 2, 3, 70, 130, 141
"""FOUND: what was given has errors, or the run found some. DISAGREE: our two engines do.
NO_READER: whoever read the output went away; what a shell says of those that a closed pipe ends."""


class Ended(SystemExit):
    """A signal asks the command to end. ``code``: 128 and its number, as shells say it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.status = 128 + number
        self.signal = signal.Signals(number).name


def heed_endings() -> None:
    """From now on these signals end the process as Ctrl-C does: with what there is until then.

    Who ignores one, as under nohup, goes on ignoring it.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended(number)


class Stop(Exception):
    """End the command with a message on stderr and a status.

    ``complete``: the message says whose it is, as rendered diagnostics do.
    """

    def __init__(self, message: str, status: int = MISUSED, *, complete: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.complete = complete


def run_command(
    name: str,
    command: Callable[[], object],
    in_words: Callable[[Exception], Stop | None],
    fault: str,
) -> int:
    """The exit status of a command; every way to fail gets its own words.

    ``in_words``: the message for what the user gave; None: a fault of ours, and ``fault`` says
    whose it is not. A command's own status is what it returns, if that is an integer. All that
    is printed meanwhile goes through guards: no name or text of a file steers the terminal.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with guarded():
        return _run(name, command, in_words, fault)


def _run(
    name: str,
    command: Callable[[], object],
    in_words: Callable[[Exception], Stop | None],
    fault: str,
) -> int:
    try:
        status = command()
        sys.stdout.flush()
    except Ended as end:
        print(f"{name}: ended by {end.signal}", file=sys.stderr)
        return end.status
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # the parser of options saw it first
            return _without_reader()
        return stop.code if isinstance(stop.code, int) else FINE
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _without_reader()
    except Exception as error:
        return _told(name, error, in_words, fault)
    return status if isinstance(status, int) else FINE


def _without_reader() -> int:
    """The reader went away: not worth a word, and Python must not flush again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NO_READER


def _told(
    name: str, error: Exception, in_words: Callable[[Exception], Stop | None], fault: str
) -> int:
    stop = error if isinstance(error, Stop) else in_words(error)
    if stop is None and isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        stop = Stop(f"{where}{error.strerror or error}")
    if stop is None:
        traceback.print_exception(error)
        print(f"{name}: {fault}", file=sys.stderr)
        return OURS
    print(stop if stop.complete else f"{name}: {stop}", file=sys.stderr)
    return stop.status
