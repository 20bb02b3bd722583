"""Machines that stand in several places of a system: a cache that is first, second and third level.

A description may divide the instances of one machine into groups, each with its own parameters,
caches and neighbours. What it says of the machine itself holds for all of its groups that do not
say otherwise; the machine is one of them if it says that it is a group of itself. Invariant:
afterwards every table of machines is a group, in the protocol's order, those of one machine by
name, so that the order of tables means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from runtime.description import MachineDescription, SystemDescription
from runtime.description.origin import unknown_name


def with_groups(given: SystemDescription, machines: Sequence[str]) -> SystemDescription:
    """The description with a table for every group. Raises DescriptionError."""
    of = {name: machine.of for name, machine in given.machines.items()}
    for name, machine in of.items():
        wanted = name if machine is None else machine
        if wanted not in machines:
            path = ("machine", name) if machine is None else ("machine", name, "of")
            message = unknown_name("machine", wanted, list(machines))
            raise given.origin.error(path, machine, message)
        if machine is not None and name in machines and name != machine:
            raise given.origin.error(("machine", name), None, "is a machine itself")
    parts: dict[str, list[str]] = {}
    for name, machine in sorted(of.items()):
        if machine is not None:
            parts.setdefault(machine, []).append(name)
    groups: dict[str, MachineDescription] = {}
    for machine in machines:
        whole = given.machines.get(machine, _NOTHING)
        names = parts.get(machine, [])
        if names in ([], [machine]):
            groups[machine] = whole if whole.of is None else replace(whole, of=None)
            continue
        for name in names:
            groups[name] = whole if name == machine else _merged(whole, given.machines[name])
    return replace(given, machines=groups)


_NOTHING: Final = MachineDescription()
"""What a description says of a machine that it does not mention."""


def _merged(whole: MachineDescription, part: MachineDescription) -> MachineDescription:
    """The fields of a group, on top of those of its machine."""
    counted = whole if part.count is None and part.as_many_as is None else part
    return MachineDescription(
        of=part.of,
        count=counted.count,
        as_many_as=counted.as_many_as,
        interleaved=whole.interleaved if part.interleaved is None else part.interleaved,
        parameters={**whole.parameters, **part.parameters},
        derived={**whole.derived, **part.derived},
        caches={**whole.caches, **part.caches},
        buffers={**whole.buffers, **part.buffers},
        downstream=part.downstream or whole.downstream,
        upstream=part.upstream or whole.upstream,
    )


Place = tuple[str, int]
"""A group and an instance's place in it."""


def neighbours(
    groups: Mapping[str, MachineDescription],
) -> tuple[dict[Place, list[Place]], dict[Place, list[Place]]]:
    """Who is downstream of every instance of a completed description, and who is upstream."""
    below: dict[Place, list[Place]] = {}
    for name, group in groups.items():
        count = group.count or 0
        for i in range(count):
            below[name, i] = []
            for other in group.downstream:
                many = groups[other].count or 0
                places = range(many)
                if not groups[other].interleaved and many:
                    places = range(i * many // count, i * many // count + 1)
                below[name, i] += [(other, place) for place in places]
    above: dict[Place, list[Place]] = {place: [] for place in below}
    for name, group in groups.items():
        for other in group.upstream:
            instances = [(other, i) for i in range(groups[other].count or 0)]
            if name not in groups[other].downstream:
                for i in range(group.count or 0):
                    above[name, i] += instances
                continue
            for instance in instances:
                for known in below[instance]:
                    if known[0] == name:
                        above[known].append(instance)
    return below, above
