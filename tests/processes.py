"""Processes that a test starts, signals, and sees end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, NoReturn

STATUS = {
    "exit": 0,
    "error": 1,
    "SIGINT": -signal.SIGINT,
    "SIGTERM": 128 + signal.SIGTERM,
    "SIGHUP": 128 + signal.SIGHUP,
    "SIGKILL": -signal.SIGKILL,
}
"""How a process ends that heeds endings, by what makes it end."""


def heed_signals() -> None:
    """For a process that is to be signalled: what is started in the background, or with nohup,
    inherits that some signals are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)


class Answer(NamedTuple):
    """Exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def call_command(command: Callable[[], object], *words: str) -> Answer:
    """A command's entry point in a fork of this process, which saves importing what it needs.

    It may take two minutes. Its output goes to files, as it does for a user who redirects it.
    """
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            _become(command, words, out.fileno(), err.fileno())
        for _ in range(12_000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.01)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise TimeoutError(f"two minutes are over: {words}")
        out.seek(0)
        err.seek(0)
        return Answer(os.waitstatus_to_exitcode(status), out.read(), err.read())


def _become(command: Callable[[], object], words: Sequence[str], out: int, err: int) -> NoReturn:
    status = 70
    try:
        heed_signals()
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(2, "w", closefd=False)
        sys.argv = ["command", *words]
        try:
            command()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        sys.__stderr__.flush()
    finally:
        os._exit(status)


def see_end(
    program: str,
    ending: str,
    environment: Mapping[str, str] | None = None,
    busy: Callable[[], bool] = lambda: True,
) -> None:
    """Run a Python program, which says that it is ready and then ends as `STATUS` knows it.

    A signal is sent once it is also ``busy``.
    """
    then = {"exit": "pass", "error": "1 / 0"}.get(ending, "time.sleep(600)")
    process = subprocess.Popen(
        [sys.executable, "-c", f"import time\n{program}print('ready', flush=True)\n{then}\n"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if ending.startswith("SIG"):
        for _ in range(1200):
            if busy():
                break
            time.sleep(0.05)
        process.send_signal(getattr(signal, ending))
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == STATUS[ending], complaint


def until(true: Callable[[], bool]) -> None:
    """Wait, a minute at most, until something is so. Raises TimeoutError."""
    for _ in range(60_000):
        if true():
            return
        time.sleep(0.001)
    raise TimeoutError


def gone(process: int) -> bool:
    """Whether a process ends within ten seconds."""
    for _ in range(200):
        try:
            os.kill(process, signal.SIG_DFL)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{process}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def in_two_processes(work: Callable[..., None], *arguments: object) -> None:
    """Two forks do the same at the same time, and both get through."""
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=work, args=arguments) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
