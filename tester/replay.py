"""One leg in one file: everything that is needed to run it again, and nothing that is executed.

A file is a line of magic, a JSON header, the program's arrays (zlib, little endian) and a SHA-256
of all that. Expectations and waits are not stored: they are derived again from what is, so a
file cannot contradict itself. Invariant: :func:`load_leg` returns a leg whose arrays can be read
without an index going astray, or raises :class:`ReplayError`; no size in a file is believed before
it was compared with a bound, and nothing from it is unpickled, evaluated or used as a path to
write to.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from protocols.identity import ProtocolIdentity
from runtime.description import DescriptionError, SystemDescription
from tester.expectations import derive
from tester.files import write_whole
from tester.program import CONTINUES, Agent, Program

MAGIC: Final = b"gpu-tester leg\n"
FORMAT: Final = 1
PIECES_FORMAT: Final = 2
"""As FORMAT, with accesses of any size and of several rows; older versions cannot run them."""
MAX_FILE_BYTES: Final = 1 << 30
MAX_HEADER_BYTES: Final = 1 << 22
MAX_ARRAY_BYTES: Final = 1 << 30
_CHECKSUM_BYTES: Final = 32

_ARRAYS: Final[dict[str, tuple[str, int]]] = {
    "episode_thread": ("<i4", 1),
    "episode_first_action": ("<i8", 1),
    "episode_group": ("<i4", 2),
    "episode_scope": ("|u1", 1),
    "group_word": ("<i8", 1),
    "action_kind": ("|u1", 1),
    "action_size": ("|u1", 1),
    "action_scope": ("|u1", 1),
    "action_op": ("|u1", 1),
    "lane_address": ("<i8", 2),
    "store_value": ("<u8", 2),
    "thread_base": ("<i8", 1),
}
"""What is stored of a program: name -> element type and number of dimensions."""
_LATER: Final = ("action_op",)
"""Those that older files lack: there was nothing to say."""


class ReplayError(ValueError):
    """A replay file that cannot be used; the message names the file and what is wrong."""

    def __init__(self, file: str | Path, message: str) -> None:
        self.file = str(file)
        self.message = message
        super().__init__(f"{file}: {message}")


@dataclass(frozen=True)
class Leg:
    """One run of one program on one fresh system: what it is and where it came from."""

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

    @property
    def run_key(self) -> int:
        """Names the memory's first contents and the message delays."""
        return self.program.run_key

    def digest(self) -> str:
        """Short hash of system, protocol and limits: equal digests mean equal configurations."""
        text = json.dumps(
            [self.description.to_dict(), self.protocol.digest, self.deadlock_limit], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def save_leg(leg: Leg, path: str | Path) -> None:
    """Write the file whole or not at all. Raises ReplayError when it cannot be written."""
    program = leg.program
    blobs: list[bytes] = []
    table: dict[str, object] = {}
    for name, (kind, _) in _ARRAYS.items():
        array = np.ascontiguousarray(getattr(program, name), np.dtype(kind))
        blob = zlib.compress(array.tobytes(), 6)
        blobs.append(blob)
        table[name] = {"shape": list(array.shape), "bytes": len(blob)}
    header = {
        "format": _format_of(program),
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
    text = json.dumps(header, sort_keys=True).encode()
    body = b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *blobs])
    _write_whole(Path(path), body + hashlib.sha256(body).digest())


def _format_of(program: Program) -> int:
    """The oldest format that can say everything."""
    continues = (program.action_scope & CONTINUES).any()
    plain = not continues and np.isin(program.action_size, (1, 2, 4, 8)).all()
    return FORMAT if plain else PIECES_FORMAT


def load_leg(path: str | Path) -> Leg:
    """Read and check a file. Raises ReplayError for anything that is not a sound leg."""
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ReplayError(path, f"{size} bytes; no leg is larger than {MAX_FILE_BYTES}")
        with file.open("rb") as stream:
            content = stream.read(len(MAGIC))
            if content == MAGIC:  # else it may be a device that never ends
                content += stream.read(MAX_FILE_BYTES)
    except OSError as slip:
        raise ReplayError(path, f"cannot be read: {slip.strerror or slip}") from None
    header_text, blobs = _split(path, content)
    try:
        header = _Fields(path, "header", json.loads(header_text))
    except (ValueError, RecursionError):
        raise ReplayError(path, "its header is not JSON") from None
    if header.integer("format") not in (FORMAT, PIECES_FORMAT):
        raise ReplayError(
            path,
            f"it has format {header.integer('format')}; "
            f"this version reads formats {FORMAT} and {PIECES_FORMAT}",
        )
    protocol = header.fields("protocol")
    program = _read_program(header.fields("program"), blobs)
    description = _read_description(path, header.plain("description"))
    if program.line_size != description.line_size:
        raise ReplayError(
            path,
            f"its program is for lines of {program.line_size} bytes, "
            f"its system has lines of {description.line_size}",
        )
    return Leg(
        program,
        description,
        ProtocolIdentity(protocol.text("name"), protocol.text("digest"), protocol.text("path")),
        header.integer("deadlock_limit", 1),
        header.integer("seed"),
        header.integer("number"),
        header.text("profile"),
        header.text("version"),
        header.integer("first_episode"),
    )


# ------------------------------------------------------------------ reading


def _split(path: str | Path, content: bytes) -> tuple[bytes, bytes]:
    """Header text and array bytes of a file whose magic and checksum are right."""
    if not content.startswith(MAGIC):
        raise ReplayError(path, "it is not a replay file of gpu-tester")
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


def _read_program(fields: _Fields, blobs: bytes) -> Program:
    path = fields.path
    table = fields.fields("arrays")
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    offset = 0
    for name, (kind, dimensions) in _ARRAYS.items():
        if name in _LATER and not table.has(name):
            continue
        entry = table.fields(name)
        shape = entry.integers("shape")
        length = entry.integer("bytes")
        dtype = np.dtype(kind)
        wanted = dtype.itemsize
        for extent in shape:
            wanted *= extent
        if len(shape) != dimensions or wanted > MAX_ARRAY_BYTES or min(shape) < 0:
            raise ReplayError(path, f"array {name} has the impossible shape {tuple(shape)}")
        if length > len(blobs) - offset:
            raise ReplayError(path, f"array {name} reaches past the end of the file")
        raw = _inflate(path, name, blobs[offset : offset + length], wanted)
        arrays[name] = np.frombuffer(raw, dtype).reshape(shape)
        offset += length
    if offset != len(blobs):
        raise ReplayError(path, f"{len(blobs) - offset} bytes follow the last array")
    agents = fields.plain("agents")
    if not isinstance(agents, list):
        raise ReplayError(path, "program.agents is not a list")
    try:
        program = Program(
            agents=tuple(_read_agent(path, row) for row in agents),
            run_key=fields.integer("run_key"),
            line_size=fields.integer("line_size", 1),
            **arrays,  # type: ignore[arg-type]
        )
        errors = program.shape_errors()
    except (ValueError, TypeError, IndexError, OverflowError) as slip:
        raise ReplayError(path, f"its program is malformed: {slip}") from None
    if errors:
        raise ReplayError(path, f"its program is malformed: {errors[0]}")
    return derive(program)


def _inflate(path: str | Path, name: str, blob: bytes, wanted: int) -> bytes:
    """Exactly ``wanted`` bytes; never allocates more, whatever the blob claims to hold."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(blob, wanted + 1)
    except zlib.error as slip:
        raise ReplayError(path, f"array {name} cannot be unpacked: {slip}") from None
    if len(raw) != wanted or not stream.eof:
        raise ReplayError(path, f"array {name} does not hold the {wanted} bytes of its shape")
    return raw


def _read_agent(path: str | Path, row: object) -> Agent:
    match row:
        case [str(kind), int(requester), int(lanes), str(name)] if requester >= 0:
            return Agent(kind, requester, lanes, name)
    raise ReplayError(path, f"program.agents holds {row!r}")


def _read_description(path: str | Path, data: object) -> SystemDescription:
    if not isinstance(data, dict):
        raise ReplayError(path, "its description is not a table")
    try:
        return SystemDescription.from_dict(data, str(path))
    except DescriptionError as slip:
        raise ReplayError(path, f"its description is wrong: {slip}") from None


class _Fields:
    """A JSON object whose fields are asked for by name and type."""

    def __init__(self, path: str | Path, where: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ReplayError(path, f"{where} is not a table")
        self.path = path
        self._where = where
        self._data: dict[str, object] = value

    def has(self, name: str) -> bool:
        return name in self._data

    def plain(self, name: str) -> object:
        if name not in self._data:
            raise ReplayError(self.path, f"{self._where} lacks {name}")
        return self._data[name]

    def fields(self, name: str) -> _Fields:
        return _Fields(self.path, f"{self._where}.{name}", self.plain(name))

    def integer(self, name: str, least: int = 0) -> int:
        value = self.plain(name)
        if type(value) is not int or not least <= value < 1 << 64:
            raise ReplayError(self.path, f"{self._where}.{name} is {value!r}, not a sound number")
        return value

    def integers(self, name: str) -> list[int]:
        value = self.plain(name)
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise ReplayError(self.path, f"{self._where}.{name} is not a list of numbers")
        return value

    def text(self, name: str) -> str:
        value = self.plain(name)
        if not isinstance(value, str):
            raise ReplayError(self.path, f"{self._where}.{name} is not a text")
        return value


def _write_whole(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as slip:
        raise ReplayError(path, f"cannot be written: {slip.strerror or slip}") from None
