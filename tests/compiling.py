"""The C++ compiler for tests: found as users' runs find it, with the flags of real objects."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from runtime.native.toolchain.compiler import FLAGS, Compiler, NoCompiler, find_compiler

ROOT: Final = Path(__file__).parents[1]
WARNINGS: Final = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-command-line-argument")
CHECKED: Final = "-O0 -DSLICC_INVARIANTS"
"""``$SLICC_CXXFLAGS`` of tests: little to compile, and our own invariants hold."""
STRICT: Final = ("-Wconversion", "-Wno-sign-conversion")
"""For what we write or generate; numbers have the widths that the language says."""


@cache
def compiler() -> Compiler:
    """Skips where there is none; one that does not work is a failure."""
    try:
        return find_compiler()
    except NoCompiler as error:
        pytest.skip(str(error))


def compile_unit(
    source: Path, *include: Path, flags: tuple[str, ...] = WARNINGS, output: Path | None = None
) -> Path:
    """Compile one file into an object (beside it); complaints fail the test.

    ``flags`` come on top of those of real objects, at -O0 unless they say otherwise.
    """
    target = source.with_suffix(".so") if output is None else output
    wanted = [flag for flag in FLAGS if not flag.startswith("-O")]
    folders = [
        f"-I{each}" for each in (*include, source.parent, ROOT / "runtime" / "native" / "cpp")
    ]
    command = [*compiler().command, *wanted, "-O0", *flags, *folders, str(source)]
    done = subprocess.run([*command, "-o", str(target)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return target
