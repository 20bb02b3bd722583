"""One memory instruction of one wave in flight: its requests and their results.

A memory instruction has three steps. *Execute* reads registers and makes a `MemoryAccess`.
*Initiate* sends it: as `MemoryRequest`s to a memory with a clock, or by `MemoryAccess.perform` to
one without. *Complete* writes registers. Invariant: an access holds all that it needs between the
steps; register changes in between have no effect on it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.memory_ops.access_shape import Movement
from gpu.compute_unit.memory_ops.ds_atomics import atomic_change
from gpu.compute_unit.wave.lane_values import (
    Addresses,
    LaneError,
    Lanes,
    Values,
    from_bytes,
    to_bytes,
    widened,
    write_halves,
    write_values,
)
from gpu.compute_unit.wave.lds import MisalignedLocal
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.instruction import Instruction
from gpu.memory.address_space import Unmapped
from gpu.memory.interface import Extent
from runtime.requesters.port import AccessKind


class DirectMemory(Protocol):
    """Memory without time, as `gpu.memory.flat_memory.FlatMemory` offers it. All raise Unmapped."""

    def load(self, addresses: Addresses, size: int) -> Values: ...

    def store(self, addresses: Addresses, values: Values) -> None: ...

    def atomic(
        self, op: int, addresses: Addresses, operands: Values, compares: Values | None = None
    ) -> Values: ...

    def load_dwords(self, address: int, count: int) -> list[int]: ...

    def store_dwords(self, address: int, dwords: list[int]) -> None: ...


class MemoryAccess(Protocol):
    """An instruction between its steps."""

    wave: Wavefront

    def perform(self, memory: DirectMemory) -> None:
        """Initiate and wait, on memory without time."""

    def complete(self) -> None:
        """Write the results into registers."""

    def text(self) -> str:
        """For traces: how many lanes, how many bytes of each, from which address on."""


class Operation(Protocol):
    """A memory instruction bound to its operands."""

    instruction: Instruction

    def execute(self, wave: Wavefront) -> MemoryAccess | None:
        """Read the registers; None when no lane is active or the instruction has no effect."""


class AccessPart:
    """Lanes of an access and a run of their bytes that one request carries.

    ``rows``: positions in the access's lanes, None for all of them. ``first``: of the bytes of
    a lane's value. ``local``: LDS, where ``addresses`` are offsets. ``extent``: of the addresses,
    if it is known. ``result``: what was loaded; ``gathered``: the same while answers come line by
    line.
    """

    __slots__ = ("addresses", "extent", "first", "gathered", "local", "result", "rows", "size")

    def __init__(
        self,
        addresses: Addresses,
        size: int,
        rows: Lanes | None = None,
        first: int = 0,
        local: bool = False,
    ) -> None:
        self.addresses = addresses
        self.size = size
        self.rows = rows
        self.first = first
        self.local = local
        self.extent: Extent | None = None
        self.result: Values | None = None
        self.gathered: npt.NDArray[np.uint8] | None = None


class VectorAccess:
    """A load, store or atomic of a wave's active lanes through the vector memory path.

    ``values``/``compares``: what is stored, or the operands of an atomic, in the order of
    ``lanes``. ``register``: first one of the result. ``local_base``: the result goes to LDS
    instead, a dword a lane from this offset on.
    """

    __slots__ = (
        "compares",
        "glc",
        "lanes",
        "local_base",
        "movement",
        "parts",
        "register",
        "returns",
        "slc",
        "values",
        "wave",
    )

    def __init__(
        self,
        wave: Wavefront,
        movement: Movement,
        lanes: Lanes,
        parts: list[AccessPart],
        register: int,
        returns: bool,
    ) -> None:
        self.wave = wave
        self.movement = movement
        self.lanes = lanes
        self.parts = parts
        self.register = register
        self.returns = returns
        self.values: Values | None = None
        self.compares: Values | None = None
        self.glc = False
        self.slc = False
        self.local_base: int | None = None

    def perform(self, memory: DirectMemory) -> None:
        for part in self.parts:
            try:
                if part.local:
                    self.perform_local(part)
                else:
                    self._perform_global(part, memory)
            except (Unmapped, MisalignedLocal) as error:
                raise self.lane_error(part, error) from error

    def text(self) -> str:
        parts = [
            f"{len(part.addresses)} lanes x {part.size} bytes from "
            f"{'LDS offset ' if part.local else ''}{int(part.addresses[0]):#x}"
            for part in self.parts
        ]
        bits = "".join(f" {name}" for name in ("glc", "slc") if getattr(self, name))
        return f"{AccessKind.name_of(self.movement.kind).lower()}{bits} " + ", ".join(parts)

    def perform_local(self, part: AccessPart) -> None:
        """Carry out the lanes whose flat addresses mean LDS."""
        lds = self.wave.group.lds
        offsets = part.addresses.astype(np.int64)
        kind = self.movement.kind
        if kind == AccessKind.LOAD:
            part.result = lds.load(offsets, part.size, lds.size)
        elif kind == AccessKind.STORE:
            lds.store(offsets, self.values_of(part), lds.size)
        else:
            operands, compares = self.operands(part)
            change = atomic_change(self.movement.op)
            part.result = lds.update(change, offsets, operands, compares, lds.size)

    def _perform_global(self, part: AccessPart, memory: DirectMemory) -> None:
        kind = self.movement.kind
        if kind == AccessKind.LOAD:
            part.result = memory.load(part.addresses, part.size)
        elif kind == AccessKind.STORE:
            memory.store(part.addresses, self.values_of(part))
        else:
            operands, compares = self.operands(part)
            part.result = memory.atomic(self.movement.op, part.addresses, operands, compares)

    def operands(self, part: AccessPart) -> tuple[Values, Values]:
        """The operands of an atomic, as numbers: uint32 or uint64, shape (n,); the comparand
        last."""
        operands = self._words(self.values, part.rows)
        return operands, operands if self.compares is None else self._words(
            self.compares, part.rows
        )

    def _words(self, values: Values | None, rows: Lanes | None) -> Values:
        assert values is not None, "an atomic has operands"
        values = _rows(values, rows)
        if self.movement.bytes == 4:
            return values
        return np.ascontiguousarray(values).view(np.uint64).reshape(-1)

    def lane_error(self, part: AccessPart, error: Unmapped | MisalignedLocal) -> LaneError:
        """The error of a part, with the lane that caused it."""
        row = error.row if isinstance(error, MisalignedLocal) else error.lane
        lane = self.lanes[row if part.rows is None else part.rows[row]]
        return LaneError(int(lane), str(error))

    def values_of(self, part: AccessPart) -> Values:
        """What the part stores, or its operands."""
        assert self.values is not None, "only loads have no values"
        values = _rows(self.values, part.rows)
        if part.size == self.movement.bytes:
            return values
        data = to_bytes(values, self.movement.bytes)
        return from_bytes(data[:, part.first : part.first + part.size])

    def complete(self) -> None:
        if self.local_base is not None:
            lds = self.wave.group.lds
            values = widened(self.result(), self.movement.signed)
            lds.store(self.local_base + 4 * self.lanes, values, lds.size)
        elif self.movement.half is not None and self.returns:
            move = self.movement
            assert move.half is not None
            write_halves(
                self.wave, self.register, self.result(), self.lanes, move.signed, move.half
            )
        elif self.returns:
            signed = self.movement.signed
            write_values(self.wave, self.register, self.result(), self.lanes, signed)

    def result(self) -> Values:
        """What all lanes loaded; zero where no part covers a lane."""
        size = self.movement.bytes
        if len(self.parts) == 1:
            part = self.parts[0]
            if part.rows is None and part.size == size and part.result is not None:
                return _dwords(part.result)
        merged = np.zeros((len(self.lanes), size), np.uint8)
        for part in self.parts:
            if part.result is None:
                continue
            rows = slice(None) if part.rows is None else part.rows
            merged[rows, part.first : part.first + part.size] = to_bytes(part.result, part.size)
        return from_bytes(merged)


def _rows(values: Values, rows: Lanes | None) -> Values:
    return values if rows is None else values[rows]


def _dwords(values: Values) -> Values:
    """64-bit numbers as pairs of registers."""
    return values.view(np.uint32).reshape(-1, 2) if values.itemsize == 8 else values
