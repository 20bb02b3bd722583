"""Buffers that lead from one machine to another without a network: which is whose other end.

A buffer with a direction but without a virtual network is an end of such a link; the declarations
do not say where it leads. Names mostly do: ``bufferToL1`` of machine L0Cache and ``bufferFromL0``
of machine L1Cache. Invariant: two ends are joined only if each is the other's one candidate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from runtime.controller.declarations import BufferParameter
from runtime.description import BufferDescription, MachineDescription, SystemDescription

End = tuple[str, str]
"""Machine and buffer."""

_Fit = Callable[[End, End], bool]
_NAME: Final = re.compile(r"(\w*?)(To|From)([A-Z]\w*)")


def is_link(buffer: BufferParameter) -> bool:
    """Whether it is an end of a direct link."""
    return buffer.direction is not None and buffer.virtual_network is None


def with_links(
    given: SystemDescription, declared: Mapping[str, Mapping[str, BufferParameter]]
) -> SystemDescription:
    """The description with every link whose ends can be inferred. ``declared``: for every machine,
    its buffers that are links."""
    loose = _loose(given, declared)
    if not loose:
        return given
    senders = [end for end in loose if declared[end[0]][end[1]].direction == "To"]
    receivers = [end for end in loose if declared[end[0]][end[1]].direction != "To"]
    pairs = _only_pairs(senders, receivers, _named_alike)
    paired = {end for pair in pairs for end in pair}
    pairs += _only_pairs(
        [end for end in senders if end not in paired],
        [end for end in receivers if end not in paired],
        lambda sender, receiver: sender[0] != receiver[0],
    )
    machines = dict(given.machines)
    for (machine, buffer), receiver in pairs:
        described = machines.get(machine, MachineDescription())
        link = described.buffers.get(buffer, _link(declared[machine][buffer]))
        link = replace(link, joined=".".join(receiver))
        machines[machine] = replace(described, buffers={**described.buffers, buffer: link})
    for machine, buffer in (receiver for _, receiver in pairs):
        described = machines.get(machine, MachineDescription())
        if buffer not in described.buffers:
            link = _link(declared[machine][buffer])
            machines[machine] = replace(described, buffers={**described.buffers, buffer: link})
    return replace(given, machines=machines) if pairs else given


def _link(buffer: BufferParameter) -> BufferDescription:
    """A wire keeps the order of what is sent over it, unless its declaration says otherwise."""
    return BufferDescription(ordered=buffer.ordered_hint is not False)


def _loose(
    given: SystemDescription, declared: Mapping[str, Mapping[str, BufferParameter]]
) -> list[End]:
    """Ends that are not joined, of machines that exist."""
    joined = {
        end
        for name, machine in given.machines.items()
        for buffer, described in machine.buffers.items()
        if described.joined is not None
        for end in (f"{name}.{buffer}", described.joined)
    }
    return [
        (machine, name)
        for machine, buffers in declared.items()
        for name in buffers
        if f"{machine}.{name}" not in joined
        and (machine not in given.machines or given.machines[machine].count != 0)
    ]


def _only_pairs(senders: list[End], receivers: list[End], fit: _Fit) -> list[tuple[End, End]]:
    """Pairs in which each end has no other candidate."""
    found = []
    for sender in senders:
        candidates = [receiver for receiver in receivers if fit(sender, receiver)]
        if len(candidates) == 1:
            rivals = [other for other in senders if fit(other, candidates[0])]
            if rivals == [sender]:
                found.append((sender, candidates[0]))
    return found


def _named_alike(sender: End, receiver: End) -> bool:
    """``bufferToL1`` of L0Cache and ``bufferFromL0`` of L1Cache: one stem, each names the other."""
    out, back = _NAME.fullmatch(sender[1]), _NAME.fullmatch(receiver[1])
    if out is None or back is None or (out[2], back[2]) != ("To", "From"):
        return False
    return (
        sender[0] != receiver[0]
        and out[1].lower() == back[1].lower()
        and _means(out[3], receiver[0])
        and _means(back[3], sender[0])
    )


def _means(name: str, machine: str) -> bool:
    """Whether a part of a buffer's name stands for a machine: ``L1`` for L1Cache."""
    one, other = name.lower(), machine.lower()
    return one.startswith(other) or other.startswith(one) or other.endswith(one)
