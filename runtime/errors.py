"""Verdicts about a protocol, and how a Python error becomes one.

A :class:`ProtocolError` says what the *protocol* did wrong, by its author's names: machine,
state, event, action, ``.sm`` line. Invariant: only errors raised by generated code, or by the
runtime on purpose, become verdicts. A bug of the runtime keeps its own type and traceback.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final

_NULL_FIELD = re.compile(r"'NoneType' object has no attribute '(\w+)'")


class ErrorKind(Enum):
    """What went wrong; the value is the stable name used in reports."""

    UNDEFINED_TRANSITION = "undefined_transition"
    PANIC = "panic"
    ASSERTION = "assertion"
    NULL_DEREFERENCE = "null_dereference"
    INDEX_RANGE = "index_range"
    ENUM_RANGE = "enum_range"
    DIVISION_BY_ZERO = "division_by_zero"
    BAD_SHIFT = "bad_shift"
    SLOT_OVERFLOW = "slot_overflow"
    EMPTY_BUFFER = "empty_buffer"
    WRONG_MESSAGE = "wrong_message"
    NEGATIVE_LATENCY = "negative_latency"
    OUT_OF_ORDER = "out_of_order"
    TOO_MANY_TRANSITIONS = "too_many_transitions"
    MESSAGE_WITHOUT_DESTINATION = "message_without_destination"
    UNDELIVERABLE = "undeliverable"
    MISALIGNED = "misaligned"
    ALREADY_ALLOCATED = "already_allocated"
    NOT_ALLOCATED = "not_allocated"
    TABLE_FULL = "table_full"
    BANK_CONFLICT = "bank_conflict"
    BAD_MEMORY_REQUEST = "bad_memory_request"
    BAD_CALLBACK = "bad_callback"
    TOO_MANY_MESSAGES = "too_many_messages"


EXTERNAL: Final = "is external"
"""In the text with which a call ends that the protocol declares without a body."""


class ProtocolError(Exception):
    """A mistake of the protocol. Context that is not known yet is None.

    ``address`` is a byte address; ``state`` and ``event`` are names; ``action`` is the author's
    name of the action or function; ``location`` is ``file.sm:line``.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.machine: str | None = None
        self.version: int | None = None
        self.tick: int | None = None
        self.address: int | None = None
        self.state: str | None = None
        self.event: str | None = None
        self.action: str | None = None
        self.location: str | None = None

    @property
    def external(self) -> bool:
        """Whether not the protocol is wrong, but what it calls has no body."""
        return self.kind is ErrorKind.PANIC and EXTERNAL in self.message

    def __str__(self) -> str:
        parts = [f"{self.kind.value}: {self.message}"]
        if self.machine is not None:
            parts.append(f"in {self.machine} {self.version}")
        if self.tick is not None:
            parts.append(f"at tick {self.tick}")
        if self.address is not None:
            parts.append(f"address {self.address:#x}")
        if self.state is not None and self.event is not None:
            parts.append(f"transition ({self.state}, {self.event})")
        if self.action is not None:
            parts.append(f"action {self.action}")
        if self.location is not None:
            parts.append(f"[{self.location}]")
        return ", ".join(parts)


_Row = tuple[int, str, int]
"""Generated line, ``.sm`` file, line there."""


@cache
def _line_map(package: Path) -> dict[str, list[_Row]]:
    """``linemap.json`` of a generated package; empty when it has none (hand-written machines)."""
    try:
        text = (package / "linemap.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {
        file: sorted((number, sm_file, sm_line) for number, sm_file, sm_line in rows)
        for file, rows in json.loads(text).items()
    }


def source_location(file: Path, line: int) -> str:
    """The ``.sm`` position that caused ``line`` of a generated ``file``, else the line itself."""
    best = (0, file.name, line)
    for row in _line_map(file.parent).get(file.name, []):
        if row[0] > line:
            break
        best = row
    return f"{best[1]}:{best[2]}"


def frames_of(traceback: TracebackType | None) -> list[TracebackType]:
    """The frames of a traceback, outermost first."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    return frames


def as_verdict(error: Exception) -> ProtocolError | None:
    """The verdict that a Python error inside generated code stands for; None when it is none.

    The caller has made sure that the innermost frame is generated code.
    """
    text = str(error)
    if isinstance(error, AttributeError):
        # The text, not `error.obj`: a failed assignment to a field leaves that unset.
        null = _NULL_FIELD.match(text)
        if null is not None:
            return ProtocolError(ErrorKind.NULL_DEREFERENCE, f"`{null[1]}` of a null pointer")
        if hasattr(type(error.obj), "LINE_FIELD"):
            return ProtocolError(
                ErrorKind.WRONG_MESSAGE, f"{type(error.obj).__name__} has no field `{error.name}`"
            )
        return None
    if isinstance(error, TypeError):
        if "NoneType" in text:
            return ProtocolError(ErrorKind.NULL_DEREFERENCE, f"null pointer used: {text}")
        return None
    if isinstance(error, IndexError):
        return ProtocolError(ErrorKind.INDEX_RANGE, text)
    if isinstance(error, ZeroDivisionError):
        return ProtocolError(ErrorKind.DIVISION_BY_ZERO, text)
    return None
