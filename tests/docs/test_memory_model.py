"""The example of docs/memory-model.md runs and prints what the page says; its tables are whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gpu.memory_model.axioms import AXIOMS
from gpu.memory_model.weakening import Loss

PAGE = (Path(__file__).parents[2] / "docs" / "memory-model.md").read_text(encoding="utf-8")


def test_the_example() -> None:
    match = re.search(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", PAGE, re.M | re.S)
    assert match is not None
    script, expected = match.groups()
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    pattern = re.escape(expected).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, run.stdout)


def test_every_axiom_and_loss() -> None:
    assert all(f"| {axiom.name} |" in PAGE for axiom in AXIOMS)
    assert all(f"| `{loss.name}`" in PAGE for loss in Loss)
