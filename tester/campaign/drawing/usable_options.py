"""Options that nothing in a protocol's system could obey are refused by name.

Invariant: an option is refused only if no value of it would change any system or program.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, cast

from protocols.loader import LoadedProtocol
from runtime.description import DefectDescription
from slicc.text.suggest import suggest
from tester.campaign.drawing.known_defects import avoided_defects
from tester.errors import ConfigError
from tester.profiles.machine_roles import has_gpu, overrides
from tester.profiles.profile_draw import Shape

_LACKS: Final = {
    "units": "first-level cache with a port",
    "wavefronts": "wavefronts",
    "lanes": "lanes",
    "cpus": "processors beside a GPU",
    "banks": "second level",
    "directories": "directory",
    "l1_sets": "first-level cache whose size could be set",
    "l1_ways": "first-level cache whose size could be set",
    "l2_sets": "second level",
    "l2_ways": "second level",
    "write_back": "second level that may or may not keep dirty data",
}
"""What is missing where the field of a shape has no effect."""
_SIZES: Final = {"l1_size": "l1_sets", "l2_size": "l2_sets"}
_DECIDES: Final = {
    "l1_size": ("l1_sets", "l1_ways"),
    "l2_size": ("l2_sets", "l2_ways"),
    "delay": ("delays",),
}
"""Fields of a shape, of options that have another name."""

Given = tuple[str, Any, str]
"""An option that was given: its name, its value, and how messages write both."""


def check_usable(
    protocol: LoadedProtocol,
    given: Iterable[Given],
    known_defects: bool = False,
    attack: Collection[str] = (),
    avoid: Collection[str] = (),
    assignments: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Raises ConfigError for the first option that cannot have an effect."""
    given = list(given)
    for name, _, text in given:
        lack = _lack(_SIZES.get(name, name), protocol)
        if lack:
            there = ", ".join(n for n, m in protocol.description.machines.items() if m.count)
            raise ConfigError(
                f"{text} would have no effect: {protocol.identity.name} has no {lack} "
                f"(it has {there})"
            )
    _check_set(given, assignments, protocol)
    _check_names(attack, avoid, protocol)
    for defect in avoided_defects(protocol, known_defects, attack, avoid):
        for name, value, text in given:
            path = _overruled(name, value, defect, protocol)
            if path:
                quoted = shlex.quote(defect.called)
                leave = f"Leave out --avoid {quoted}"
                advice = leave if defect.called in avoid else f"Add --attack {quoted}"
                raise ConfigError(
                    f"{text} asks for what keeps a known defect out of the way: {path} is set "
                    f"because {defect.what}. {advice}"
                )


def _check_set(
    given: Sequence[Given], assignments: Mapping[str, object], protocol: LoadedProtocol
) -> None:
    """An option beside a ``--set`` of a field that it decides: one would be ignored."""
    for path, stated in assignments.items():
        for name, value, text in given:
            for field in _DECIDES.get(name, (name,)):
                wanted = _wanted(field, value, protocol)
                if path in wanted and (name in _SIZES or wanted[path] != stated):
                    raise ConfigError(
                        f"{text} and --set {path}={stated} decide the same: leave one of them out"
                    )


def _check_names(attack: Collection[str], avoid: Collection[str], protocol: LoadedProtocol) -> None:
    there = [each.called for each in protocol.written.defects]
    absent = [each.called for each in protocol.absent_defects]
    for option, names, known in (
        ("--attack", attack, there),
        ("--avoid", avoid, [*there, *absent]),
    ):
        for name in names:
            if name not in known:
                near = suggest(name, known)
                meant = f"; did you mean {near}?" if near else ""
                raise ConfigError(
                    f"{option} {name}: {protocol.identity.name} has no such known defect{meant} "
                    f"(known: {', '.join(known) or 'none'})"
                )


def _overruled(name: str, value: Any, defect: DefectDescription, protocol: LoadedProtocol) -> str:
    """The field with which an avoided defect decides otherwise than an option; empty: none."""
    wanted = _wanted(name, value, protocol)
    scoped = name == "scope_percent" and value
    for path, kept in defect.avoid.items():
        without = cast("Sequence[str]", kept) if path.endswith(".without") else ()
        if wanted.get(path, kept) != kept or (scoped and "scopes" in without):
            return path
    return ""


def _wanted(name: str, value: Any, protocol: LoadedProtocol) -> dict[str, object]:
    """The fields of the description that an option of the shape decides, and their values."""
    if name not in _LACKS and name != "delays":
        return {}
    wanted, other = (
        overrides(replace(Shape(), **{name: each}), protocol.info, protocol.description)
        for each in (value, _other(value))
    )
    return {path: given for path, given in wanted.items() if other.get(path) != given}


def _lack(name: str, protocol: LoadedProtocol) -> str:
    if name == "scope_percent" and not has_gpu(protocol.description):
        return "access that bypasses caches"
    if name == "one_request_per_lane" and not _coalesces(protocol):
        return "coalescer"
    if name not in _LACKS:
        return ""
    plain = overrides(Shape(), protocol.info, protocol.description)
    other = _other(getattr(Shape(), name))
    changed = overrides(replace(Shape(), **{name: other}), protocol.info, protocol.description)
    return _LACKS[name] if changed == plain else ""


def _other(value: Any) -> Any:
    """Another value of the same type."""
    return not value if isinstance(value, bool) else 2 * value


def _coalesces(protocol: LoadedProtocol) -> bool:
    requesters = protocol.description.requesters.values()
    return any((each.class_name or "").endswith("Coalescer") for each in requesters)
