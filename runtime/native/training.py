"""Compiles an object once more, for what it was seen to do while it worked.

First it is compiled so that it counts which way it goes, then it works for a while in a process
of its own, then it is compiled for speed, with those counts. What an object computes does not
depend on them. Invariant: all of this takes place in one directory, and of what it needs on the
way nothing is left there when it has ended well; who ends it early removes the directory.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from runtime.native.background import Step
from runtime.native.toolchain import (
    PATIENT,
    Compilation,
    Compiler,
    ToolchainError,
    seconds_allowed,
)

_LEVEL: Final = "-O3"
"""Costs more than it gains where the compiler has to guess; the same in both, else counts are of
another program."""
WATCHED: Final = (_LEVEL, "-fprofile-generate", "-fprofile-update=single", "-DSLICC_TRAINING")
TRAINED: Final = (
    _LEVEL,
    "-fprofile-use",
    "-fprofile-partial-training",
    "-fno-tree-loop-vectorize",
    "-fno-tree-slp-vectorize",
)
"""With counts, the compiler would use wider instructions for loops; ours are too short for that."""
_WATCHED_OBJECT: Final = "watched.so"
_COUNTS: Final = "*.gcda"

Exercise = Callable[[Path], None]
"""Loads the object and lets it work, in a process of its own."""
Compile = Callable[[tuple[str, ...]], Compilation]
"""Starts compiling with flags on top of the usual ones, nobody waiting for it."""


def can_train(compiler: Compiler) -> bool:
    """Whether this is known to be possible: with g++, where processes can be forked.

    Whoever sets SLICC_CXXFLAGS means those flags, and no others.
    """
    forks = "fork" in multiprocessing.get_all_start_methods()
    own = os.environ.get("SLICC_CXXFLAGS", "").strip()
    return forks and not own and not compiler.is_clang


class Training:
    """The same as a :class:`~runtime.native.toolchain.Compilation`, step after step.

    ``output``: the object. Raises ToolchainError, OSError.
    """

    def __init__(self, compile_with: Compile, output: Path, exercise: Exercise) -> None:
        if multiprocessing.current_process().daemon:
            raise ToolchainError("a daemon may not start the process that would be trained in")
        self._compile = compile_with
        self._output = output
        self._exercise = exercise
        self._steps = self._course()
        self._slip: Exception | None = None
        self._step: Step = next(self._steps)

    def finished(self) -> bool:
        """Whether the object is there; begins the next step if one is over.

        Raises ToolchainError or OSError if it will never be.
        """
        if self._slip is not None:
            raise self._slip
        try:
            while self._step.finished():
                step = next(self._steps, None)
                if step is None:
                    return True
                self._step = step
        except Exception as slip:
            self._slip = slip
            raise
        return False

    def wait(self) -> None:
        """Until it is finished. Raises ToolchainError, OSError."""
        while not self.finished():
            self._step.wait()

    def stop(self) -> None:
        """End the step that is under way; no other begins."""
        self._steps.close()
        self._step.stop()

    def _course(self) -> Generator[Step, None, None]:
        yield self._compile(WATCHED)
        watched = self._output.rename(self._output.with_name(_WATCHED_OBJECT))
        yield Beside(self._exercise, watched)
        watched.unlink()
        if not self._counts():
            raise ToolchainError("the training has left no counts")
        yield self._compile(TRAINED)
        for path in self._counts():
            path.unlink()

    def _counts(self) -> list[Path]:
        return list(self._output.parent.glob(_COUNTS))


class Beside:
    """An exercise in a fork of this process, which goes on without it. Raises OSError."""

    def __init__(self, exercise: Exercise, watched: Path) -> None:
        self._limit = seconds_allowed()
        self._deadline = time.monotonic() + self._limit
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_work, args=(exercise, watched), daemon=True)
        self._process.start()

    def finished(self) -> bool:
        """Whether it has ended. Raises ToolchainError unless well and in time."""
        status = self._process.exitcode
        if status is None:
            if time.monotonic() < self._deadline:
                return False
            self.stop()
            raise ToolchainError(f"the training had not ended after {self._limit:g} seconds")
        if status:
            raise ToolchainError(f"the training ended with status {status}")
        return True

    def wait(self) -> None:
        """Until it has ended. Raises ToolchainError."""
        self._process.join(max(0, self._deadline - time.monotonic()))
        self.finished()

    def stop(self) -> None:
        """End it, if it has not ended by itself."""
        self._process.kill()
        self._process.join()


def _work(exercise: Exercise, watched: Path) -> None:
    """The life of such a process: silent, patient, and its parent's to interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    os.nice(PATIENT)
    for name in ("GCOV_PREFIX", "GCOV_PREFIX_STRIP"):
        os.environ.pop(name, None)  # the counts belong beside the object
    exercise(watched)
    ctypes.CDLL(str(watched)).slicc_write_counts()
