"""The catalogue of planted bugs. Invariant: names are unique and every class has a bug."""

from __future__ import annotations

from typing import Final

from tests.planted.bug import Bug
from tests.planted.directory_bugs import DIRECTORY_BUGS
from tests.planted.mesi_bugs import MESI_BUGS
from tests.planted.mi_bugs import MI_BUGS
from tests.planted.msi_bugs import MSI_BUGS
from tests.planted.pair_bugs import PAIR_BUGS
from tests.planted.resource_bugs import RESOURCE_BUGS
from tests.planted.snoop_bugs import SNOOP_BUGS
from tests.planted.viper_bugs import TCC_BUGS, TCP_BUGS

BUGS: Final[tuple[Bug, ...]] = (
    *TCP_BUGS,
    *TCC_BUGS,
    *DIRECTORY_BUGS,
    *MI_BUGS,
    *MSI_BUGS,
    *SNOOP_BUGS,
    *MESI_BUGS,
    *PAIR_BUGS,
    *RESOURCE_BUGS,
)
ELUSIVE: Final = {
    "msi-replaced-copy-is-not-reported": "a line read ahead that is replaced before a store",
    "apu-old-write-meets-a-reader": "a load of a pair between an older write and its answer",
    "apu-line-of-a-pair-covers-dirty-bytes": "a TCC that answers a probe before the line's owner",
    "apu-writer-misses-dirty-bytes": "a store of the GPU between a processor's load and store",
    "sqc-fill-survives-acquire": "an instruction fetch that a whole hand-over overtakes",
    "tcc-acknowledges-before-the-directory": "a DMA read that overtakes a written-through store",
    "tcc-whole-store-is-not-dirty": "a store of a whole line over dirty bytes, then its eviction",
    "tcc-probed-victim-is-written-again": "a DMA write to dirty bytes between request and grant",
}
"""Bugs that the default campaign does not find in 2,000 episodes of every seed, and what they wait
for. They are kept for improvements of the tester."""
BY_NAME: Final = {bug.name: bug for bug in BUGS}
