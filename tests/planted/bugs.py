"""The catalogue of planted bugs. Invariant: names are unique and every class has a bug."""

from __future__ import annotations

from typing import Final

from tests.planted.bug import Bug
from tests.planted.directory_bugs import DIRECTORY_BUGS
from tests.planted.mi_bugs import MI_BUGS
from tests.planted.viper_bugs import TCC_BUGS, TCP_BUGS

BUGS: Final[tuple[Bug, ...]] = (*TCP_BUGS, *TCC_BUGS, *DIRECTORY_BUGS, *MI_BUGS)
ELUSIVE: Final = {
    "sqc-fill-survives-acquire": "an instruction fetch on its way while its unit acquires",
    "tcp-fill-survives-acquire": "a fill overtaken by a whole hand-over, on ordered channels",
    "tcc-acknowledges-before-the-directory": "seen only by a reader that is faster than the write",
    "tcc-probed-victim-is-written-again": "a DMA write between grant and data of a victim",
    "dir-l3-merge-stays-clean": "a merged line must leave the L3 before it is stored into again",
    "dir-performs-twice-in-the-l3": "a system-scope atomic on a line that the L3 holds",
    "mi-late-order-wakes-nobody": "4 of 5 seeds",
    "mi-late-putx-not-expected": "4 of 5 seeds",
}
"""Bugs that the default campaign does not find in 2,000 episodes of every seed yet, and what it
would take. They are hunted like the others, but only reported."""
BY_NAME: Final = {bug.name: bug for bug in BUGS}
