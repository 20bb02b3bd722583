"""Profiles of contention for lines and resources, and those that `default` does not run.

`CONTENTION`: run by `default`. `ON_REQUEST`: a correct protocol may need more resources than this
one leaves. `COMPARISONS`: for processors alone, so that rates can be compared with those of other
testers.
Invariant: as in `tester.profiles.profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tester.generator.config import BYTES, CHECKS
from tester.generator.generator import GeneratorConfig
from tester.profiles.profile_draw import Shape
from tester.profiles.profile_sampler import SIZES, ProfileSampler, set_stride
from tester.program.address_map import DENSE, LINE_DUEL, MapConfig


def _random_check(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Tiny caches, one access at a time: the words of a table are stored byte by byte and loaded.
    Makes runs that can be compared with those of other testers of processors."""
    shape = sampler.shape(**_PROCESSORS)
    places = sampler.build(MapConfig)
    return shape, sampler.program(
        shape, places, lengths=(1,), pattern=CHECKS, plain_percent=100, instruction_percent=50
    )


def _own_bytes(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """As random-check, but every processor keeps to a byte of its own in every line."""
    shape = sampler.shape(**_PROCESSORS)
    places = sampler.build(MapConfig, lines=sampler("lines", 16, 64, 256))
    return shape, sampler.program(
        shape,
        places,
        lengths=sampler("lengths", (8,), (16,)),
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


def _scope_mix(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Every scope on every kind of access to hot lines, beside processors, engines and flushes."""
    shape = sampler.shape(
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
    lengths = sampler("lengths", (4,), (10,), (4, 16))
    places = sampler.crowded(shape, lengths, sampler("crowding", 60, 120), sampler("groups", 2, 4))
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", (1, 1, 4, 4), (0, 0, 1, 1), (1, 1, 1, 1)),
        scope_percent=sampler("scope_percent", 40, 70, 100),
        atomic_scope_percent=sampler("atomic_scope_percent", 30, 60),
        quiet_percent=sampler("quiet_percent", 20, 50),
        atomic_percent=sampler("atomic_percent", 20, 50),
        flush_percent=sampler("flush_percent", 0, 15, 40),
    )


def _starvation(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """One line, or two, that all agents access: every waiting request must be served in the end."""
    shape = sampler.shape(
        units=(4, 8, 16),
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
    groups = sampler("groups", 1, 2)
    places = sampler.build(
        MapConfig,
        groups=groups,
        locations=None,
        lines=sampler("lines", 1, 1, 2),
        layout=LINE_DUEL,
        stride_lines=set_stride(shape),
    )
    return shape, sampler.program(
        shape,
        places,
        lengths=sampler("lengths", (20,), (40,)),
        size_weights=sampler("size_weights", (4, 2, 1, 1), (1, 0, 0, 0)),
        repeat_percent=sampler("repeat_percent", 30, 60),
        tight_percent=sampler("tight_percent", 40, 100),
    )


def _probe_crossing(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Atomic operations and stores of every kind of agent on a few lines: probes meet requests of
    the shared cache that are under way."""
    shape = sampler.shape(
        units=(2, 4, 8),
        wavefronts=(1, 2),
        lanes=(2, 4),
        cpus=(2, 3),
        dmas=(2, 3, 5, 6),
        fetchers=(0, 1),
        scalars=(0, 0, 1),
        l1_sets=(2, 4),
        l1_ways=(1, 2),
        l2_sets=(2, 4),
        l2_ways=(1, 2),
        l3_sets=(2,),
        banks=(1, 1, 2),
        directories=(1, 1, 2),
        write_back=(False, True),
    )
    back = shape.write_back  # dirty lines are lost by what passes them, clean ones by operations
    lengths = sampler("lengths", (4,), (10,), (4, 10))
    groups = sampler("groups", 2, 4)
    lines = sampler("lines", *((4, 6, 8) if back else (2, 4, 6)))
    places = sampler.build(MapConfig, groups=groups, locations=None, lines=lines, layout=DENSE)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", (1, 1, 4, 2), (0, 0, 1, 1)),
        load_percent=sampler("load_percent", *(((10, 30), (30, 70)) if back else ((10, 30),))),
        scope_percent=sampler("scope_percent", *((20, 40) if back else (0, 0, 0, 20))),
        atomic_percent=sampler("atomic_percent", *((30, 80) if back else (80,))),
        quiet_percent=sampler("quiet_percent", 0, 30),
        flush_percent=sampler("flush_percent", *((15, 30) if back else (0, 0, 15))),
        bare_percent=sampler("bare_percent", 50, 100, 100),
        chase_percent=sampler("chase_percent", 0, 20),
    )


def _scarcity(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Busy banks, small tables and bounded buffers: transitions that must be tried again."""
    shape = sampler.shape(
        units=(2, 4, 8),
        wavefronts=(1, 2),
        lanes=(1, 2, 4),
        dmas=(1, 2, 3),
        l1_sets=(2, 4),
        l1_ways=(1, 2),
        l2_sets=(2, 4),
        l2_ways=(1, 2),
        banks=(1, 2),
        directories=(1, 2),
        write_back=(False, True),
        entries=(0, 4, 8),
        directory_entries=(0, 2, 2, 4),
        dma_entries=(0, 1, 2),
        busy_cycles=(0, 2, 4),
        array_banks=(1, 2),
        send_slots=(0, 1, 2),
    )
    lengths = sampler("lengths", (4,), (10,))
    lines = max(4, shape.l2_lines * sampler("pressure", 1, 2))
    groups = sampler("groups", 2, 4)
    places = sampler.spread(shape, lengths, lines, groups, layout=DENSE)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        hot_percent=sampler("hot_percent", 0, 30),
        atomic_percent=sampler("atomic_percent", 10, 30),
        chase_percent=sampler("chase_percent", 0, 30),
    )


def _resource_famine(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Few transactions, requests and transitions at a time: full tables and queues must drain
    again, and what is tried again must leave a turn to what it waits for."""
    shape = sampler.shape(
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
        transitions=(0, 1, 2),
    )
    lengths = sampler("lengths", (10,), (30,))
    places = sampler.spread(
        shape,
        lengths,
        max(8, shape.l2_lines * sampler("pressure", 2, 4)),
        sampler("groups", 2, 4),
        layout=DENSE,
    )
    sizes = sampler("size_weights", *SIZES)
    return shape, sampler.program(shape, places, lengths=lengths, size_weights=sizes)


CONTENTION: Final = MappingProxyType(
    {
        "scope-mix": _scope_mix,
        "starvation": _starvation,
        "probe-crossing": _probe_crossing,
        "scarcity": _scarcity,
    }
)
ON_REQUEST: Final = MappingProxyType({"resource-famine": _resource_famine})
COMPARISONS: Final = MappingProxyType({"random-check": _random_check, "own-bytes": _own_bytes})
