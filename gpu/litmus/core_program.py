"""A thread of a processor as a program of a core.

A core makes one access of an instance after the other, each complete before the next, so that a
fence has nothing left to do. But a store may still be in the store buffer while a load of another
place is made, as on x86, unless it is seq_cst. Accesses of different instances are made at once.
Invariant: the accesses of an instance are those of the thread, in order but for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpu.host.processors import actions
from gpu.litmus.situation import SLEEP, Situation, where
from gpu.memory_model.program import (
    Access,
    Fence,
    Load,
    Operation,
    Order,
    Store,
    Thread,
    Value,
)

Registers = dict[str, int]


def core_program(
    thread: Thread, situation: Situation, memory: int, start: int, now: Callable[[], int]
) -> actions.Program:
    """Returns its registers, by instance. ``memory``: the address of the memory of the test.
    ``start``: the tick of the common start."""
    order = [lane ^ situation.order_of(thread.name) for lane in range(situation.instances)]
    for name, has in situation.warm[thread.name].items():
        line, apart = memory + situation.offsets[name], situation.apart
        yield [actions.Load(line + apart * each) for each in order if has >> each & 1]
    yield actions.Sleep(max(1, start + situation.starts[thread.name] - now()))
    registers: list[Registers] = [dict.fromkeys(thread.registers, 0) for _ in order]
    for sleep, operations in _rounds(thread, situation.sleeps[thread.name]):
        if sleep:
            yield actions.Sleep(SLEEP * sleep)
        accesses = [
            (number, each)
            for number in order
            for each in operations
            if _is_made(each, registers[number])
        ]
        found = yield [
            _action(each, situation.offsets, memory + situation.apart * number, registers[number])
            for number, each in accesses
        ]
        for (number, access), value in zip(accesses, found, strict=True):
            if not isinstance(access, Store) and access.register is not None:
                registers[number][access.register] = value
    return registers


def _rounds(thread: Thread, sleeps: tuple[int, ...]) -> Iterator[tuple[int, list[Access]]]:
    """What is made at once, and the sleep before it; fences are left out."""
    number, operations = 0, thread.operations
    while number < len(operations):
        together = operations[number : number + 2]
        if len(together) < 2 or sleeps[number + 1] or not may_pass(*together):
            together = together[:1]
        yield sleeps[number], [each for each in together if not isinstance(each, Fence)]
        number += len(together)


def may_pass(first: Operation, second: Operation) -> bool:
    """Whether the second operation may be made while the first one is in the store buffer."""
    return (
        isinstance(first, Store)
        and isinstance(second, Load)
        and first.order is not Order.seq_cst
        and first.place.name != second.place.name
    )


def _is_made(access: Access, registers: Registers) -> bool:
    return access.when is None or registers[access.when.register] == access.when.value


def _action(
    access: Access, offsets: Mapping[str, int], memory: int, registers: Registers
) -> actions.Access:
    address, size = memory + where(access.place, offsets), access.place.size

    def number(value: Value) -> int:
        return (registers[value] if isinstance(value, str) else value) & (1 << 8 * size) - 1

    if isinstance(access, Load):
        return actions.Load(address, size)
    if isinstance(access, Store):
        return actions.Store(address, number(access.value), size)
    operand, compare = number(access.operand), access.compare
    return actions.Atomic(access.kind, address, operand, compare, size)
