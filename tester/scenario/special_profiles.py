"""Profiles that `default` deals late or not at all.

`LATE`: from the second round on (`tester.campaign.profile_schedule`), so that short runs find what
they always found. `ON_REQUEST`: a right protocol may need more room than this one leaves.
`COMPARISONS`: for processors alone, so that rates can be set beside those of other testers.
Invariant: as in `tester.scenario.profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tester.generator.config import BYTES, CHECKS
from tester.generator.generator import GeneratorConfig
from tester.program.address_map import DENSE, LINE_DUEL, MapConfig
from tester.scenario.profile_sampler import SIZES, Dice, set_stride
from tester.scenario.scenario import Shape


def _random_check(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Tiny caches, one access at a time: the words of a table are stored byte by byte and loaded.
    Makes runs that can be compared with those of other testers of processors."""
    shape = dice.shape(**_PROCESSORS)
    places = dice.build(MapConfig)
    return shape, dice.program(
        shape, places, lengths=(1,), pattern=CHECKS, plain_percent=100, instruction_percent=50
    )


def _own_bytes(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """As random-check, but every processor keeps to a byte of its own in every line."""
    shape = dice.shape(**_PROCESSORS)
    places = dice.build(MapConfig, lines=dice("lines", 16, 64, 256))
    return shape, dice.program(
        shape,
        places,
        lengths=dice("lengths", (8,), (16,)),
        load_percent=(65, 65),
        pattern=BYTES,
        plain_percent=100,
    )


_PROCESSORS: Final[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "units": (4, 8),
        "processor_threads": (1,),
        "dmas": (0,),
        "fetchers": (0,),
        "l1_sets": (2,),
        "l1_ways": (2,),
        "l2_sets": (4,),
        "l2_ways": (2,),
        "banks": (1,),
        "delays": ("gem5",),
        "replacement": ("lru",),
    }
)
"""Caches of 256 and 512 bytes with lines of 64."""


def _scope_mix(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Every scope on every kind of access to hot lines, beside processors, engines and flushes."""
    shape = dice.shape(
        units=(2, 4),
        wavefronts=(1, 2),
        lanes=(2, 4, 8),
        dmas=(0, 1, 2),
        l1_sets=(4, 16),
        l1_ways=(2, 4),
        l2_sets=(4, 16),
        l2_ways=(2, 4),
        banks=(1, 2),
        write_back=(False, True),
    )
    lengths = dice("lengths", (4,), (10,), (4, 16))
    places = dice.crowded(shape, lengths, dice("crowding", 60, 120), dice("groups", 2, 4))
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", (1, 1, 4, 4), (0, 0, 1, 1), (1, 1, 1, 1)),
        scope_percent=dice("scope_percent", 40, 70, 100),
        atomic_scope_percent=dice("atomic_scope_percent", 30, 60),
        quiet_percent=dice("quiet_percent", 20, 50),
        atomic_percent=dice("atomic_percent", 20, 50),
        flush_percent=dice("flush_percent", 0, 15, 40),
    )


def _starvation(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """One line, or two, that everybody storms: who waits there must be served in the end."""
    shape = dice.shape(
        units=(4, 8),
        wavefronts=(1, 2),
        lanes=(1, 2, 4),
        dmas=(0, 1, 2),
        l1_sets=(2, 8),
        l1_ways=(1, 2),
        l2_sets=(2, 8),
        l2_ways=(1, 2),
        banks=(1, 2),
        write_back=(False, True),
        delays=("gem5", "skewed", "stragglers", "heavy_tail"),
    )
    groups = dice("groups", 1, 2)
    places = dice.build(
        MapConfig,
        groups=groups,
        locations=None,
        lines=dice("lines", 1, 1, 2),
        layout=LINE_DUEL,
        stride_lines=set_stride(shape),
    )
    return shape, dice.program(
        shape,
        places,
        lengths=dice("lengths", (20,), (40,)),
        size_weights=dice("size_weights", (4, 2, 1, 1), (1, 0, 0, 0)),
        repeat_percent=dice("repeat_percent", 30, 60),
        tight_percent=dice("tight_percent", 40, 100),
    )


def _resource_famine(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Room for a few transactions and requests only: what is full must empty again."""
    shape = dice.shape(
        units=(2, 4),
        wavefronts=(1, 2),
        lanes=(1, 2, 4),
        l1_sets=(2, 4),
        l1_ways=(1, 2),
        l2_sets=(2, 4),
        l2_ways=(1, 2),
        banks=(1,),
        directories=(1,),
        write_back=(False, True),
        entries=(1, 2, 4),
        outstanding=(1, 2),
    )
    lengths = dice("lengths", (10,), (30,))
    places = dice.spread(
        shape,
        lengths,
        max(8, shape.l2_lines * dice("pressure", 2, 4)),
        dice("groups", 2, 4),
        layout=DENSE,
    )
    sizes = dice("size_weights", *SIZES)
    return shape, dice.program(shape, places, lengths=lengths, size_weights=sizes)


LATE: Final = MappingProxyType({"scope-mix": _scope_mix, "starvation": _starvation})
ON_REQUEST: Final = MappingProxyType({"resource-famine": _resource_famine})
COMPARISONS: Final = MappingProxyType({"random-check": _random_check, "own-bytes": _own_bytes})
