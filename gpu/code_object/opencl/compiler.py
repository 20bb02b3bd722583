"""OpenCL C to a code object, when a clang that knows AMDGPU is installed.

Source: LLVM "User Guide for AMDGPU Backend", "OpenCL"; headers beside this file take the place of
device libraries: work-item functions for every kernel, the functions that most kernels call, and
headers that only files that use them get, because they would change the code of other kernels. A
file that calls more is compiled again with the libraries, where they are installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from gpu.code_object.errors import CompileError
from gpu.code_object.opencl.device_libraries import (
    TooNew,
    explained,
    find_libraries,
    missing_text,
    undefined_functions,
)
from gpu.code_object.targets import DEFAULT_PROCESSOR

COMPILER_VARIABLE: Final = "GCN_CLANG"
OPTIONS_VARIABLE: Final = "GCN_CLANG_OPTIONS"
"""Its value is passed to the compiler after all other options, split as by a shell."""
LINE_TABLES: Final = "-gline-tables-only"
"""Lines of the source in messages; the code stays the same."""
CPLUSPLUS: Final = ".clcpp"
SUFFIXES: Final = (".cl", CPLUSPLUS)
"""Of sources: OpenCL C, C++ for OpenCL."""
_NEWEST, _OLDEST = 29, 9
_STANDARD: Final = "-cl-std="
_LANGUAGE: Final = f"{_STANDARD}CL2.0"
_LANGUAGE_1: Final = re.compile(rf"{_STANDARD}(?:CL|cl)(?:1\.[012])?$")
"""OpenCL C 1.x, which 2.0 contains; the headers need 2.0."""
_VERSION: Final = "-mcode-object-version="
_TIME_LIMIT_SECONDS: Final = 300
_FEATURES: Final = (
    "generic_address_space",
    "program_scope_global_variables",
    "atomic_order_acq_rel",
    "atomic_order_seq_cst",
)
"""Features of OpenCL 2.0, which are optional in OpenCL 3.0."""
_HEADER_FOLDER: Final = Path(__file__).parent
_HEADERS: Final = tuple(
    _HEADER_FOLDER / name for name in ("work_items.h", "common_functions.h", "vector_functions.h")
)
_ON_DEMAND: Final = (
    (rb"\bprintf\b", ("-include", str(_HEADER_FOLDER / "printf.h"))),
    (
        rb"\b(?:to_(?:global|local|private)|get_fence)\b",
        ("-include", str(_HEADER_FOLDER / "address_spaces.h")),
    ),
    (rb"\bget_global_offset\b", ("-DGCN_GLOBAL_OFFSET",)),
)
"""Flags of files that contain such a word."""


def compile_kernels(
    source: str | Path,
    compiler: str | None = None,
    processor: str = DEFAULT_PROCESSOR,
    options: Sequence[str] = ("-O2",),
    device_libs: Path | None = None,
) -> bytes:
    """The code object of one OpenCL file.

    ``compiler``: a clang; without it the one of `find_compiler`. ``device_libs``: the folder of
    device libraries, used in any case; without it those that are installed, if the file needs
    them. Raises `CompileError` with the compiler's message, or with the places where a compiler
    was searched.
    """
    source = Path(source)
    if not source.is_file():
        raise CompileError(f"{source}: no such file")
    clang = compiler or find_compiler()
    if clang is None:
        raise CompileError(f"{source}: {_no_compiler()}")
    wanted = [_LANGUAGE_1.sub(_LANGUAGE, word) for word in (*options, *_wanted_options())]
    flags = [*_flags(processor), *_for_source(source), *_for_version(wanted), *wanted]
    if device_libs is not None:
        return _linked(clang, source, flags, find_libraries(device_libs))
    try:
        return _compiled(clang, source, flags, None)
    except CompileError as error:
        undefined = undefined_functions(str(error))
        if not undefined:
            raise
        libraries = find_libraries()
        if libraries is None:
            raise CompileError(missing_text(source, undefined)) from None
    return _linked(clang, source, flags, libraries)


def _linked(clang: str, source: Path, flags: Sequence[str], libraries: Path | None) -> bytes:
    """With libraries; by a later compiler if this one cannot read them and another is there."""
    try:
        return _compiled(clang, source, flags, libraries)
    except TooNew as error:
        later = first_able(*_numbered(error.made_by))
        if later is None or COMPILER_VARIABLE in os.environ:
            raise
        return _compiled(later, source, flags, libraries)


def _compiled(clang: str, source: Path, flags: Sequence[str], libraries: Path | None) -> bytes:
    linked = ["-nogpulib"] if libraries is None else [f"--rocm-device-lib-path={libraries}"]
    with tempfile.TemporaryDirectory(prefix="gcn-") as folder:
        output = Path(folder) / "kernels.co"
        command = [clang, *flags, *linked, str(source.resolve()), "-o", str(output)]
        try:
            printed = _run(command, source)
        except CompileError as error:
            raise error if libraries is None else explained(error, source, libraries) from None
        if not output.is_file():
            raise CompileError(f"{source}: {clang} failed:\n{printed.strip()}")
        return output.read_bytes()


@cache
def find_compiler() -> str | None:
    """``$GCN_CLANG``, ``clang``, then ``clang-29`` down to ``clang-9``: the first that compiles
    for AMDGPU and finds a linker."""
    given = os.environ.get(COMPILER_VARIABLE)
    return first_able(*([given] if given else ["clang", *_numbered(_OLDEST)]))


def first_able(*names: str) -> str | None:
    """The path of the first of these compilers that compiles for AMDGPU and finds a linker."""
    return next((path for name in names if (path := shutil.which(name)) and _able(path)), None)


def _no_compiler() -> str:
    given = os.environ.get(COMPILER_VARIABLE)
    if not given:
        return (
            f"no clang that compiles for AMDGPU was found; set {COMPILER_VARIABLE}, or install "
            "clang and lld, or give a compiled object"
        )
    if shutil.which(given) is None:
        return f"{COMPILER_VARIABLE}={given}: there is no such program"
    return f"{COMPILER_VARIABLE}={given}: it does not compile and link for AMDGPU; is lld there?"


def _numbered(oldest: int) -> list[str]:
    return [f"clang-{number}" for number in range(_NEWEST, oldest - 1, -1)]


def compiler_version(clang: str) -> str:
    """``14.0.6``; empty if it does not say."""
    printed = subprocess.run(
        [clang, "--version"], capture_output=True, text=True, timeout=60
    ).stdout
    match = re.search(r"version (\d+\.\d+\.\d+)", printed)
    return match[1] if match else ""


def _flags(processor: str) -> list[str]:
    return [
        *("-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}"),
        *("-x", "cl", _LANGUAGE, "-Xclang", "-finclude-default-header"),
        *("-Xclang", "-cl-ext=" + ",".join(f"+__opencl_c_{name}" for name in _FEATURES)),
        "-cl-kernel-arg-info",
        *("-ffp-contract=off", "-Wno-unused-command-line-argument"),
        *(word for header in _HEADERS for word in ("-include", str(header))),
    ]


def _for_source(source: Path) -> list[str]:
    """Further flags of a file, for C++ and for the features it uses."""
    flags = ["-cl-std=clc++"] if source.suffix == CPLUSPLUS else []
    text = source.read_bytes()
    wanted = (each for word, each in _ON_DEMAND if re.search(word, text))
    return [*flags, *(flag for each in wanted for flag in each)]


def _for_version(options: Sequence[str]) -> list[str]:
    """A flag by which headers know where hidden arguments are, if options ask for a version."""
    asked = [word.removeprefix(_VERSION) for word in options if word.startswith(_VERSION)]
    return [f"-DGCN_CODE_OBJECT_VERSION={asked[-1]}"] if asked else []


def _wanted_options() -> list[str]:
    """Flags from the user's environment. Raises `CompileError`."""
    text = os.environ.get(OPTIONS_VARIABLE, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CompileError(f"{OPTIONS_VARIABLE}={text}: {error}") from None


def _able(clang: str) -> bool:
    """Whether it compiles and links an empty kernel."""
    with tempfile.TemporaryDirectory(prefix="gcn-") as folder:
        source = Path(folder) / "empty.cl"
        source.write_text("__kernel void empty(void) {}\n")
        output = Path(folder) / "empty.co"
        command = [clang, *_flags(DEFAULT_PROCESSOR), "-nogpulib", str(source), "-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TIME_LIMIT_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and output.is_file()


def _run(command: list[str], source: Path) -> str:
    try:
        status, printed = _finished(command)
    except OSError as error:
        raise CompileError(f"{source}: cannot run {command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise CompileError(
            f"{source}: {command[0]} took more than {_TIME_LIMIT_SECONDS} s"
        ) from None
    if status:
        raise CompileError(
            f"{source}: {command[0]} failed ({_how(command, source)}):\n{printed.strip()}"
        )
    return printed


def _finished(command: list[str]) -> tuple[int, str]:
    """The status and the output. Clang is a driver of other programs: on a timeout they are killed
    with it, since they would keep the pipe open."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, errors="replace", start_new_session=True
    ) as process:
        try:
            _, printed = process.communicate(timeout=_TIME_LIMIT_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, printed


def _how(command: Sequence[str], source: Path) -> str:
    """The language that a file was compiled as, and how to select another."""
    asked = os.environ.get(OPTIONS_VARIABLE)
    if asked:
        return f"{OPTIONS_VARIABLE} is {asked}"
    *_, standard = (word for word in command if word.startswith(_STANDARD))
    if standard not in (_LANGUAGE, "-cl-std=clc++"):
        return f"with {standard}"
    language = "C++ for OpenCL" if source.suffix == CPLUSPLUS else "OpenCL C 2.0"
    return f"as {language}; {OPTIONS_VARIABLE}=-cl-std=... asks for another language"
