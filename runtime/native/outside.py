"""Requests from outside of the block: arrays that the native engine reads and answers into.

Invariant: a slot belongs to one request from the moment it is taken until it is given back; the
arrays may move between two runs, never within one.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.native.program_view import ViewStruct

LANES: Final = 64
LANE_BYTES: Final = 16
GLC: Final = 1
SLC: Final = 2
QUIET: Final = 4
INSTRUCTION: Final = 8
"""Bits of ``scope``, as in runtime/native/program.hpp."""

Array = npt.NDArray[Any]


class OutsideStruct(ctypes.Structure):
    """``struct OutsideView`` of runtime/native/outside_lanes.hpp."""

    _fields_ = [
        ("slots", ctypes.c_uint64),
        *(
            (name, ctypes.c_void_p)
            for name in ("bytes", "kind", "size", "lanes", "scope", "crosses", "given")
        ),
        ("given_count", ctypes.c_uint64),
        ("answers", ctypes.c_void_p),
        ("room", ctypes.c_uint64),
        ("answered", ctypes.c_uint64),
    ]


class OutsideSlots:
    """``address``, ``value``, ``expected``: uint64 [slots, 64], of the lanes; the last two are the
    operands of atomics. ``bytes``: uint8 [slots, 1024], stored or loaded; lane i begins at i times
    the size. ``kind``, ``size``, ``lanes``, ``scope``, ``op``, ``crosses``: uint8 [slots]."""

    def __init__(self, slots: int = 256) -> None:
        self.address: Array = np.zeros((slots, LANES), np.uint64)
        self.value: Array = np.zeros((slots, LANES), np.uint64)
        self.expected: Array = np.zeros((slots, LANES), np.uint64)
        self.bytes: Array = np.zeros((slots, LANES * LANE_BYTES), np.uint8)
        self.kind: Array = np.zeros(slots, np.uint8)
        self.size: Array = np.zeros(slots, np.uint8)
        self.lanes: Array = np.zeros(slots, np.uint8)
        self.scope: Array = np.zeros(slots, np.uint8)
        self.op: Array = np.zeros(slots, np.uint8)
        self.crosses: Array = np.zeros(slots, np.uint8)
        self._free = list(range(slots - 1, -1, -1))
        self._given: list[tuple[int, int]] = []
        self._kept: tuple[Any, ...] = ()
        self._lanes_view: ViewStruct
        self._view: OutsideStruct
        self._point()

    def take(self) -> int:
        """A free slot."""
        if not self._free:
            self._grow()
        return self._free.pop()

    def give_back(self, slot: int) -> None:
        self._free.append(slot)

    def give(self, slot: int, port: int) -> None:
        """Hand a slot to a client in the next run."""
        self._given.append((slot, port))

    @property
    def waits(self) -> bool:
        """Whether something was given since the last run."""
        return bool(self._given)

    def structs(self) -> tuple[ViewStruct, OutsideStruct]:
        """What a run is told: the lanes of all slots, and the rest."""
        given = np.array(self._given, np.uint32).reshape(-1)
        self._given.clear()
        self._kept = (given,)
        self._view.given = given.ctypes.data
        self._view.given_count = len(given) // 2
        return self._lanes_view, self._view

    def answers(self) -> list[tuple[int, int]]:
        """Slot and kind of answer, in the order of answering, of the last run."""
        count = self._view.answered
        words = self._answers[:count].tolist()
        return [(word & 0xFFFF_FFFF, word >> 32) for word in words]

    def _grow(self) -> None:
        slots = len(self.kind)
        for name, array in list(vars(self).items()):
            if isinstance(array, np.ndarray) and name != "_answers":
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        self._free += range(2 * slots - 1, slots - 1, -1)
        self._point()

    def _point(self) -> None:
        slots = len(self.kind)
        self._answers = np.zeros(2 * slots, np.uint64)  # a store has two in one tick at most
        self._lanes_view = ViewStruct(
            address=self.address.ctypes.data,
            value=self.value.ctypes.data,
            expected=self.expected.ctypes.data,
            action_op=self.op.ctypes.data,
        )
        self._view = OutsideStruct(
            slots=slots,
            bytes=self.bytes.ctypes.data,
            kind=self.kind.ctypes.data,
            size=self.size.ctypes.data,
            lanes=self.lanes.ctypes.data,
            scope=self.scope.ctypes.data,
            crosses=self.crosses.ctypes.data,
            answers=self._answers.ctypes.data,
            room=len(self._answers),
        )
