"""Processes that serve their parent through a pipe each.

They are forks: they share the loaded protocol and its compiled form with their parent, which
handles interrupts and the end of a terminal. Invariant: a process that was started here ends with
its parent at the latest.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from tester.errors import ConfigError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

PATIENCE: Final = 5.0
"""Seconds until a process that was asked to end is killed."""

_ENDINGS: Final = frozenset(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

Serve: TypeAlias = "Callable[[Connection], None]"
"""The main loop of a process; it returns when the pipe is closed."""


def require_forks(what: str) -> None:
    """Raises ConfigError where the operating system has none; ``what`` needs them."""
    import multiprocessing

    if "fork" not in multiprocessing.get_all_start_methods():
        raise ConfigError(f"{what}: this operating system cannot fork processes")


def start(serve: Serve, others: Iterable[Connection]) -> tuple[Connection, BaseProcess]:
    """A new process and the parent's end of its pipe. ``others``: the parent's other pipes."""
    import multiprocessing  # which takes longer to import than a short run has

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    inherited = [*others, ours]
    process = context.Process(target=_serve, args=(serve, theirs, inherited), daemon=True)
    # What a handler raises while libraries prepare for a fork would be printed and lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return ours, process


def end(processes: Mapping[Connection, BaseProcess]) -> None:
    """End all of them, and close their pipes."""
    for process in processes.values():
        process.terminate()
    for connection, process in processes.items():
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        connection.close()


def _serve(serve: Serve, connection: Connection, inherited: list[Connection]) -> None:
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
    for other in inherited:
        other.close()  # else their ends would stay open when their owner has ended
    serve(connection)
