"""Finds the description of a protocol that others wrote, among files of known facts.

A file is named after the protocol that it describes. A protocol whose name begins with that name
is taken for a variant of it, if it still has every machine that the file speaks of. Invariant: the
description that is returned speaks only of what the protocol declares; a fork that has lost a
buffer loses what was said of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from runtime.declarations import ProtocolInfo
from runtime.description import (
    MachineDescription,
    RequesterDescription,
    SystemDescription,
    load_description,
)
from runtime.description_text import Origin
from runtime.parameter_values import INHERITED

V = TypeVar("V")


def written_system(
    path: Path, system: Path | None, protocol: ProtocolInfo, names: Iterable[str], known: Path
) -> SystemDescription:
    """What anybody has written of a protocol's system: ``system``, else the TOML file beside the
    protocol's own ``path``, else a file of the directory ``known``, else nothing.

    Raises DescriptionError.
    """
    beside = path.with_suffix(".toml")
    if system is not None:
        return load_description(system)
    if beside.is_file():
        return load_description(beside)
    return known_system(protocol, names, known) or SystemDescription()


def known_system(
    protocol: ProtocolInfo, names: Iterable[str], directory: Path
) -> SystemDescription | None:
    """What the files of a directory know of the protocol; ``names``: what it is called.

    Raises DescriptionError for a file that cannot be read.
    """
    files = {path.stem: path for path in directory.glob("*.toml")}
    for name in (*names, protocol.name):
        for stem in sorted(files, key=len, reverse=True):
            if name == stem:
                return fit(load_description(files[stem]), protocol)
            if name.startswith(stem):
                known = load_description(files[stem])
                machines = {machine.of or name for name, machine in known.machines.items()}
                if machines <= {machine.MACHINE for machine in protocol.machines}:
                    return fit(known, protocol)
    return None


def fit(known: SystemDescription, protocol: ProtocolInfo) -> SystemDescription:
    """The description without what the protocol does not declare, and without its name."""
    declared = {
        machine.MACHINE: {parameter.name for parameter in machine.PARAMETERS}
        for machine in protocol.machines
    }
    of = {name: machine.of for name, machine in known.machines.items() if machine.of is not None}
    declared |= {name: declared[machine] for name, machine in of.items() if machine in declared}
    machines = {
        name: _fit_machine(machine, declared[name], declared)
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
    known: MachineDescription, names: set[str], declared: Mapping[str, set[str]]
) -> MachineDescription:
    """``declared``: names of the parameters of each machine, ``names``: of this one."""

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
            name: buffer if has(buffer.joined) else replace(buffer, joined=None)
            for name, buffer in _kept(known.buffers, names).items()
        },
    )


def _kept(said: Mapping[str, V], names: set[str]) -> dict[str, V]:
    return {name: value for name, value in said.items() if name in names or name in INHERITED}
