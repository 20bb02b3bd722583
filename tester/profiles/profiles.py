"""Named test profiles: which system to build, and what to run on it.

One run cannot find every kind of bug: stale copies need a few hot lines and large caches, lost
victims many lines and small ones. A profile is a distribution over both; drawing from it gives a
`ProfileDraw`, a plain value that is printed before the first tick. Invariant: every number is drawn
from a fork named after it, so fixing one on the command line, or adding another, changes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Final

from runtime.prng import Prng
from slicc.text.suggest import suggest
from tester.errors import ConfigError
from tester.generator.generator import GeneratorConfig
from tester.profiles.profile_draw import ProfileDraw as ProfileDraw
from tester.profiles.profile_draw import Shape as Shape
from tester.profiles.profile_sampler import SIZES, ProfileSampler, set_stride
from tester.profiles.special_profiles import COMPARISONS, CONTENTION, ON_REQUEST
from tester.program.address_map import BANK_SKEW, DENSE, LINE_DUEL, SET_CONFLICT, MapConfig


def _replacement(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Small caches, many lines: victims race with requests, dirty data leaves in time."""
    shape = sampler.shape(
        units=(2, 4, 8),
        wavefronts=(1, 2),
        lanes=(1, 4, 8),
        l1_sets=(2, 2, 4),
        l1_ways=(1, 2, 2),
        l2_sets=(2, 4, 8),
        l2_ways=(1, 2, 2),
        banks=(1, 1, 2),
        directories=(1, 1, 2),
        write_back=(False, False, True),
    )
    lengths = sampler("lengths", (5,), (10,), (5, 10, 20))
    lines = max(8, shape.l2_lines * sampler("pressure", 2, 4, 8))
    places = sampler.spread(shape, lengths, lines, sampler("groups", 4, 8, 16), layout=DENSE)
    sizes = sampler("size_weights", *SIZES)
    hot = sampler("hot_percent", 0, 30)
    return shape, sampler.program(
        shape, places, lengths=lengths, size_weights=sizes, hot_percent=hot
    )


def _coherence(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Large caches, few lines, many units: a copy that should be gone is still there to be read."""
    shape = sampler.shape(
        units=(4, 8),
        wavefronts=(1, 2),
        lanes=(4, 8, 16),
        l1_sets=(64, 128),
        l1_ways=(4, 8),
        l2_sets=(128, 256),
        l2_ways=(4, 8),
        banks=(1, 1, 2),
        directories=(1, 2),
        write_back=(False, True),
    )
    lengths = sampler("lengths", (10,), (10,), (20,), (5, 40))
    crowding = sampler("crowding", 60, 120, 250)
    places = sampler.crowded(shape, lengths, crowding, sampler("groups", 2, 4, 8))
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        load_percent=sampler("load_percent", (20, 80), (50, 90)),
    )


def _hot_ping_pong(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Few groups that every unit uses: bytes move from unit to unit all the time."""
    shape = sampler.shape(
        units=(2, 4, 4, 8),
        wavefronts=(1,),
        lanes=(4, 8),
        l1_sets=(4, 8, 16),
        l1_ways=(4,),
        l2_sets=(16, 32),
        l2_ways=(4, 8),
        banks=(1, 1, 2),
        write_back=(False, False, True),
    )
    lengths = sampler("lengths", (10,), (10,), (4, 10, 40), (50,))
    crowding = sampler("crowding", 60, 120, 320)
    places = sampler.crowded(shape, lengths, crowding, sampler("groups", 2, 3, 4))
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        tight_percent=sampler("tight_percent", 15, 40),
    )


def _line_duel(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Two to four lines in total: every request meets another one for its line."""
    shape = sampler.shape(
        units=(2, 4, 8, 12),
        wavefronts=(1, 2),
        lanes=(1, 1, 2, 4),
        cpus=(1, 2, 3),
        dmas=(0, 1, 2),
        fetchers=(0, 1, 2),
        l1_sets=(2, 4, 16),
        l1_ways=(1, 2, 4),
        l2_sets=(2, 8),
        l2_ways=(1, 2, 8),
        banks=(1, 2),
        directories=(1, 2),
        write_back=(False, True),
    )
    groups = sampler("groups", 1, 2, 4)
    places = sampler.build(
        MapConfig,
        groups=groups,
        locations=None,
        lines=max(sampler("lines", 2, 3, 4), -(-groups // 4)),
        layout=LINE_DUEL,
        stride_lines=set_stride(shape),
    )
    return shape, sampler.program(
        shape,
        places,
        lengths=sampler("lengths", (2,), (4,), (4, 10)),
        size_weights=sampler("size_weights", (4, 2, 2, 1), (1, 1, 1, 1), (1, 0, 0, 0)),
        repeat_percent=sampler("repeat_percent", 20, 50),
    )


def _set_conflict(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """All lines fall into one or two sets of every cache: lines are replaced in the middle."""
    shape = sampler.shape(
        units=(2, 4, 8),
        wavefronts=(1, 2),
        lanes=(1, 4),
        l1_sets=(2, 8),
        l1_ways=(1, 2, 4),
        l2_sets=(4, 16),
        l2_ways=(1, 2, 4),
        banks=(1, 2),
        directories=(1, 2),
        write_back=(False, True),
    )
    lengths = sampler("lengths", (5,), (10,), (3, 10))
    sets = sampler("sets", 1, 2)
    places = sampler.spread(
        shape,
        lengths,
        max(4, sets * shape.l2_ways * sampler("pressure", 2, 3, 6)),
        sampler("groups", 2, 4),
        layout=SET_CONFLICT,
        stride_lines=set_stride(shape),
        sets=sets,
    )
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
    )


def _lane_merge(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Wide wavefronts whose lanes share lines: coalescing, multi-word masks, split completions."""
    shape = sampler.shape(
        units=(2, 4),
        wavefronts=(1, 2),
        lanes=(8, 16, 32, 64),
        l1_sets=(4, 16),
        l1_ways=(2, 4),
        l2_sets=(16, 64),
        l2_ways=(4,),
        banks=(1, 1, 2),
        write_back=(False, True),
    )
    lengths = sampler("lengths", (6,), (10,), (4, 12))
    crowding, groups = sampler("crowding", 100, 200), sampler("groups", 2, 4)
    cluster = sampler("cluster_bytes", 1, 16, 64, 64)
    places = sampler.crowded(shape, lengths, crowding, groups, cluster_bytes=cluster)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES, (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0)),
        pattern_percent=sampler("pattern_percent", 60, 90),
        shared_group_percent=sampler("shared_group_percent", 60, 90),
        lane_percent=sampler("lane_percent", 70, 100),
    )


def _whole_line(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Lanes that fill a line with one store, beside others that fill a part of it."""
    shape = sampler.shape(
        units=(2, 4),
        wavefronts=(1, 2),
        lanes=(8, 8, 16),
        l1_sets=(4, 16),
        l1_ways=(2, 4),
        l2_sets=(2, 4, 16),
        l2_ways=(2, 4),
        banks=(1, 1, 2),
        write_back=(False, True, True),
    )
    lengths = sampler("lengths", (6,), (10,), (4, 12))
    crowding, groups = sampler("crowding", 300, 400), sampler("groups", 2, 4)
    places = sampler.crowded(shape, lengths, crowding, groups, cluster_bytes=64)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=(0, 0, 0, 1),
        load_percent=sampler("load_percent", (0, 20), (10, 40)),
        pattern_percent=100,
        shared_group_percent=100,
        lane_percent=sampler("lane_percent", 90, 95),
    )


def _write_back(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Dirty lines in a second level of about the size of the data: partial lines, late victims."""
    shape = sampler.shape(
        units=(4, 8),
        wavefronts=(1, 2),
        lanes=(2, 4, 8),
        l1_sets=(2, 4, 16),
        l1_ways=(2, 4),
        l2_sets=(2, 8, 16),
        l2_ways=(2, 4),
        banks=(1, 2),
        directories=(1, 2),
        write_back=(True,),
    )
    lengths = sampler("lengths", (10,), (20,), (10, 40))
    lines = max(6, shape.l2_lines * sampler("pressure", 1, 2, 3))
    places = sampler.spread(shape, lengths, lines, sampler("groups", 4, 8), layout=DENSE)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        load_percent=sampler("load_percent", (20, 80), (10, 50)),
    )


def _acquire_crossing(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Several waves per unit, short episodes: one wave's acquire meets another one's fills."""
    shape = sampler.shape(
        units=(2, 4),
        wavefronts=(4, 4, 6, 8),
        lanes=(2, 4, 8),
        l1_sets=(4, 16),
        l1_ways=(2, 4),
        l2_sets=(16, 64),
        l2_ways=(4,),
        banks=(1, 2),
        write_back=(False, True, True),
        delays=("gem5", "heavy_tail", "heavy_tail", "skewed", "uniform", "stragglers"),
    )
    lengths = sampler("lengths", (2, 5), (5,), (3, 10))
    places = sampler.crowded(
        shape, lengths, sampler("crowding", 40, 80, 150), sampler("groups", 2, 4)
    )
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        load_percent=sampler("load_percent", (40, 90), (20, 80)),
        bare_percent=sampler("bare_percent", 0, 80, 100),
        peek_percent=sampler("peek_percent", 50, 100),
        chase_percent=sampler("chase_percent", 0, 10),
    )


def _relay(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Episodes of one or two actions that follow each other closely through a few lines: a byte is
    handed over as soon as it is stored, while other answers for its line are still in flight."""
    shape = sampler.shape(
        units=(6, 8, 12, 12),
        wavefronts=(2, 3, 4),
        lanes=(8,),
        dmas=(0, 0, 0, 0, 1),
        fetchers=(0, 0, 0, 0, 2),
        fetch_waves=(2, 4),
        l1_sets=(4, 16),
        l1_ways=(4,),
        l2_sets=(16, 64),
        l2_ways=(4,),
        banks=(1, 1, 2),
        write_back=(True, True, True, True, False),
        delays=("heavy_tail", "heavy_tail", "heavy_tail", "heavy_tail", "gem5", "stragglers"),
    )
    lengths = sampler("lengths", (1,), (1,), (1, 2))
    places = sampler.crowded(
        shape, lengths, sampler("crowding", 20, 40), sampler("groups", 1, 1, 1, 2)
    )
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        load_percent=sampler("load_percent", (50, 90), (30, 70)),
        shared_group_percent=sampler("shared_group_percent", 25, 100),
        scope_percent=0,
        flush_percent=0,
        bare_percent=sampler("bare_percent", 100, 100, 100, 100, 70),
        chase_percent=sampler("chase_percent", 60, 100, 100),
        peek_percent=100,
        peek_bypass_percent=sampler("peek_bypass_percent", 0, 0, 0, 0, 30),
        tight_percent=sampler("tight_percent", 60, 100, 100),
    )


def _system(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """A small GPU beside busy DMA engines and instruction caches: probes, wide scopes, flushes, and
    little room in the directories' caches."""
    shape = sampler.shape(
        units=(2, 3),
        wavefronts=(1, 2),
        lanes=(2, 4),
        dmas=(2, 3),
        fetchers=(1, 2),
        fetch_waves=(2, 3),
        l1_sets=(2, 4, 16),
        l1_ways=(2, 4),
        l2_sets=(2, 2, 16),
        l2_ways=(2, 4),
        l3_sets=(2,),
        l3_ways=(1, 2),
        banks=(1, 2),
        directories=(1, 1, 2),
        write_back=(True, False),
        delays=("gem5", "heavy_tail", "stragglers", "uniform"),
    )
    lengths = sampler("lengths", (2,), (4,), (2, 8))
    lines = max(6, shape.l2_lines * sampler("pressure", 1, 2))
    places = sampler.spread(shape, lengths, lines, sampler("groups", 2, 4), layout=DENSE)
    return shape, sampler.program(
        shape,
        places,
        lengths=lengths,
        size_weights=sampler("size_weights", *SIZES),
        load_percent=sampler("load_percent", (20, 80), (40, 60)),
        scope_percent=sampler("scope_percent", 0, 30),
        atomic_scope_percent=sampler("atomic_scope_percent", 30, 60),
        quiet_percent=sampler("quiet_percent", 20, 50),
        flush_percent=sampler("flush_percent", 0, 30),
        bare_percent=sampler("bare_percent", 0, 50),
        chase_percent=sampler("chase_percent", 30, 60),
    )


def _bank_skew(sampler: ProfileSampler) -> tuple[Shape, GeneratorConfig]:
    """Several banks and directories, most lines in one: orders that a single channel hides."""
    shape = sampler.shape(
        units=(4, 8),
        wavefronts=(1, 2),
        lanes=(2, 4, 8),
        l1_sets=(4, 16),
        l1_ways=(2, 4),
        l2_sets=(4, 16),
        l2_ways=(2, 4),
        banks=(2, 4),
        directories=(2, 2, 4),
        write_back=(False, True),
        delays=("skewed", "skewed", "heavy_tail", "gem5"),
    )
    lengths = sampler("lengths", (5,), (10,))
    places = sampler.crowded(
        shape,
        lengths,
        sampler("crowding", 80, 160, 320),
        sampler("groups", 2, 4),
        layout=BANK_SKEW,
        stride_lines=max(shape.banks, shape.directories),
    )
    sizes = sampler("size_weights", *SIZES)
    return shape, sampler.program(shape, places, lengths=lengths, size_weights=sizes)


Profile = Callable[[ProfileSampler], tuple[Shape, GeneratorConfig]]

ROTATION: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "replacement": _replacement,
        "coherence": _coherence,
        "hot-ping-pong": _hot_ping_pong,
        "line-duel": _line_duel,
        "set-conflict": _set_conflict,
        "lane-merge": _lane_merge,
        "whole-line": _whole_line,
        "write-back": _write_back,
        "acquire-crossing": _acquire_crossing,
        "relay": _relay,
        "system": _system,
        "bank-skew": _bank_skew,
        **CONTENTION,
    }
)
"""What `default` runs in turn (`tester.campaign.drawing.profile_schedule`)."""
PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({**ROTATION, **ON_REQUEST})
"""All that look for bugs."""
DEFAULT: Final = "default"

_OWN_NAMES: Final = frozenset({"pressure", "crowding"})
_NOT_FIXABLE: Final = frozenset(
    {"agents", "abilities", "episodes", "map", "isolation_groups", "smallest", "largest"}
)


def names() -> tuple[str, ...]:
    """All profiles, `default` (see `tester.campaign.drawing.profile_schedule`) first, those for
    comparisons last.
    """
    return (DEFAULT, *PROFILES, *COMPARISONS)


def check_name(profile: str) -> None:
    """Raises ConfigError unless it is one of `names`."""
    if profile not in names():
        raise _no_profile(profile)


def _no_profile(profile: str) -> ConfigError:
    close = suggest(str(profile), names())
    hint = f"did you mean {close}?" if close else f"there are {', '.join(names())}"
    return ConfigError(f"no profile {profile!r}; {hint}")


@cache
def options() -> Mapping[str, object]:
    """What can be fixed, with the value it has where a profile does not draw it."""
    everything = {
        **{f.name: f.default for f in fields(Shape)},
        **{f.name: f.default for f in fields(MapConfig)},
        **{f.name: f.default for f in fields(GeneratorConfig)},
    }
    return MappingProxyType(
        {name: value for name, value in everything.items() if name not in _NOT_FIXABLE}
    )


def check_fixed(fixed: Mapping[str, object]) -> None:
    """Raises ConfigError for an option that does not exist, and for a value of another type."""
    known = options()
    for name, value in fixed.items():
        if name in _OWN_NAMES:
            continue
        if name not in known:
            raise ConfigError(f"no option {name!r}; there are {', '.join(sorted(known))}")
        default = known[name]
        if default is not None and type(value) is not type(default):
            raise ConfigError(f"option {name} is {value!r}, {type(default).__name__} is needed")


def draw(profile: str, prng: Prng, fixed: Mapping[str, object] | None = None) -> ProfileDraw:
    """One draw from that profile. `fixed` (see `options`) replaces what would have been drawn.

    Raises ConfigError for an unknown profile or option and for impossible values.
    """
    fixed = dict(fixed or {})
    check_fixed(fixed)
    everything = {**PROFILES, **COMPARISONS}
    if profile not in everything:
        raise _no_profile(profile)
    sampler = ProfileSampler(prng.fork(profile), fixed)
    shape, program = everything[profile](sampler)
    return ProfileDraw(profile, shape, program, sampler.crowding)
