"""How a command ends: its exit status, and its message if it failed.

The same for ``slicc``, ``gpu-tester`` and ``gcn``. Invariant: an error of the input is one message
without a traceback; a fault of ours has its traceback and is never reported as one of the input.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from slicc.text.command.closed_streams import replace_closed
from slicc.text.terminal import guarded, own

FINE, FOUND, MISUSED, DISAGREE, OURS, INTERRUPTED, NO_READER = 0, 1, 2, 3, 70, 130, 141
"""FOUND: the input has errors, or the run found some. DISAGREE: our two engines do.
NO_READER: the reader of the output closed it; shells give this status after SIGPIPE."""


class Ended(SystemExit):
    """A signal asks the command to end. ``code``: 128 plus its number, as in shells."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.status = 128 + number
        self.signal = signal.Signals(number).name


def heed_endings() -> None:
    """From now on these signals end the process as Ctrl-C does: with the results until then.

    A signal that is ignored, as under nohup, stays ignored. However it ends, nothing is collected
    from what goes with the process anyway.
    """
    atexit.register(gc.freeze)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended(number)


class Stop(Exception):
    """End the command with a message on stderr and a status.

    ``complete``: no name of a command is put before the message (rendered diagnostics).
    """

    def __init__(self, message: str, status: int = MISUSED, *, complete: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.complete = complete


def run_command(
    name: str,
    command: Callable[[], object],
    input_error: Callable[[Exception], Stop | None],
    fault: str,
) -> int:
    """The exit status of a command; every way to fail has its own message.

    ``input_error``: the message for an error of the input; None: a fault of ours, reported with a
    traceback and ``fault``. A command's own status is what it returns, if that is an integer. All
    that is printed meanwhile goes through guards: no name or text of a file steers the terminal.
    Output that a closed stdout loses is an error, unless the command has a status to tell.
    """
    unread = replace_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with guarded():
        status = _run(name, command, input_error, fault)
        if unread is not None and status == FINE:
            sys.stdout.flush()
            if unread.lost:
                _tell(f"{name}: cannot write the output: stdout is closed")
                return MISUSED
    return status


def _run(
    name: str,
    command: Callable[[], object],
    input_error: Callable[[Exception], Stop | None],
    fault: str,
) -> int:
    try:
        status = command()
        if not own(sys.stdout).closed:  # as it is behind a language server
            sys.stdout.flush()
    except Ended as end:
        _tell(f"{name}: ended by {end.signal}")
        return end.status
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # the parser of options saw it first
            return _without_reader()
        return stop.code if isinstance(stop.code, int) else FINE
    except KeyboardInterrupt:
        _tell(f"{name}: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return _without_reader()
    except Exception as error:
        return _report(name, error, input_error, fault)
    return status if isinstance(status, int) else FINE


def _without_reader() -> int:
    """The reader closed the output: no message, and Python must not flush again at exit."""
    _discard(sys.stdout)
    return NO_READER


@contextmanager
def side_file(name: str, status: int) -> Iterator[None]:
    """While a file beside the results is written. That it cannot be ends a command that has found
    nothing; to one with another ``status`` it is a message, which costs nothing that was found."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if status == FINE:
            raise
        _tell(f"{name}: {_words(error)}")


def _words(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}"


def _discard(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(message: str) -> None:
    """On stderr. If that cannot be written, as on a full disk, the status still tells it."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _report(
    name: str, error: Exception, input_error: Callable[[Exception], Stop | None], fault: str
) -> int:
    stop = error if isinstance(error, Stop) else input_error(error)
    if stop is None and isinstance(error, OSError):
        stop = Stop(_words(error))
    if stop is None:
        import traceback

        _tell(f"{''.join(traceback.format_exception(error))}{name}: {fault}")
        return OURS
    _tell(str(stop) if stop.complete else f"{name}: {stop}")
    return stop.status
