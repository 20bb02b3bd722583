"""The pieces of a system description: machines, caches, buffers, requesters, agents, hand-overs.

Invariant: a piece that exists is within bounds (``runtime.description.reader`` sees to it); what it
does not say is None until completion fills it in. Pieces compare by contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = int | bool | str


@dataclass(frozen=True, slots=True)
class NetworkDescription:
    """``latency`` cycles are added to every message; ``delays`` names the random part.

    ``ordered``: buffers of the network keep order where nobody says anything else of them.
    """

    latency: int = 1
    delays: str = "nominal"
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class MemoryDescription:
    """Cycles from a memory request to its response."""

    latency: int = 40


@dataclass(frozen=True, slots=True)
class CacheDescription:
    """One CacheMemory parameter. ``start_index_bit`` None: just above line and bank bits."""

    sets: int = 16
    ways: int = 4
    replacement: str = "tree_plru"
    start_index_bit: int | None = None
    tag_latency: int = 1
    data_latency: int = 1
    resource_stalls: bool = False
    tag_banks: int = 1
    data_banks: int = 1
    atomic_alus: int = 64
    atomic_latency: int = 0


@dataclass(frozen=True, slots=True)
class BufferDescription:
    """One MessageBuffer parameter. ``capacity`` messages, 0: unbounded.

    ``latency`` replaces the network's for messages sent from here (None: the network's).
    ``joined`` names a buffer of another machine (``"L1Cache.bufferFromL0"``): instance i of both
    machines then hold the very same buffer.
    """

    ordered: bool = False
    capacity: int = 0
    latency: int | None = None
    randomized: bool = True
    joined: str | None = None


@dataclass(frozen=True, slots=True)
class DerivedParameter:
    """A scalar parameter that follows from something else, unless it is given.

    ``count``: the instances of that machine; ``parameter``: the value of another scalar
    (``"TCC.WB"``). One of both. A number is multiplied by ``times``, then ``plus`` is added.
    """

    count: str | None = None
    parameter: str | None = None
    times: int = 1
    plus: int = 0


@dataclass(frozen=True, slots=True)
class MachineDescription:
    """A group of instances of one machine: all of them, unless several groups say ``of`` it.

    ``as_many_as`` names a group with as many instances. ``interleaved``: each line belongs to one
    instance, chosen by the address bits just above the line offset; otherwise every instance may
    hold every line. ``downstream`` and ``upstream`` name the groups that instances know as such:
    all instances of an interleaved group, else for instance i of n instance i*m//n of its m
    (upstream: those that have this one downstream, or all of a group that knows nothing of it).
    """

    of: str | None = None
    count: int | None = None
    as_many_as: str | None = None
    interleaved: bool | None = None
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    derived: Mapping[str, DerivedParameter] = field(default_factory=dict)
    caches: Mapping[str, CacheDescription] = field(default_factory=dict)
    buffers: Mapping[str, BufferDescription] = field(default_factory=dict)
    downstream: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequesterDescription:
    """A requester class attached to every instance of a machine.

    ``walk``: an acquire evicts every line resident in ``caches``; else it has nothing to do.
    ``invalidates`` names another group of requesters whose caches an acquire walks as well;
    instance i of n uses instance i*m//n of m. ``context`` is the ``contextId`` sent.
    ``fetch``: loads are sent as instruction fetches. ``tokens``: vector instructions that may
    wait to be coalesced; ``outstanding``: line requests in flight or waiting for their line.
    """

    machine: str
    parameter: str | None = None
    class_name: str | None = None
    queue: str | None = None
    caches: tuple[str, ...] | None = None
    walk: bool | None = None
    invalidates: str | None = None
    context: int | None = None
    fetch: bool = False
    tokens: int | None = None
    outstanding: int | None = None
    coalesces_per_cycle: int = 1
    one_request_per_lane: bool = False


@dataclass(frozen=True, slots=True)
class AgentsDescription:
    """``wavefronts`` threads of ``lanes`` lanes on each requester of a group.

    ``without``: what they do not do, of ``LEFT_OUT``.
    """

    requester: str
    kind: str | None = None
    wavefronts: int = 1
    lanes: int | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefectDescription:
    """A known defect of the protocol that tests keep out of the way unless they are asked to.

    ``what`` goes wrong, ``where`` (file and line); ``avoid``: fields of the description, by their
    paths, and the values under which it does not show. ``needs`` and ``lacks``: transitions
    (``Machine.STATE.EVENT``) that its story goes through, and those of which some must be missing.
    """

    what: str
    where: str = ""
    avoid: Mapping[str, Scalar | tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HandoverDescription:
    """What makes bytes written by ``giver`` agents readable by ``taker`` agents.

    ``scope`` empty: every scope. ``allowed`` false: such bytes are never handed over.
    """

    giver: str
    taker: str
    scope: str = ""
    allowed: bool = True
    giver_steps: tuple[str, ...] = ("release",)
    taker_steps: tuple[str, ...] = ("acquire",)
