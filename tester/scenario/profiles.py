"""Named ways to attack: which system to build, and what to run on it.

One run cannot be good at everything: stale copies need a few hot lines and large caches, lost
victims many lines and small ones. A profile is a distribution over both; drawing from it gives a
`Scenario`, a plain value that is printed before the first tick. Invariant: every number is drawn
from a fork named after it, so fixing one on the command line, or adding another, changes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Final

from runtime.prng import Prng
from slicc.text.suggest import suggest
from tester.errors import ConfigError
from tester.generator.generator import GeneratorConfig
from tester.program.address_map import BANK_SKEW, DENSE, LINE_DUEL, SET_CONFLICT, MapConfig
from tester.scenario.profile_sampler import SIZES, Dice, set_stride
from tester.scenario.scenario import Scenario as Scenario
from tester.scenario.scenario import Shape as Shape
from tester.scenario.special_profiles import COMPARISONS, LATE, ON_REQUEST


def _replacement(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Small caches, many lines: victims race with requests, dirty data leaves in time."""
    shape = dice.shape(
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
    lengths = dice("lengths", (5,), (10,), (5, 10, 20))
    lines = max(8, shape.l2_lines * dice("pressure", 2, 4, 8))
    places = dice.spread(shape, lengths, lines, dice("groups", 4, 8, 16), layout=DENSE)
    sizes = dice("size_weights", *SIZES)
    hot = dice("hot_percent", 0, 30)
    return shape, dice.program(shape, places, lengths=lengths, size_weights=sizes, hot_percent=hot)


def _coherence(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Large caches, few lines, many units: a copy that should be gone is still there to be read."""
    shape = dice.shape(
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
    lengths = dice("lengths", (10,), (10,), (20,), (5, 40))
    crowd = dice("crowding", 60, 120, 250)
    places = dice.crowded(shape, lengths, crowd, dice("groups", 2, 4, 8))
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        load_percent=dice("load_percent", (20, 80), (50, 90)),
    )


def _hot_ping_pong(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Few groups that every unit wants: bytes travel from unit to unit all the time."""
    shape = dice.shape(
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
    lengths = dice("lengths", (10,), (10,), (4, 10, 40), (50,))
    crowd = dice("crowding", 60, 120, 320)
    places = dice.crowded(shape, lengths, crowd, dice("groups", 2, 3, 4))
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        tight_percent=dice("tight_percent", 15, 40),
    )


def _line_duel(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Two to four lines in total: every request meets another one for its line."""
    shape = dice.shape(
        units=(2, 4, 8),
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
    groups = dice("groups", 1, 2, 4)
    places = dice.build(
        MapConfig,
        groups=groups,
        locations=None,
        lines=max(dice("lines", 2, 3, 4), -(-groups // 4)),
        layout=LINE_DUEL,
        stride_lines=set_stride(shape),
    )
    return shape, dice.program(
        shape,
        places,
        lengths=dice("lengths", (2,), (4,), (4, 10)),
        size_weights=dice("size_weights", (4, 2, 2, 1), (1, 1, 1, 1), (1, 0, 0, 0)),
        repeat_percent=dice("repeat_percent", 20, 50),
    )


def _set_conflict(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """All lines fall into one or two sets of every cache: lines are replaced in the middle."""
    shape = dice.shape(
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
    lengths = dice("lengths", (5,), (10,), (3, 10))
    sets = dice("sets", 1, 2)
    places = dice.spread(
        shape,
        lengths,
        max(4, sets * shape.l2_ways * dice("pressure", 2, 3, 6)),
        dice("groups", 2, 4),
        layout=SET_CONFLICT,
        stride_lines=set_stride(shape),
        sets=sets,
    )
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
    )


def _lane_merge(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Wide wavefronts whose lanes share lines: coalescing, multi-word masks, split completions."""
    shape = dice.shape(
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
    lengths = dice("lengths", (6,), (10,), (4, 12))
    crowd, groups = dice("crowding", 100, 200), dice("groups", 2, 4)
    cluster = dice("cluster_bytes", 1, 16, 64, 64)
    places = dice.crowded(shape, lengths, crowd, groups, cluster_bytes=cluster)
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES, (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0)),
        pattern_percent=dice("pattern_percent", 60, 90),
        shared_group_percent=dice("shared_group_percent", 60, 90),
        lane_percent=dice("lane_percent", 70, 100),
    )


def _write_back(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Dirty lines in a second level of about the size of the data: partial lines, late victims."""
    shape = dice.shape(
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
    lengths = dice("lengths", (10,), (20,), (10, 40))
    lines = max(6, shape.l2_lines * dice("pressure", 1, 2, 3))
    places = dice.spread(shape, lengths, lines, dice("groups", 4, 8), layout=DENSE)
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        load_percent=dice("load_percent", (20, 80), (10, 50)),
    )


def _acquire_crossing(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Several waves per unit, short episodes: one wave's acquire meets another one's fills."""
    shape = dice.shape(
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
    lengths = dice("lengths", (2, 5), (5,), (3, 10))
    places = dice.crowded(shape, lengths, dice("crowding", 40, 80, 150), dice("groups", 2, 4))
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        load_percent=dice("load_percent", (40, 90), (20, 80)),
        bare_percent=dice("bare_percent", 0, 80, 100),
        peek_percent=dice("peek_percent", 50, 100),
        chase_percent=dice("chase_percent", 0, 10),
    )


def _relay(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Episodes of one or two actions that chase each other through a few lines: a byte is passed on
    as soon as it is stored, while other answers for its line are still on their way."""
    shape = dice.shape(
        units=(6, 8),
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
    lengths = dice("lengths", (1,), (1,), (1, 2))
    places = dice.crowded(shape, lengths, dice("crowding", 20, 40), dice("groups", 2, 4))
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        load_percent=dice("load_percent", (50, 90), (30, 70)),
        scope_percent=0,
        flush_percent=0,
        bare_percent=dice("bare_percent", 100, 100, 100, 60),
        chase_percent=dice("chase_percent", 60, 80),
        peek_percent=100,
        tight_percent=dice("tight_percent", 60, 100),
    )


def _system(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """A small GPU beside busy DMA engines and instruction caches: probes, wide scopes, flushes, and
    little room in the directories' caches."""
    shape = dice.shape(
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
    lengths = dice("lengths", (2,), (4,), (2, 8))
    lines = max(6, shape.l2_lines * dice("pressure", 1, 2))
    places = dice.spread(shape, lengths, lines, dice("groups", 2, 4), layout=DENSE)
    return shape, dice.program(
        shape,
        places,
        lengths=lengths,
        size_weights=dice("size_weights", *SIZES),
        load_percent=dice("load_percent", (20, 80), (40, 60)),
        scope_percent=dice("scope_percent", 0, 30),
        atomic_scope_percent=dice("atomic_scope_percent", 30, 60),
        quiet_percent=dice("quiet_percent", 20, 50),
        flush_percent=dice("flush_percent", 0, 30),
        bare_percent=dice("bare_percent", 0, 50),
        chase_percent=dice("chase_percent", 30, 60),
    )


def _bank_skew(dice: Dice) -> tuple[Shape, GeneratorConfig]:
    """Several banks and directories, most lines in one: orders that a single channel gives away."""
    shape = dice.shape(
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
    lengths = dice("lengths", (5,), (10,))
    places = dice.crowded(
        shape,
        lengths,
        dice("crowding", 80, 160, 320),
        dice("groups", 2, 4),
        layout=BANK_SKEW,
        stride_lines=max(shape.banks, shape.directories),
    )
    sizes = dice("size_weights", *SIZES)
    return shape, dice.program(shape, places, lengths=lengths, size_weights=sizes)


Profile = Callable[[Dice], tuple[Shape, GeneratorConfig]]

DEALT: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "replacement": _replacement,
        "coherence": _coherence,
        "hot-ping-pong": _hot_ping_pong,
        "line-duel": _line_duel,
        "set-conflict": _set_conflict,
        "lane-merge": _lane_merge,
        "write-back": _write_back,
        "acquire-crossing": _acquire_crossing,
        "relay": _relay,
        "system": _system,
        "bank-skew": _bank_skew,
    }
)
"""What `default` deals in turn (`tester.campaign.profile_schedule`)."""
PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({**DEALT, **LATE, **ON_REQUEST})
"""All that look for bugs."""
DEFAULT: Final = "default"

_OWN_NAMES: Final = frozenset({"pressure", "crowding"})
_NOT_FIXABLE: Final = frozenset(
    {"agents", "abilities", "episodes", "map", "camps", "smallest", "largest"}
)


def names() -> tuple[str, ...]:
    """All profiles, `default` (see `tester.campaign.profile_schedule`) first, those for comparisons
    last.
    """
    return (DEFAULT, *PROFILES, *COMPARISONS)


def options() -> dict[str, object]:
    """What can be fixed, with the value it has where a profile does not draw it."""
    everything = {
        **{f.name: f.default for f in fields(Shape)},
        **{f.name: f.default for f in fields(MapConfig)},
        **{f.name: f.default for f in fields(GeneratorConfig)},
    }
    return {name: value for name, value in everything.items() if name not in _NOT_FIXABLE}


def draw(profile: str, prng: Prng, fixed: Mapping[str, object] | None = None) -> Scenario:
    """A scenario of that profile. `fixed` (see `options`) replaces what would have been drawn.

    Raises ConfigError for an unknown profile or option and for impossible values.
    """
    fixed = dict(fixed or {})
    known = options()
    for name, value in fixed.items():
        if name in _OWN_NAMES:
            continue
        if name not in known:
            raise ConfigError(f"no option {name!r}; there are {', '.join(sorted(known))}")
        default = known[name]
        if default is not None and type(value) is not type(default):
            raise ConfigError(f"option {name} is {value!r}, {type(default).__name__} is needed")
    everything = {**PROFILES, **COMPARISONS}
    if profile not in everything:
        close = suggest(profile, names())
        hint = f"did you mean {close}?" if close else f"there are {', '.join(names())}"
        raise ConfigError(f"no profile {profile!r}; {hint}")
    dice = Dice(prng.fork(profile), fixed)
    shape, program = everything[profile](dice)
    return Scenario(profile, shape, program, dice.crowding)
