"""A hand-written machine in the shape that the compiler generates, for tests and benchmarks.

Every controller owns one entry per line and answers a ``Ball`` by sending it on to the next
controller. Invariant: nothing here uses the runtime in a way that generated code does not.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from runtime.controller.shapes import (
    BufferParameter,
    ControllerContext,
    EntryTbeController,
    InPort,
    Need,
    Parameter,
    PollResult,
    Transaction,
    Transition,
    TransitionTable,
)
from runtime.network.network import Network, NetworkPort, Topology
from runtime.sim.delay_policy import DelayPolicy
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory
from runtime.structures.tbe_table import TBETable
from runtime.types.enumeration import Enumeration
from runtime.types.message import Message
from runtime.types.messages import AccessPermission, MachineType, MessageSizeType
from runtime.types.values import DataBlock, NetDest


class State(Enumeration):
    I: Final = 0  # noqa: E741
    V: Final = 1


class Event(Enumeration):
    Ball: Final = 0
    Hold: Final = 1
    Free: Final = 2
    Crash: Final = 3


class Kind(Enumeration):
    Ball: Final = 0
    Hold: Final = 1
    Free: Final = 2
    Crash: Final = 3


class BallMsg(Message):
    addr: int = 0
    Type: int = Kind.NUM
    hops: int = 0
    Destination: NetDest = NetDest()
    DataBlk: DataBlock = DataBlock()
    MessageSize: int = MessageSizeType.Control


class Entry(AbstractCacheEntry):
    __slots__ = ("CacheState", "DataBlk")

    def __init__(self) -> None:
        AbstractCacheEntry.__init__(self)
        self.CacheState: int = State.I
        self.DataBlk = DataBlock()


class TBE:
    __slots__ = ("TBEState", "address")

    def __init__(self) -> None:
        self.address = 0
        self.TBEState: int = State.I


class PlayerController(EntryTbeController):
    """Sends every ball on; a held line keeps its balls waiting until it is freed."""

    MACHINE: ClassVar[str] = "Cache"
    MACHINE_TYPE: ClassVar[int] = MachineType.Cache
    STATES: ClassVar[type[Enumeration]] = State
    EVENTS: ClassVar[type[Enumeration]] = Event
    PERMISSIONS: ClassVar[tuple[int, ...]] = (AccessPermission.Invalid, AccessPermission.Read_Write)
    PARAMETERS: ClassVar = (
        Parameter("cache", "CacheMemory", pointer=True),
        Parameter("limit", "int", default=1 << 60),
        Parameter("latency", "Cycles", default=1),
        BufferParameter("out", direction="To", virtual_network=0, vnet_type="request"),
        BufferParameter("balls", direction="From", virtual_network=0, vnet_type="request"),
    )

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.cache: CacheMemory[Entry] = context.parameter("cache", CacheMemory)
        self.limit: int = context.parameter("limit", int)
        self.latency: int = context.parameter("latency", int)
        self.out: NetworkPort = context.parameter("out", NetworkPort)
        self.balls: MessageBuffer = context.parameter("balls", MessageBuffer)
        self.TBEs: TBETable[TBE] = TBETable(TBE, self.number_of_TBEs, "TBEs")
        self.balls_in = self.balls
        self.out_port = self.out
        self.bind(
            ports=(InPort("balls_in", self.balls, self.balls_in_poll, rank=0, guarded=True),),
            transitions=self.TRANSITIONS,
        )

    def getState(self, tbe: TBE, cache_entry: Entry, address: int) -> int:
        if tbe is not None:
            return tbe.TBEState
        if cache_entry is not None:
            return cache_entry.CacheState
        return State.I

    def setState(self, tbe: TBE, cache_entry: Entry, address: int, state: int) -> None:
        if tbe is not None:
            tbe.TBEState = state
        if cache_entry is not None:
            cache_entry.CacheState = state

    def setAccessPermission(self, cache_entry: Entry, address: int, state: int) -> None:
        if cache_entry is not None:
            cache_entry.changePermission(self.PERMISSIONS[state])

    def getCacheEntry(self, address: int) -> Entry:
        return self.cache.lookup(address)

    def balls_in_poll(self) -> PollResult:
        if self.balls_in.isReady():
            in_msg = self.balls_in.peek(BallMsg)
            entry = self.getCacheEntry(in_msg.addr)
            tbe = self.TBEs.lookup(in_msg.addr)
            if in_msg.Type == Kind.Ball:
                if self.trigger(Event.Ball, in_msg.addr, entry, tbe):
                    return True
            elif in_msg.Type == Kind.Hold:
                if self.trigger(Event.Hold, in_msg.addr, entry, tbe):
                    return True
            elif in_msg.Type == Kind.Free:
                if self.trigger(Event.Free, in_msg.addr, entry, tbe):
                    return True
            else:
                if self.trigger(Event.Crash, in_msg.addr, entry, tbe):
                    return True
        return False

    def a_allocate(self, t: Transaction) -> None:
        """Make an entry"""
        t.cache_entry = self.cache.allocate(t.address, Entry())

    def s_send(self, t: Transaction) -> None:
        """Send the ball on"""
        in_msg = self.balls_in.peek(BallMsg)
        if in_msg.hops < self.limit:
            out_msg = BallMsg()
            out_msg.Destination = NetDest()
            out_msg.addr = t.address
            out_msg.Type = Kind.Ball
            out_msg.hops = in_msg.hops + 1
            num = (self.version + 1) % self.machineCount(MachineType.Cache)
            out_msg.Destination.add(self.createMachineID(MachineType.Cache, num))
            out_msg.MessageSize = MessageSizeType.Control
            self.out_port.enqueue(out_msg, self.latency)

    def h_hold(self, t: Transaction) -> None:
        """Start a transaction"""
        self.TBEs.allocate(t.address)
        t.tbe = self.TBEs.lookup(t.address)

    def f_free(self, t: Transaction) -> None:
        """End the transaction"""
        self.TBEs.deallocate(t.address)
        t.tbe = None

    def w_wait(self, t: Transaction) -> None:
        """Let the ball wait"""
        self.stall_and_wait(self.balls_in, t.address)

    def u_wake(self, t: Transaction) -> None:
        """Wake what waits"""
        self.wakeUpAllBuffers(t.address)

    def p_pop(self, t: Transaction) -> None:
        """Remove the message"""
        self.balls_in.dequeue()

    def x_null(self, t: Transaction) -> None:
        """Use a null pointer"""
        t.tbe.TBEState = State.V

    TRANSITIONS: ClassVar[TransitionTable] = {
        (State.I, Event.Ball): Transition(State.V, (a_allocate, s_send, p_pop)),
        (State.V, Event.Ball): Transition(None, (s_send, p_pop)),
        (State.V, Event.Hold): Transition(State.I, (h_hold, p_pop), needs=(Need("TBEs", 1),)),
        (State.V, Event.Crash): Transition(None, (x_null, p_pop)),
    }


class HoldingController(PlayerController):
    """Also stalls balls of a line in transaction, and has no (I, Crash)."""

    TRANSITIONS: ClassVar[TransitionTable] = {
        (State.V, Event.Ball): Transition(None, (PlayerController.s_send, PlayerController.p_pop)),
        (State.V, Event.Hold): Transition(
            State.I,
            (PlayerController.h_hold, PlayerController.p_pop),
            needs=(Need("TBEs", 1), Need("out", 1)),
        ),
        (State.I, Event.Ball): Transition(None, (PlayerController.w_wait,)),
        (State.I, Event.Hold): Transition(None, (PlayerController.p_pop,), stalls=True),
        (State.I, Event.Free): Transition(
            State.V,
            (PlayerController.p_pop, PlayerController.f_free, PlayerController.u_wake),
        ),
        (State.V, Event.Crash): Transition(None, (PlayerController.x_null,)),
    }


class World:
    """``count`` players in a ring."""

    def __init__(
        self,
        count: int = 2,
        kind: type[PlayerController] = PlayerController,
        *,
        delays: DelayPolicy | None = None,
        capacity: int = 0,
        in_capacity: int = 0,
        ordered: bool = False,
        latency: int = 1,
        **parameters: Any,
    ) -> None:
        self.engine = Engine()
        self.topology = Topology({MachineType.Cache: count})
        self.network = Network(self.engine, self.topology, latency=latency, delays=delays)
        self.players: list[PlayerController] = []
        self.inputs: list[MessageBuffer] = []
        context_fields = {
            name: parameters.pop(name)
            for name in list(parameters)
            if name in ("transitions_per_cycle", "number_of_TBEs", "max_transitions_per_tick")
        }
        for num in range(count):
            owner = self.topology.machine_id(MachineType.Cache, num)
            balls = MessageBuffer(
                f"Cache{num}.balls", in_capacity, ordered=ordered, engine=self.engine
            )
            self.network.attach(owner, balls, 0)
            out = self.network.port(owner, f"Cache{num}.out", 0, capacity, ordered)
            given = {"limit": 1 << 60, "latency": 1, "out": out, "balls": balls, **parameters}
            given["cache"] = CacheMemory(f"Cache{num}.cache", 64, 4)
            context = ControllerContext(self.engine, self.topology, num, given, **context_fields)
            self.players.append(kind(context))
            self.inputs.append(balls)

    def throw(self, player: int, address: int, kind: int = Kind.Ball, latency: int = 1) -> None:
        """Put a message into a player's input."""
        message = BallMsg()
        message.addr = address
        message.Type = kind
        self.inputs[player].enqueue(message, latency)
