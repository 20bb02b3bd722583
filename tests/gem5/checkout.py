"""The user's gem5 checkout: where its protocols are, and what the language reference counts there.

Nothing of gem5 is kept here but names and numbers. Invariant: `machines.txt` has one pair of lines
for every machine that a driver of gem5 v24.0 includes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROTOCOLS = Path("src/mem/ruby/protocol")
LEARNING = Path("src/learning_gem5/part3")

DRIVERS: dict[str, Path] = {
    **{
        name: PROTOCOLS / f"{name}.slicc"
        for name in (
            "Garnet_standalone",
            "MI_example",
            "MESI_Two_Level",
            "MESI_Three_Level",
            "MESI_Three_Level_HTM",
            "MOESI_CMP_directory",
            "MOESI_CMP_token",
            "MOESI_hammer",
            "MOESI_AMD_Base",
            "GPU_VIPER",
        )
    },
    "CHI": PROTOCOLS / "chi" / "CHI.slicc",
    "MSI": LEARNING / "MSI.slicc",
}
"""Every driver of gem5 v24.0, by the name of its protocol."""


@dataclass(frozen=True)
class Counts:
    """What a front end makes of one machine. ``stalls``: cells with ``z_stall``; a port with a
    rank other than 0 is written ``name:rank``."""

    tbe: bool
    entry: str | None
    parameters: int
    objects: int
    states: int
    events: int
    actions: int
    cells: int
    stalls: int
    request_types: int
    ports: tuple[str, ...]


def expected_counts() -> dict[tuple[str, str], Counts]:
    """By the stem of the file that holds the machine, and its name."""
    text = (Path(__file__).parent / "machines.txt").read_text(encoding="utf-8")
    lines = text.splitlines()[1:]
    found = {}
    for line, ports in zip(lines[::2], lines[1::2], strict=True):
        file, machine, tbe, entry, *numbers = line.split()
        found[file, machine] = Counts(
            tbe == "yes", None if entry == "-" else entry, *map(int, numbers), tuple(ports.split())
        )
    return found
