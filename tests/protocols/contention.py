"""Contention: a few random agents that may use everything a protocol offers.

The tester proper runs programs; this harness is for the shipped protocols' own tests: scope bits,
flushes, instruction caches, DMA transfers of odd lengths, atomic operations of every scope, on
systems with the fewest possible frames and table entries. Memory is cut into cells. An agent owns
a cell (alone to write it, with others to read it) from before its acquire until after its
release, so each load has one legal value. Invariant: the oracle is changed only at issue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.controller.shapes import Controller
from runtime.description import SystemDescription
from runtime.requesters.port import Access, AccessKind, Requester
from runtime.sim.engine import Consumer
from runtime.system.builder import build_system
from runtime.system.system import AgentPlace, System
from runtime.types.atomic_op import AtomicKind
from runtime.types.values import DataBlock
from tests.coherent_view import coherent_bytes, coherent_line

PATIENCE: Final = 300_000
"""Ticks without an answer that are a hang."""
SIZES: Final = (1, 2, 4, 8)


@dataclass
class Cell:
    """``size`` aligned bytes that change hands as one."""

    address: int
    size: int
    value: int
    writer: Member | None = None
    readers: int = 0


@dataclass
class Counter:
    """A word that is only ever incremented. ``seen`` are the old values that came back."""

    address: int
    first: int
    increments: int = 0
    seen: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Habits:
    """How often, in percent, members do what."""

    store: int = 50
    atomic: int = 10
    flush: int = 3
    glc: int = 20
    slc: int = 20
    fetch: int = 0
    """Of processors: loads that are instruction fetches."""
    section: int = 8
    """Actions between acquire and release, at most."""
    slots: int = 12
    """Cells that a member tries to own."""


class Member(Consumer):
    """One agent: owns cells, acts on them, lets go, until its sections are used up."""

    def __init__(
        self, harness: ContentionHarness, place: AgentPlace, random: Random, sections: int
    ) -> None:
        super().__init__(harness.system.engine)
        self.harness = harness
        self.place = place
        self.random = random
        self.requester: Requester = harness.system.requesters[place.requester]
        self.sections = sections
        self.actions = 0
        self.phase = "idle"
        self.mine: list[Cell] = []
        self.shared: list[Cell] = []
        self.busy: dict[int, int] = {}
        """Cells (by address) with requests that are not answered yet."""
        self.unanswered = 0
        self.refused: Access | None = None
        self.expected: dict[int, list[int]] = {}
        self.next_tag = 0
        self.wrote: set[int] = set()
        """Lines to be flushed before another agent may have them: only beside processors."""
        self.engine.schedule(self, 1 + random.randrange(50))

    # ------------------------------------------------------------------ life

    def wakeup(self) -> None:
        if self.refused is not None:
            access, self.refused = self.refused, None
            self._issue(access)
        elif self.phase == "idle":
            self._begin()
        elif self.phase == "acting":
            self._act()
        elif self.phase == "ending" and not self.unanswered:
            self.phase = "releasing"
            self._issue(Access(AccessKind.RELEASE, self))

    def _begin(self) -> None:
        if not self.sections:
            return
        self.sections -= 1
        habits = self.harness.habits
        may_write = self.harness.may_write(self.place)
        for cell in self.random.sample(
            self.harness.cells, min(habits.slots, len(self.harness.cells))
        ):
            if cell.writer is not None:
                continue
            if may_write and not cell.readers and self.random.randrange(100) < 60:
                cell.writer = self
                self.mine.append(cell)
            else:
                cell.readers += 1
                self.shared.append(cell)
        self.actions = self.random.randint(1, habits.section)
        self.phase = "acquiring"
        self._issue(Access(AccessKind.ACQUIRE, self))

    def _end(self) -> None:
        for cell in self.mine:
            cell.writer = None
        for cell in self.shared:
            cell.readers -= 1
        self.mine = []
        self.shared = []
        self.phase = "idle"
        self.engine.schedule(self, self.engine.now + 1 + self.random.randrange(20))

    def _act(self) -> None:
        if not self.actions:
            self.phase = "ending"
            self.wakeup()
            return
        access = self._choose()
        if access is None:
            if self.unanswered:
                return  # an answer wakes this member
            self.actions = 0
            self.wakeup()
            return
        self.actions -= 1
        self.engine.schedule(self, self.engine.now + self.random.choice((1, 1, 1, 5, 40)))
        self._issue(access)

    def _choose(self) -> Access | None:
        draw = self.random.randrange(100)
        habits = self.harness.habits
        if self.place.kind == "gpu":
            if draw < habits.atomic and self.harness.counters:
                return self._atomic()
            if draw < habits.atomic + habits.flush:
                lines = self.random.sample(self.harness.lines, min(2, len(self.harness.lines)))
                return Access(AccessKind.FLUSH, self, self._tag(), lines, 1)
        storing = self.random.randrange(100) < habits.store
        cells = [c for c in self.mine if c.address not in self.busy]
        if not storing:
            cells += [c for c in self.shared if c.address not in self.busy]
        if not cells:
            return None
        if self.place.kind == "dma":
            return self._transfer(cells, storing)
        first = self.random.choice(cells)
        alike = [c for c in cells if c.size == first.size]
        count = self.random.randint(1, min(self.place.lanes, len(alike)))
        return self._vector(self.random.sample(alike, count), storing)

    def _scopes(self) -> dict[str, bool]:
        if self.place.kind != "gpu":
            return {}
        habits = self.harness.habits
        return {
            "glc": self.random.randrange(100) < habits.glc,
            "slc": self.random.randrange(100) < habits.slc,
        }

    def _tag(self) -> int:
        self.next_tag += 1
        return self.next_tag

    def _vector(self, cells: list[Cell], storing: bool) -> Access:
        tag = self._tag()
        size = cells[0].size
        addresses = [c.address for c in cells]
        for cell in cells:
            self.busy[cell.address] = tag
        if not storing:
            self.expected[tag] = [c.value for c in cells]
            load = Access(AccessKind.LOAD, self, tag, addresses, size, **self._scopes())
            fetch = self.harness.habits.fetch
            if fetch and self.place.kind == "cpu":
                load.instruction = self.random.randrange(100) < fetch
            return load
        for cell in cells:
            cell.value = self.random.getrandbits(8 * size)
            if self.harness.mixed and self.place.kind == "gpu":
                self.wrote.add(cell.address & -self.harness.line_size)
        values = [c.value for c in cells]
        return Access(AccessKind.STORE, self, tag, addresses, size, values, **self._scopes())

    def _transfer(self, cells: list[Cell], storing: bool) -> Access:
        """A run of neighbouring cells, possibly over lines."""
        by_address = {c.address: c for c in cells}
        cell = self.random.choice(cells)
        run = [cell]
        while len(run) < 20 and (cell.address + cell.size) in by_address:
            cell = by_address[cell.address + cell.size]
            run.append(cell)
        tag = self._tag()
        value = 0
        for cell in run:
            self.busy[cell.address] = tag
            if storing:
                cell.value = self.random.getrandbits(8 * cell.size)
            value |= cell.value << 8 * (cell.address - run[0].address)
        length = sum(c.size for c in run)
        if storing:
            return Access(AccessKind.STORE, self, tag, [run[0].address], length, [value])
        self.expected[tag] = [value]
        return Access(AccessKind.LOAD, self, tag, [run[0].address], length)

    def _atomic(self) -> Access:
        tag = self._tag()
        lanes = self.random.randint(1, self.place.lanes)
        counters = [self.random.choice(self.harness.counters) for _ in range(lanes)]
        for counter in counters:
            counter.increments += 1
        return Access(
            AccessKind.ATOMIC,
            self,
            tag,
            [c.address for c in counters],
            4,
            [1] * lanes,
            op=AtomicKind.ADD,
            returns=self.random.randrange(4) > 0,
            **self._scopes(),
        )

    def _issue(self, access: Access) -> None:
        if not self.requester.issue(access):
            self.refused = access
        elif access.kind <= AccessKind.ATOMIC:
            self.unanswered += len(access.addresses)
        elif access.kind == AccessKind.FLUSH:
            self.unanswered += 1

    # ------------------------------------------------------------------ answers

    def _answered(self, count: int) -> None:
        self.unanswered -= count
        self.harness.last_answer = self.engine.now
        if self.phase == "acting" or (self.phase == "ending" and not self.unanswered):
            self.engine.schedule(self, self.engine.now + 1)

    def _free(self, access: Access, lanes: Sequence[int]) -> None:
        tag = access.tag
        if self.place.kind == "dma":
            for address in [a for a, owner in self.busy.items() if owner == tag]:
                del self.busy[address]
        else:
            for lane in lanes:
                del self.busy[access.addresses[lane]]

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        ones = (1 << 8 * access.size) - 1
        for lane in lanes:
            address = access.addresses[lane]
            value = data.data >> 8 * (address - line) & ones
            expected = self.expected[access.tag][lane]
            assert value == expected, (
                f"tick {self.engine.now}: {self.place.name} loaded {value:#x} from {address:#x} "
                f"({access.size} bytes, glc {access.glc}, slc {access.slc}), "
                f"expected {expected:#x}"
            )
        self._free(access, lanes)
        self._answered(len(lanes))

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        self._free(access, lanes)
        self._answered(0)

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        self._answered(len(lanes))

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        for lane, old in zip(lanes, old_values):
            self.harness.by_address[access.addresses[lane]].seen.append(old)
        self._answered(len(lanes))

    def synchronized(self, access: Access) -> None:
        self.harness.last_answer = self.engine.now
        if access.kind == AccessKind.ACQUIRE:
            self.phase = "acting"
            self.engine.schedule(self, self.engine.now + 1)
        elif access.kind == AccessKind.RELEASE and self.wrote:
            self.phase = "flushing"
            self._issue(Access(AccessKind.FLUSH, self, self._tag(), sorted(self.wrote), 1))
            self.wrote.clear()
        elif self.phase == "flushing":
            self.unanswered -= 1
            self._end()
        elif access.kind == AccessKind.RELEASE:
            self._end()
        else:
            self._answered(1)

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)


class ContentionHarness:
    """A system, its agents, and the expected contents of memory."""

    def __init__(
        self,
        protocol: LoadedProtocol,
        description: SystemDescription,
        seed: int,
        lines: int,
        sections: int,
        habits: Habits,
        counters: int = 3,
    ) -> None:
        self.system: System = build_system(protocol.info, description, seed)
        self.habits = habits
        self.random = Random(seed)
        self.last_answer = 0
        self.line_size = line_size = description.line_size
        self.lines = [line_size * (n + 16) for n in range(lines)]
        self.cells: list[Cell] = []
        self.counters: list[Counter] = []
        kinds = {place.kind for place in self.system.agents()}
        has_gpu = "gpu" in kinds
        self.mixed = has_gpu and any(
            place.kind == "cpu" and self.may_write(place) for place in self.system.agents()
        )
        """Processors beside a GPU: what a wavefront writes is flushed before it changes hands."""
        for line in self.lines:
            address = line
            while address < line + line_size:
                size = self.random.choice([s for s in SIZES if not address % s])
                if has_gpu and len(self.counters) < counters and size == 4:
                    self.counters.append(Counter(address, self._initial(address, size)))
                else:
                    self.cells.append(Cell(address, size, self._initial(address, size)))
                address += size
        self.by_address = {c.address: c for c in self.counters}
        self.members = [
            Member(self, place, Random(f"{seed} {place.name}"), sections)
            for place in self.system.agents()
        ]

    def _initial(self, address: int, size: int) -> int:
        data = self.system.memory.read_line(address & -self.system.topology.line_size)
        return data >> 8 * (address % self.system.topology.line_size) & (1 << 8 * size) - 1

    def may_write(self, place: AgentPlace) -> bool:
        """Whether the agent's machine stores (an instruction cache does not)."""
        requester = self.system.requesters[place.requester]
        return bool(requester.controller.MACHINE != "SQC")

    def run(self) -> None:
        """Until every member is done; then flush, look for leaks, and compare memory."""
        engine = self.system.engine
        while engine.ticks:
            engine.run(engine.now + PATIENCE)
            waiting = [m.place.name for m in self.members if m.phase != "idle" or m.sections]
            stuck = not engine.ticks or engine.now - self.last_answer > PATIENCE
            assert not (waiting and stuck), f"{waiting} wait at tick {engine.now}: {self.reasons()}"
        self._flush()
        leaks = self.system.leaks()
        assert not leaks, leaks
        for cell in self.cells:
            held = self._held(cell.address, cell.size)
            assert held == cell.value, f"memory has {held:#x} at {cell.address:#x}: {cell}"
        for counter in self.counters:
            final = counter.first + counter.increments & 0xFFFFFFFF
            assert self._held(counter.address, 4) == final, counter
            assert len(set(counter.seen)) == len(counter.seen), f"repeated old values: {counter}"

    def reasons(self) -> list[str]:
        return [str(part) for r in self.system.requesters for part in r.outstanding()][:8]

    def _held(self, address: int, size: int) -> int:
        parts = coherent_bytes(self.system, range(address, address + size))
        return int.from_bytes(bytes(parts), "little")

    def _flush(self) -> None:
        """Write all back through the first GPU agent, if no processor may keep a line dirty."""
        gpu = next((m for m in self.members if m.place.kind == "gpu"), None)
        if gpu is None or self.mixed:
            return
        gpu.phase = "last flush"
        assert gpu.requester.issue(Access(AccessKind.FLUSH, gpu, 0, self.lines, 1))
        gpu.unanswered += 1
        self.system.engine.run()
        assert not gpu.unanswered, f"the last flush hangs: {self.reasons()}"
        for line in self.lines:
            held = self.system.memory.read_line(line)
            assert held == coherent_line(self.system, line), f"line {line:#x} was not flushed"

    def executed(self) -> dict[str, dict[tuple[str, str], int]]:
        """How often each cell of each machine's table ran, zeros included."""
        found: dict[str, dict[tuple[str, str], int]] = {}
        for controller in self.system.controllers:
            add_counts(found, controller)
        return found


def add_counts(total: dict[str, dict[tuple[str, str], int]], controller: Controller) -> None:
    """Add a controller's counts to those of its machine."""
    machine = total.setdefault(controller.MACHINE, {})
    for state, event in controller.TRANSITIONS:
        cell = (controller.STATES.name_of(state), controller.EVENTS.name_of(event))
        machine[cell] = machine.get(cell, 0) + controller.count_of(state, event)


def merge(
    total: dict[str, dict[tuple[str, str], int]],
    more: Mapping[str, Mapping[tuple[str, str], int]],
) -> None:
    """Add ``more`` to ``total``."""
    for machine, cells in more.items():
        into = total.setdefault(machine, {})
        for cell, count in cells.items():
            into[cell] = into.get(cell, 0) + count
