"""What a candidate execution computes: registers, and memory at the end.

Invariant: a candidate has values only if they do not depend on themselves ("out of thin air"), and
if they agree with the choices of its frame.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu.memory_model.enumeration import Pick
from gpu.memory_model.events import Frame, instance_of
from gpu.memory_model.program import Fence, Guard, Load, Outcome, Place, Program, Rmw, Value
from runtime.types.atomic_op import AtomicKind, AtomicOp


class _Circular(Exception):
    """A value depends on itself."""


def outcome_of(frame: Frame, pick: Pick) -> Outcome | None:
    """The values of the program's terms; None: no execution computes like that."""
    values = _Values(frame, pick)
    try:
        agrees = all(_agrees(frame, values, choice) for choice in frame.choices)
    except _Circular:
        return None
    if not agrees:
        return None
    try:
        registers = [
            values.register(number, name)
            for number, thread in enumerate(frame.program.threads)
            for name in thread.registers
        ]
        return (*registers, *(values.final(place) for place in frame.program.observed))
    except _Circular:
        return None


def _agrees(frame: Frame, values: _Values, choice: tuple[int, Guard | int]) -> bool:
    thread, what = choice
    taken = frame.choices[choice]
    if isinstance(what, Guard):
        return (values.register(thread, what.register) == what.value) == taken
    operation = frame.program.threads[thread].operations[what]
    event = values.event_of.get((thread, what))
    if event is None:  # not executed: one of the two frames is enough
        return taken
    assert isinstance(operation, Rmw)
    return (values.read(event) == operation.compare) == taken


class _Values:
    """The values of one candidate, computed when they are asked for."""

    def __init__(self, frame: Frame, pick: Pick) -> None:
        self._frame = frame
        self._pick = pick
        self._read: dict[int, int | None] = {}
        self.event_of = {(e.thread, e.index): n for n, e in enumerate(frame.events)}
        self._setting = {
            (number, each.register): index
            for number, thread in enumerate(frame.program.threads)
            for index, each in enumerate(thread.operations)
            if isinstance(each, Load | Rmw) and each.register is not None
        }
        self._initial = _bytes_of(frame.program)

    def register(self, thread: int, name: str) -> int:
        """The value of a register of a thread; 0 if what sets it is not executed."""
        event = self.event_of.get((thread, self._setting[thread, name]))
        return 0 if event is None else self.read(event)

    def read(self, event: int) -> int:
        """What an event reads. Raises _Circular."""
        if event not in self._read:
            self._read[event] = None
            self._read[event] = self._load(event)
        value = self._read[event]
        if value is None:
            raise _Circular
        return value

    def _load(self, event: int) -> int:
        place = self._place(event)
        data = bytearray(place.size)
        for number in self._frame.events[event].cells:
            cell = self._frame.cells[number]
            source = self._pick[number].sources[event]
            data[cell.first - place.offset : cell.end - place.offset] = self._piece(source, number)
        return int.from_bytes(data, "little")

    def _place(self, event: int) -> Place:
        operation = self._frame.events[event].operation
        assert operation is not None and not isinstance(operation, Fence), "an access"
        return operation.place

    def _piece(self, write: int, number: int) -> bytes:
        """The bytes that a write leaves in a cell."""
        cell = self._frame.cells[number]
        if write == 0:
            initial = self._initial
            return bytes(initial.get((cell.instance, n), 0) for n in range(cell.first, cell.end))
        event = self._frame.events[write]
        if event.operation is not None and event.operation.when is not None:
            # that it is executed may not depend on itself either
            self.register(event.thread, event.operation.when.register)
        place = self._place(write)
        data = self._written(write).to_bytes(place.size, "little")
        return data[cell.first - place.offset : cell.end - place.offset]

    def _written(self, event: int) -> int:
        thread = self._frame.events[event].thread
        operation = self._frame.events[event].operation
        if isinstance(operation, Rmw):
            operand = self._value(thread, operation.operand, operation.place)
            if operation.kind == AtomicKind.EXCHANGE:
                return operand
            how = AtomicOp(operation.kind, operand, operation.place.size, operation.compare)
            return how.apply(self.read(event))
        assert operation is not None and not isinstance(operation, Load | Fence), "a store"
        return self._value(thread, operation.value, operation.place)

    def _value(self, thread: int, value: Value, place: Place) -> int:
        number = value if isinstance(value, int) else self.register(thread, value)
        return number & (1 << 8 * place.size) - 1

    def final(self, place: Place) -> int:
        """What a place holds at the end."""
        program = self._frame.program
        instances = [
            instance_of(thread, place)
            for thread in program.threads
            if any(
                not isinstance(each, Fence) and each.place.name == place.name
                for each in thread.operations
            )
        ]
        instance = instances[0] if instances else instance_of(None, place)
        data = {n: self._initial.get((instance, n), 0) for n in range(place.offset, _end(place))}
        for number, cell in enumerate(self._frame.cells):
            if cell.instance == instance:
                piece = self._piece(self._pick[number].writes[-1], number)
                data |= dict(zip(range(cell.first, cell.end), piece))
        return int.from_bytes(bytes(data[n] for n in range(place.offset, _end(place))), "little")


def _end(place: Place) -> int:
    return place.offset + place.size


def _bytes_of(program: Program) -> Mapping[tuple[tuple[str, int, str], int], int]:
    """What memory holds at first, byte by byte, in every instance of a name."""
    result: dict[tuple[tuple[str, int, str], int], int] = {}
    for place, value in program.initial.items():
        for thread in (None, *program.threads):
            instance = instance_of(thread, place)
            for number, byte in enumerate(value.to_bytes(place.size, "little")):
                result[instance, place.offset + number] = byte
    return result
