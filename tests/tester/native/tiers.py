"""Command lines, compilers and caches for tests of compiled code that comes in several forms."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from typer.testing import CliRunner

from runtime.native.build import Recipe, Sizes, Sources
from runtime.native.toolchain.compiler import Compiler
from tester.cli.main import app
from tests.tester.native.equality import loaded

SIZES = Sizes.of(64, 1)
SMALL = ("--protocol", "MI", "--episodes", "200", "--seed", "3", "--leg-episodes", "40")


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["--no-progress", *arguments])
    return result.exit_code, result.stdout, result.stderr


def without_rates(text: str) -> list[str]:
    return [line for line in text.splitlines() if not re.match(r"[\d.]+ s: ", line)]


def sources_of(name: str) -> Sources:
    sources = loaded(name).native
    assert sources is not None
    return sources


def compiler_that(tmp_path: Path, real: Compiler, body: str) -> Path:
    """Stands for a compiler; ``body`` is done first, with $how the level of optimisation."""
    path = tmp_path / "cxx"
    path.write_text(
        "#!/bin/sh\nhow=none\n"
        'for each in "$@"; do case $each in -O*) how=$each;; esac; done\n'
        f'{body}\nexec {real} "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def copying(finished: Path) -> str:
    """For a compiler that has the object of a protocol at hand."""
    return f'for last; do :; done; case "$*" in *protocol.cpp*) exec cp {finished} "$last";; esac'


def unit(compiler: Compiler, text: str = 'extern "C" int answer() { return 42; }\n') -> Recipe:
    return Recipe({"unit.cpp": text}, "unit.cpp", compiler)


def leavings(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".")]


def objects(root: Path) -> int:
    return len(list(root.glob("object-*")))
