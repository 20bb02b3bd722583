"""Finds the description of a protocol that others wrote, among files of known facts.

A protocol is recognised by its contents: by the states of its machines (``states.toml`` in the
directory has those of every protocol that a file describes) and by the parameters and buffers that
the file names. The protocol's name only sets the threshold: half of them must agree where the name
matches, most of them where it does not. Invariant: the description that is returned names only what
the protocol declares; for a fork without a certain buffer, facts about that buffer are dropped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from protocols.checkout_order import orders_of, script_of, values_of
from protocols.known_defects import NO_BODIES, Bodies, may_show
from runtime.controller.declarations import BufferParameter, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import (
    BufferDescription,
    DefectDescription,
    MachineDescription,
    RequesterDescription,
    SystemDescription,
    load_description,
)
from runtime.description.inference import REQUESTERS
from runtime.description.origin import Origin
from runtime.description.parameters import INHERITED
from slicc.text.lazy_dataclass import dataclass

V = TypeVar("V")
States = Mapping[str, frozenset[str]]
"""States by machine."""

STATES: Final = "states.toml"
_NAMED, _UNNAMED = 0.5, 0.75
"""The share of its states and declarations that must agree, with the name and without it."""
_ENOUGH: Final = 10
"""States that a protocol needs to be recognised without its name; fewer prove nothing."""


class Written(NamedTuple):
    """A description, and a line for the user on how it was chosen (or nothing)."""

    description: SystemDescription
    note: str = ""
    known: bool = False
    """Whether it is that of a known protocol, fitted to another text."""
    absent: tuple[DefectDescription, ...] = ()
    """Defects of the description that this text cannot have."""


def written_system(
    path: Path,
    system: Path | None,
    protocol: ProtocolInfo,
    names: Iterable[str],
    known: Path,
    bodies: Bodies = NO_BODIES,
) -> Written:
    """The written description of a protocol's system: ``system``, else the TOML file beside the
    protocol's own ``path``, else a file of the directory ``known``, else an empty one. Where none
    of the directory serves, buffers that it does not mention keep the order that the configuration
    script beside the protocol states (`protocols.checkout_order`).

    Defects that the protocol cannot have, going by its table and the ``bodies`` of its actions, are
    left out. Raises DescriptionError.
    """
    beside = path.with_suffix(".toml")
    if system is not None:
        found = Written(load_description(system))
    elif beside.is_file():
        found = Written(load_description(beside))
    else:
        found = known_system(protocol, names, known)
    if not found.known:
        found = _with_orders(found, path, protocol)
    description = found.description
    kept = tuple(defect for defect in description.defects if may_show(defect, protocol, bodies))
    absent = tuple(defect for defect in description.defects if defect not in kept)
    return found._replace(description=replace(description, defects=kept), absent=absent)


def _with_orders(found: Written, path: Path, protocol: ProtocolInfo) -> Written:
    """With what the configuration script beside the protocol says of buffers that the description
    does not mention."""
    script = script_of(path)
    if script is None or found.description.network.ordered:
        return found
    try:
        orders = orders_of(script, protocol)
    except ValueError as error:
        return Written(found.description, "; ".join(filter(None, (found.note, str(error)))))
    machines = dict(found.description.machines)
    groups = {machine.of for machine in machines.values()}
    added = 0
    for name in [*machines, *(name for name in orders if name not in {*machines, *groups})]:
        machine = machines.get(name, MachineDescription())
        ordered = orders.get(machine.of or name, set()) - machine.buffers.keys()
        if ordered:
            buffers = dict.fromkeys(sorted(ordered), BufferDescription(ordered=True))
            machines[name] = replace(machine, buffers={**machine.buffers, **buffers})
            added += len(ordered)
    if not added:
        return found
    note = f"{added} buffers keep order, as {script} says"
    return Written(
        replace(found.description, machines=machines), "; ".join(filter(None, (found.note, note)))
    )


def script_values(
    path: Path, protocol: ProtocolInfo, missing: Iterable[str]
) -> tuple[dict[str, object], str]:
    """Parameters that nothing else gives a value and the configuration script beside the protocol
    does, by path; and a line for the user that says so."""
    script = script_of(path)
    if script is None:
        return {}, ""
    try:
        stated = values_of(script, protocol)
    except ValueError:  # noted with the orders of buffers
        return {}, ""
    values: dict[str, object] = {each: stated[each] for each in missing if each in stated}
    said = ", ".join(f"{each} = {str(value).lower()}" for each, value in values.items())
    return values, f"{said}, as {script} says" if values else ""


def known_files(directory: Path) -> dict[str, Path]:
    """The descriptions of a directory, by the names of their protocols."""
    return {path.stem: path for path in sorted(directory.glob("*.toml")) if path.name != STATES}


def known_states(directory: Path) -> dict[str, States]:
    """The states of the protocols that a directory describes."""
    try:
        text = (directory / STATES).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {
        protocol: {machine: frozenset(names.split()) for machine, names in machines.items()}
        for protocol, machines in tomllib.loads(text).items()
    }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A description that may fit the protocol. ``name_match``: length of the name they share."""

    name: str
    known: SystemDescription
    name_match: int
    likeness: float


def known_system(protocol: ProtocolInfo, names: Iterable[str], directory: Path) -> Written:
    """The description that the files of a directory have of the protocol; ``names``: its names.

    An empty description if no file fits. Raises DescriptionError for a file that cannot
    be read.
    """
    called = tuple(dict.fromkeys((*names, protocol.name)))
    files = known_files(directory)
    states = known_states(directory)
    candidates = []
    refusal = ""
    for name, path in files.items():
        exact = name in called
        name_match = len(name) if exact or any(each.startswith(name) for each in called) else 0
        described = states.get(name, {})
        likeness = _likeness(described, protocol)
        if not name_match and sum(map(len, described.values())) < _ENOUGH:
            continue
        bar = _NAMED if name_match else _UNNAMED
        reason = f"{likeness:.0%} of its states agree" if likeness < bar else ""
        if not reason:
            known = load_description(path)
            reason = _unfit(known, protocol, bar)
            if not reason:
                candidates.append(_Candidate(name, known, name_match, likeness))
        if reason and exact:
            refusal = f"this is not the {name} that is known ({reason})"
    if not candidates:
        return Written(SystemDescription(), refusal and f"{refusal}: its system is inferred")
    best = max(candidates, key=lambda each: (each.name_match, each.likeness))
    note = refusal and f"{refusal}; it is taken for {best.name}"
    if not best.name_match and not note:
        note = f"{called[0]} is taken for {best.name}, by its machines and their states"
    idle = ", ".join(_undriven(best.known, protocol))
    if idle:
        note += f"{note and '; '}nothing drives {idle}, which the known {best.name} does not have"
    return Written(fit(best.known, protocol), note, known=True)


def _likeness(states: States, protocol: ProtocolInfo) -> float:
    """Shared states as a fraction of all states of both; 1 if no states are known."""
    if not states:
        return 1.0
    theirs = {machine.MACHINE: set(machine.STATES.members()) for machine in protocol.machines}
    common = every = 0
    for machine in {**states, **theirs}:
        one, other = states.get(machine, frozenset()), theirs.get(machine, set())
        common += len(one & other)
        every += len(one | other)
    return common / every


def _unfit(known: SystemDescription, protocol: ProtocolInfo, bar: float) -> str:
    """Why a description cannot be that of the protocol; empty if it can."""
    declared = _declared(protocol)
    of = {name: machine.of or name for name, machine in known.machines.items()}
    required: list[tuple[str, str]] = []
    for name, described in known.machines.items():
        facts = (*described.parameters, *described.derived, *described.caches, *described.buffers)
        required += [(of[name], fact) for fact in ("", *facts) if fact not in INHERITED]
    for requester in known.requesters.values():
        machine = of.get(requester.machine, requester.machine)
        port = requester.parameter or ""
        if machine in declared and port not in {"", *declared[machine]}:
            return f"{machine} has no {port}"
        required += [(machine, fact) for fact in (port, *(requester.caches or ()))]
    missing = [
        f"{machine}.{fact}" if machine in declared else machine
        for machine, fact in required
        if machine not in declared or fact not in {"", *declared[machine]}
    ]
    if len(missing) <= (1 - bar) * len(required):
        return ""
    missing = list(dict.fromkeys(missing))
    more = f" and {len(missing) - 1} more that the description names" if len(missing) > 1 else ""
    return f"it has no {missing[0]}{more}"


def _undriven(known: SystemDescription, protocol: ProtocolInfo) -> list[str]:
    """Machines with a port that a description with agents does not use."""
    if not known.requesters:
        return []
    required = {machine.of or name for name, machine in known.machines.items()}
    required |= {requester.machine for requester in known.requesters.values()}
    return [
        machine.MACHINE
        for machine in protocol.machines
        if machine.MACHINE not in required
        and any(isinstance(p, Parameter) and p.type in REQUESTERS for p in machine.PARAMETERS)
    ]


def _declared(protocol: ProtocolInfo) -> dict[str, set[str]]:
    """Names of the parameters and buffers of each machine."""
    return {m.MACHINE: {parameter.name for parameter in m.PARAMETERS} for m in protocol.machines}


def _unordered(protocol: ProtocolInfo) -> dict[str, set[str]]:
    """Buffers of each machine that the protocol itself declares with ``ordered="false"``."""
    return {
        machine.MACHINE: {
            parameter.name
            for parameter in machine.PARAMETERS
            if isinstance(parameter, BufferParameter) and parameter.ordered_hint is False
        }
        for machine in protocol.machines
    }


def fit(known: SystemDescription, protocol: ProtocolInfo) -> SystemDescription:
    """The description without what the protocol does not declare, and without its name.

    Order that a text states itself, as older ones do, is that of the text.
    """
    declared = _declared(protocol)
    of = {name: machine.of for name, machine in known.machines.items() if machine.of is not None}
    declared |= {name: declared[machine] for name, machine in of.items() if machine in declared}
    free = _unordered(protocol)
    machines = {
        name: _fit_machine(machine, declared[name], declared, free[machine.of or name])
        for name, machine in known.machines.items()
        if name in declared
    }
    requesters: dict[str, RequesterDescription] = {}
    for name, requester in known.requesters.items():
        names = declared.get(requester.machine, set())
        if requester.machine in declared and (requester.parameter or "") in {"", *names}:
            caches = requester.caches
            kept = None if caches is None else tuple(c for c in caches if c in names)
            requesters[name] = replace(requester, caches=kept)
    requesters = {
        name: r if r.invalidates in requesters else replace(r, invalidates=None)
        for name, r in requesters.items()
    }
    agents = {name: a for name, a in known.agents.items() if a.requester in requesters}
    return replace(
        known,
        origin=Origin(f"known system {Path(known.protocol or known.origin.file).stem}"),
        protocol=None,
        machines=machines,
        requesters=requesters,
        agents=agents,
        handovers=tuple(h for h in known.handovers if h.giver in agents and h.taker in agents),
    )


def _fit_machine(
    known: MachineDescription,
    names: set[str],
    declared: Mapping[str, set[str]],
    unordered: set[str],
) -> MachineDescription:
    """``declared``: names of the parameters of each machine, ``names``: of this one;
    ``unordered``: those of its buffers that keep no order."""

    def has(place: str | None) -> bool:
        machine, _, name = (place or "").partition(".")
        return name in declared.get(machine, ())

    return replace(
        known,
        parameters=_kept(known.parameters, names),
        derived={
            name: derived
            for name, derived in _kept(known.derived, names).items()
            if derived.count in declared or has(derived.parameter)
        },
        as_many_as=known.as_many_as if known.as_many_as in declared else None,
        downstream=tuple(name for name in known.downstream if name in declared),
        upstream=tuple(name for name in known.upstream if name in declared),
        caches=_kept(known.caches, names),
        buffers={
            name: replace(
                buffer,
                joined=buffer.joined if has(buffer.joined) else None,
                ordered=buffer.ordered and name not in unordered,
            )
            for name, buffer in _kept(known.buffers, names).items()
        },
    )


def _kept(table: Mapping[str, V], names: set[str]) -> dict[str, V]:
    return {name: value for name, value in table.items() if name in names or name in INHERITED}
