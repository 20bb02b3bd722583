"""Which store wrote which byte: from a wrong value to "version 6, by agent 2 lane 0".

Everything here is read off the program; no run is needed. Version 0 of a byte is what memory
holds at first, version k the k-th store to it in the program's total order. Invariant: versions
are numbered as a load *must* see them, so a load's expected version is the number of stores to
the byte that come before it.
"""

from __future__ import annotations

import numpy as np

from runtime.prng import initial_byte
from slicc.text.lazy_dataclass import dataclass
from tester.execution.events import Finding, Verdict
from tester.program.atomics import written
from tester.program.program import LOAD, Program

INITIAL = -1
"""Row of version 0."""


@dataclass(frozen=True, slots=True)
class Version:
    """One value that a byte had. ``row`` is the store's action (INITIAL: no store)."""

    number: int
    value: int
    row: int
    lane: int


@dataclass(frozen=True, slots=True)
class ByteVerdict:
    """One byte of a compared value: what it should be and what it was."""

    address: int
    expected: Version
    got: int
    versions: tuple[Version, ...]
    """All versions with this value, oldest first; empty: it was never written."""

    @property
    def right(self) -> bool:
        return self.got == self.expected.value

    @property
    def found(self) -> Version | None:
        """The version it most likely is: the nearest one, an older rather than a newer."""
        number = self.expected.number
        older = [v for v in self.versions if v.number <= number]
        if older:
            return older[-1]
        return self.versions[0] if self.versions else None


def byte_versions(program: Program, address: int) -> list[Version]:
    """All versions of one byte, in order."""
    rows, lanes = _stores_to(program, address)
    left = written(program)
    first = initial_byte(program.run_key, address)
    versions = [Version(0, first, INITIAL, -1)]
    for row, lane in zip(rows.tolist(), lanes.tolist()):
        offset = address - int(program.lane_address[row, lane])
        value = int(left[row, lane]) >> 8 * offset & 0xFF
        versions.append(Version(len(versions), value, row, lane))
    return versions


def judge_bytes(
    program: Program, address: int, size: int, got: int, row: int | None
) -> list[ByteVerdict]:
    """Compare ``size`` bytes read at ``address`` by action ``row`` (None: after all episodes)."""
    verdicts = []
    for offset in range(size):
        versions = byte_versions(program, address + offset)
        before = [v for v in versions if row is None or v.row < row]
        value = got >> 8 * offset & 0xFF
        matching = tuple(v for v in versions if v.value == value)
        verdicts.append(ByteVerdict(address + offset, before[-1], value, matching))
    return verdicts


def classify(verdicts: list[ByteVerdict], at_end: bool) -> Verdict:
    """The kind of fault that explains a wrong value best."""
    wrong = [v for v in verdicts if not v.right]
    found = [v.found for v in wrong]
    if any(version is None for version in found):
        return Verdict.FOREIGN_BYTES
    newer = [f for f, v in zip(found, wrong) if f is not None and f.number > v.expected.number]
    if newer:
        return Verdict.EARLY_WRITE
    if at_end:
        return Verdict.LOST_WRITE
    writers = {(v.expected.row, v.expected.lane) for v in verdicts}
    if len(wrong) < len(verdicts) and len(writers) == 1:
        return Verdict.TORN_BYTES
    return Verdict.STALE_READ


def is_foreign(program: Program, finding: Finding) -> bool:
    """Whether a wrong byte has a value that it never had, at any time: it is no old copy."""
    for offset in range(finding.size):
        expected, got = (value >> 8 * offset & 0xFF for value in (finding.expected, finding.got))
        if got != expected:
            versions = byte_versions(program, finding.address + offset)
            if all(got != version.value for version in versions):
                return True
    return False


def misplaced_from(program: Program, verdicts: list[ByteVerdict]) -> int | None:
    """Where the bytes seem to come from, when they are those of another place in the line.

    Only shifts of the whole value are looked for; None when no shift explains every wrong byte.
    """
    wrong = [v for v in verdicts if not v.right]
    if len(wrong) < 2:
        return None
    line_size = program.line_size
    line = wrong[0].address & -line_size
    history = [{v.value for v in byte_versions(program, line + i)} for i in range(line_size)]
    for shift in sorted(range(-line_size + 1, line_size), key=abs):
        places = [v.address - line + shift for v in wrong]
        if shift and all(
            0 <= place < line_size and v.got in history[place] for place, v in zip(places, wrong)
        ):
            return line + places[0]
    return None


def _stores_to(program: Program, address: int) -> tuple[np.ndarray, np.ndarray]:
    size = program.action_size.astype(np.int64)[:, None]
    covers = (program.lane_address >= 0) & (program.lane_address <= address)
    covers &= (address < program.lane_address + size) & (program.action_kind != LOAD)[:, None]
    rows, lanes = np.nonzero(covers)
    return rows, lanes
