"""What the machines of a protocol accept from their processors: asked of their own in-ports.

Each requester's queue gets one request of each type, in a system of its own, and the in-port says
which event it triggers for it. Loads and stores are accepted unless the port ends in an error of
its own, as `error` and `assert` are; other types if they have an event of their own, which some
transition handles. A port that ends otherwise, because it calls what has no body or needs a running
system, or that refuses everything, says nothing. Invariant: the requests are never answered, and
the system is thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from runtime.controller.declarations import Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import AgentsDescription, SystemDescription
from runtime.description.inference import COALESCERS, unsized
from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.sequencer import Sequencer
from runtime.system.builder import build_system
from runtime.system.system import instance_name
from runtime.types.messages import (
    RubyRequest,
    RubyRequestType,
    SequencerMsg,
    SequencerRequestType,
)
from runtime.types.values import WriteMask
from slicc.text.lazy_dataclass import dataclass

_LINE: Final = 1 << 12
_ASKED: Final = (
    "LD",
    "ST",
    "IFETCH",
    "FLUSH",
    "ATOMIC_RETURN",
    "Store_Conditional",
    "REPLACEMENT",
)
_NOTHING: Final = -1
"""In place of an event: the port does not say."""
_REFUSALS: Final = (ErrorKind.PANIC, ErrorKind.ASSERTION)
_LINE_ONLY: Final = frozenset({"line"})
_SCOPES: Final = frozenset({"isGLCSet", "isSLCSet"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """Which requests the machine behind a requester accepts."""

    loads: bool = True
    stores: bool = True
    fetches: bool = False
    flushes: bool = False
    atomics: bool = True
    scopes: bool = True
    """Its text looks at the bits that say which caches a request bypasses."""
    evictions: bool = True
    """The replacements by which an acquire empties the cache."""
    prefetches: bool = False
    """It has a prefetcher, which may be off."""
    ways: frozenset[str] = _LINE_ONLY
    """How a sequencer may do atomic operations: names of :class:`AtomicWay`, in lower case."""
    overlaps: bool = True
    """A request may be sent while one to another line is under way."""


def accepted_requests(
    protocol: ProtocolInfo, description: SystemDescription
) -> dict[str, Accepted]:
    """By group of requesters. Groups whose ports do not say are missing; of engines for DMA only
    those are there that do one transfer at a time."""
    try:
        system = build_system(protocol, description, 0)
    except (ProtocolError, ValueError):  # what is wrong is said when a leg is built
        return {}
    found: dict[str, Accepted] = {}
    groups = {instance_name(group, 0): group for group in description.requesters}
    for requester in system.requesters:
        group = groups.get(requester.name)
        known = None if group is None else _ask(requester)
        if group is not None and known is not None:
            found[group] = known
    # A group that this system has none of is what another one of its machine is.
    ports = {_port(group, description): known for group, known in found.items()}
    for group in groups.values():
        if group not in found and _port(group, description) in ports:
            found[group] = ports[_port(group, description)]
    return found


def _port(group: str, description: SystemDescription) -> tuple[str, str | None]:
    """The machine, as its protocol calls it, and the parameter that a requester is."""
    requester = description.requesters[group]
    machine = description.machines[requester.machine].of or requester.machine
    return machine, requester.parameter


def _ask(requester: Any) -> Accepted | None:
    ports = [port for port in requester.controller.ports if port.buffer is requester.queue]
    if len(ports) != 1:
        return None
    if isinstance(requester, DMASequencer):
        return Accepted(overlaps=False) if _is_serial(requester, ports[0]) else None
    events = {name: _event(requester, ports[0], getattr(RubyRequestType, name)) for name in _ASKED}
    if _NOTHING in (events["LD"], events["ST"]):
        return None
    loads = events["LD"] is not None
    handled = {event for _, event in requester.controller.TRANSITIONS}
    special = handled - {events["LD"], events["ST"]}
    fetches = events["IFETCH"] in (special if loads else handled)
    if not loads and not fetches:
        return None
    called = called_functions(type(requester.controller))
    return Accepted(
        loads=loads,
        stores=events["ST"] is not None,
        fetches=fetches,
        flushes=events["FLUSH"] in special,
        atomics=events["ATOMIC_RETURN"] in special,
        scopes=not _SCOPES.isdisjoint(called),
        evictions=events["REPLACEMENT"] in special - {events["IFETCH"]},
        prefetches=any(
            isinstance(each, Parameter) and each.type == "RubyPrefetcher"
            for each in requester.controller.PARAMETERS
        ),
        ways=_ways(events, called) if isinstance(requester, Sequencer) else _LINE_ONLY,
    )


def _is_serial(engine: DMASequencer, port: Any) -> bool:
    """Whether a second transfer has no transition while one of another line is under way: machines
    that keep one state, not one for each line, as all engines of gem5 once did."""
    try:
        for line in (_LINE, 2 * _LINE):
            message = SequencerMsg()
            message.LineAddress = message.PhysicalAddress = line
            message.Type = SequencerRequestType.LD
            message.Len = engine.line_size
            engine.queue.messages.append(message)
            port.poll()
    except ProtocolError as error:
        return line > _LINE and error.kind is ErrorKind.UNDEFINED_TRANSITION
    except Exception:  # of the protocol's own code, which is run here without a tick
        return False
    return False


def _ways(events: Mapping[str, int | None], called: frozenset[str]) -> frozenset[str]:
    """Which a machine knows that triggers these events and calls these functions."""
    there = {
        "line": True,
        # Only this call says that the line was lost between load and store.
        "linked": "evictionCallback" in called,
        "conditional": {"evictionCallback", "writeCallbackScFail"} <= called
        and events["Store_Conditional"] is not None,
        "far": "atomicCallback" in called and events["ATOMIC_RETURN"] is not None,
    }
    return frozenset(way for way, known in there.items() if known)


_CALLED: Final[WeakKeyDictionary[type, frozenset[str]]] = WeakKeyDictionary()


def called_functions(machine: type) -> frozenset[str]:
    """Names that the methods of a generated machine use. Every leg of a campaign asks for them."""
    found = _CALLED.get(machine)
    if found is None:
        codes = (getattr(each, "__code__", None) for each in vars(machine).values())
        found = frozenset(name for code in codes if code is not None for name in code.co_names)
        _CALLED[machine] = found
    return found


def _event(requester: Any, port: Any, kind: int) -> int | None:
    """The event that the port triggers for a request; None: it refuses it."""
    message = RubyRequest()
    message.LineAddress = message.PhysicalAddress = _LINE
    message.Type = kind
    message.Size = 4
    message.writeMask = WriteMask(0xFFFFFFFF)
    message.contextId = requester.context
    triggered: list[int] = []

    def trigger(event: int, *rest: object) -> bool:
        triggered.append(event)
        return True

    controller = requester.controller
    requester.queue.messages.append(message)
    controller.trigger = trigger
    try:
        port.poll()
    except ProtocolError as error:
        return None if error.kind in _REFUSALS and not error.external else _NOTHING
    except Exception:  # of the protocol's own code, which is run here without a tick
        return _NOTHING
    finally:
        del controller.trigger
        requester.queue.messages.clear()
    return triggered[0] if triggered else _NOTHING


def fitted(
    written: SystemDescription, whole: SystemDescription, accepted: Mapping[str, Accepted]
) -> tuple[SystemDescription, str]:
    """The description with agents that ask for nothing that their machines do not know, and a note.

    ``whole`` is its completion. A cache that must be emptied to read anew, and cannot be, is left
    alone; a coalescer's cache that cannot be emptied is taken for a coherent one.
    """
    requesters = dict(written.requesters) or {
        name: unsized(each) for name, each in whole.requesters.items()
    }
    agents = dict(written.agents) or {
        name: AgentsDescription(each.requester, without=each.without)
        for name, each in whole.agents.items()
    }
    before = dict(requesters), dict(agents)
    notes = []
    for name, known in accepted.items():
        described = whole.requesters[name]
        if not known.overlaps:
            requesters[name] = replace(requesters[name], outstanding=1)
            continue
        walks = bool(described.walk)
        fetches = described.fetch or (known.fetches and not known.loads)
        if walks and not known.evictions:
            requesters[name] = replace(requesters[name], walk=False)
            for other, each in requesters.items():
                if each.invalidates == name:
                    requesters[other] = replace(each, invalidates=None)
        if fetches != described.fetch:
            requesters[name] = replace(requesters[name], fetch=True)
        coalesces = described.class_name in COALESCERS
        # A sequencer makes atomic operations of loads and stores; scopes are those of a GPU.
        lacking = {
            "stores": known.stores,
            "atomics": known.atomics or not coalesces,
            "scopes": known.scopes or not coalesces,
        }
        for group, agent in list(agents.items()):
            if agent.requester != name:
                continue
            new = [what for what, there in lacking.items() if not (there or what in agent.without)]
            if walks and not known.evictions and not coalesces:
                del agents[group]
                notes.append(f"nothing drives {described.machine}: no acquire can empty it")
            elif new and not fetches:
                agents[group] = replace(agent, without=(*agent.without, *new))
                notes.append(f"{described.machine} accepts no {' and no '.join(new)}")
    if (requesters, agents) == before:
        return written, ""
    handovers = tuple(h for h in written.handovers if {h.giver, h.taker} <= agents.keys())
    changed = replace(written, requesters=requesters, agents=agents, handovers=handovers)
    return changed, "; ".join(dict.fromkeys(notes))
