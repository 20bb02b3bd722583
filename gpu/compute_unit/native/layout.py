"""The interface between Python and the issue engine; twins: layout.hpp and unit.hpp.

Invariant: fields have the sizes and the order of their twins there, `VERSION` changes with them.
"""

from __future__ import annotations

import ctypes
import struct
from enum import IntEnum
from typing import Final

VERSION: Final = 1
NONE: Final = (1 << 64) - 1
NO_WAVE: Final = (1 << 32) - 1
LOW_32_BITS: Final = (1 << 32) - 1
MOST_UNITS: Final = 64
MOST_SIMDS: Final = 8
MOST_KINDS: Final = 16
"""Of units; see `gpu.compute_unit.program.decoded_program.UNITS`."""
NO_PACE: Final = 0xFF
LOG_ROOM: Final = 1 << 14
LIST_ROOM: Final = 1 << 13


class RecordKind(IntEnum):
    """The kind of a record: what its instruction needs of the unit when it issues."""

    BOUND = 0
    WAIT = 1
    END = 2
    BARRIER = 3
    INVALIDATE = 4
    MESSAGE = 5
    PRIORITY = 6
    NOTHING = 7
    FETCH_AGAIN = 8
    VECTOR = 9
    SCALAR = 10
    LOCAL = 11
    LOCAL_NOW = 12
    NO_ACCESS = 13
    UNKNOWN = 14
    FAILS = 15
    FAILS_NOW = 16


class Reason(IntEnum):
    """Why a run returned."""

    REACHED = 0
    AT_REST = 1
    QUIET = 2
    ANSWERED = 3
    JUDGED = 4
    AHEAD = 5
    EXECUTE = 6
    PERFORM = 7
    SEND = 8
    EVENT = 9
    BACK = 10
    GROUP_ENDED = 11
    FAILED = 12
    UNMAPPED = 13
    ADDRESS = 14
    SLOTS = 15
    CATCH_UP = 16


class Entry(IntEnum):
    """The kinds of log entries."""

    PERFORM = 0
    COMPLETE = 1
    ENDED = 2
    EXECUTED = 3
    CODE = 4
    FORGET = 5


STALLS: Final = (
    "nothing",
    "instruction fetch",
    "s_waitcnt",
    "a counter at its maximum",
    "barrier",
    "end of the program",
    "unit taken",
    "SIMD busy",
    "memory pipeline full",
)
"""Reasons for which waves wait, as `gpu.compute_unit.program.statistics` names them."""

RECORD: Final = struct.Struct("=QQIIIHBBBBB5x")
"""end, next, value, handle, amount, name, kind, place, pace, flat, banks."""

_U64: Final = ctypes.c_uint64


class Logged(ctypes.Structure):
    """One entry of the log."""

    _fields_ = [("entry", ctypes.c_uint32), ("who", ctypes.c_uint32), ("what", ctypes.c_uint32)]


class State(ctypes.Structure):
    """See layout.hpp."""

    _fields_ = [
        *((name, _U64) for name in ("now", "tick", "due", "until", "at_once", "observe")),
        ("budget", ctypes.c_int64),
        *((name, _U64) for name in ("status", "unit", "wave", "handle", "address", "ran")),
        *((name, _U64) for name in ("fetching", "pending", "logged", "listed")),
        *(
            (name, ctypes.c_void_p)
            for name in ("list", "log", "next_ticks", "addresses", "bytes", "given")
        ),
    ]


class Config(ctypes.Structure):
    """See unit.hpp."""

    _fields_ = [
        *((name, _U64) for name in ("units", "simds", "vector_alu", "vector_memory")),
        *((name, _U64) for name in ("names", "fetch_bytes", "buffer_bytes", "lines_per_cycle")),
        *((name, _U64) for name in ("memory_queue", "address_cycles", "lds_cycles")),
        *((name, _U64) for name in ("scalar_memory_cycles", "scalar_cycles", "message_cycles")),
        *((name, _U64) for name in ("round_robin", "slice")),
        ("cycles", _U64 * (MOST_KINDS + 1)),
        ("fetch_ports", _U64 * MOST_UNITS),
    ]


class Counts(ctypes.Structure):
    """See unit.hpp."""

    _fields_ = [
        ("by_unit", _U64 * MOST_KINDS),
        ("stalls", _U64 * len(STALLS)),
        ("stalled", _U64 * len(STALLS)),
        ("bank_cycles", _U64),
        ("bank_conflicts", _U64),
        ("fetches", _U64),
    ]
