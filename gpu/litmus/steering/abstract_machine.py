"""What the caches can do with a litmus test, without time: the steps of an abstract machine.

    unit        sends what its waves issue to its first-level cache, in that order
    first level a line that is there answers loads; a store is passed on, and changes the line if it
                is there; an atomic operation, a load with glc or of coherent memory drops it. While
                a load or an atomic operation of a line is under way, later requests for it wait. An
                invalidation drops every line, and keeps what is under way from being kept.
    network     what a unit has sent for one line arrives in order; nothing else is ordered
    below       one memory, which performs what arrives. A load or an atomic operation has its
                answer then, a store is complete then.
    LDS         performs an access when it is issued
    core        makes one access after the other; a load may pass a store that is in the store
                buffer (`gpu.litmus.core_program`)

A wait is for everything of its thread that is outstanding in a counter; FLAT instructions count in
both, so that on a processor without ``global_`` instructions a wait for either holds for global
memory. Threads of one wave are taken as threads of several, which may do more.

Invariant: whatever `gpu.litmus.single_run` ends with, some sequence of steps ends with, in the same
placement and with the same warm lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from gpu.litmus.core_program import may_pass
from gpu.litmus.kernel import Sequences, as_written, counts_in_both, sequence_for
from gpu.litmus.sequences import ACCESS, LDS_AND_SCALAR, VECTOR, WAIT, Step
from gpu.litmus.situation import global_names
from gpu.memory_model.program import (
    Access,
    Fence,
    Load,
    Operation,
    Outcome,
    Program,
    Rmw,
    Space,
    Store,
    Value,
)
from runtime.types.atomic_op import AtomicKind, AtomicOp
from slicc.text.lazy_dataclass import dataclass


class Rule(StrEnum):
    """What the machine does that the code sequences do not count on, and may be taken from it to
    find out what hides a mistake."""

    both = "FLAT instructions count in both counters"
    local = "the LDS performs an access when it is issued"


EVERY_RULE: Final = frozenset(Rule)


class Instruction(NamedTuple):
    """An instruction of an operation, by number. ``first``: of its instructions, which also decides
    whether the operation is executed. ``waits``: for a value that it uses, before anything of it is
    issued."""

    operation: int
    step: Step | None
    first: bool
    waits: tuple[str, ...]


class Request(NamedTuple):
    """A request that is not performed yet. ``sent``: it has left the first-level cache; else it
    waits there. ``kept``: a load whose line will stay."""

    thread: int
    operation: int
    sent: bool
    kept: bool


class State(NamedTuple):
    """``places``: of each thread, the number of its next instruction, doubled; one more if a core
    has made the load behind a store that it still has to make. ``registers``: of all threads.
    ``memory``, ``lds``: bytes of each name. ``lines``: of each unit and name, if its cache has it.
    ``requests``: of each unit and name, in order; then of each thread and name in
    LDS."""

    places: tuple[int, ...]
    registers: tuple[int, ...]
    memory: tuple[bytes, ...]
    lds: tuple[bytes, ...]
    lines: tuple[bytes | None, ...]
    requests: tuple[tuple[Request, ...], ...]


class Move(NamedTuple):
    """A step. ``thread``, ``operation``: whose instructions are issued, or whose request is
    performed. ``slot``: where that is, see `AbstractMachine.slot`; None: instructions are issued.
    ``sends``: slots of the requests that leave a first-level cache by it. ``continues``: what is
    performed ends a wait within an operation, and more of that is issued."""

    thread: int
    operation: int
    slot: int | None
    sends: tuple[int, ...]
    continues: bool = False


Placement = Mapping[int, int]
"""The unit of each group."""
Warm = frozenset[int]
"""Slots of the lines that are in first-level caches at the start."""


@dataclass(slots=True)
class _Draft:
    """A state that is being changed."""

    places: list[int]
    registers: list[int]
    memory: list[bytes]
    lds: list[bytes]
    lines: list[bytes | None]
    requests: list[tuple[Request, ...]]
    sends: list[int]

    @classmethod
    def of(cls, state: State) -> _Draft:
        return cls(
            list(state.places),
            list(state.registers),
            list(state.memory),
            list(state.lds),
            list(state.lines),
            list(state.requests),
            [],
        )

    def state(self) -> State:
        return State(
            tuple(self.places),
            tuple(self.registers),
            tuple(self.memory),
            tuple(self.lds),
            tuple(self.lines),
            tuple(self.requests),
        )


class AbstractMachine:
    """One test in one placement. ``sequences``: those of a mutant, see `gpu.litmus.kernel`.
    ``rules``: those that hold."""

    def __init__(
        self,
        program: Program,
        placement: Placement,
        *,
        processor: str,
        opencl: bool = False,
        sequences: Sequences = as_written,
        rules: frozenset[Rule] = EVERY_RULE,
    ) -> None:
        self.program = program
        self.placement = placement
        self._rules = rules
        self._both = counts_in_both(processor) and Rule.both in rules
        self.coherent = any(each.position.agent == "cpu" for each in program.threads)
        """Memory is of the type that no first-level cache keeps."""
        self.names = global_names(program)
        self._registers = {
            name: number for number, name in enumerate(program.terms[: _registers(program)])
        }
        self.code = [
            _instructions(program, number, processor, opencl, sequences)
            for number in range(len(program.threads))
        ]
        units = max(placement.values(), default=-1) + 1
        self._global_slots = units * len(self.names)
        self._local = sorted({
            (each.position.group, o.place.name)
            for each in program.threads
            for o in each.operations
            if not isinstance(o, Fence) and o.place.space is Space.local
        })  # fmt: skip

    # ------------------------------------------------------------------ states

    def slot(self, unit: int, name: str) -> int:
        """The number of a line in the cache of a unit, in `State.lines` and `State.requests`."""
        return unit * len(self.names) + self.names.index(name)

    def can_be_warm(self) -> list[int]:
        """The slots of lines that a load of that unit would find."""
        found = set()
        for number, thread in enumerate(self.program.threads):
            for each in self.code[number]:
                operation = thread.operations[each.operation]
                if (
                    not self.coherent
                    and isinstance(operation, Load)
                    and operation.place.space is Space.global_
                    and each.step is not None
                    and each.step.name == ACCESS
                    and not each.step.parts
                ):
                    found.add(self._slot_of(number, operation))
        return sorted(found)

    def start(self, warm: Warm) -> State:
        """Before the first instruction."""
        memory = [bytearray(size) for size in self._sizes()]
        for place, value in self.program.initial.items():
            data = value.to_bytes(place.size, "little")
            memory[self.names.index(place.name)][place.offset : place.offset + place.size] = data
        slots = self._global_slots
        lines = [
            bytes(memory[slot % len(self.names)]) if slot in warm else None for slot in range(slots)
        ]
        return State(
            (0,) * len(self.code),
            (0,) * len(self._registers),
            tuple(map(bytes, memory)),
            (bytes(64),) * len(self._local),
            tuple(lines),
            ((),) * (slots + len(self.code) * len(self._local)),
        )

    def _sizes(self) -> Iterator[int]:
        places = [
            o.place for t in self.program.threads for o in t.operations if not isinstance(o, Fence)
        ]
        places += [*self.program.initial, *self.program.observed]
        for name in self.names:
            yield max(place.offset + place.size for place in places if place.name == name)

    def outcome(self, state: State) -> Outcome | None:
        """What has been reached, if nothing is left to do."""
        done = all(
            place >= 2 * len(code) for place, code in zip(state.places, self.code, strict=True)
        )
        if not done or any(state.requests):
            return None
        final = (
            _number(state.memory[self.names.index(place.name)], place.offset, place.size)
            for place in self.program.observed
        )
        return (*state.registers, *final)

    # ------------------------------------------------------------------ steps

    def moves(self, state: State, whole: bool) -> Iterator[tuple[Move, State]]:
        """All steps from a state. ``whole``: an operation's instructions are issued together, as
        far as no wait stands between them."""
        for slot, requests in enumerate(state.requests):
            if requests:
                yield self._performed(state, slot, whole)
        for thread, place in enumerate(state.places):
            if place < 2 * len(self.code[thread]):
                if self.program.threads[thread].position.agent == "cpu":
                    yield from self._core_moves(state, thread)
                elif self._may_issue(state, thread):
                    yield self._issued(state, thread, whole)

    def _performed(self, state: State, slot: int, whole: bool) -> tuple[Move, State]:
        """The first request of a line arrives; those that waited for it leave."""
        draft = _Draft.of(state)
        request, *rest = state.requests[slot]
        access = self._access(request.thread, request.operation)
        if slot >= self._global_slots:
            self._access_local(draft, request.thread, access)
        else:
            line = slot % len(self.names)
            self._access_memory(draft, request.thread, access, line)
            if request.kept:
                draft.lines[slot] = draft.memory[line]
        draft.requests[slot] = tuple(each for each in rest if each.sent)
        for each in rest:
            if not each.sent:
                self._first_level(draft, slot, each.thread, each.operation)
        before = draft.places[request.thread]
        if whole:
            self._continue(draft, request.thread, whole)
        continues = draft.places[request.thread] != before
        move = Move(request.thread, request.operation, slot, tuple(draft.sends), continues)
        return move, draft.state()

    def _may_issue(self, state: State, thread: int) -> bool:
        instruction = self.code[thread][state.places[thread] // 2]
        if instruction.waits and self._outstanding(state.requests, thread, instruction.waits):
            return False
        step = instruction.step
        if (
            step is None
            or step.name != WAIT
            or not self._is_executed(state.registers, thread, instruction)
        ):
            return True
        return not self._outstanding(state.requests, thread, step.parts)

    def _outstanding(
        self, requests: tuple[tuple[Request, ...], ...], thread: int, counters: tuple[str, ...]
    ) -> bool:
        vector = VECTOR in counters or (self._both and LDS_AND_SCALAR in counters)
        first = 0 if vector else self._global_slots
        end = None if LDS_AND_SCALAR in counters else self._global_slots
        return any(each.thread == thread for queue in requests[first:end] for each in queue)

    def _issued(self, state: State, thread: int, whole: bool) -> tuple[Move, State]:
        draft = _Draft.of(state)
        operation = self.code[thread][state.places[thread] // 2].operation
        self._issue(draft, thread)
        self._continue(draft, thread, whole)
        return Move(thread, operation, None, tuple(draft.sends)), draft.state()

    def _continue(self, draft: _Draft, thread: int, whole: bool) -> None:
        """More of an operation that has begun: a wait that is over, which makes no difference to
        others; all else that need not wait, if it is issued as a ``whole``."""
        code = self.code[thread]
        while (place := draft.places[thread] // 2) < len(code) and not code[place].first:
            step = code[place].step
            wait = step is not None and step.name == WAIT
            if not (whole or wait) or not self._may_issue(draft.state(), thread):
                return
            self._issue(draft, thread)

    def _issue(self, draft: _Draft, thread: int) -> None:
        instruction = self.code[thread][draft.places[thread] // 2]
        if not self._is_executed(tuple(draft.registers), thread, instruction):
            while (
                draft.places[thread] < 2 * len(self.code[thread])
                and self.code[thread][draft.places[thread] // 2].operation == instruction.operation
            ):
                draft.places[thread] += 2
            return
        draft.places[thread] += 2
        step = instruction.step
        if step is None or step.name == WAIT:
            return
        if step.name != ACCESS:
            self._invalidate(draft, thread)
            return
        access = self._access(thread, instruction.operation)
        if access.place.space is Space.local:
            if Rule.local in self._rules:
                self._access_local(draft, thread, access)
                return
            slot = self._global_slots + thread * len(self._local) + self._where(thread, access)
            request = Request(thread, instruction.operation, True, False)
            draft.requests[slot] = (*draft.requests[slot], request)
            return
        self._first_level(draft, self._slot_of(thread, access), thread, instruction.operation)

    def _is_executed(
        self, registers: tuple[int, ...], thread: int, instruction: Instruction
    ) -> bool:
        guard = self._operation(thread, instruction.operation).when
        if guard is None or not instruction.first:
            return True
        return registers[self._register(thread, guard.register)] == guard.value

    def _invalidate(self, draft: _Draft, thread: int) -> None:
        unit = self._unit(thread)
        for slot in range(unit * len(self.names), (unit + 1) * len(self.names)):
            draft.lines[slot] = None
            draft.requests[slot] = tuple(each._replace(kept=False) for each in draft.requests[slot])

    def _first_level(self, draft: _Draft, slot: int, thread: int, operation: int) -> None:
        """A request is taken by the first-level cache, or waits behind those that do already."""
        queue = draft.requests[slot]
        if any(not isinstance(self._access(*each[:2]), Store) for each in queue):
            draft.requests[slot] = (*queue, Request(thread, operation, False, False))
            return
        access = self._access(thread, operation)
        line = draft.lines[slot]
        kept = False
        if isinstance(access, Load):
            bypasses = self.coherent or bool(self._bits(thread, operation))
            if line is not None and not bypasses:
                self._set(draft, thread, access.register, _at(line, access))
                return
            kept = not bypasses
            draft.lines[slot] = None
        elif isinstance(access, Store) and line is not None and not self.coherent:
            draft.lines[slot] = self._stored(draft, thread, access, line)
        else:
            draft.lines[slot] = None
        draft.requests[slot] = (*queue, Request(thread, operation, True, kept))
        draft.sends.append(slot)

    def _bits(self, thread: int, operation: int) -> tuple[str, ...]:
        return next(
            each.step.parts
            for each in self.code[thread]
            if each.operation == operation and each.step is not None and each.step.name == ACCESS
        )

    # ------------------------------------------------------------------ cores

    def _core_moves(self, state: State, thread: int) -> Iterator[tuple[Move, State]]:
        number, owes = divmod(state.places[thread], 2)
        operations = self.program.threads[thread].operations
        if owes:
            yield self._core_move(state, thread, number, 2 * number + 4)
            return
        yield self._core_move(state, thread, number, 2 * number + 2)
        if number + 1 < len(operations) and may_pass(operations[number], operations[number + 1]):
            store, load = operations[number : number + 2]
            if all(self._holds(state.registers, thread, each) for each in (store, load)):
                yield self._core_move(state, thread, number + 1, 2 * number + 1)

    def _core_move(self, state: State, thread: int, number: int, then: int) -> tuple[Move, State]:
        draft = _Draft.of(state)
        operation = self._operation(thread, number)
        if not isinstance(operation, Fence) and self._holds(state.registers, thread, operation):
            line = self.names.index(operation.place.name)
            self._access_memory(draft, thread, operation, line)
        draft.places[thread] = then
        return Move(thread, number, None, ()), draft.state()

    def _holds(self, registers: tuple[int, ...], thread: int, operation: Operation) -> bool:
        guard = operation.when
        return guard is None or registers[self._register(thread, guard.register)] == guard.value

    # ------------------------------------------------------------------ accesses

    def _access_memory(self, draft: _Draft, thread: int, access: Access, line: int) -> None:
        draft.memory[line] = self._accessed(draft, thread, access, draft.memory[line])

    def _access_local(self, draft: _Draft, thread: int, access: Access) -> None:
        where = self._where(thread, access)
        draft.lds[where] = self._accessed(draft, thread, access, draft.lds[where])

    def _accessed(self, draft: _Draft, thread: int, access: Access, data: bytes) -> bytes:
        """The new bytes; a register gets the old value."""
        old = _at(data, access)
        if not isinstance(access, Store):
            self._set(draft, thread, access.register, old)
        if isinstance(access, Load):
            return data
        if isinstance(access, Store):
            return self._stored(draft, thread, access, data)
        operand = self._value(draft, thread, access.operand, access.place.size)
        if access.kind == AtomicKind.EXCHANGE:
            return _with(data, access, operand)
        how = AtomicOp(access.kind, operand, access.place.size, access.compare)
        return _with(data, access, how.apply(old))

    def _stored(self, draft: _Draft, thread: int, access: Store, data: bytes) -> bytes:
        return _with(data, access, self._value(draft, thread, access.value, access.place.size))

    def _value(self, draft: _Draft, thread: int, value: Value, size: int) -> int:
        number = value
        if isinstance(number, str):
            number = draft.registers[self._register(thread, number)]
        return number & (1 << 8 * size) - 1

    def _set(self, draft: _Draft, thread: int, register: str | None, value: int) -> None:
        if register is not None:
            draft.registers[self._register(thread, register)] = value

    # ------------------------------------------------------------------ who is where

    def _where(self, thread: int, access: Access) -> int:
        """In `State.lds`."""
        return self._local.index((self.program.threads[thread].position.group, access.place.name))

    def _register(self, thread: int, name: str) -> int:
        return self._registers[f"{self.program.threads[thread].name}:{name}"]

    def _operation(self, thread: int, number: int) -> Operation:
        return self.program.threads[thread].operations[number]

    def _access(self, thread: int, number: int) -> Access:
        operation = self._operation(thread, number)
        assert not isinstance(operation, Fence), "a fence requests nothing"
        return operation

    def _unit(self, thread: int) -> int:
        return self.placement[self.program.threads[thread].position.group]

    def _slot_of(self, thread: int, access: Access) -> int:
        return self.slot(self._unit(thread), access.place.name)


def _registers(program: Program) -> int:
    return sum(len(each.registers) for each in program.threads)


def _at(data: bytes, access: Access) -> int:
    return _number(data, access.place.offset, access.place.size)


def _number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")


def _with(data: bytes, access: Access, value: int) -> bytes:
    first, size = access.place.offset, access.place.size
    return data[:first] + value.to_bytes(size, "little") + data[first + size :]


_NOTHING: Final = Step(WAIT)
"""What an operation that needs no instruction becomes."""


def _instructions(
    program: Program, number: int, processor: str, opencl: bool, sequences: Sequences
) -> list[Instruction]:
    """A thread's code sequences, and a compiler's waits for values before their use."""
    thread = program.threads[number]
    found: list[Instruction] = []
    pending: dict[str, str] = {}
    for place, operation in enumerate(thread.operations):
        if thread.position.agent == "cpu":
            found.append(Instruction(place, None, True, ()))
            continue
        before = dict(pending)
        needed = [] if operation.when is None else [operation.when.register]
        said = sequences(number, place, sequence_for(processor, operation, opencl)) or (_NOTHING,)
        for at, step in enumerate(said):
            if step.name == ACCESS:
                needed += _used(operation)
            waits = tuple(dict.fromkeys(pending[name] for name in needed if name in pending))
            gone = (*waits, *(step.parts if step.name == WAIT else ()))
            pending = {name: counter for name, counter in pending.items() if counter not in gone}
            found.append(Instruction(place, step, at == 0, waits))
            needed = []
            if step.name == ACCESS and isinstance(operation, Load | Rmw) and operation.register:
                local = operation.place.space is Space.local
                pending[operation.register] = LDS_AND_SCALAR if local else VECTOR
        if operation.when is not None:
            pending = before | pending
    return found


def _used(operation: Operation) -> list[str]:
    """The registers whose value an access needs."""
    if isinstance(operation, Load | Fence):
        return []
    value = operation.value if isinstance(operation, Store) else operation.operand
    return [value] if isinstance(value, str) else []
