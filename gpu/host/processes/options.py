"""How the front end of a device behaves.

Invariant: options are chosen before a device is made and do not change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field

from gpu.dispatch.dispatcher import Placement
from gpu.packet_processor.command_processor import Apertures
from gpu.packet_processor.fences import Obey
from gpu.packet_processor.packet_processor import Pace
from slicc.text.lazy_dataclass import dataclass


def _to_output(text: str) -> None:
    sys.stdout.write(text)


@dataclass(frozen=True, slots=True)
class Options:
    """``dispatch_rate``: groups started per tick; None: no limit.
    ``slots``: queues that the packet processor serves at once; None: all. ``quantum``: ticks
    between two swaps while more queues exist; ``preempt``: queues that the runtime makes have
    context save areas, so that their waves can be taken off. ``printf``: called with the text that
    kernels print, after they have ended; ``printf_bytes``: room for what one dispatch prints, the
    rest is lost.
    """

    pace: Pace = field(default_factory=Pace)
    fences: Obey = Obey.HEADER
    placement: Placement = Placement.ROUND_ROBIN
    dispatch_rate: int | None = None
    slots: int | None = None
    quantum: int = 100_000
    preempt: bool = False
    printf: Callable[[str], object] = _to_output
    printf_bytes: int = 1 << 18
    apertures: Apertures = field(default_factory=Apertures)
