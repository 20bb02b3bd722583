"""What a compiled protocol is trained on, and when.

The legs are the same whatever the run is about: the first ones that the default profile deals to
the protocol. Measured on GPU_VIPER, code that was trained on them is as fast on other shapes as
code that was trained on those shapes themselves; so one trained object serves all runs.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.native.build import Sizes
from runtime.native.library import Library
from runtime.native.plan import Plans
from runtime.native.training import Exercise
from tester.campaign import Campaign, Options, manners_of
from tester.engines import CANNOT
from tester.native_leg import NativeLegRun, NativeProtocol, sizes_of

LESSONS: Final = "the first 60 legs of seed 1"
"""Names what :func:`run_legs` does: an object that has learnt something else has another key."""
_LEGS: Final = 60
_SEED: Final = 1
PATIENCE_SECONDS: Final = 120.0
"""Training takes some 15 seconds of a processor and saves a tenth of the time from then on: a run
that has lasted so long is likely to gain by it, or to be followed by others that do."""


class Trainer:
    """For one run. ``first``: before the first leg, whatever it takes."""

    lessons: Final = LESSONS

    def __init__(self, protocol: LoadedProtocol, first: bool = False) -> None:
        self.first = first
        self._protocol = protocol
        self._begin = time.monotonic()

    def due(self) -> bool:
        """Whether to begin."""
        return self.first or time.monotonic() - self._begin >= PATIENCE_SECONDS

    def exercise(self, sizes: Sizes) -> Exercise:
        """For an object of these sizes."""
        return partial(run_legs, self._protocol, sizes)


def run_legs(protocol: LoadedProtocol, sizes: Sizes, path: Path) -> None:
    """Let an object run the legs that it can; gives up when the parent of this process ends."""
    assert protocol.native is not None, "what was compiled has sources"
    library = Library(path)
    plans = Plans(protocol.info, protocol.native.shape)
    native = NativeProtocol(protocol.info, plans, lambda wanted, accesses: library)
    campaign = Campaign(protocol, Options(_SEED, 1 << 40))
    parent = os.getppid()
    for number in range(_LEGS):
        if os.getppid() != parent:
            return
        leg = campaign.plan(number).leg
        if sizes.serve(sizes_of(leg.description)):
            try:
                NativeLegRun(leg, native, manners_of(leg)).run()
            except CANNOT:
                continue
