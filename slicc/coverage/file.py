"""Coverage files: JSON that campaigns and explorations write, and that commands read.

Invariant: what :func:`read_cells` returns is consistent: every cell has a state and an event of its
machine; no size in a file is used before it was compared with a bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec

from slicc.coverage.cells import Cell, Cells, MachineCells, System
from slicc.text.data import json_text
from slicc.text.files import write_whole

FAMILY: Final = "gpu-tester.coverage/"
SCHEMA: Final = f"{FAMILY}2"
MAX_BYTES: Final = 1 << 26
_MOST: Final = 1 << 16
Name = Annotated[str, msgspec.Meta(pattern=r"^\w{1,255}$")]
Line = Annotated[str, msgspec.Meta(max_length=4096)]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
S = TypeVar("S", bound=msgspec.Struct)


class CoverageError(ValueError):
    """A file that cannot be used; the message names it and what is wrong."""

    def __init__(self, file: Path, message: str) -> None:
        super().__init__(f"{file}: {message}")


class _System(msgspec.Struct, forbid_unknown_fields=True):
    what: Line
    machines: list[Name]


class _Machine(msgspec.Struct, forbid_unknown_fields=True):
    states: Annotated[list[Name], msgspec.Meta(max_length=_MOST)]
    events: Annotated[list[Name], msgspec.Meta(max_length=_MOST)]
    counts: dict[Name, dict[Name, Count]]
    defined: int = 0
    hit: int = 0
    ways: dict[Name, dict[Name, list[Line]]] = {}
    unsent: dict[Name, list[Name]] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    protocol: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    digest: Digest
    machines: dict[Name, _Machine]
    exhausted: list[_System] = []


def to_json(cells: Cells) -> dict[str, object]:
    """Plain values: counts as {machine: {state: {event: count}}}, zeros included."""
    return {
        "schema": SCHEMA,
        "protocol": cells.protocol,
        "digest": cells.digest,
        "exhausted": [
            {"what": each.what, "machines": list(each.machines)} for each in cells.exhausted
        ],
        "machines": {name: _machine(machine) for name, machine in cells.machines.items()},
    }


def _machine(machine: MachineCells) -> dict[str, object]:
    counts: dict[str, dict[str, int]] = {}
    ways: dict[str, dict[str, list[str]]] = {}
    unsent: dict[str, list[str]] = {}
    for state, event in machine.in_order():
        cell = state, event
        counts.setdefault(state, {})[event] = machine.counts[cell]
        if cell in machine.ways:
            ways.setdefault(state, {})[event] = list(machine.ways[cell])
        if cell in machine.unsent:
            unsent.setdefault(state, []).append(event)
    return {
        "states": list(machine.states),
        "events": list(machine.events),
        "defined": len(machine.counts),
        "hit": sum(1 for count in machine.counts.values() if count),
        "counts": counts,
        "ways": ways,
        "unsent": unsent,
    }


def write_cells(cells: Cells, path: str | Path) -> None:
    """Write the file whole or not at all. Raises OSError."""
    write_whole(Path(path), f"{json_text(to_json(cells), indent=1)}\n".encode())


def read_cells(path: Path) -> Cells:
    """Raises CoverageError."""
    return cells_from(path, read_object(path))


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file that gpu-tester has written. Raises CoverageError."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CoverageError(path, f"cannot be read: {error.strerror or error}") from None
    if len(text) > MAX_BYTES:
        raise CoverageError(path, f"has more than {MAX_BYTES:,} bytes, which no coverage file has")
    try:
        known: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CoverageError(path, f"is no coverage file: {error}") from None
    return known if isinstance(known, dict) else {}


def cells_from(path: Path, known: dict[str, Any]) -> Cells:
    """What the object of a file says. Raises CoverageError."""
    schema = known.get("schema")
    if schema != SCHEMA:
        raise CoverageError(path, _other_schema(schema))
    read = as_struct(path, known, _File)
    systems = tuple(System(each.what, tuple(each.machines)) for each in read.exhausted)
    machines = {name: _read(path, name, machine) for name, machine in read.machines.items()}
    return Cells(read.protocol, read.digest, machines, systems)


def as_struct(path: Path, known: dict[str, Any], struct: type[S]) -> S:
    """Raises CoverageError."""
    try:
        return msgspec.convert(known, struct)
    except msgspec.ValidationError as error:
        raise CoverageError(path, f"is malformed: {error}") from None


def _other_schema(schema: object) -> str:
    if schema == "gpu-tester.coverage/1":
        return "was written by a version that did not note the protocol's text: run it again"
    return f"is no coverage file: its schema is not {SCHEMA}"


def _read(path: Path, name: str, machine: _Machine) -> MachineCells:
    counts = {(s, e): count for s, row in machine.counts.items() for e, count in row.items()}
    ways = {(s, e): tuple(way) for s, row in machine.ways.items() for e, way in row.items()}
    unsent = frozenset((s, e) for s, events in machine.unsent.items() for e in events)
    _check(path, name, counts, machine.states, machine.events)
    for which, cells in (("ways", ways), ("unsent", unsent)):
        other = next((cell for cell in cells if cell not in counts), None)
        if other is not None:
            raise CoverageError(path, f"is malformed: {which} of {name} has {_text(other)}")
    return MachineCells(tuple(machine.states), tuple(machine.events), counts, ways, unsent)


def _check(
    path: Path, name: str, cells: Iterable[Cell], states: Iterable[str], events: Iterable[str]
) -> None:
    known_states, known_events = frozenset(states), frozenset(events)
    for cell in cells:
        if cell[0] not in known_states or cell[1] not in known_events:
            what = f"{name} has no state and event {_text(cell)}"
            raise CoverageError(path, f"is malformed: {what}")


def _text(cell: Cell) -> str:
    return f"({cell[0]}, {cell[1]})"


def merged(files: Iterable[Path]) -> Cells:
    """All files as one. Raises CoverageError where they are not of the same texts."""
    found: Cells | None = None
    first = Path()
    for path in files:
        cells = read_cells(path)
        if found is None:
            found, first = cells, path
            continue
        if cells.digest != found.digest:
            raise CoverageError(
                path,
                f"is of another text of {cells.protocol} ({cells.digest}) than {first} "
                f"({found.protocol}, {found.digest})",
            )
        add_cells(path, cells, found)
    assert found is not None
    return found


def add_cells(path: Path, cells: Cells, to: Cells) -> None:
    """Merge what a file says. Raises CoverageError where it is not of the same table."""
    _check_alike(path, cells, to)
    to.merge(cells)


def _check_alike(path: Path, one: Cells, other: Cells) -> None:
    """Equal digests have equal tables; a file that was edited may not."""
    for name, machine in one.machines.items():
        known = other.machines.get(name)
        if known is not None and known.counts.keys() != machine.counts.keys():
            raise CoverageError(path, f"is malformed: {name} has other cells than its text has")
