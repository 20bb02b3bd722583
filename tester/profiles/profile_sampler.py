"""Samples the parts of a `ProfileDraw` by name: what all profiles share, and how a map is sized.

Invariant: every number is drawn from a fork named after it, so fixing one on the command line, or
adding another, changes no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final, TypeVar

from runtime.controller.declarations import once_a_class
from runtime.prng import Prng
from tester.generator.generator import GeneratorConfig
from tester.profiles.profile_draw import Shape, locations_for, under_way
from tester.program.address_map import MapConfig
from tester.program.program import AgentSpec

T = TypeVar("T")


class ProfileSampler:
    """Samples values by name; a value that the user fixed is not drawn."""

    def __init__(self, prng: Prng, fixed: Mapping[str, object]) -> None:
        self._prng = prng
        self._fixed = fixed
        self.crowding: int | None = None

    def __call__(self, name: str, *choices: T) -> T:
        """One of the choices (repeat one to make it likelier)."""
        drawn = choices[self._prng.below_in(name, len(choices))]
        return self._fixed.get(name, drawn)  # type: ignore[return-value]

    def build(self, kind: type[T], **drawn: Any) -> T:
        """A configuration of the drawn values; fixed ones win."""
        fixed = {name: value for name, value in self._fixed.items() if name in _names(kind)}
        return kind(**(drawn | fixed))

    def shape(self, **choices: tuple[Any, ...]) -> Shape:
        """A shape with each field drawn from its choices."""
        choices = {
            "delays": ("nominal", "uniform", "gem5", "gem5", "heavy_tail", "skewed", "stragglers"),
            "replacement": ("tree_plru", "lru"),
            "cpus": (1, 2, 2),
            "dmas": (0, 1, 1, 2),
            "fetchers": (0, 0, 1, 2),
            "scalars": (0, 0, 1, 2),
            "fetch_waves": (1, 2, 3),
            "processor_threads": (1,),
            "entries": (0,),
            "outstanding": (0,),
            "atomics": ("line", "line", "linked", "conditional", "far"),
            "l3_sets": (2, 2, 2, 32),
            "l3_ways": (1, 1, 2, 4),
            "l3_writes": (False, True, True),
        } | choices
        shape = self.build(Shape, **{name: self(name, *of) for name, of in choices.items()})
        shape.check()
        return shape

    def program(self, shape: Shape, places: MapConfig, **drawn: Any) -> GeneratorConfig:
        agents = _stand_ins(shape.units, shape.wavefronts, shape.lanes)
        drawn = {
            "scope_percent": self("scope_percent", 0, 0, 10, 30),
            "atomic_scope_percent": self("atomic_scope_percent", 0, 0, 20),
            "quiet_percent": self("quiet_percent", 0, 30),
            "atomic_percent": self("atomic_percent", 0, 10, 30),
            "bare_percent": self("bare_percent", 0, 0, 50),
            "chase_percent": self("chase_percent", 0, 0, 10),
            "peek_percent": self("peek_percent", 0, 50, 100),
            "peek_bypass_percent": self("peek_bypass_percent", 0, 50),
            "plain_percent": self("plain_percent", 50, 80, 100),
            "instruction_percent": self("instruction_percent", 0, 20, 50),
            "unaligned_percent": self("unaligned_percent", 0, 20, 50),
            "flush_percent": self("flush_percent", 0, 0, 15),
        } | drawn
        return self.build(GeneratorConfig, agents=agents, episodes=None, map=places, **drawn)

    def crowded(
        self, shape: Shape, lengths: tuple[int, ...], percent: int, groups: int, **drawn: Any
    ) -> MapConfig:
        """A map with `percent` / 100 locations for every access that is under way at a time."""
        if self._fixed.get("locations") is None:
            self.crowding = percent
        accesses = under_way(shape.agents * shape.lanes, lengths)
        locations = locations_for(accesses, percent, groups)
        return self.build(MapConfig, groups=groups, locations=locations, **drawn)

    def spread(
        self, shape: Shape, lengths: tuple[int, ...], lines: int, groups: int, **drawn: Any
    ) -> MapConfig:
        """A map of `lines` lines, or of more if half of the accesses would find no location."""
        fill = self("fill_percent", 30, 60, 100)
        least = under_way(shape.agents * shape.lanes, lengths) * 50 // (_LOCATIONS_PER_LINE * fill)
        return self.build(
            MapConfig,
            groups=groups,
            locations=None,
            lines=max(lines, least, -(-groups // 4)),
            fill_percent=fill,
            **drawn,
        )


@lru_cache(256)
def _stand_ins(units: int, wavefronts: int, lanes: int) -> tuple[AgentSpec, ...]:
    """For the agents of a system that is not known yet."""
    return tuple(
        AgentSpec("gpu", unit, lanes, f"unit{unit}.wave{wave}")
        for unit in range(units)
        for wave in range(wavefronts)
    )


@once_a_class
def _names(kind: type[Any]) -> frozenset[str]:
    """Of a configuration's fields."""
    return frozenset(each.name for each in fields(kind))


_LOCATIONS_PER_LINE: Final = 14
"""About how many locations a line of 64 bytes is cut into."""
SIZES: Final = ((0, 0, 1, 0), (1, 1, 4, 1), (1, 1, 4, 1), (4, 2, 2, 1), (1, 1, 1, 1))
"""How often an access has 1, 2, 4 or 8 bytes: what most profiles choose from."""


def set_stride(shape: Shape) -> int:
    """Lines this far apart share a set in both levels, a bank and a directory."""
    return max(shape.l1_sets, shape.l2_sets * shape.banks) * shape.directories
