"""The starter of `slicc new` with some changes to its cache, to explore."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol, load_protocol
from slicc.cli.options import NewOptions
from slicc.cli.verbs.new import new
from tests.planted.bug import Edit

ACCESS: Final = Edit("  transition(K, Access) {\n", "  transition(K, Access) {\n    x_check;\n")
DATA: Final = Edit("  transition(W, Data, K) {\n", "  transition(W, Data, K) {\n    x_check;\n")
"""Transitions that check something before all else."""


def checking(body: str) -> Edit:
    """Another action of the cache: what it checks."""
    action = f'  action(x_check, "x", desc="Check") {{\n{body}\n  }}\n\n'
    place = '  action(u_use, "u",'
    return Edit(place, action + place)


def declaring(text: str) -> Edit:
    """More declarations in the cache."""
    return Edit("  Tick clockEdge();", f"  Tick clockEdge();\n  {text}")


def written(directory: Path, *edits: Edit) -> Path:
    """The driver of the starter with these changes of its cache."""
    new(NewOptions(name="Lend", output=directory))
    cache = directory / "Lend-cache.sm"
    text = cache.read_text()
    for edit in edits:
        text = edit.apply(text)
    cache.write_text(text)
    return directory / "Lend.slicc"


def edited(directory: Path, *edits: Edit, system: str = "", machine: str = "") -> LoadedProtocol:
    """``system``: tables of a description beside the protocol; ``machine``: one more."""
    driver = written(directory, *edits)
    if machine:
        (directory / "Lend-more.sm").write_text(machine)
        with driver.open("a") as text:
            text.write('include "Lend-more.sm";\n')
    if system:
        (directory / "Lend.toml").write_text(f'protocol = "Lend.slicc"\n{system}')
    return load_protocol(str(driver), native=True)
