"""Finds a C++ compiler and runs it, for protocols that are compiled to native code.

Invariant: nothing here waits for ever and nothing fails silently: a compiler is found or a
:class:`ToolchainError` says what was looked for; an object is written or the error holds the
compiler's own words.
"""

from __future__ import annotations

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
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import BinaryIO, Final

FLAGS: Final = (
    "-std=c++20",
    "-O2",
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
QUICK: Final = "-O0"
"""For the object that runs until the optimised one is there: a quarter of the time, and what it
makes is slower by far less than the rest of a short leg takes."""

TIME_LIMIT: Final = 300.0
"""Seconds that one compilation may take; ``SLICC_COMPILE_SECONDS`` says otherwise."""
PATIENT: Final = 10
"""The niceness of what nobody is waiting for."""
_ZIG_FLAGS: Final = ("-mcpu=baseline",)
"""It compiles for the very processor otherwise, and other machines may find the object."""
_ASKING_LIMIT: Final = 30.0
"""Seconds that a compiler may take to tell its version."""
_SHOWN_LINES: Final = 40
_SHOWN_CHARACTERS: Final = 400
"""Of one line; compilers quote what they read."""
_VERSION_CHARACTERS: Final = 120
_HEARD: Final = 1 << 20
"""Bytes that a compiler can tell us; the rest is not read."""
_PATIENCE: Final = 1 << 26
"""Bytes after which a compiler that talks on is stopped."""


class ToolchainError(RuntimeError):
    """No compiler, or one that does not do its work. The message is for the user."""


class NoCompiler(ToolchainError):
    """There is none on this machine."""


@dataclass(frozen=True)
class Compiler:
    """A compiler that has told its version. ``command``: what to run, arguments included."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return shlex.join(self.command)

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    def means_this_processor(self, flags: Sequence[str]) -> bool:
        """Whether what it makes with these flags may be of no use on another of the kind."""
        words = (*self.command, *flags)
        zig = any("zig" in Path(word).name for word in self.command)
        return any(word.endswith("=native") for word in words) or (
            zig and not any(word.startswith("-mcpu=") for word in words)
        )


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """``$CXX``, else clang++, else g++, else the package ``ziglang``.

    A ``$CXX`` that does not work is an error: whoever sets it means it. Raises ToolchainError.
    """
    chosen = environment.get("CXX", "").strip()
    if chosen:
        try:
            command = tuple(shlex.split(chosen))
        except ValueError as slip:
            raise ToolchainError(f"CXX={chosen}: {slip}") from None
        return Compiler(command, _version(command, f"CXX={chosen}"))
    slips = []
    path = environment.get("PATH", os.defpath)
    for name in ("clang++", "g++"):
        found = shutil.which(name, path=path)
        if found is not None:
            try:
                return Compiler((found,), _version((found,), found))
            except ToolchainError as slip:
                slips.append(str(slip))
    if find_spec("ziglang") is not None:
        command = (sys.executable, "-m", "ziglang", "c++", *_ZIG_FLAGS)
        try:
            return Compiler(command, _version(command, "ziglang"))
        except ToolchainError as slip:
            slips.append(str(slip))
    if slips:
        raise ToolchainError("; ".join(slips))
    raise NoCompiler(
        "no C++ compiler: CXX is not set, neither clang++ nor g++ is installed, "
        "nor the package ziglang (pip install 'slicc[native]')"
    )


def compile_object(
    compiler: Compiler,
    source: Path,
    output: Path,
    include: Sequence[Path],
    defines: Mapping[str, int],
    time_limit: float | None = None,
    flags: Sequence[str] | None = None,
) -> None:
    """Compile one file into one loadable object. Raises ToolchainError."""
    command = _command(compiler, source, output, include, defines, flags)
    limit = seconds_allowed() if time_limit is None else time_limit
    scratch = _scratch(output)
    try:
        status, words = _run(command, limit, str(compiler), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _judge(compiler, status, words, output)


class Compilation:
    """A compiler at work beside us, asked now and then how far it is; no thread waits for it.

    Takes what :func:`compile_object` takes. ``directory``: where it works, else where we do.
    ``hurried``: whether anybody is waiting for it; otherwise others go first. Raises
    ToolchainError, OSError.
    """

    def __init__(
        self,
        compiler: Compiler,
        source: Path,
        output: Path,
        include: Sequence[Path],
        defines: Mapping[str, int],
        flags: Sequence[str] | None = None,
        directory: Path | None = None,
        hurried: bool = True,
    ) -> None:
        command = _command(compiler, source, output, include, defines, flags)
        self._compiler = compiler
        self._output = output
        self._limit = seconds_allowed()
        self._deadline = time.monotonic() + self._limit
        self._scratch = _scratch(output)
        self._words = self._scratch / "words"
        self._said: str | None = None
        try:
            with self._words.open("wb") as words:
                self._process = _start(
                    command, words.fileno(), str(compiler), self._scratch, directory
                )
            if not hurried:
                _give_way(self._process)
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    def finished(self) -> bool:
        """Whether the object is there. Raises ToolchainError if it will never be."""
        status = self._process.poll()
        if status is None:
            talks_on = self._words.stat().st_size > _PATIENCE
            if time.monotonic() < self._deadline and not talks_on:
                return False
            self.stop()
            called = str(self._compiler)
            raise _too_talkative(called) if talks_on else _too_slow(called, self._limit)
        if self._said is None:
            self._said = self._heard()
            shutil.rmtree(self._scratch, ignore_errors=True)
        _judge(self._compiler, status, self._said, self._output)
        return True

    def wait(self) -> None:
        """Until it is finished. Raises ToolchainError."""
        while not self.finished():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(min(1.0, max(0, self._deadline - time.monotonic())))

    def stop(self) -> None:
        """End the compiler and what it has started, if it has not ended by itself."""
        if self._process.poll() is None:
            _stop(self._process)
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _heard(self) -> str:
        with self._words.open("rb") as words:
            return words.read(_HEARD).decode("utf-8", "replace")


def _scratch(output: Path) -> Path:
    """Where a compiler leaves what it would leave in /tmp if it is killed."""
    return Path(tempfile.mkdtemp(prefix=".scratch-", dir=output.parent))


def _command(
    compiler: Compiler,
    source: Path,
    output: Path,
    include: Sequence[Path],
    defines: Mapping[str, int],
    flags: Sequence[str] | None,
) -> list[str]:
    command = [*compiler.command, *(all_flags(compiler) if flags is None else flags)]
    command += [f"-D{name}={value}" for name, value in defines.items()]
    command += [f"-I{directory}" for directory in include]
    return [*command, str(source), "-o", str(output)]


def _judge(compiler: Compiler, status: int, words: str, output: Path) -> None:
    """Raises ToolchainError unless a compiler that has ended did its work."""
    if status:
        how = f"status {status}" if status > 0 else f"signal {-status}"
        raise ToolchainError(f"{compiler} failed ({how}):\n{_shortened(words) or '(no message)'}")
    if not output.is_file():
        raise ToolchainError(f"{compiler} said that all is well, but wrote no {output.name}")


def all_flags(compiler: Compiler, quick: bool = False) -> tuple[str, ...]:
    """Ours for such a compiler, then those of ``$SLICC_CXXFLAGS``. Raises ToolchainError.

    ``quick``: for compiling in little time, unless the user has said how to optimise.
    """
    said = os.environ.get("SLICC_CXXFLAGS", "")
    try:
        own = shlex.split(said)
    except ValueError as slip:
        raise ToolchainError(f"SLICC_CXXFLAGS={said}: {slip}") from None
    watched = any(flag.startswith("-fsanitize") for flag in own)
    ours: tuple[str, ...] = FLAGS if watched or not compiler.is_clang else (*FLAGS, *FOR_CLANG)
    if quick and not any(flag.startswith("-O") for flag in own):
        ours = tuple(QUICK if flag.startswith("-O") else flag for flag in ours)
    return (*ours, *own)


def seconds_allowed() -> float:
    said = os.environ.get("SLICC_COMPILE_SECONDS", "")
    try:
        seconds = float(said) if said else TIME_LIMIT
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 86_400:
        raise ToolchainError(f"SLICC_COMPILE_SECONDS={said}: expected a number of seconds")
    return seconds


def _version(command: Sequence[str], called: str) -> str:
    status, words = _run([*command, "--version"], _ASKING_LIMIT, called)
    if status or not words.strip():
        silence = f"{called} does not tell its version (status {status})"
        raise ToolchainError(":\n".join(filter(None, (silence, _shortened(words)))))
    return _cut(words.strip().splitlines()[0], _VERSION_CHARACTERS)


def _run(
    command: Sequence[str], limit: float, called: str, scratch: Path | None = None
) -> tuple[int, str]:
    """Status and first words of a command that is stopped, with all that it started, after
    ``limit`` seconds. Raises ToolchainError.
    """
    process = _start(command, subprocess.PIPE, called, scratch)
    deadline = time.monotonic() + limit
    said: list[bytes] = []
    listener = Thread(target=_listen, args=(process.stdout, said), daemon=True)
    try:
        listener.start()
        while listener.is_alive() and process.poll() is None and time.monotonic() < deadline:
            listener.join(0.1)
        process.wait(max(0, deadline - time.monotonic()))
    except BaseException as slip:
        _stop(process)
        if isinstance(slip, subprocess.TimeoutExpired):
            raise _too_slow(called, limit) from None
        raise
    listener.join(1.0)  # no longer: what it has started may live on, and be silent
    if len(said) > 1:
        raise _too_talkative(called)
    return process.returncode, b"".join(said).decode("utf-8", "replace")


def _listen(stream: BinaryIO, said: list[bytes]) -> None:
    """Notes what a command says first; one more note: it did not stop, so nobody listens now."""
    with stream:
        said.append(stream.read(_HEARD))
        rest = 0
        while rest <= _PATIENCE and (more := stream.read(_HEARD)):
            rest += len(more)
    if rest > _PATIENCE:
        said.append(b"")


def _start(
    command: Sequence[str],
    output: int,
    called: str,
    scratch: Path | None,
    directory: Path | None = None,
) -> subprocess.Popen[bytes]:
    """In a session of its own: an interrupt at the terminal is for us to pass on."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=directory,
            env=None if scratch is None else {**os.environ, "TMPDIR": str(scratch)},
        )
    except OSError as slip:
        raise ToolchainError(f"{called} cannot be run: {slip.strerror or slip}") from None


def _give_way(process: subprocess.Popen[bytes]) -> None:
    """Let a compiler, and all that it starts, have what time others leave."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PGRP, process.pid, PATIENT)


def _too_slow(called: str, limit: float) -> ToolchainError:
    return ToolchainError(f"{called} had not finished after {limit:g} seconds and was stopped")


def _too_talkative(called: str) -> ToolchainError:
    return ToolchainError(f"{called} did not stop talking and was stopped")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a compiler and the processes that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):
        process.kill()
    process.wait()


def _shortened(words: str) -> str:
    lines = words.strip().splitlines()
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} lines more"]
    return "\n".join(_cut(line, _SHOWN_CHARACTERS) for line in lines)


def _cut(line: str, length: int) -> str:
    """What is left of a line that is too long, without what would steer a terminal."""
    shown = "".join(each if each.isprintable() or each == "\t" else "?" for each in line[:length])
    return f"{shown}..." if len(line) > length else shown
