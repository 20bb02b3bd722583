"""A machine prepared for stepping: its ports, its table, where it keeps its state.

Invariant: what a machine has at the start and how a step ends do not depend on other machines.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from slicc import ir
from slicc.analysis.facts import storage_of
from slicc.analysis.product.bodies import Bodies, Correction, Frame, Run, run
from slicc.analysis.product.library import STORES
from slicc.analysis.product.step import Step
from slicc.analysis.product.values import LINE, UNKNOWN, Defaults, Unmodelled, Value, constant
from slicc.ir.walk import expressions_in
from slicc.text.lazy_dataclass import dataclass


class Feeds(Enum):
    """Where the messages of an in-port come from."""

    NETWORK = "network"
    PROCESSOR = "processor"
    DMA = "dma"
    MEMORY = "memory"
    OWN = "own"
    TIMER = "timer"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Port:
    """An in-port. ``network``: its virtual network."""

    name: str
    buffer: str
    feeds: Feeds
    network: int | None
    body: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What a cell of the table does."""

    index: int
    next: ir.NextState
    actions: tuple[ir.ActionRef, ...]
    stalls: bool


class Stepped(Exception):
    """A transition was made."""

    def __init__(self, state: str, event: str, next: str, row: Row) -> None:
        super().__init__(state, event)
        self.state, self.event, self.next, self.row = state, event, next, row


class Elsewhere(Unmodelled):
    """An event is triggered for another line, or for one that is not known."""


class Unhandled(Exception):
    """No transition is there for the event in the state."""

    def __init__(self, state: str, event: str) -> None:
        super().__init__(state, event)
        self.state, self.event = state, event


class Model:
    """One machine of the protocol. ``shared``: the structures of all machines."""

    def __init__(
        self,
        machine: ir.Machine,
        shared: tuple[ir.Struct, ...],
        correction: Correction | None = None,
    ) -> None:
        self.machine = machine
        self.type = machine.machine_type or machine.name
        self.defaults = Defaults((*shared, *machine.structs))
        self._bodies = Bodies(machine, self.defaults, self._fire, correction)
        self._bodies.add_methods(shared)
        self._functions = {each.written_name: each for each in machine.functions}
        self._actions = {each.ref: each for each in machine.actions}
        self._runs: dict[ir.ActionRef, tuple[Run, ...]] = {}
        rows = [
            Row(index, each.next, each.actions, each.stalls)
            for index, each in enumerate(machine.transitions)
        ]
        self._table = {(cell.state, cell.event): rows[cell.transition] for cell in machine.cells}
        self.links = {
            each.name: each.network
            for each in machine.parameters
            if each.network is not None and each.network.virtual_network is not None
        }
        self.stores = [
            each.name
            for each in storage_of(machine)
            if isinstance(each.type, ir.ClassType) and each.type.name in STORES
        ]
        self.tbes = _named(machine, "TBETable")
        self.homes = _named(machine, "DirectoryMemory")
        self.caches = _named(machine, "CacheMemory")
        self.ports = [self._port(port) for port in machine.in_ports]
        places = list(enumerate(self.ports))
        self.timers = [place for place, port in places if port.feeds is Feeds.TIMER]
        self.asked = [place for place, port in places if port.feeds in _DRIVEN]
        self.making_room = [
            place for place, port in places if makes_room(machine, machine.in_ports[place].body)
        ]
        self.starts_requests = bool(self.asked)
        self.permissions = {each.name: each.permission for each in machine.states.members}
        self.writing = {
            name
            for name, permission in self.permissions.items()
            if permission is ir.AccessPermission.READ_WRITE
        }

    def busy(self, state: str) -> bool:
        """Whether a state waits for something."""
        return self.permissions[state] is ir.AccessPermission.BUSY

    def actions_of(self, transition: int) -> list[ir.Action]:
        """The actions of a transition."""
        return [self._actions[ref] for ref in self.machine.transitions[transition].actions]

    def row(self, state: str, event: str) -> int | None:
        """The transition of a cell of the table."""
        row = self._table.get((state, event))
        return None if row is None else row.index

    def lets_wait(self, transition: int) -> bool:
        """Whether a transition lets its message wait."""
        bodies = (action.body for action in self.actions_of(transition))
        return any(isinstance(each, ir.StallAndWait) for body in bodies for each in body)

    def holds(self, tables: tuple[tuple[str, Value], ...]) -> bool:
        """Whether the line is in one of the caches."""
        return any(record is not None and name in self.caches for name, record in tables)

    def keeps(self, tables: tuple[tuple[str, Value], ...]) -> bool:
        """Whether the line has a TBE."""
        return any(record is not None and name in self.tbes for name, record in tables)

    def _port(self, port: ir.InPort) -> Port:
        link = self.links.get(port.buffer)
        network = None
        if link is not None:
            feeds, network = Feeds.NETWORK, link.virtual_network
        elif port.buffer in self.stores:
            feeds = Feeds.TIMER
        elif any(out.buffer == port.buffer for out in self.machine.out_ports):
            feeds = Feeds.OWN
        else:
            named = port.message.ref.name if isinstance(port.message, ir.StructType) else ""
            feeds = _FEEDS.get(named, Feeds.NOTHING)
        return Port(port.ref.name, port.buffer, feeds, network, self._bodies.block(port.body))

    def first_objects(self, step: Step) -> dict[str, Value]:
        """Parameters and body objects when the controller starts."""
        found: dict[str, Value] = {}
        step.objects = found
        for parameter in self.machine.parameters:
            default = parameter.default
            if parameter.name in self.stores or parameter.pointer:
                continue
            found[parameter.name] = UNKNOWN if default is None else constant(default, self.defaults)
        for each in self.machine.objects:
            if each.name in self.stores:
                continue
            if each.initial is None:
                found[each.name] = UNKNOWN
            else:
                found[each.name] = self._bodies.expression(each.initial)(Frame(step))
        return found

    def poll(self, port: Port, step: Step) -> None:
        """Run a port's body; ends by an exception if a transition is made or missing."""
        run(port.body, Frame(step))

    def state_of(self, step: Step, entry: Value, tbe: Value) -> str:
        """The state of the line, as ``getState`` says."""
        state = self._call("getState", step, entry, tbe, "")
        if not isinstance(state, str):
            raise Unmodelled("unknown state")
        return state

    def _fire(self, f: Frame, event: Value, address: Value, entry: Value, tbe: Value) -> None:
        step = f.step
        if address != LINE or event is UNKNOWN:
            raise Elsewhere("another line")
        state = self.state_of(step, entry, tbe)
        step.looked.append((state, event))
        row = self._table.get((state, event))
        if row is None:
            raise Unhandled(state, event)
        if row.stalls:
            return
        next = state if row.next.state is None else row.next.state
        if row.next.kind is ir.NextKind.COMPUTED:
            next = self._call("getNextState", step, entry, tbe, "")
            if next is UNKNOWN:
                raise Unmodelled("unknown next state")
        step.address, step.entry, step.tbe = address, entry, tbe
        for action in row.actions:
            run(self._run_of(action), Frame(step))
        self._call("setState", step, step.entry, step.tbe, next)
        raise Stepped(state, event, next, row)

    def _run_of(self, action: ir.ActionRef) -> tuple[Run, ...]:
        """An action's body; most walks come to a part of the actions."""
        made = self._runs.get(action)
        if made is None:
            made = self._runs[action] = self._bodies.block(self._actions[action].body)
        return made

    def _call(self, name: str, step: Step, entry: Value, tbe: Value, state: str) -> Any:
        declared = self._functions.get(name)
        if declared is None:
            raise Unmodelled(f"no {name}")
        names = {}
        for parameter in declared.parameters:
            names[parameter.name] = self._implied(parameter.type, entry, tbe, state)
        result = run(self._bodies.functions[declared.ref].body, Frame(step, names))
        return UNKNOWN if result is None else result[0]

    def _implied(self, type: ir.Type, entry: Value, tbe: Value, state: str) -> Value:
        if isinstance(type, ir.PointerType):
            return tbe if type.ref == self.machine.tbe else entry
        return state if isinstance(type, ir.EnumType) else LINE


def models_of(protocol: ir.Protocol) -> list[Model]:
    """The machines of a protocol, ready to run."""
    return [Model(machine, protocol.structs) for machine in protocol.machines]


_DRIVEN = (Feeds.PROCESSOR, Feeds.DMA)


def _named(machine: ir.Machine, class_name: str) -> set[str]:
    """The machine's parameters and objects of a class."""
    return {
        each.name
        for each in storage_of(machine)
        if isinstance(each.type, ir.ClassType) and each.type.name == class_name
    }


def makes_room(machine: ir.Machine, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a port asks a cache for a victim, itself or in a function."""
    bodies, seen = [body], set()
    by_ref = {function.ref: function for function in machine.functions}
    while bodies:
        for node in expressions_in(bodies.pop()):
            if isinstance(node, ir.CallMethod) and node.method == "cacheProbe":
                return True
            if isinstance(node, ir.CallFunction) and node.function not in seen:
                seen.add(node.function)
                if node.function in by_ref:
                    bodies.append(by_ref[node.function].body)
    return False


_FEEDS = {
    "RubyRequest": Feeds.PROCESSOR,
    "SequencerMsg": Feeds.DMA,
    "MemoryMsg": Feeds.MEMORY,
}
