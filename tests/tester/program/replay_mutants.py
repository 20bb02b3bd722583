"""Replay files with something wrong, and what becomes of them.

A mutant is a function of its seed: a sound leg of one of several protocols and profiles, in which
entries, lengths, types, shapes, fields of the header or plain bytes are changed. Mutants run in
forked children, so that one that kills its process is found and known by its seed. Invariant: what
is neither refused with a message nor run to a verdict is in `Tally.failures`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import traceback
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from runtime.description import DescriptionError
from runtime.native.tiered_object import NotHere
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.replay_protocol import fitted, named_protocol
from tester.diagnosis.failure_report import render
from tester.errors import ConfigError
from tester.program.program import DTYPES, Program
from tester.program.replay_file import MAGIC, Leg, ReplayError, load_leg, save_leg
from tester.program.verifier import verify
from tests.tester.native.equality import engine, loaded

BASES = (
    ("MI", "relay"),
    ("MI", "line-duel"),
    ("MESI_Two_Level", "replacement"),
    ("MESI_Two_Level", "random-check"),
    ("MOESI_AMD_Base", "system"),
    ("GPU_VIPER", "lane-merge"),
    ("GPU_VIPER", "scope-mix"),
    ("GPU_VIPER_APU", "coherence"),
)
EPISODES = 6
SECONDS = 100
"""A mutant that takes longer hangs."""
MEMORY = 6 << 30
"""What a mutant may take on top of what this process has."""
EDGES = (0, 1, -1, 2, 3, 7, 8, 9, 16, 63, 64, 127, 128, 255, 1 << 16, (1 << 31) - 1, 1 << 31)
EDGES += ((1 << 62) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 31), (1 << 64) - 1)
NASTY = (*EDGES, 1 << 80, 10**40, 1.5, float("nan"), float("inf"), True, None, "", "x" * 5000)
NASTY += ("\x1b[2J", "\ud800", "\x00", "../..", "/etc/passwd", [], {}, [[]] * 9, {"a": {}}, [-1])

Header = dict[str, Any]
Arrays = dict[str, np.ndarray[Any, Any]]


def _address_space() -> int:
    """Bytes that this process has mapped."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@dataclass
class Tally:
    """What became of some mutants."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """What was said against those that were refused, without its numbers."""
    failures: dict[int, str] = field(default_factory=dict)


class Mutants:
    """Mutants of all bases, by seed."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "mutant.leg"
        self.reason = ""
        self._legs = []
        self._parts = []
        for number, (protocol, profile) in enumerate(BASES):
            fixed = {"lanes": 2, "units": 2, "wavefronts": 1, "lengths": (4,)}
            options = Options(number, EPISODES, profile, fixed, leg_episodes=EPISODES)
            leg = Campaign(loaded(protocol), options, engine(protocol)).plan(0).leg
            self._legs.append(leg)
            self._parts.append(self._split(leg))

    def _split(self, leg: Leg) -> tuple[Header, Arrays]:
        save_leg(leg, self._path)
        content = self._path.read_bytes()
        start = len(MAGIC) + 8
        length = int.from_bytes(content[len(MAGIC) : start], "little")
        header: Header = json.loads(content[start : start + length])
        names = header["program"]["arrays"]
        return header, {name: getattr(leg.program, name) for name in DTYPES if name in names}

    # ------------------------------------------------------------------ making

    def content(self, seed: int) -> bytes:
        rng = Random(seed)
        number = rng.randrange(len(self._legs))
        header, arrays = self._parts[number]
        header, arrays = json.loads(json.dumps(header)), dict(arrays)
        fits = rng.random() < 0.85
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            kind = rng.random()
            if kind < 0.5:
                break_array(rng, arrays)
            elif kind < 0.63:
                bend_array(rng, arrays)
            elif kind < 0.68:
                arrays = deleted(rng, self._legs[number].program)
            elif kind < 0.9:
                break_field(rng, header)
            else:
                bend_field(rng, header["description"])
        content = packed(header, arrays, rng if not fits else None)
        return damaged(rng, content) if rng.random() < 0.1 else content

    # ------------------------------------------------------------------ running

    def outcome(self, seed: int) -> str:
        """How far a mutant comes. Any other exception than those it may cause escapes."""
        self._path.write_bytes(self.content(seed))
        try:
            leg = load_leg(self._path)
        except ReplayError as error:
            assert len(str(error)) < 1200, error
            self.reason = re.sub(r"\d+", "N", error.message)[:60]
            return "refused"
        assert verify(leg.program) == [], "unfair"
        try:
            name = named_protocol(leg, self._path, ())
            if name not in {base for base, _ in BASES}:
                return "of another protocol"
            leg = fitted(leg, loaded(name), self._path)
        except ReplayError:
            return "does not fit"
        campaign = Campaign(loaded(name), Options(1, 1), engine(name))
        try:
            run, finding = campaign.run_leg(leg)
        except (ConfigError, DescriptionError):
            return "cannot be built"
        except NotHere:
            return "needs native code for another number of nodes"
        if finding is None:
            return "passed"
        render(campaign.explain(leg, run, finding))  # type: ignore[arg-type]
        return "found a bug"

    def run(self, seeds: range) -> Tally:
        """All of them, in as many children as it takes."""
        tally = Tally()
        first = seeds.start
        while first < seeds.stop:
            first = self._in_child(range(first, min(first + 1000, seeds.stop)), tally)
        return tally

    def _in_child(self, seeds: range, tally: Tally) -> int:
        """The first seed that the child did not come to."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._child(seeds, writing)
        os.close(writing)
        seed = seeds.start
        with os.fdopen(reading, encoding="utf-8") as answers:
            for line in answers:
                said = json.loads(line)
                if "failure" in said:
                    tally.failures[seed] = said["failure"]
                tally.outcomes[said["outcome"]] += 1
                tally.reasons.update(filter(None, [said.get("reason")]))
                seed += 1
        _, status = os.waitpid(child, 0)
        if seed == seeds.stop:
            return seed
        tally.failures[seed] = f"the process ended with status {status}"
        tally.outcomes["died"] += 1
        return seed + 1

    def _child(self, seeds: range, writing: int) -> None:
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        try:
            for seed in seeds:
                signal.alarm(SECONDS)
                try:
                    self.reason = ""
                    said = {"outcome": self.outcome(seed), "reason": self.reason}
                except Exception:
                    said = {"outcome": "raised", "failure": traceback.format_exc()}
                os.write(writing, json.dumps(said).encode() + b"\n")
        finally:
            os._exit(0)


# ---------------------------------------------------------------------- changes


def packed(header: Header, arrays: Arrays, rng: Random | None) -> bytes:
    """A file with a right checksum; with `rng` its table of arrays is not made to fit."""
    table = header.get("program")
    table = table.get("arrays") if isinstance(table, dict) else None
    blobs = []
    for name, array in arrays.items():
        blob = zlib.compress(np.ascontiguousarray(array).tobytes(), 1)
        blobs.append(blob)
        if isinstance(table, dict) and (rng is None or rng.random() < 0.9):
            table[name] = {"shape": list(array.shape), "bytes": len(blob)}
    text = json.dumps(header).encode()
    body = b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *blobs])
    return body + hashlib.sha256(body).digest()


def damaged(rng: Random, content: bytes) -> bytes:
    """Some bytes changed, cut or repeated; the checksum mostly fits again."""
    body = bytearray(content[:-32])
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(len(body))
        match rng.randrange(4):
            case 0:
                body[place] = rng.randrange(256)
            case 1:
                del body[place : place + rng.choice((1, 8, 1000))]
            case 2:
                body[place:place] = body[place : place + rng.choice((1, 8, 1000))]
            case _:
                body[place] ^= 1 << rng.randrange(8)
        if not body:
            break
    if rng.random() < 0.2:
        return bytes(body) + content[-32:]
    return bytes(body) + hashlib.sha256(body).digest()


def changed(array: np.ndarray[Any, Any], place: Any, value: int) -> np.ndarray[Any, Any]:
    """A copy with one entry replaced, as far as its type holds the value."""
    copy = array.copy()
    bits = copy.dtype.itemsize * 8
    copy.view(f"u{copy.dtype.itemsize}")[place] = value & ((1 << bits) - 1)
    return copy


def break_array(rng: Random, arrays: Arrays) -> None:
    """Anything."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    if not array.size:
        arrays[name] = np.zeros((3, *array.shape[1:]), array.dtype)
        return
    place = np.unravel_index(rng.randrange(array.size), array.shape)
    match rng.randrange(9):
        case 0 | 1 | 2:
            arrays[name] = changed(array, place, rng.choice(EDGES))
        case 3:
            arrays[name] = changed(array, place, rng.getrandbits(64))
        case 4:
            arrays[name] = changed(array, ..., rng.choice(EDGES))
        case 5:
            arrays[name] = array[: rng.randrange(len(array))]
        case 6:
            arrays[name] = np.repeat(array, rng.choice((2, 3)), axis=0)
        case 7:
            arrays[name] = array.astype(rng.choice(("<i2", "<i4", "<i8", "<f8", "|u1")))
        case _:  # offsets whose differences wrap around
            last = (1 << (8 * array.dtype.itemsize - 1)) - 1
            at = rng.randrange(array.size)
            flat = changed(changed(array.ravel(), at, last), min(at + 1, array.size - 1), -2)
            arrays[name] = flat.reshape(array.shape)


def bend_array(rng: Random, arrays: Arrays) -> None:
    """Something that may well be a program."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    if array.size < 2 or array.dtype.kind == "f":
        return
    copy = array.copy()
    flat = copy.reshape(-1)
    one, other = rng.randrange(len(flat)), rng.randrange(len(flat))
    match rng.randrange(4):
        case 0:
            flat[[one, other]] = flat[[other, one]]
        case 1:
            flat[one] = flat[other]
        case 2:
            flat[one] ^= flat.dtype.type(1 << rng.randrange(7))
        case _:
            flat[one : one + 1] += flat.dtype.type(rng.choice((1, 4, 8, 64)))
    arrays[name] = copy


def deleted(rng: Random, program: Program) -> Arrays:
    """What is left of a program without some of its parts."""
    part = rng.choice((program.keep_episodes, program.keep_actions))
    count = program.episodes if part == program.keep_episodes else program.actions
    less = part(np.array([rng.random() < 0.7 for _ in range(count)], np.bool_))
    return {name: getattr(less, name) for name in DTYPES if name not in DERIVED}


DERIVED = ("expected", "wait_first", "wait_thread", "wait_count", "wait_kind")


def _tables(value: Any) -> list[Any]:
    """All tables and lists in a JSON value that hold something."""
    inner = value.values() if isinstance(value, dict) else value
    found = [value] if isinstance(value, dict | list) and value else []
    return found + [t for v in inner if isinstance(v, dict | list) for t in _tables(v)]


def break_field(rng: Random, header: Header) -> None:
    """A field becomes anything, or is gone, or stands where it should not."""
    table = rng.choice(_tables(header))
    key = rng.choice(list(table)) if isinstance(table, dict) else rng.randrange(len(table))
    match rng.randrange(4):
        case 0 | 1:
            table[key] = rng.choice(NASTY)
        case 2:
            del table[key]
        case _:
            if isinstance(table, dict):
                table[rng.choice(("more", "count", "x" * 9000, "\n"))] = table[key]
            else:
                table.extend(table * rng.choice((1, 20)))


def bend_field(rng: Random, description: Any) -> None:
    """A scalar of the system becomes another one of its kind."""
    tables = _tables(description) if isinstance(description, dict) else []
    leaves = [
        (table, key)
        for table in tables
        for key in (table if isinstance(table, dict) else range(len(table)))
        if isinstance(table[key], int | str)
    ]
    if not leaves:
        return
    table, key = rng.choice(leaves)
    value = table[key]
    if isinstance(value, bool):
        table[key] = not value
    elif isinstance(value, int):
        table[key] = rng.choice((0, 1, 2, value - 1, value + 1, 2 * value, 64, 1 << 16))
    else:
        other, place = rng.choice(leaves)
        table[key] = other[place]
