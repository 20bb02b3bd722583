"""Requests from outside of the block: arrays that the native engine reads and answers into.

Invariant: a slot belongs to one request from the moment it is taken until it is given back; the
arrays may move between two runs, never within one.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.native.build import HEADERS, Clients
from runtime.native.ctypes_api import Library
from runtime.native.plan import Words
from runtime.native.plan_words import NONE
from runtime.native.system import NativeSystem, RunStatus

LANES: Final = 64
LANE_BYTES: Final = 16

EXTERNAL_CLIENTS: Final = Clients(
    "requesters/external_view.hpp",
    "requesters/external_api.hpp",
    HEADERS,
    {
        "add_external": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_uint32)),
        "run_external": (
            ctypes.c_int64,
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64),
        ),
    },
)
"""The runtime's own clients."""

Array = npt.NDArray[Any]


class ExternalView(ctypes.Structure):
    """``struct ExternalView`` of runtime/native/cpp/requesters/external_view.hpp."""

    _fields_ = [
        ("address", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
        ("expected", ctypes.c_void_p),
        ("op", ctypes.c_void_p),
        ("bytes", ctypes.c_void_p),
        ("given", ctypes.c_void_p),
        ("given_count", ctypes.c_uint64),
        ("answers", ctypes.c_void_p),
        ("room", ctypes.c_uint64),
        ("answered", ctypes.c_uint64),
        ("now", ctypes.c_uint64),
        ("next", ctypes.c_uint64),
    ]


_GIVEN: Final = struct.Struct("=IIBBBBB3x")
"""``struct ExternalRequest`` of the same file."""


class ExternalSlots:
    """``address``, ``value``, ``expected``: uint64 [slots, 64], of the lanes; the last two are the
    operands of atomics, whose operation is in ``op``, uint8 [slots]. ``bytes``: uint8
    [slots, 1024], stored or loaded; lane i begins at i times the size."""

    def __init__(self, slots: int = 256) -> None:
        self.address: Array = np.zeros((slots, LANES), np.uint64)
        self.value: Array = np.zeros((slots, LANES), np.uint64)
        self.expected: Array = np.zeros((slots, LANES), np.uint64)
        self.op: Array = np.zeros(slots, np.uint8)
        self.bytes: Array = np.zeros((slots, LANES * LANE_BYTES), np.uint8)
        self._given: Array = np.zeros((slots, _GIVEN.size), np.uint8)
        self._free = list(range(slots - 1, -1, -1))
        self._point()

    def take(self) -> int:
        """A free slot."""
        if not self._free:
            self._grow()
        return self._free.pop()

    def take_this(self, slot: int) -> None:
        """A slot that is free, or will be there once there are so many."""
        while slot >= len(self.op):
            self._grow()
        self._free.remove(slot)

    def give_back(self, slot: int) -> None:
        self._free.append(slot)

    def give(
        self, slot: int, port: int, kind: int, size: int, lanes: int, scope: int, crosses: bool
    ) -> None:
        """Hand a slot to a client in the next run. ``scope``: bits of
        `runtime.requesters.port.Scope`. ``crosses``: a lane may reach into the next line."""
        view = self.view
        count = view.given_count
        assert count < len(self._given), "each slot is given once a run"
        _GIVEN.pack_into(
            self._records, _GIVEN.size * count, slot, port, kind, size, lanes, scope, crosses
        )
        view.given_count = count + 1

    @property
    def pointer(self) -> Any:
        """To `view`, which a run takes."""
        return self._pointer

    def ran(self) -> None:
        """What was given belongs to the engine now."""
        self.view.given_count = 0

    def answers(self) -> list[tuple[int, int]]:
        """Slot and answer, in the order of answering, of the last run. An answer is its kind; of a
        load also the lines that were hits, << 8, and misses, << 16."""
        assert self.view.answered <= self.view.room
        words = self._answers[: self.view.answered].tolist()
        return [(word & 0xFFFF_FFFF, word >> 32) for word in words]

    def _grow(self) -> None:
        slots = len(self.op)
        for name, array in list(vars(self).items()):
            if isinstance(array, np.ndarray) and name != "_answers":
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        self._free += range(2 * slots - 1, slots - 1, -1)
        given = self.view.given_count
        self._point()
        self.view.given_count = given

    def _point(self) -> None:
        self._answers = np.zeros(2 * len(self.op), np.uint64)  # a store has two in one tick at most
        self._records: memoryview = self._given.reshape(-1).data
        self.view = ExternalView(
            address=self.address.ctypes.data,
            value=self.value.ctypes.data,
            expected=self.expected.ctypes.data,
            op=self.op.ctypes.data,
            bytes=self.bytes.ctypes.data,
            given=self._given.ctypes.data,
            answers=self._answers.ctypes.data,
            room=len(self._answers),
        )
        self._pointer = ctypes.byref(self.view)
        self.moved = True
        """Set whenever the arrays are somewhere else; for callers that keep their addresses."""


class ExternalSystem(NativeSystem):
    """A system whose requesters serve agents outside of it. ``library`` is for EXTERNAL_CLIENTS."""

    def __init__(self, library: Library, plan: Words) -> None:
        # What issues the accesses takes far more time, and many devices run one short kernel.
        super().__init__(library, plan, large_pages=False)
        self._run_external = library.run_external  # called many thousand times a second

    def add_external(self, requester: int) -> int:
        """A client of a requester for :meth:`run_external`. Returns its number, from 0."""
        number = self.library.add_external(self._at, requester)
        self._judge_addition(number)
        return number

    def run_external(self, slots: ExternalSlots, when: int, until: int | None) -> int:
        """Give clients the requests of ``slots``, to be issued at tick ``when``, and run to the end
        of the first tick with answers; no later than ``until``. Raises PoolExhausted.

        ``slots.view`` has then the answers, the last tick and the next one."""
        limit = NONE if until is None else until
        status = self._run_external(self._at, slots.pointer, when, limit)
        slots.ran()
        if status == RunStatus.EXHAUSTED:
            self.judge_pools()
        return status
