"""Lines that are read without typer mean what typer reads; the others are left to it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slicc.analysis.product.exploration import Draws
from slicc.cli.verbs import VERBS
from slicc.text.command.command_line import new_app
from slicc.text.command.plain import plain_options
from slicc.text.command.verb import Verb

ROOT = Path(__file__).parents[4]
WORDS = (
    *("MI", "a.slicc", "b.sm", "-o", "out", "--output=out", "--format", "text", "json", "svg"),
    *("sarif", "--color", "never", "--color=always", "--include", "inc", "--analysis", "--fix"),
    *("--no-analysis", "--select", "unused-action", "--ignore=null-record", "--ignore", "wrong"),
    *("-Werror", "--yes", "--machine", "L1", "--single", "--runs", "--set", "a=1", "--", "-x"),
    *("--verify", "github", "--ci", "--engine", "native", "--help", "-h", "", "-", "--fix=1"),
)


def read_by_typer(verb: Verb, words: list[str]) -> Any | None:
    read: list[Any] = []
    app = new_app("x", "", [replace(verb, run=read.append)])
    app.callback()(lambda: None)
    with pytest.raises(SystemExit):
        app([verb.name, *words])
    return read[0] if read else None


def test_drawn_lines_are_read_as_typer_reads_them() -> None:
    draws = Draws(1)
    plain = 0
    for _ in range(300):
        verb = draws.one_of(VERBS)
        words = [draws.one_of(WORDS) for _ in range(draws.below(5))]
        read = plain_options(verb.options, words)
        if read is not None:
            plain += 1
            assert read == read_by_typer(verb, words), (verb.name, words)
    assert plain > 30


def test_usual_lines_are_plain() -> None:
    check = next(verb for verb in VERBS if verb.name == "check")
    line = ["MI.slicc", "--select", "a", "-Werror", "--no-analysis", "--include=d", "MSI"]
    assert plain_options(check.options, line) is None, "there is no finding `a`"
    line[2] = "unused-action"
    read = plain_options(check.options, line)
    assert read is not None and read == read_by_typer(check, line)
    assert (read.files, read.analysis) == ((Path("MI.slicc"), Path("MSI")), False)


def test_a_plain_line_does_without_typer() -> None:
    code = (
        "import sys, slicc.cli.main as command\n"
        "sys.argv = ['slicc', 'check', 'protocols/MI.slicc']\n"
        "status = command.run(command._command)\n"
        "sys.exit(status or 'typer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
