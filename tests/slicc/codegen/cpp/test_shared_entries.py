"""Entries declared outside machines: what is compiled is C++ that a compiler takes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tester.cli.main import app
from tests.compiling import compiler

SHIPPED = Path(__file__).parents[4] / "protocols"
SHARED = """
structure(CountedLine, interface="AbstractCacheEntry") { int Number, default="7"; DataBlock Data; }
"""
FUNCTION = """
  int numberOf(AbstractCacheEntry entry) {
    CountedLine line := static_cast(CountedLine, "pointer", entry);
    return line.Number;
  }
"""
REQUIRED = "  Entry getCacheEntry("
ACTION = 'action(a_issueGetx, "a", desc="Ask the directory for the line") {\n'


def test_entries_outside_of_machines_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler()  # skips where there is none
    monkeypatch.chdir(tmp_path)
    for path in SHIPPED.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    messages, cache = tmp_path / "MI-msg.sm", tmp_path / "MI-cache.sm"
    messages.write_text(messages.read_text() + SHARED)
    text = cache.read_text()
    assert text.count(REQUIRED) == text.count(ACTION) == 1
    text = text.replace(REQUIRED, FUNCTION + REQUIRED)
    use = "    assert(numberOf(new CountedLine) == 7);\n"
    cache.write_text(text.replace(ACTION, ACTION + use))
    words = ("--protocol", str(tmp_path / "MI.slicc"), "--episodes", "20", "--seed", "3")
    done = CliRunner().invoke(app, [*words, "--engine", "native"])
    assert done.exit_code == 0, done.output
