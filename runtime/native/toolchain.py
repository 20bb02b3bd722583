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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

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

TIME_LIMIT: Final = 300.0
"""Seconds that one compilation may take; ``SLICC_COMPILE_SECONDS`` says otherwise."""
_ASKING_LIMIT: Final = 30.0
"""Seconds that a compiler may take to tell its version."""
_SHOWN_LINES: Final = 40


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
        command = (sys.executable, "-m", "ziglang", "c++")
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
    command = [*compiler.command, *(all_flags() if flags is None else flags)]
    command += [f"-D{name}={value}" for name, value in defines.items()]
    command += [f"-I{directory}" for directory in include]
    command += [str(source), "-o", str(output)]
    limit = _time_limit() if time_limit is None else time_limit
    status, words = _run(command, limit, str(compiler))
    if status:
        how = f"status {status}" if status > 0 else f"signal {-status}"
        raise ToolchainError(f"{compiler} failed ({how}):\n{_shortened(words) or '(no message)'}")
    if not output.is_file():
        raise ToolchainError(f"{compiler} said that all is well, but wrote no {output.name}")


def all_flags() -> tuple[str, ...]:
    """:data:`FLAGS` and those of ``$SLICC_CXXFLAGS``. Raises ToolchainError."""
    said = os.environ.get("SLICC_CXXFLAGS", "")
    try:
        return (*FLAGS, *shlex.split(said))
    except ValueError as slip:
        raise ToolchainError(f"SLICC_CXXFLAGS={said}: {slip}") from None


def _time_limit() -> float:
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
        raise ToolchainError(f"{called} does not tell its version (status {status})")
    return words.strip().splitlines()[0]


def _run(command: Sequence[str], limit: float, called: str) -> tuple[int, str]:
    """Status and output of a command that is stopped, with all that it started, after ``limit``."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as slip:
        raise ToolchainError(f"{called} cannot be run: {slip.strerror or slip}") from None
    try:
        words, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        raise ToolchainError(
            f"{called} had not finished after {limit:g} seconds and was stopped"
        ) from None
    except BaseException:
        _stop(process)
        raise
    return process.returncode, words.decode("utf-8", "replace")


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
    return "\n".join(lines)
