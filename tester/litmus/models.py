"""What a memory model allows a racy scenario to end with, by running all of its interleavings.

Two operational models. SC: an operation of any thread at a time, on one memory. TSO: the same with
a buffer of stores for each thread, from which its own loads are answered and which drains to memory
in order, at any time; atomic operations and fences wait for an empty buffer. Memory is bytes, so
accesses of several sizes may overlap; it starts as zeroes. A thread that waits for another one
(`after`) waits until its operations are performed, and has performed its own.

Invariant: the result is exactly the set of outcomes that some interleaving has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from runtime.types.atomic_op import AtomicOp
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Model, Register, Term
from slicc.scenario_text.name_checks import OPERATIONS
from slicc.text.lazy_dataclass import dataclass
from tester.program.program import PLAIN
from tester.scenario_text.episodes import ScenarioEpisode
from tester.scenario_text.placement import Addresses

MAX_STATES: Final = 1 << 17
"""Of one enumeration; more are not looked at."""


class TooManyStates(ValueError):
    """The scenario is too large for enumeration."""


@dataclass(frozen=True, slots=True)
class Operation:
    """``first``: where its bytes begin in the model's memory. ``register``: which one it sets, as a
    number, or -1. ``waits``: (thread, number of its operations)."""

    kind: str
    first: int
    size: int
    value: int
    register: int
    waits: tuple[tuple[int, int], ...]
    fenced: bool
    operation: int = 0
    compare: int = 0


@dataclass(frozen=True, slots=True)
class Threads:
    """A scenario as the models run it. ``places``: (first byte, size) of what is of interest."""

    operations: tuple[tuple[Operation, ...], ...]
    registers: tuple[Register, ...]
    places: Mapping[Term, tuple[int, int]]
    bytes: int


_Item = TypeVar("_Item")
# A state: program counters, memory, registers, and of each thread the stores in its buffer:
# (number of the operation, first byte, bytes).
_Buffer = tuple[tuple[int, int, bytes], ...]
_State = tuple[tuple[int, ...], bytes, tuple[int, ...], tuple[_Buffer, ...]]


def threads_of(
    scenario: syntax.Scenario,
    episodes: Sequence[ScenarioEpisode],
    addresses: Addresses,
    places: Mapping[Term, tuple[int, int]],
) -> Threads | None:
    """None: the models have no say, because operations overlap or an agent is no processor.

    ``episodes``: without overlap. ``places``: (address, bytes) of the places of interest.
    """
    if not all(episode.alone and episode.scope & PLAIN for episode in episodes):
        return None
    accesses = [episode.instructions[0].accesses[0] for episode in episodes]
    ranges = [(addresses.of(access.place), access.bytes) for _, access in accesses]
    ranges += places.values()
    touched = sorted({byte for start, size in ranges for byte in range(start, start + size)})
    index = {byte: number for number, byte in enumerate(touched)}
    operations: list[list[Operation]] = [[] for _ in scenario.columns]
    registers: list[Register] = []
    for episode, (step, access) in zip(episodes, accesses):
        result = None if isinstance(access, syntax.Store) else access.result
        number = -1
        if result is not None and result.register is not None:
            number = len(registers)
            registers.append(Register(scenario.columns[step.column].name, result.register))
        atomic = isinstance(access, syntax.Atomic)
        operations[step.column].append(
            Operation(
                "atomic" if atomic else "store" if isinstance(access, syntax.Store) else "load",
                index[addresses.of(access.place)],
                access.bytes,
                access.value if isinstance(access, syntax.Store) else _operand(access),
                number,
                tuple(episode.waits),
                episode.fenced,
                OPERATIONS[access.operation] if isinstance(access, syntax.Atomic) else 0,
                access.compare or 0 if isinstance(access, syntax.Atomic) else 0,
            )
        )
    where = {term: (index[address], size) for term, (address, size) in places.items()}
    return Threads(tuple(map(tuple, operations)), tuple(registers), where, len(touched))


def _operand(access: syntax.Load | syntax.Atomic) -> int:
    return access.operand if isinstance(access, syntax.Atomic) else 0


def allowed(threads: Threads, model: Model, terms: Sequence[Term]) -> frozenset[tuple[int, ...]]:
    """The outcomes that the model allows, as values of these terms. Raises TooManyStates."""
    buffered = model is Model.tso
    count = len(threads.operations)
    start: _State = (
        (0,) * count,
        bytes(threads.bytes),
        (0,) * len(threads.registers),
        ((),) * count,
    )
    seen, left = {start}, [start]
    found = set()
    while left:
        state = left.pop()
        ends = True
        for following in _successors(threads, state, buffered):
            ends = False
            if following not in seen:
                if len(seen) >= MAX_STATES:
                    raise TooManyStates(f"more than {MAX_STATES:,} states")
                seen.add(following)
                left.append(following)
        if ends:
            found.add(tuple(_value(threads, state, term) for term in terms))
    return frozenset(found)


def _value(threads: Threads, state: _State, term: Term) -> int:
    _, memory, registers, _ = state
    if isinstance(term, Register):
        return registers[threads.registers.index(term)]
    first, size = threads.places[term]
    return int.from_bytes(memory[first : first + size], "little")


def _successors(threads: Threads, state: _State, buffered: bool) -> Iterator[_State]:
    counters, memory, registers, buffers = state
    ready = [
        number
        for number, operations in enumerate(threads.operations)
        if counters[number] < len(operations) and _may_run(threads, state, number)
    ]
    for number in ready:  # what nothing can observe need not be interleaved
        operation = threads.operations[number][counters[number]]
        if operation.kind == "load" and operation.register < 0:
            yield (_set(counters, number, counters[number] + 1), memory, registers, buffers)
            return
    for number in ready:
        yield _run(threads, state, number, buffered)
    for number, buffer in enumerate(buffers):
        if buffer:
            (_, first, data), *rest = buffer
            drained = _written(memory, first, data)
            yield counters, drained, registers, _set(buffers, number, tuple(rest))


def _may_run(threads: Threads, state: _State, number: int) -> bool:
    counters, _, _, buffers = state
    place = counters[number]
    operation = threads.operations[number][place]
    fenced = place > 0 and threads.operations[number][place - 1].fenced
    if buffers[number] and (fenced or operation.waits or operation.kind == "atomic"):
        return False
    return all(
        counters[other] >= count and all(entry[0] >= count for entry in buffers[other])
        for other, count in operation.waits
    )


def _run(threads: Threads, state: _State, number: int, buffered: bool) -> _State:
    """The state after the next operation of a thread."""
    counters, memory, registers, buffers = state
    operation = threads.operations[number][counters[number]]
    if operation.kind == "store":
        data = operation.value.to_bytes(operation.size, "little")
        if buffered:
            entry = (counters[number], operation.first, data)
            buffers = _set(buffers, number, (*buffers[number], entry))
        else:
            memory = _written(memory, operation.first, data)
    else:
        seen = memory
        for _, first, data in buffers[number]:
            seen = _written(seen, first, data)
        old = int.from_bytes(seen[operation.first : operation.first + operation.size], "little")
        if operation.register >= 0:
            registers = _set(registers, operation.register, old)
        if operation.kind == "atomic":
            new = AtomicOp(
                operation.operation, operation.value, operation.size, operation.compare
            ).apply(old)
            memory = _written(memory, operation.first, new.to_bytes(operation.size, "little"))
    return _set(counters, number, counters[number] + 1), memory, registers, buffers


def _written(memory: bytes, first: int, data: bytes) -> bytes:
    return memory[:first] + data + memory[first + len(data) :]


def _set(values: tuple[_Item, ...], place: int, value: _Item) -> tuple[_Item, ...]:
    return (*values[:place], value, *values[place + 1 :])
