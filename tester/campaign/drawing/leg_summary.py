"""A leg in one line, and in a few: its system, and the program that runs on it.

Invariant: only what this system has is listed. Profiles set second levels, scopes and lanes; for a
protocol without them such fields would mislead.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, Final

from runtime.description import (
    DefectDescription,
    MachineDescription,
    SystemDescription,
    VariantDescription,
)
from slicc.text.lazy_dataclass import dataclass
from tester.generator.generator import GeneratorConfig
from tester.profiles import machine_roles
from tester.profiles.limited_resources import Limit
from tester.program.address_map import MapConfig

_WIDTH: Final = 96
_PROFILE: Final = 17
"""The longest name of one that is dealt by default."""
_PLACES: Final = ("groups", "locations", "lines", "layout", "fill_percent", "cluster_bytes")
_OF_THE_SYSTEM: Final = frozenset({"agents", "episodes", "map", "isolation_groups", "abilities"})
_FOR_WAVEFRONTS: Final = frozenset({"scope_percent", "atomic_scope_percent"})
_NEEDS: Final = {
    "flush_percent": "flush",
    "plain_percent": "plain",
    "instruction_percent": "instructions",
}
"""Parameters without meaning unless some agent has the ability."""
_FOR_LANES: Final = frozenset(
    {"cluster_bytes", "lane_percent", "shared_group_percent", "pattern_percent"}
)


@dataclass(frozen=True)
class LegSummary:
    """``line``: profile, system and length."""

    line: str
    profile: str = ""
    write_details: Callable[[], tuple[str, ...]] = tuple

    @cached_property
    def details(self) -> tuple[str, ...]:
        """What the system has, and the program's parameters as they apply to it."""
        return self.write_details()

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, which gets what there is to say."""
        return _with_details, (self.line, self.profile, self.details)


def _with_details(line: str, profile: str, details: tuple[str, ...]) -> LegSummary:
    return LegSummary(line, profile, lambda: details)


_WAYS: Final = {
    "linked": "load-linked",
    "conditional": "load-linked with store-conditional",
    "far": "far atomics",
}
NO_SUMMARY: Final = LegSummary("")


def leg_summary(
    profile: str,
    description: SystemDescription,
    config: GeneratorConfig,
    crowding: int | None,
    limits: Sequence[Limit],
    variants: Callable[[], Sequence[VariantDescription]],
) -> LegSummary:
    """What a leg is before its first tick. ``limits``, and what ``variants`` gives: of its
    system."""
    machines = ", ".join(f"{m.count} {name}" for name, m in description.machines.items() if m.count)
    lanes = sorted({agent.lanes for agent in config.agents})
    kinds = "".join(f", {kind}" for kind in dict.fromkeys(limit.kind for limit in limits))
    width = f" of {' or '.join(map(str, lanes))} lanes" if lanes != [1] else ""

    def details() -> tuple[str, ...]:
        return (
            f"{len(config.agents)} agents{width}",
            *_wrapped(_system(description)),
            *_wrapped(", ".join(each.called for each in variants())),
            *_wrapped(" ".join(limit.short for limit in limits)),
            *_wrapped(_program(config, crowding, machine_roles.has_gpu(description))),
        )

    line = f"{profile:<{_PROFILE}}  {config.episodes:>4} episodes  {machines}{kinds}"
    return LegSummary(line, profile, details)


def defects_summary(defects: Sequence[DefectDescription]) -> str:
    """The known defects that a run avoids."""
    lines = ["known defects are kept out of the way (--attack NAME, or --known-defects for all):"]
    for defect in defects:
        item = f"{defect.what} ({defect.where})" if defect.where else defect.what
        item = f"{defect.name}: {item}" if defect.name else item
        lines += textwrap.wrap(item, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join(lines)


def _system(description: SystemDescription) -> str:
    machines = [_machine(name, m) for name, m in description.machines.items() if m.count]
    policies = [c.replacement for m in description.machines.values() for c in m.caches.values()]
    ways = dict.fromkeys(_WAYS.get(r.atomics, "") for r in description.requesters.values())
    delays = f"{description.network.delays} delays"
    return ", ".join(filter(None, (*machines, *dict.fromkeys(policies), *ways, delays)))


def _machine(name: str, machine: MachineDescription) -> str:
    """``4 TCP (16x2)``: sets and ways of its caches, and the switches that profiles set."""
    inside = [f"{cache.sets}x{cache.ways}" for cache in machine.caches.values()]
    inside += [
        f"{switch}={str(machine.parameters[switch]).lower()}"
        for switch in machine_roles.SWITCHES
        if switch in machine.parameters
    ]
    return f"{machine.count} {name}" + (f" ({' '.join(inside)})" if inside else "")


def _program(config: GeneratorConfig, crowding: int | None, has_gpu: bool) -> str:
    default = GeneratorConfig(config.agents, None)
    hidden = frozenset() if has_gpu else _FOR_WAVEFRONTS
    able = config.all_abilities()
    hidden |= {
        knob for knob, ability in _NEEDS.items() if not any(getattr(a, ability) for a in able)
    }
    if all(agent.lanes == 1 for agent in config.agents):
        hidden |= _FOR_LANES
    knobs: dict[str, object] = {name: getattr(config.map, name) for name in _PLACES}
    assert knobs.keys() <= {f.name for f in fields(MapConfig)}
    if crowding is not None:
        knobs["crowding"] = crowding
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name not in _OF_THE_SYSTEM and value != getattr(default, field.name):
            knobs[field.name] = value
    return " ".join(
        f"{name}={_short(value)}"
        for name, value in knobs.items()
        if value is not None and name not in hidden
    )


def _short(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
