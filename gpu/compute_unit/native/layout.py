"""The interface between Python and the issue engine; twins: layout.hpp and unit.hpp.

Invariant: fields have the sizes and the order of their twins there, `VERSION` changes with them.
"""

from __future__ import annotations

import ctypes
import struct
from enum import IntEnum
from typing import Final

from gpu.device_limits import MOST_UNITS

VERSION: Final = 3
NONE: Final = (1 << 64) - 1
NO_WAVE: Final = (1 << 32) - 1
LOW_32_BITS: Final = (1 << 32) - 1
MOST_SIMDS: Final = 8
MOST_KINDS: Final = 16
"""Of units; see `gpu.compute_unit.program.decoded_program.UNITS`."""
NO_PACE: Final = 0xFF
LOG_ROOM: Final = 1 << 14
LIST_ROOM: Final = 1 << 13
GROUP_ENDED: Final = 2
"""What the retirement of an instruction may have done."""


class RecordKind(IntEnum):
    """The kind of a record: what its instruction needs of the unit when it issues."""

    BOUND = 0  # a vector, scalar or branch instruction that has been executed
    WAIT = 1  # value: limits of vm, exp and lgkm, a byte each
    END = 2
    BARRIER = 3
    INVALIDATE = 4
    MESSAGE = 5
    PRIORITY = 6  # value: 0 to 3
    NOTHING = 7  # value: cycles besides the one it takes
    FETCH_AGAIN = 8
    VECTOR = 9  # amount: cache lines
    SCALAR = 10
    LOCAL = 11  # amount: cycles; value: those that conflicts cost; banks: whether these count.
    # Lanes exchange registers; LDS itself is not accessed
    LOCAL_NOW = 12  # likewise, but it has to be executed when it issues
    NO_ACCESS = 13  # a memory instruction without an active lane
    UNKNOWN = 14  # uses registers that loads in flight will fill: executed when it issues
    FAILS = 15  # when it issues
    FAILS_NOW = 16  # when its turn comes
    LOCAL_HELD = 17  # likewise LOCAL, of LDS; next: the address of what is held
    VECTOR_HELD = 18  # likewise VECTOR; value: bits of `runtime.requesters.port.Scope`
    SCALAR_HELD = 19  # likewise SCALAR


class Reason(IntEnum):
    """Why a run returned."""

    REACHED = 0  # the tick `until`
    AT_REST = 1  # nothing can happen without new input
    QUIET = 2  # many ticks without an answer
    ANSWERED = 3  # `list`: answers to requests of Python's, slot | kind << 32
    JUDGED = 4  # the engine has returned `status`
    AHEAD = 5  # `list`: waves without records, each with the end of its bytes and whether
    # something of it that is held has returned since the last time
    EXECUTE = 6  # `wave` issues an UNKNOWN record; `address`, `handle`: the same two
    PERFORM = 7  # `wave` issues LOCAL_NOW: `handle`
    SEND = 8  # `list`: waves and handles whose requests leave now
    EVENT = 9  # `wave` and `handle`: an event that is due, or an access that returns
    BACK = 10  # `wave` has branched backwards while this is observed
    GROUP_ENDED = 11  # the last wave of `wave`'s group has ended
    FAILED = 12  # `wave` has failed
    UNMAPPED = 13  # `wave` continues where nothing could be fetched
    ADDRESS = 14  # `address`: may it be fetched by `unit`?
    SLOTS = 15  # no slots for fetches are left
    CATCH_UP = 16  # the log or the request log is long
    PLACE = 17  # may `wave` of `unit` make requests of the bytes from `address` to `behind`?
    # handle: whether they are stored
    NOTICES = 18  # there are `notices`


class Entry(IntEnum):
    """The kinds of log entries."""

    ENDED = 0  # a wave
    EXECUTED = 1  # a wave went back or ends: instructions since the last time
    CODE = 2  # a unit has fetched what it did not know: place in its table
    FORGET = 3  # a unit has forgotten its code


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

RECORD: Final = struct.Struct("=QQIIIHBBBBBB4x")
"""end, next, value, handle, amount, name, kind, place, pace, flat, banks, most_vm."""
HEAD: Final = struct.Struct("=QQIII")
"""The first five."""

APPENDED: Final = struct.Struct("=II")
"""In front of the records of one wave: its place, how many there are."""

LOGGED: Final = struct.Struct("=III")
"""An entry of the log: its kind, who, what."""

_U64: Final = ctypes.c_uint64


class State(ctypes.Structure):
    """See layout.hpp."""

    _fields_ = [
        *((name, _U64) for name in ("now", "tick", "due", "until", "at_once", "observe")),
        ("budget", ctypes.c_int64),
        *((name, _U64) for name in ("status", "unit", "wave", "handle", "address")),
        *((name, _U64) for name in ("behind", "ran", "asked", "fetching", "pending", "rung")),
        *((name, _U64) for name in ("logged", "listed", "notices")),
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
        *((name, _U64) for name in ("round_robin", "slice", "line_bits")),
        ("cycles", _U64 * (MOST_KINDS + 1)),
        *((f"{kind}_ports", _U64 * MOST_UNITS) for kind in ("vector", "scalar", "fetch")),
        *((name, _U64) for name in ("perform", "complete")),
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
