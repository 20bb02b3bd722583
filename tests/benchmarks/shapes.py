"""Systems and programs that engines are timed on, every size fixed.

Invariant: a shape says everything that decides how much work a run is, so that its figures can be
compared with those of other engines and of other days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tester.campaign.drawing.options import Options


@dataclass(frozen=True)
class Shape:
    """A system and program with every size fixed. Cache sizes are (sets, ways)."""

    units: int
    wavefronts: int
    lanes: int
    length: int
    l1: tuple[int, int]
    l2: tuple[int, int]
    episodes: int
    groups: int
    locations: int | None = None
    delays: str = "gem5"
    sizes: tuple[int, int, int, int] | None = None
    """How often an access has 1, 2, 4 or 8 bytes; None: drawn."""
    reference_lanes_per_second: int | None = None
    reference_transitions_per_lane: float | None = None

    def shortened(self, accesses: int = 40_000) -> Shape:
        """With about so many accesses, but an episode for every wavefront at least."""
        fitting = accesses // (self.lanes * (self.length + 2))
        wanted = max(self.units * self.wavefronts, fitting)
        return replace(self, episodes=min(self.episodes, wanted))

    def options(self, *, one_request_per_lane: bool) -> Options:
        fixed: dict[str, object] = {
            "units": self.units,
            "wavefronts": self.wavefronts,
            "lanes": self.lanes,
            "lengths": (self.length,),
            "l1_sets": self.l1[0],
            "l1_ways": self.l1[1],
            "l2_sets": self.l2[0],
            "l2_ways": self.l2[1],
            "dmas": 0,
            "fetchers": 0,
            "scalars": 0,
            "banks": 1,
            "directories": 1,
            "write_back": False,
            "replacement": "tree_plru",
            "l3_sets": 2,
            "l3_ways": 1,
            "l3_writes": False,
            "load_percent": (20, 80),
            "plain_percent": 100,
            "delays": self.delays,
            "groups": self.groups,
            "locations": self.locations,
            "size_weights": self.sizes,
        } | PLAIN
        return Options(
            seed=1,
            episodes=self.episodes,
            profile="coherence",
            fixed={name: value for name, value in fixed.items() if value is not None},
            one_request_per_lane=one_request_per_lane,
            leg_episodes=self.episodes,
        )


PLAIN = dict.fromkeys(
    (
        "scope_percent",
        "atomic_percent",
        "atomic_scope_percent",
        "quiet_percent",
        "bare_percent",
        "flush_percent",
        "peek_percent",
        "chase_percent",
        "instruction_percent",
        "unaligned_percent",
    ),
    0,
)
"""Every episode is a fetch-add, an acquire, loads and stores, a release and a fetch-add, as in what
it is compared with."""

_SMALL, _LARGE = ((2, 2), (8, 2)), ((256, 16), (1024, 16))


def _gem5(
    units: int,
    wavefronts: int,
    lanes: int,
    caches: tuple[tuple[int, int], tuple[int, int]],
    length: int,
    episodes: int,
    rate: int | None = None,
    transitions: float | None = None,
) -> Shape:
    """A preset of gem5's tester: 4-byte accesses, 10 groups of 10,000 locations."""
    return Shape(
        units,
        wavefronts,
        lanes,
        length,
        *caches,
        episodes,
        10,
        10_000,
        sizes=(0, 0, 1, 0),
        reference_lanes_per_second=rate,
        reference_transitions_per_lane=transitions,
    )


# What gem5 v24.0.0.1's tester completes a second on these systems (one request a lane), and its
# transitions for each request, retries among them; measured once on a 2.6 GHz EPYC virtual machine.
# None: its own protocol fails there. Episodes as it ran.
SHAPES: Final = {
    "8x2x16": Shape(
        *(8, 2, 16, 10, (16, 4), (64, 8), 3_000, 8, 384), delays="uniform", sizes=(4, 2, 2, 1)
    ),
    "gem5-small-small-short": _gem5(1, 1, 1, _SMALL, 10, 50_000, 49_600, 10.1),
    "gem5-medium-small-short": _gem5(4, 4, 16, _SMALL, 10, 8_000, 43_100, 9.9),
    "gem5-large-small-short": _gem5(8, 4, 32, _SMALL, 10, 3_200, 37_300, 10.0),
    "gem5-large-large-short": _gem5(8, 4, 32, _LARGE, 10, 1_600, 23_200, 17.8),
    "gem5-large-small-medium": _gem5(8, 4, 32, _SMALL, 100, 160, 30_200, 9.9),
    "gem5-large-large-long": _gem5(8, 4, 32, _LARGE, 500, 96, 60_000, 5.5),
    "gem5-large-large-medium": _gem5(8, 4, 32, _LARGE, 100, 320),
    "gem5-medium-large-medium": _gem5(4, 4, 16, _LARGE, 100, 320),
}
