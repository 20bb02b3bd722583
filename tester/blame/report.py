"""What is to blame for a shrunk leg: for people, and for programs."""

from __future__ import annotations

from typing import Final

from tester.blame.blame import Blame

_SHOWN: Final = 6
"""Lines of the protocol."""


def as_lines(found: Blame) -> list[str]:
    """The suspects in order, and what parts the leg from its nearest neighbour."""
    lines = [f"{number}. {suspect}" for number, suspect in enumerate(found.suspects, 1)]
    if found.neighbour:
        lines.append(f"it does not fail so {found.neighbour}")
    if found.lines:
        shown = ", ".join(found.lines[:_SHOWN]) + (", ..." if len(found.lines) > _SHOWN else "")
        lines.append(
            f"not executed in {100 * found.absent:.0f} % of the neighbours that pass: {shown}"
        )
    if found.parting is not None:
        lines.append(f"the two runs part at {found.parting}")
    return lines


def as_table(found: Blame) -> dict[str, object]:
    """The suspects, and what parts the leg from its nearest neighbour, for JSON."""
    return {
        "blamed": [
            {
                "transition": suspect.cell,
                "place": suspect.where,
                "absent": round(suspect.absent, 3),
                "remedies": list(suspect.remedies),
                "passed": round(suspect.passed, 3),
            }
            for suspect in found.suspects
        ],
        "executed": list(found.lines),
        "neighbour": found.neighbour,
        "parting": None if found.parting is None else str(found.parting),
    }
