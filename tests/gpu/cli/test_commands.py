"""The command ``gcn`` as a whole: its page, its help, its version."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gpu.cli.main import VERBS
from slicc.text.command.options import written
from tests.gpu.cli.calling import gcn


def test_the_page_has_every_verb_and_every_option() -> None:
    page = (Path(__file__).parents[3] / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert [verb.name for verb in VERBS if f"gcn {verb.name}" not in page] == []
    options = {name for verb in VERBS for name in written(verb.options) if name.startswith("--")}
    assert {"--grid", "--record"} <= options
    assert options - set(re.findall(r"--[a-z-]+", page)) == set()


def test_help_names_the_value_of_every_option() -> None:
    """And not the function that reads it."""
    for verb in VERBS:
        status, out, _ = gcn(verb.name, "-h")
        assert status == 0
        assert re.findall(r"^  (--?[a-z-]+.*<.*)", out, re.M) == []


def test_help_imports_nothing_heavy() -> None:
    """What makes it answer at once: neither numpy nor a reader of files."""
    code = (
        "import sys, gpu.cli.main; "
        "print([m for m in ('numpy', 'elftools', 'msgpack', 'lark', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_version() -> None:
    status, out, err = gcn("--version")
    assert (status, err) == (0, "")
    assert re.fullmatch(r"gcn (\d+\.\d+\.\d+|source)\n", out)
