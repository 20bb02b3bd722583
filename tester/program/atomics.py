"""Read-modify-write accesses of a program: their operations, and the values that these leave.

An atomic action names an operation (`runtime.types.atomic_op.AtomicKind`) and one operand per lane.
Its bytes are reserved like those of a store, so there is exactly one old value, which it returns,
and one new one. Nothing more is stored: compare-and-swap compares with the old value itself, or
with its complement where it is meant to fail. Invariant: `new_values` is the operations of
`runtime.types.atomic_op` for whole arrays.
"""

from __future__ import annotations

import numpy as np

from runtime.types.atomic_op import AtomicKind, AtomicOp
from tester.arrays import ByteArray, WordArray
from tester.program.byte_events import ByteEvents
from tester.program.program import ATOMIC, FAILS, Program


def comparands(op: int, size: int, expected: list[int]) -> list[int]:
    """The comparand of each lane of a compare-and-swap."""
    if not op & FAILS:
        return expected
    ones = (1 << 8 * size) - 1
    return [value ^ ones for value in expected]


def new_value(op: int, size: int, old: int, operand: int) -> int:
    """The value that one lane's operation leaves."""
    (compare,) = comparands(op, size, [old])
    return AtomicOp(op & ~FAILS, operand, size, compare).apply(old)


def written(program: Program) -> WordArray:
    """[A, L] what stores and atomic actions leave in memory, else zero; of a derived program."""
    rows = np.flatnonzero(program.action_kind == ATOMIC)
    if not len(rows):
        return program.store_value
    values = program.store_value.copy()
    old, operand = program.expected[rows], program.store_value[rows]
    new = new_values(program.action_op[rows], program.action_size[rows], old, operand)
    values[rows] = np.where(program.lane_address[rows] >= 0, new, np.uint64(0))
    return values


def new_values(op: ByteArray, size: ByteArray, old: WordArray, operand: WordArray) -> WordArray:
    """`new_value` for [N] operations on [N, L] words."""
    wide = (size == 8)[:, None]
    ones = np.where(wide, np.uint64((1 << 64) - 1), np.uint64((1 << 32) - 1))
    sign = np.where(wide, np.uint64(1 << 63), np.uint64(1 << 31))
    one = np.uint64(1)
    below = old < operand
    below_signed = (old + sign) & ones < (operand + sign) & ones
    results = {
        AtomicKind.ADD: (old + operand) & ones,
        AtomicKind.SUB: (old - operand) & ones,
        AtomicKind.MIN: np.where(below_signed, old, operand),
        AtomicKind.MAX: np.where(below_signed, operand, old),
        AtomicKind.UMIN: np.where(below, old, operand),
        AtomicKind.UMAX: np.where(below, operand, old),
        AtomicKind.AND: old & operand,
        AtomicKind.OR: old | operand,
        AtomicKind.XOR: old ^ operand,
        AtomicKind.EXCHANGE: operand,
        AtomicKind.CAS: operand,
        AtomicKind.INC: np.where(below, old + one, np.uint64(0)),
        AtomicKind.DEC: np.where((old == 0) | (old > operand), operand, old - one),
    }
    new = old.copy()
    for kind, result in results.items():
        chosen = op == kind
        new[chosen] = np.broadcast_to(result, old.shape)[chosen]
    return new


def perform(program: Program, events: ByteEvents, value: ByteArray, memory: ByteArray) -> None:
    """Turn operands into what they leave, one operation after the other.

    `value` has the byte of each event, in: what is stored, or the operand; out: what is left.
    `memory` holds the bytes that stood there before the program.
    """
    lanes = program.lanes
    at = np.flatnonzero((program.action_kind == ATOMIC)[events.slot // lanes])
    at = at[np.lexsort((events.offset[at], events.slot[at]))]
    before, byte = events.before[at].tolist(), events.byte[at].tolist()
    slots, places, i = events.slot[at].tolist(), at.tolist(), 0
    while i < len(slots):
        row = slots[i] // lanes
        size = int(program.action_size[row])
        part = range(i, i + size)
        old = bytes(int(value[before[j]] if before[j] >= 0 else memory[byte[j]]) for j in part)
        operand = bytes(int(value[places[j]]) for j in part)
        op, number = int(program.action_op[row]), int.from_bytes
        new = new_value(op, size, number(old, "little"), number(operand, "little"))
        value[places[i : i + size]] = np.frombuffer(new.to_bytes(size, "little"), np.uint8)
        i += size
