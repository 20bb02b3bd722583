"""The scenarios that come with the package, in folders by what they need of a protocol.

Invariant: a shipped scenario is found by its name in every installation.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from tester.program.program import DMA
from tester.scenario_text.placement import Cast

FOLDER: Final = "scenarios"
SUFFIX: Final = ".litmus"


def shipped_folder(name: str) -> Path:
    """The folder of that name; there may be none."""
    return Path(str(files("tester").joinpath(FOLDER, name)))


def shipped_for(name: str, cast: Cast) -> list[Path]:
    """The scenarios that agents like these can run, and those of the protocol of that name."""
    folders = []
    if len(cast.processors()) >= 2:
        folders += ["litmus", "processors"]
        if any(agent.kind == DMA for agent in cast.agents):
            folders.append("engines")
    if any(agent.kind == "gpu" for agent in cast.agents):
        folders.append("wavefronts")
    return [file for each in (*folders, name) for file in scenario_files(shipped_folder(each))]


def scenario_files(folder: Path) -> list[Path]:
    """The scenarios in a folder, by name."""
    return sorted(folder.glob(f"*{SUFFIX}"))
