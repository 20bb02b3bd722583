"""What a controller knows and can be asked, apart from running its table.

Time, addresses, the waiting rows behind ``stall_and_wait``, line locks and the memory port.
Invariant: a message that waits is noted in a row until it is woken; no wake-up forgets one.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, NoReturn

from runtime.controller.declarations import ControllerContext, InPort
from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.engine import Consumer
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import CacheMemory
from runtime.types.enumeration import Enumeration
from runtime.types.integers import int64
from runtime.types.messages import MachineType, MemoryMsg, Packet
from runtime.types.values import MachineID, NetDest

Waiters = list[tuple[int, MessageBuffer]]
"""What waits for one line: (rank of the port that was polled, buffer with the messages)."""


class ControllerBase(Consumer):
    """The part of a controller that does not depend on its shape.

    ``current``: the port being polled, None outside of a wake-up. ``woken``: a message was
    woken since the last complete pass over the ports. ``blocked``: line -> the queue whose
    locked access holds it. ``waiting``: line -> :data:`Waiters`. ``held_responses``: answers of
    memory that wait for room. ``stalled_at``: tick, state and event of the last stall.
    """

    __slots__ = (
        "blocked",
        "buffer_size",
        "busy_tick",
        "clusterID",
        "context",
        "current",
        "delays_seen",
        "downstream",
        "full_mask",
        "held_responses",
        "left",
        "line_bits",
        "line_mask",
        "line_size",
        "machineID",
        "mandatory_queue",
        "mandatory_queue_latency",
        "memory",
        "memory_request",
        "memory_response",
        "memory_tick",
        "number_of_TBEs",
        "parameters",
        "recycle_latency",
        "stalled_at",
        "topology",
        "transaction_latencies",
        "transition_event",
        "transition_state",
        "upstream",
        "version",
        "waiting",
        "woken",
    )

    MACHINE: ClassVar[str] = ""
    MACHINE_TYPE: ClassVar[int] = MachineType.NUM
    STATES: ClassVar[type[Enumeration]] = Enumeration
    EVENTS: ClassVar[type[Enumeration]] = Enumeration

    def __init__(self, context: ControllerContext) -> None:
        Consumer.__init__(self, context.engine)
        self.context = context
        self.parameters = context.parameters
        self.topology = context.topology
        self.version = context.version
        self.machineID: MachineID = context.topology.machine_id(self.MACHINE_TYPE, context.version)
        self.clusterID = context.cluster_id
        self.recycle_latency = context.recycle_latency
        self.number_of_TBEs = context.number_of_TBEs
        self.mandatory_queue_latency = context.mandatory_queue_latency
        self.buffer_size = context.buffer_size
        self.line_bits = context.topology.line_bits
        self.line_size = context.topology.line_size
        self.line_mask = self.line_size - 1
        self.full_mask = (1 << 8 * self.line_size) - 1
        self.memory = context.memory
        self.memory_request: MessageBuffer | None = None
        self.memory_response: MessageBuffer | None = None
        self.memory_tick = -1
        self.held_responses: deque[MemoryMsg] = deque()
        self.mandatory_queue: MessageBuffer | None = None
        self.current: InPort | None = None
        self.woken = False
        self.left = 0
        self.busy_tick = -1
        self.waiting: dict[int, Waiters] = {}
        self.blocked: dict[int, MessageBuffer] = {}
        self.stalled_at = (-1, 0, 0)
        self.transition_event = 0
        self.transition_state = 0
        self.delays_seen: dict[int, list[int]] = {}
        self.transaction_latencies: dict[tuple[str, int], int] = {}
        self.downstream: tuple[MachineID, ...] = context.downstream
        self.upstream: tuple[MachineID, ...] = context.upstream

    def __repr__(self) -> str:
        return f"{self.MACHINE} {self.version}"

    # ------------------------------------------------------------ time

    def clockEdge(self, cycles: int = 0) -> int:
        return self.engine.now + cycles

    def curCycle(self) -> int:
        return self.engine.now

    def curTick(self) -> int:
        return self.engine.now

    def cyclesToTicks(self, cycles: int) -> int:
        return cycles

    def ticksToCycles(self, ticks: int) -> int:
        return ticks

    def scheduleEvent(self, cycles: int) -> None:
        """Ask to be run after ``cycles``, which are read with their sign."""
        self.engine.schedule(self, self.engine.now + int64(cycles))

    def stall_port(self) -> None:
        """``stallPort()``: look at this controller again next cycle."""
        self.engine.schedule(self, self.engine.now + 1)

    # ------------------------------------------------------------ addresses and machines

    def makeLineAddress(self, address: int) -> int:
        return address & ~self.line_mask

    def getOffset(self, address: int) -> int:
        return address & self.line_mask

    def makeNextStrideAddress(self, address: int, stride: int) -> int:
        """The line address ``stride`` lines further."""
        return (address & ~self.line_mask) + stride * self.line_size

    def getBlockSizeBits(self) -> int:
        return self.line_bits

    def getBlockSizeBytes(self) -> int:
        return self.line_size

    def mapAddressToMachine(self, address: int, machine_type: int) -> MachineID:
        """The controller of that type whose range has the address."""
        return self.topology.map_address(machine_type, address)

    def mapAddressToDownstreamMachine(self, address: int, machine_type: int = -1) -> MachineID:
        """The downstream controller (of that type) that is responsible for the address.

        Of machines that are interleaved the one whose range has it; others share the lines out.
        """
        found = [m for m in self.downstream if machine_type in (-1, m.type)]
        if found and not self.topology.interleaved(found[0].type):
            return found[(address >> self.line_bits) % len(found)]
        for machine in found:
            if self.topology.owns(machine, address):
                return machine
        raise ProtocolError(
            ErrorKind.UNDELIVERABLE, f"no downstream machine is responsible for {address:#x}"
        )

    def mapAddressToRange(
        self, address: int, machine_type: int, low: int, bits: int, cluster: int = 0
    ) -> MachineID:
        """Number = bits [low, low + bits) of the address, within the cluster's group."""
        if not (0 <= low < 64 and 0 <= bits < 64):
            raise ProtocolError(ErrorKind.BAD_SHIFT, f"{bits} bits from bit {low} of an address")
        num = (address >> low & ((1 << bits) - 1)) + (cluster << bits)
        topology = self.topology
        return topology.ids.get((machine_type, num)) or topology.machine_id(machine_type, num)

    def machineCount(self, machine_type: int) -> int:
        return self.topology.count(machine_type)

    def createMachineID(self, machine_type: int, num: int) -> MachineID:
        return self.topology.machine_id(machine_type, num)

    def respondsTo(self, address: int) -> bool:
        """Whether the address lies in this controller's own ranges."""
        return self.topology.owns(self.machineID, address)

    def allUpstreamDest(self) -> NetDest:
        destinations = NetDest()
        for machine in self.upstream:
            destinations.add(machine)
        return destinations

    def broadcast(self, machine_type: int) -> NetDest:
        """All controllers of a type."""
        return NetDest(self.topology.mask_of(machine_type))

    # ------------------------------------------------------------ mistakes

    def panic(self, text: str) -> NoReturn:
        """``error("…")``: the protocol says that this cannot happen."""
        raise ProtocolError(ErrorKind.PANIC, text)

    def assertion_failed(self, condition: str) -> NoReturn:
        raise ProtocolError(ErrorKind.ASSERTION, f"assert({condition}) does not hold")

    def misaligned(self, address: int, what: str) -> NoReturn:
        raise ProtocolError(ErrorKind.MISALIGNED, f"{what} of {address:#x}, no line address")

    # ------------------------------------------------------------ stalling and waking

    def stall_and_wait(self, port: MessageBuffer, address: int) -> None:
        """Put the port's head aside until something wakes the line."""
        if address & self.line_mask:
            self.misaligned(address, "stall_and_wait")
        port.stall(address)
        slot = (0 if self.current is None else self.current.rank, port)
        row = self.waiting.get(address)
        if row is None:
            self.waiting[address] = [slot]
        elif slot not in row:
            row.append(slot)

    def _wake(self, buffer: MessageBuffer, address: int) -> None:
        if buffer.wake(address):
            self._look_again()

    def _look_again(self) -> None:
        self.woken = True
        if self.current is None:
            self.engine.schedule(self, self.engine.now)

    def wakeUpBuffers(self, address: int) -> None:
        """Wake what waits for the line at ports of lower rank than the current one.

        In a machine whose ports all have one rank: at all ports but the current one. What is
        not woken keeps waiting.
        """
        row = self.waiting.pop(address, None)
        if row is None:
            return
        current = self.current
        kept: Waiters = []
        for slot in row:
            rank, buffer = slot
            if current is None:
                lower = True
            elif self.ranked:
                lower = rank < current.rank
            else:
                lower = buffer is not current.buffer
            if lower:
                self._wake(buffer, address)
            else:
                kept.append(slot)
        if kept:
            self.waiting[address] = kept

    @property
    def ranked(self) -> bool:
        """Whether the machine's ports have different ranks."""
        raise NotImplementedError

    def wakeUpAllBuffers(self, address: int | None = None) -> None:
        """Wake what waits for the line, or everything that waits for any line."""
        if address is not None:
            for _, buffer in self.waiting.pop(address, ()):
                self._wake(buffer, address)
            return
        rows, self.waiting = self.waiting, {}
        for line in sorted(rows):
            for _, buffer in rows[line]:
                if buffer.wake_all():
                    self._look_again()

    def wakeup_port(self, port: MessageBuffer, address: int) -> None:
        """Wake what waits for the line in one buffer."""
        row = self.waiting.get(address)
        if row is not None:
            kept = [slot for slot in row if slot[1] is not port]
            if kept:
                self.waiting[address] = kept
            else:
                del self.waiting[address]
        self._wake(port, address)

    # ------------------------------------------------------------ locked lines

    def block_line(self, address: int, queue: MessageBuffer | None = None) -> None:
        """Lock a line for one queue (the mandatory queue): a locked read has completed."""
        queue = queue or self.mandatory_queue
        if queue is None:
            raise RuntimeError(f"{self!r} has no mandatory queue to lock a line for")
        self.blocked[address] = queue

    def unblock_line(self, address: int) -> None:
        """End the lock; messages that were delayed by it come back by themselves."""
        self.blocked.pop(address, None)

    def is_blocked(self, address: int, port: MessageBuffer) -> bool:
        """Whether the line is locked for another buffer than ``port``."""
        holder = self.blocked.get(address)
        return holder is not None and holder is not port

    def is_locked_by(self, address: int, port: MessageBuffer) -> bool:
        """Whether the line is locked for this very buffer."""
        return self.blocked.get(address) is port

    # ------------------------------------------------------------ memory

    def connect_memory(self, requests: MessageBuffer) -> None:
        """Serve what is enqueued on ``requests`` from the memory of the context."""
        if self.memory is None:
            raise ValueError(f"{self!r} sends memory requests but was given no memory")
        self.memory_request = requests
        requests.set_consumer(self)

    def service_memory(self) -> None:
        """Hand the oldest memory request to the memory: one in each cycle."""
        requests = self.memory_request
        now = self.engine.now
        if requests is None or self.memory is None or self.memory_tick == now:
            return
        self.memory_tick = now
        request = requests.peek(MemoryMsg)
        response = self.memory.access(request, self.machineID)
        requests.dequeue()
        if requests.messages:
            self.engine.schedule(self, now + 1)
        responses = self.memory_response
        if responses is None:
            raise ProtocolError(
                ErrorKind.BAD_MEMORY_REQUEST, f"{self!r} has no in-port on responseFromMemory"
            )
        if responses.capacity:
            self.engine.post(self._respond, response, now + self.memory.latency)
        else:
            responses.enqueue(response, self.memory.latency + 1)

    def _respond(self, response: MemoryMsg) -> None:
        """The memory has its answer; a full response queue makes it wait."""
        self.held_responses.append(response)
        self._offer_responses(None)

    def _offer_responses(self, _: object) -> None:
        queue = self.memory_response
        assert queue is not None
        while self.held_responses and queue.areNSlotsAvailable(1):
            queue.enqueue(self.held_responses.popleft(), 1)

    def dequeueMemRespQueue(self) -> None:
        """Remove the head of the response queue and let the memory use its slot."""
        if self.memory_response is None:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"{self!r} has no responseFromMemory")
        self.memory_response.dequeue()
        if self.held_responses:
            self.engine.post(self._offer_responses, None, self.engine.now + 1)

    def functionalMemoryRead(self, packet: Packet) -> None:
        """Read from memory requests that are under way, else from memory."""
        if self.memory_request is not None:
            for message in self.memory_request.contents():
                if isinstance(message, MemoryMsg) and message.functionalRead(packet):
                    return
        if self.memory is not None:
            self.memory.functional_read(packet)

    def functionalMemoryWrite(self, packet: Packet) -> bool:
        if self.memory is not None:
            self.memory.functional_write(packet)
        return True

    # ------------------------------------------------------------ the running transition

    def curTransitionEvent(self) -> int:
        return self.transition_event

    def curTransitionNextState(self) -> int:
        """The state that the running transition started from, as in the reference."""
        return self.transition_state

    # ------------------------------------------------------------ statistics

    def profileMsgDelay(self, virtual_network: int, cycles: int) -> None:
        """Add to the number and the sum of the delays seen on a virtual network."""
        seen = self.delays_seen.setdefault(virtual_network, [0, 0])
        seen[0] += 1
        seen[1] += cycles

    def _start(self, kind: str, key: int) -> None:
        if (kind, key) in self.transaction_latencies:
            raise ProtocolError(ErrorKind.ASSERTION, f"{kind} transaction {key:#x} started twice")
        self.transaction_latencies[kind, key] = self.engine.now

    def _end(self, kind: str, key: int) -> None:
        if self.transaction_latencies.pop((kind, key), None) is None:
            raise ProtocolError(ErrorKind.ASSERTION, f"{kind} transaction {key:#x} not started")

    def incomingTransactionStart(
        self, address: int, event: int, state: int, retried: bool, by_address: bool = True
    ) -> None:
        self._start("incoming" if by_address else "incoming id", address)

    def incomingTransactionEnd(self, address: int, state: int, by_address: bool = True) -> None:
        self._end("incoming" if by_address else "incoming id", address)

    def outgoingTransactionStart(self, address: int, event: int, by_address: bool = True) -> None:
        self._start("outgoing" if by_address else "outgoing id", address)

    def outgoingTransactionEnd(self, address: int, retried: bool, by_address: bool = True) -> None:
        self._end("outgoing" if by_address else "outgoing id", address)

    def caches(self) -> list[CacheMemory[Any]]:
        """The caches among the parameters, in order of declaration."""
        return [value for value in self.parameters.values() if isinstance(value, CacheMemory)]

    def has_resource_stalls(self) -> bool:
        return any(cache.resource_stalls for cache in self.caches())
