"""One leg in one file: everything that is needed to run it again, and nothing that is executed.

A file is a line of magic, a JSON header, the program's arrays (zlib, little endian) and a SHA-256
of all that. Expectations and waits are not stored: they are derived again from the rest, so a file
cannot contradict itself. Invariant: :func:`load_leg` returns a leg in which
`tester.program.verifier` finds no error, or raises :class:`ReplayError`; no size in a file is used
before it was compared with a bound, and nothing from it is unpickled, evaluated or used as a path
to write to.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import reprlib
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from protocols.identity import ProtocolIdentity
from protocols.texts import MAX_BYTES as MAX_TEXT_BYTES
from protocols.texts import ProtocolTexts, WrongTexts
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import MAX_AGENTS
from runtime.files import read_bounded
from slicc.scenario_text.bounds import MAX_LANES, MAX_PROGRAM_AGENTS
from slicc.text.data import json_text
from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass
from slicc.text.wording import listed
from tester.errors import ConfigError
from tester.limits import LIMITS, MAX_GROUPS
from tester.program.access_rules import access_errors
from tester.program.array_validation import RULES, Rule, entry, extents, shape_errors
from tester.program.expectations import derive
from tester.program.program import CONTINUES, DTYPES, AgentSpec, Program

MAGIC: Final = b"gpu-tester leg\n"
FORMAT: Final = 1
PIECES_FORMAT: Final = 2
"""As FORMAT, with accesses of any size and of several rows; older versions cannot run them."""
TEXTS_FORMAT: Final = 3
"""As PIECES_FORMAT, with the texts of the protocol."""
_FORMATS: Final = ("1", "2", "3")
MAX_FILE_BYTES: Final = 1 << 28
MAX_HEADER_BYTES: Final = 1 << 22
MAX_PROGRAM_BYTES: Final = 1 << 29
"""Of all arrays together, unpacked."""
_FREE_BYTES: Final = 1 << 24
_LARGEST_RATIO: Final = 512
"""Beyond _FREE_BYTES, arrays unpack to at most this many times their packed size."""
_CHECKSUM_BYTES: Final = 32
_TEXTS: Final = "texts"
_MOST_TEXT: Final = 2 * MAX_TEXT_BYTES
"""Of all texts together, as JSON."""
_LONGEST_NAME: Final = 255

_COUNTS: Final[dict[str, int]] = {
    "episodes": LIMITS["leg_episodes"].high,
    "actions": MAX_PROGRAM_BYTES,
    "lanes": MAX_LANES,
    "groups": MAX_GROUPS,
    "agents": MAX_PROGRAM_AGENTS,
}
"""The largest extents that arrays of a file may have."""
_DERIVED: Final = ("expected", "wait_first", "wait_thread", "wait_count", "wait_kind")
_ARRAYS: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype(dtype).newbyteorder("<")
    for name, dtype in DTYPES.items()
    if name not in _DERIVED
}
"""The stored arrays of a program; their rules are `tester.program.array_validation.RULES`."""
_LATER: Final = ("action_op",)
"""Those that older files lack: their default is meant."""


@dataclass(frozen=True, slots=True)
class Number:
    """What an integer of the header may be."""

    low: int = 0
    high: int = (1 << 64) - 1

    def allows(self, value: object) -> bool:
        return type(value) is int and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a number from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Text:
    """What a string of the header may be, besides printable."""

    pattern: str
    what: str

    def allows(self, value: object) -> bool:
        return (
            isinstance(value, str)
            and value.isprintable()
            and re.fullmatch(self.pattern, value) is not None
        )

    def __str__(self) -> str:
        return self.what


_NAME: Final = Text(r"[^/\\]{1,255}", "a printable name")
_HEADER: Final[dict[str, Number | Text]] = {
    "format": Number(),
    "version": Text(r"[\w.+!-]{0,64}", "a version"),
    "deadlock_limit": Number(1, LIMITS["deadlock_limit"].high),
    "seed": Number(0, LIMITS["seed"].high),
    "number": Number(),
    "profile": Text(r"[a-z0-9-]{0,64}", "the name of a profile"),
    "first_episode": Number(),
}
_PROTOCOL: Final[dict[str, Number | Text]] = {
    "name": _NAME,
    "digest": Text(r"[0-9a-f]{16}", "16 hexadecimal digits"),
    "path": Text(r".{0,4096}", "a printable path"),
}
_PROGRAM: Final[dict[str, Number | Text]] = {"run_key": Number(), "line_size": Number(8, 4096)}
_AGENT: Final[dict[str, Number | Text]] = {
    "kind": Text("gpu|cpu|dma|fetch", "one of gpu, cpu, dma, fetch"),
    "requester": Number(0, MAX_AGENTS - 1),
    "lanes": Number(1, MAX_LANES),
    "name": _NAME,
}
"""The scalars of a header and of its tables."""


class ReplayError(ValueError):
    """A replay file that cannot be used; the message names the file and what is wrong."""

    def __init__(self, file: str | Path, message: str) -> None:
        self.file = str(file)
        self.message = message
        super().__init__(f"{file}: {message}")


@dataclass(frozen=True, slots=True)
class Leg:
    """One program on one system: what it is and where it came from."""

    program: Program
    description: SystemDescription
    protocol: ProtocolIdentity
    deadlock_limit: int
    seed: int = 0
    number: int = 0
    profile: str = ""
    version: str = ""
    first_episode: int = 0
    """Episodes of the run that had been completed before this leg."""
    texts: ProtocolTexts | None = None
    """Those of its protocol, unless that is a shipped one."""
    zeroed: bool = False
    """Memory begins with zeroes: of scenarios with conditions, which no file holds."""

    @property
    def run_key(self) -> int:
        """Determines the memory's initial contents and the message delays."""
        return self.program.run_key

    def digest(self) -> str:
        """Short hash of system, protocol and limits: equal digests mean equal configurations."""
        text = json_text(
            [self.description.to_dict(), self.protocol.digest, self.deadlock_limit], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def with_expectations(program: Program) -> Program:
    """The program with its derived arrays. Raises ValueError if it is malformed."""
    errors = shape_errors(program) or access_errors(program)
    if errors:
        raise ValueError(errors[0])
    return derive(program)


def with_derived(leg: Leg) -> Leg:
    """The leg with what its program must observe; one that is known to be a program."""
    return leg if leg.program.derived else replace(leg, program=derive(leg.program))


def save_leg(leg: Leg, path: str | Path) -> None:
    """Write the file whole or not at all. Raises ReplayError when it cannot be written, ConfigError
    for what is no leg."""
    if not isinstance(leg, Leg):
        raise ConfigError(f"{reprlib.repr(leg)} is no leg: tester.generate and load_leg return one")
    program = leg.program
    blobs: list[bytes] = []
    table: dict[str, object] = {}
    for name, dtype in _ARRAYS.items():
        array = np.ascontiguousarray(getattr(program, name), dtype)
        blob = zlib.compress(array.tobytes(), 6)
        blobs.append(blob)
        table[name] = {"shape": list(array.shape), "bytes": len(blob)}
    header = {
        "format": _format_of(leg),
        "version": leg.version,
        "protocol": {
            "name": leg.protocol.name,
            "digest": leg.protocol.digest,
            "path": leg.protocol.path,
        },
        "description": leg.description.to_dict(),
        "deadlock_limit": leg.deadlock_limit,
        "seed": leg.seed,
        "number": leg.number,
        "profile": leg.profile,
        "first_episode": leg.first_episode,
        "program": {
            "agents": [[a.kind, a.requester, a.lanes, a.name] for a in program.agents],
            "run_key": program.run_key,
            "line_size": program.line_size,
            "arrays": table,
        },
    }
    if leg.texts is not None:
        texts = {
            "driver": leg.texts.driver,
            "preludes": list(leg.texts.preludes),
            "files": dict(leg.texts.files),
        }
        blobs.append(zlib.compress(json_text(texts, sort_keys=True).encode(), 6))
        header["texts"] = len(blobs[-1])
    text = json_text(header, sort_keys=True).encode()
    body = b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *blobs])
    _write_whole(Path(path), body + hashlib.sha256(body).digest())


def _format_of(leg: Leg) -> int:
    """The oldest format that can hold the leg."""
    program = leg.program
    if leg.texts is not None:
        return TEXTS_FORMAT
    continues = (program.action_scope & CONTINUES).any()
    plain = not continues and np.isin(program.action_size, (1, 2, 4, 8)).all()
    return FORMAT if plain else PIECES_FORMAT


def load_leg(path: str | Path) -> Leg:
    """Read and check a file. Raises ReplayError for anything that is not a valid leg."""
    try:
        content = read_bounded(path, MAX_FILE_BYTES)
    except OSError as error:
        raise ReplayError(path, f"cannot be read: {error.strerror or error}") from None
    header_text, blobs = _split(path, memoryview(content))
    header = _Fields(path, "", _parse(path, bytes(header_text)))
    number = header.scalar("format", _HEADER["format"])
    if str(number) not in _FORMATS:
        raise ReplayError(
            path, f"it has format {number}; this version reads formats {listed(_FORMATS)}"
        )
    scalars = header.scalars(_HEADER, "protocol", "description", "program", *_optional(header))
    del scalars["format"]
    texts, blobs = _read_texts(header, blobs)
    protocol = header.fields("protocol").scalars(_PROTOCOL)
    program = _read_program(header.fields("program"), blobs)
    description = _read_description(path, header.plain("description"))
    if program.line_size != description.line_size:
        raise ReplayError(
            path,
            f"its program is for lines of {program.line_size} bytes, "
            f"its system has lines of {description.line_size}",
        )
    return Leg(program, description, ProtocolIdentity(**protocol), **scalars, texts=texts)


def _optional(header: _Fields) -> list[str]:
    return [_TEXTS] * header.has(_TEXTS)


def _read_texts(header: _Fields, blobs: memoryview) -> tuple[ProtocolTexts | None, memoryview]:
    """The protocol's texts, which stand last, and what is before them."""
    if not header.has(_TEXTS):
        return None, blobs
    path, length = header.path, header.scalar(_TEXTS, Number(1, MAX_FILE_BYTES))
    if length > len(blobs):
        raise ReplayError(path, "its texts reach past the end of the file")
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(blobs[len(blobs) - length :], _MOST_TEXT)
    except zlib.error as error:
        raise ReplayError(path, f"its texts cannot be unpacked: {error}") from None
    if not stream.eof or stream.unused_data:
        raise ReplayError(path, f"its texts have more than {_MOST_TEXT} bytes, or are cut off")
    fields = _Fields(path, _TEXTS, _parse(path, raw))
    fields.only(("driver", "preludes", "files"))
    driver, preludes, files = (fields.plain(name) for name in ("driver", "preludes", "files"))
    if not (
        isinstance(driver, str)
        and isinstance(preludes, list)
        and isinstance(files, dict)
        and all(isinstance(each, str) for each in (*preludes, *files.values()))
    ):
        raise ReplayError(path, "its texts are no table of files")
    try:
        texts = ProtocolTexts(driver, files, tuple(preludes))
    except WrongTexts as error:
        raise ReplayError(path, f"its texts are wrong: {error}") from None
    return texts, blobs[: len(blobs) - length]


# ------------------------------------------------------------------ reading


def _split(path: str | Path, content: memoryview) -> tuple[memoryview, memoryview]:
    """Header text and array bytes of a file whose magic and checksum match."""
    if bytes(content[: len(MAGIC)]) != MAGIC:
        raise ReplayError(path, "it is not a replay file of gpu-tester")
    if len(content) > MAX_FILE_BYTES:
        raise ReplayError(path, f"no leg is larger than {MAX_FILE_BYTES} bytes")
    start = len(MAGIC) + 8
    if len(content) < start + _CHECKSUM_BYTES:
        raise ReplayError(path, f"it is cut off after {len(content)} bytes")
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        raise ReplayError(path, "its checksum does not match: cut off or damaged")
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    if length > min(MAX_HEADER_BYTES, len(body) - start):
        raise ReplayError(path, f"its header claims {length} bytes")
    return body[start : start + length], body[start + length :]


def _parse(path: str | Path, text: bytes) -> object:
    """The header's JSON, in which no name occurs twice and every text is valid Unicode."""

    def table(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if any(len(name) > _LONGEST_NAME for name in found):
            raise ReplayError(path, f"its header has a name of over {_LONGEST_NAME} characters")
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ReplayError(path, f"its header has the field {_shown(twice)} twice")
        return found

    def constant(name: str) -> NoReturn:
        raise ReplayError(path, f"its header holds {name}, which is not JSON")

    try:
        header = json.loads(text, object_pairs_hook=table, parse_constant=constant)
        json.dumps(header, ensure_ascii=False).encode()  # half a character is no text
    except ReplayError:
        raise
    except (ValueError, RecursionError):
        raise ReplayError(path, "its header is not JSON") from None
    return header


def _read_program(fields: _Fields, blobs: memoryview) -> Program:
    path = fields.path
    scalars = fields.scalars(_PROGRAM, "agents", "arrays")
    agents = _read_agents(fields)
    try:
        program = Program(agents, **scalars, **_read_arrays(fields.fields("arrays"), blobs))
        return with_expectations(program)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        if isinstance(error, ReplayError):
            raise
        raise ReplayError(path, f"its program is malformed: {error}") from None


def _read_arrays(table: _Fields, blobs: memoryview) -> dict[str, Any]:
    """The arrays, when all of their shapes have been compared with each other and with bounds."""
    path = table.path
    names = [name for name in _ARRAYS if name not in _LATER or table.has(name)]
    table.only(names)
    entries = {name: table.fields(name) for name in names}
    shapes = {name: _shape(entries[name], RULES[name], name) for name in names}
    counts = _counts(path, shapes)
    for name, shape in shapes.items():
        wanted = extents(RULES[name], counts)
        if shape != wanted:
            raise ReplayError(path, f"array {name} has shape {shape}, {wanted} is needed")
    total = sum(math.prod(shape) * _ARRAYS[name].itemsize for name, shape in shapes.items())
    possible = min(MAX_PROGRAM_BYTES, _FREE_BYTES + _LARGEST_RATIO * len(blobs))
    if total > possible:
        raise ReplayError(path, f"its arrays claim {total} bytes, {possible} are possible")
    arrays: dict[str, Any] = {}
    offset = 0
    for name, shape in shapes.items():
        length = entries[name].scalar("bytes", Number())
        if length > len(blobs) - offset:
            raise ReplayError(path, f"array {name} reaches past the end of the file")
        wanted_bytes = math.prod(shape) * _ARRAYS[name].itemsize
        raw = _inflate(path, name, blobs[offset : offset + length], wanted_bytes)
        arrays[name] = np.frombuffer(raw, _ARRAYS[name]).reshape(shape)
        offset += length
    if offset != len(blobs):
        raise ReplayError(path, f"{len(blobs) - offset} bytes follow the last array")
    _check_start(path, arrays["thread_base"])
    return arrays


def _shape(fields: _Fields, rule: Rule, name: str) -> tuple[int, ...]:
    """The shape of an array according to the file; numbers that are counts are bounded."""
    fields.only(("shape", "bytes"))
    shape = fields.plain("shape")
    if (
        not isinstance(shape, list)
        or len(shape) != len(rule.shape)
        or not all(Number(0, MAX_PROGRAM_BYTES).allows(extent) for extent in shape)
    ):
        raise ReplayError(fields.path, f"array {name} has the impossible shape {_shown(shape)}")
    return tuple(shape)


def _counts(path: str | Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The extents of the arrays, each from the first array that has it."""
    counts: dict[str, int] = {}
    for name, shape in shapes.items():
        for count, extent in zip(RULES[name].shape, shape):
            if count in _COUNTS and extent > _COUNTS[count]:
                raise ReplayError(
                    path, f"array {name} is for {extent} {count}, {_COUNTS[count]} are possible"
                )
            counts.setdefault(count, extent)
    return counts


def _check_start(path: str | Path, base: npt.NDArray[Any]) -> None:
    later = base != 0
    if later.any():
        raise ReplayError(
            path,
            f"{entry('thread_base', base, later)}: a leg begins with the first episode of "
            "each agent",
        )


def _inflate(path: str | Path, name: str, blob: memoryview, wanted: int) -> bytes:
    """Exactly ``wanted`` bytes; never allocates more, whatever the blob holds."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(blob, wanted + 1)
    except zlib.error as error:
        raise ReplayError(path, f"array {name} cannot be unpacked: {error}") from None
    if len(raw) != wanted or not stream.eof or stream.unused_data:
        raise ReplayError(path, f"array {name} does not hold the {wanted} bytes of its shape")
    return raw


def _read_agents(fields: _Fields) -> tuple[AgentSpec, ...]:
    rows = fields.plain("agents")
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_PROGRAM_AGENTS:
        raise ReplayError(fields.path, f"program.agents is not a list of 1 to {MAX_PROGRAM_AGENTS}")
    agents = []
    for position, row in enumerate(rows):
        where = f"program.agents[{position}]"
        if not isinstance(row, list) or len(row) != len(_AGENT):
            raise ReplayError(fields.path, f"{where} is {_shown(row)}, not {', '.join(_AGENT)}")
        agent = _Fields(fields.path, where, dict(zip(_AGENT, row)))
        agents.append(AgentSpec(**agent.scalars(_AGENT)))
    return tuple(agents)


def _read_description(path: str | Path, data: object) -> SystemDescription:
    if not isinstance(data, dict):
        raise ReplayError(path, "its description is not a table")
    try:
        return SystemDescription.from_dict(data, str(path))
    except DescriptionError as error:
        raise ReplayError(path, f"its description is wrong: {error}") from None


def _shown(value: object) -> str:
    """A value of the file, however long, as messages show it."""
    return reprlib.repr(value)


class _Fields:
    """A JSON object whose fields are read by name, and compared with what they may be."""

    def __init__(self, path: str | Path, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ReplayError(path, f"{where or 'its header'} is not a table")
        self.path = path
        self._where = where
        self._data: dict[str, object] = value

    def has(self, name: str) -> bool:
        return name in self._data

    def plain(self, name: str) -> object:
        if name not in self._data:
            raise ReplayError(self.path, f"{self._where or 'its header'} lacks {name}")
        return self._data[name]

    def fields(self, name: str) -> _Fields:
        return _Fields(self.path, self._named(name), self.plain(name))

    def scalar(self, name: str, allowed: Number | Text) -> Any:
        value = self.plain(name)
        if not allowed.allows(value):
            raise ReplayError(self.path, f"{self._named(name)} is {_shown(value)}, not {allowed}")
        return value

    def scalars(self, allowed: Mapping[str, Number | Text], *others: str) -> dict[str, Any]:
        """All of the ``allowed`` fields; beside them only those in ``others`` may exist."""
        found = {name: self.scalar(name, rule) for name, rule in allowed.items()}
        self.only((*allowed, *others))
        return found

    def only(self, names: Collection[str]) -> None:
        for name in self._data:
            if name not in names:
                raise ReplayError(
                    self.path, f"{self._where or 'its header'} has the unknown field {_shown(name)}"
                )

    def _named(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


def _write_whole(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise ReplayError(path, f"cannot be written: {error.strerror or error}") from None
