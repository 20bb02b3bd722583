"""Reads a trace of requests: CSV with a head, one request a row.

Invariant: what comes back was checked row by row, and an error names file, line and value; no more
than `MOST_ROWS` rows of `MOST_FILE_BYTES` bytes are held.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from runtime.files import read_bounded
from slicc.text.escapes import quoted
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from slicc.text.wording import listed
from tester.program.program import ATOMIC, LOAD, STORE

COLUMNS: Final = ("tick", "agent", "operation", "address", "bytes")
MOST_ROWS: Final = 1 << 20
MOST_FILE_BYTES: Final = 1 << 27
LAST_ADDRESS: Final = (1 << 48) - 1
LAST_TICK: Final = (1 << 62) - 1
MOST_BYTES: Final = 512
FETCHES: Final = "fetch"
OPERATIONS: Final = {"load": LOAD, "store": STORE, "atomic": ATOMIC, FETCHES: LOAD}
_LONGEST: Final = 80
"""Characters of a value; longer ones are cut in messages."""


class TraceError(ValueError):
    """What is wrong with a trace file, with its line; None: with the file itself."""

    def __init__(self, file: Path, line: int | None, what: str) -> None:
        super().__init__(f"{file}: {what}" if line is None else f"{file}:{line}: {what}")


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A request. ``line``: where it stands. ``kind``: LOAD, STORE or ATOMIC; ``fetches``: it is an
    instruction fetch."""

    line: int
    tick: int
    agent: str
    kind: int
    address: int
    bytes: int
    fetches: bool


def read_trace(file: Path) -> list[TraceRow]:
    """The rows in the order of their ticks; those of one tick as they stand.

    Raises TraceError.
    """
    try:
        content = read_bounded(file, MOST_FILE_BYTES)
    except OSError as error:
        raise TraceError(file, None, f"cannot be read: {error.strerror or error}") from None
    if len(content) > MOST_FILE_BYTES:
        raise TraceError(file, 1, f"larger than {MOST_FILE_BYTES} bytes")
    try:
        with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="") as stream:
            rows = list(_rows(file, csv.reader(stream, strict=True)))
    except UnicodeDecodeError as error:
        raise TraceError(file, 1, f"it is not UTF-8: {error.reason}") from None
    if not rows:
        raise TraceError(file, 1, "there is no request in it")
    return sorted(rows, key=lambda row: row.tick)


def _rows(file: Path, table: Iterator[list[str]]) -> Iterator[TraceRow]:
    lines = _Lines(file, table)
    head = next(lines, [])
    if tuple(name.strip() for name in head) != COLUMNS:
        raise lines.error(f"the first line is {','.join(COLUMNS)}", ",".join(head))
    for number, cells in enumerate(lines):
        if not cells:
            continue
        if number >= MOST_ROWS:
            raise lines.error(f"more than {MOST_ROWS:,} requests")
        if len(cells) != len(COLUMNS):
            raise lines.error(f"{len(COLUMNS)} values are needed", ",".join(cells))
        yield _row(lines, [cell.strip() for cell in cells])


class _Lines:
    """The lines of a table, and where it is read."""

    def __init__(self, file: Path, table: Iterator[list[str]]) -> None:
        self._file = file
        self._table = table
        self.number = 0

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self.number += 1
        try:
            return next(self._table)
        except csv.Error as error:
            raise self.error(f"it is no CSV: {error}") from None

    def error(self, what: str, value: str | None = None) -> TraceError:
        shown = "" if value is None else f", not {quoted(value[:_LONGEST])}"
        return TraceError(self._file, self.number, f"{what}{shown}")


def _row(lines: _Lines, cells: list[str]) -> TraceRow:
    tick, agent, operation, address, size = cells
    if operation not in OPERATIONS:
        near = suggest(operation, OPERATIONS)
        meant = f" (did you mean {near}?)" if near else ""
        raise lines.error(f"operations are {listed([*OPERATIONS])}{meant}", operation)
    if not agent:
        raise lines.error("the agent is missing")
    return TraceRow(
        line=lines.number,
        tick=_number(lines, "a tick", tick, 0, LAST_TICK),
        agent=agent,
        kind=OPERATIONS[operation],
        address=_number(lines, "an address", address, 0, LAST_ADDRESS),
        bytes=_number(lines, "a number of bytes", size, 1, MOST_BYTES),
        fetches=operation == FETCHES,
    )


def _number(lines: _Lines, what: str, text: str, least: int, most: int) -> int:
    """Decimal, or hexadecimal behind ``0x``."""
    try:
        value = int(text, 16 if text[:2].lower() == "0x" else 10) if len(text) < 40 else -1
    except ValueError:
        value = -1
    if not least <= value <= most or "_" in text:
        raise lines.error(f"{what} is {least} to {most:#x}", text)
    return value
