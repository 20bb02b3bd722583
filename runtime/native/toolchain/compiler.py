"""Finds a C++ compiler and runs it, for protocols that are compiled to native code.

Invariant: nothing here waits for ever and nothing fails silently: a compiler is found or a
:class:`ToolchainError` says what was looked for; an object is written or the error holds the
compiler's own message.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

FLAGS: Final = (
    "-std=c++20",
    "-O3",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fvisibility=hidden",
    "-shared",
    "-fPIC",
)
"""What every object is compiled with."""
FOR_CLANG: Final = ("-nostdlib++", "-fno-sanitize=undefined")
"""What clang and `zig c++` take further: our code needs no library of C++, which `zig` would first
have to compile, and unoptimised code that stops the process at a doubt is not for us."""
FOR_WATCHED: Final = ("-DSLICC_INVARIANTS",)
"""What an object with sanitizers is compiled with further, on any compiler."""
TIERS: Final = ("-O0", "-O1", "-O3")
"""How the objects of a run are optimised, in the order in which they come. The first takes a
quarter of the last one's time to compile and makes campaigns three times as slow; the second takes
a bit more than half of it, and campaigns take at most some percent longer."""

TIME_LIMIT: Final = 300.0
"""Seconds that one compilation may take; ``SLICC_COMPILE_SECONDS`` says otherwise."""
_ZIG_FLAGS: Final = ("-mcpu=baseline",)
"""It compiles for the very processor otherwise, and other machines may find the object."""
_ASKING_LIMIT: Final = 30.0
"""Seconds that a compiler may take to print its version."""
_SHOWN_LINES: Final = 40
_SHOWN_CHARACTERS: Final = 400
"""Of one line; compilers quote what they read."""
_VERSION_CHARACTERS: Final = 120
_READ_BYTES: Final = 1 << 20
"""Of what a compiler prints; the rest is not read."""
_MAX_PRINTED_BYTES: Final = 1 << 26
"""A compiler that prints more is stopped."""
_POLL_SECONDS: Final = 0.1
_LEAST_PRIORITY: Final = 19
_FULL: Final = "No space left on device"


class ToolchainError(RuntimeError):
    """No compiler, or one that does not do its work. The message is for the user."""


class NoCompiler(ToolchainError):
    """There is none on this machine."""


class Compiler(Struct, frozen=True):
    """A compiler whose version is known. ``command``: what to run, arguments included."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return shlex.join(self.command)

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    def means_this_processor(self, flags: Sequence[str]) -> bool:
        """Whether what it makes with these flags may be of no use on another of the kind."""
        arguments = (*self.command, *flags)
        zig = any("zig" in Path(word).name for word in self.command)
        return any(word.endswith("=native") for word in arguments) or (
            zig and not any(word.startswith("-mcpu=") for word in arguments)
        )


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """``$CXX``, else clang++, else g++, else the package ``ziglang``.

    A ``$CXX`` that does not work is an error: a user who sets it means it. Raises ToolchainError.
    """
    chosen = environment.get("CXX", "").strip()
    if chosen:
        try:
            command = tuple(shlex.split(chosen))
        except ValueError as error:
            raise ToolchainError(f"CXX={chosen}: {error}") from None
        return Compiler(command, _version(command, f"CXX={chosen}"))
    errors = []
    path = environment.get("PATH", os.defpath)
    for name in ("clang++", "g++"):
        found = shutil.which(name, path=path)
        if found is not None:
            try:
                return Compiler((found,), _version((found,), found))
            except ToolchainError as error:
                errors.append(str(error))
    if find_spec("ziglang") is not None:
        command = (sys.executable, "-m", "ziglang", "c++", *_ZIG_FLAGS)
        try:
            return Compiler(command, _version(command, "ziglang"))
        except ToolchainError as error:
            errors.append(str(error))
    if errors:
        raise ToolchainError("; ".join(errors))
    raise NoCompiler(
        "no C++ compiler: CXX is not set, neither clang++ nor g++ is installed, "
        "nor the package ziglang (pip install 'slicc[native]')"
    )


class Compilation:
    """One file being compiled into one loadable object, by a process beside us.

    Raises ToolchainError, OSError.
    """

    def __init__(
        self,
        compiler: Compiler,
        source: Path,
        output: Path,
        include: Sequence[Path],
        defines: Mapping[str, int | str],
        flags: Sequence[str],
        idle: bool = False,
    ) -> None:
        """``idle``: it takes what others leave of the processors."""
        command = [*compiler.command, *flags]
        command += [f"-D{name}={value}" for name, value in defines.items()]
        command += [f"-I{directory}" for directory in include]
        command += [str(source), "-o", str(output)]
        limit = _seconds_allowed()
        self._compiler = compiler
        self._output = output
        # where a compiler leaves what it would leave in /tmp if it is killed
        self._scratch = Path(tempfile.mkdtemp(prefix=".scratch-", dir=output.parent))
        try:
            self._process = _Process(command, limit, str(compiler), self._scratch)
            if idle:
                self._process.yield_to_others()
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    def finished(self) -> bool:
        """Whether the object is there.

        Raises ToolchainError if it will never be, OSError where another place may help.
        """
        status = self._process.status()
        if status is None:
            return False
        shutil.rmtree(self._scratch, ignore_errors=True)
        if status:
            how = f"status {status}" if status > 0 else f"signal {-status}"
            said = _shortened(self._process.printed) or "(no message)"
            if _FULL in said:
                raise OSError(errno.ENOSPC, _FULL)
            raise ToolchainError(f"{self._compiler} failed ({how}):\n{said}")
        if not self._output.is_file():
            raise ToolchainError(
                f"{self._compiler} reported success, but wrote no {self._output.name}"
            )
        return True

    def wait(self) -> None:
        """Until it is finished. Raises ToolchainError, OSError."""
        self._process.wait()
        self.finished()

    def stop(self) -> None:
        """End the compiler and what it has started, if it has not ended by itself."""
        self._process.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)


def all_flags(compiler: Compiler, optimise: str = TIERS[-1]) -> tuple[str, ...]:
    """Ours for such a compiler, then those of ``$SLICC_CXXFLAGS``. Raises ToolchainError.

    ``optimise``: of `TIERS`, unless the user has said how.
    """
    said = os.environ.get("SLICC_CXXFLAGS", "")
    try:
        own = shlex.split(said)
    except ValueError as error:
        raise ToolchainError(f"SLICC_CXXFLAGS={said}: {error}") from None
    watched = any(flag.startswith("-fsanitize") for flag in own)
    further = FOR_WATCHED if watched else FOR_CLANG if compiler.is_clang else ()
    ours: tuple[str, ...] = (*FLAGS, *further)
    if not any(flag.startswith("-O") for flag in own):
        ours = tuple(optimise if flag.startswith("-O") else flag for flag in ours)
    return (*ours, *own)


def _seconds_allowed() -> float:
    said = os.environ.get("SLICC_COMPILE_SECONDS", "")
    try:
        seconds = float(said) if said else TIME_LIMIT
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 86_400:
        raise ToolchainError(f"SLICC_COMPILE_SECONDS={said}: expected a number of seconds")
    return seconds


def _version(command: Sequence[str], called: str) -> str:
    process = _Process([*command, "--version"], _ASKING_LIMIT, called)
    status = process.wait()
    printed = process.printed
    if status or not printed.strip():
        silence = f"{called} does not print its version (status {status})"
        raise ToolchainError(":\n".join(filter(None, (silence, _shortened(printed)))))
    return _cut(printed.strip().splitlines()[0], _VERSION_CHARACTERS)


class _Process:
    """A command under way, ``called`` so in errors, for ``limit`` seconds at most.

    It has a group of its own, so that an interrupt at the terminal is for us to pass on, in our
    session, in which priorities are compared, and prints into a file without a name, so that what
    it leaves running holds no pipe of ours.
    ``scratch``: its place for temporary files. Raises ToolchainError.
    """

    def __init__(
        self, command: Sequence[str], limit: float, called: str, scratch: Path | None = None
    ) -> None:
        self._called = called
        self._limit = limit
        self._deadline = time.monotonic() + limit
        self.printed = ""
        """The first of what it has printed, once it has ended."""
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115, closed when it has ended
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=subprocess.STDOUT,
                process_group=0,
                env=None if scratch is None else {**os.environ, "TMPDIR": str(scratch)},
            )
        except OSError as error:
            raise ToolchainError(f"{called} cannot be run: {error.strerror or error}") from None

    def yield_to_others(self) -> None:
        """Take what others leave of the processors, and so what it starts."""
        with suppress(OSError, AttributeError):  # it has ended, or there are no priorities
            os.setpriority(os.PRIO_PGRP, self._process.pid, _LEAST_PRIORITY)

    def status(self) -> int | None:
        """The exit status of the process; None: it still works. Raises ToolchainError if it had to
        be stopped."""
        status = self._process.poll()
        if status is not None:
            self._listen()
            return status
        if os.fstat(self._file.fileno()).st_size > _MAX_PRINTED_BYTES:
            self.stop()
            raise ToolchainError(f"{self._called} did not stop talking and was stopped")
        if time.monotonic() > self._deadline:
            self.stop()
            raise ToolchainError(
                f"{self._called} had not finished after {self._limit:g} seconds and was stopped"
            )
        return None

    def wait(self) -> int:
        """The exit status once it has ended; whatever interrupts this stops it. Raises
        ToolchainError."""
        try:
            while (status := self.status()) is None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_POLL_SECONDS)
            return status
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it and the processes that it has started, if it has not ended by itself."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (OSError, AttributeError):
                self._process.kill()
            self._process.wait()
        self._listen()

    def _listen(self) -> None:
        if not self._file.closed:
            self._file.seek(0)
            self.printed = self._file.read(_READ_BYTES).decode("utf-8", "replace")
            self._file.close()


def one_line(why: Exception) -> str:
    """The first line, and if that promises more, what a compiler had to say first."""
    first, *more = str(why).strip().splitlines() or [type(why).__name__]
    if not first.endswith(":"):
        return first
    said = [line.strip() for line in more if "error" in line.lower()] or [*more, "(no message)"]
    return f"{first} {said[0]}"


def _shortened(text: str) -> str:
    lines = text.strip().splitlines()
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} lines more"]
    return "\n".join(_cut(line, _SHOWN_CHARACTERS) for line in lines)


def _cut(line: str, length: int) -> str:
    """What is left of a line that is too long, without what would steer a terminal."""
    shown = "".join(each if each.isprintable() or each == "\t" else "?" for each in line[:length])
    return f"{shown}..." if len(line) > length else shown
