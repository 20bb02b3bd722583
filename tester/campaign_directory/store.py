"""The results of a campaign in SQLite: legs, cells, pairs of transitions, failures.

A kill at any moment leaves what was committed, and a batch of legs is committed whole. Invariant:
rows of legs, cells and pairs are those of the legs 0 to n-1, whatever was interrupted; only
``times`` depends on the machine.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np

from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.coverage import Coverage
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign_directory.guidance import Yield
from tester.campaign_directory.leg_task import LegRecord
from tester.campaign_directory.transition_pairs import Numbers
from tester.errors import ConfigError

_FORMAT: Final = 1
_APPLICATION: Final = 0x67707574
"""``gput``: marks the files as ours."""
_SCHEMA: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE legs (
    number INTEGER PRIMARY KEY, profile TEXT NOT NULL, pinned TEXT NOT NULL,
    episodes INTEGER NOT NULL, lane_accesses INTEGER NOT NULL, ticks INTEGER NOT NULL,
    transitions INTEGER NOT NULL, new_cells INTEGER NOT NULL, new_own INTEGER NOT NULL,
    new_line INTEGER NOT NULL, failure INTEGER REFERENCES failures (id));
CREATE TABLE times (number INTEGER PRIMARY KEY, seconds REAL NOT NULL, elapsed REAL NOT NULL);
CREATE TABLE cells (
    machine TEXT, state TEXT, event TEXT, count INTEGER NOT NULL, leg INTEGER,
    PRIMARY KEY (machine, state, event)) WITHOUT ROWID;
CREATE TABLE pairs (
    scope INTEGER, pair INTEGER, leg INTEGER NOT NULL, PRIMARY KEY (scope, pair)) WITHOUT ROWID;
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, blamed TEXT NOT NULL, headline TEXT NOT NULL,
    leg INTEGER NOT NULL, profile TEXT NOT NULL, files TEXT NOT NULL, least TEXT NOT NULL,
    UNIQUE (kind, blamed));
"""
OWN: Final = 0
LINE: Final = 1
"""Scopes of pairs."""


class StoreError(ConfigError):
    """The database is no campaign's, is of another kind, or cannot be read or written."""


@dataclass(frozen=True, slots=True)
class FailureRow:
    """Failing legs with one cause. ``blamed``: the transition, where the verdict names none.

    ``leg``, ``profile``: of the first of them. ``files``: by what they are, relative to the
    campaign's directory. ``least``: what its shrunk leg is, in a few words.
    """

    id: int
    kind: str
    blamed: str
    headline: str
    leg: int
    profile: str
    files: Mapping[str, str]
    least: str = ""

    @property
    def cause(self) -> str:
        """``stale-read, blamed on TCP.V.Evict``."""
        return f"{self.kind}, blamed on {self.blamed}" if self.blamed else self.kind


@dataclass(frozen=True, eq=False)
class LegRow:
    """A leg as it is stored. ``new_own``, ``new_line``: pairs that no leg before it had."""

    record: LegRecord
    new_own: Numbers
    new_line: Numbers
    elapsed: float
    failure: int | None = None

    @property
    def found(self) -> Yield:
        """What guides the legs after it."""
        pinned = self.record.pinned or {}
        pairs = len(self.new_own) + len(self.new_line)
        return Yield(Turn(self.record.profile, pinned), pairs, self.record.transitions)


class Store:
    """A context manager around the database. ``create``: make one if there is none."""

    def __init__(self, path: Path, *, create: bool = False, read_only: bool = False) -> None:
        self._path = path
        self._create = create
        self._read_only = read_only
        self._base: sqlite3.Connection

    def __enter__(self) -> Store:
        """Raises StoreError."""
        with self._errors():
            self._base = self._opened()
            try:
                self._check()
            except BaseException:
                self._base.close()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._base.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from None

    def _opened(self) -> sqlite3.Connection:
        how = "?mode=rwc" if self._create else "?mode=rw"
        if self._read_only:
            log = self._path.with_name(f"{self._path.name}-wal")
            how = "?mode=ro" if log.exists() else "?immutable=1"  # which makes no files beside it
        return sqlite3.connect(f"{self._path.resolve().as_uri()}{how}", uri=True, timeout=30)

    def _check(self) -> None:
        application = self._number("PRAGMA application_id")
        empty = application == 0 and not self._number("SELECT count(*) FROM sqlite_master")
        if empty and self._create:
            self._base.execute("PRAGMA journal_mode = WAL")
            with self._base:
                self._base.executescript(
                    f"BEGIN; {_SCHEMA} PRAGMA application_id = {_APPLICATION};"
                    f" PRAGMA user_version = {_FORMAT}; COMMIT;"
                )
        elif empty:  # what a kill or a full disk leaves before the first commit
            raise StoreError(f"{self._path}: it is empty: no campaign has begun there")
        elif application != _APPLICATION:
            raise StoreError(f"{self._path}: it is not the database of a campaign")
        found = self._number("PRAGMA user_version")
        if found != _FORMAT:
            raise StoreError(
                f"{self._path}: it is of format {found}, and this version writes format {_FORMAT}; "
                "name another directory"
            )
        self._base.execute("PRAGMA synchronous = NORMAL")

    # ------------------------------------------------------------------ reading

    def _number(self, query: str, *values: object) -> int:
        found = self._base.execute(query, values).fetchone()[0]
        return int(found or 0)

    def rows(self, query: str, *values: object) -> list[Any]:
        """Raises StoreError."""
        with self._errors():
            return self._base.execute(query, values).fetchall()

    def facts(self) -> dict[str, Any]:
        """What the campaign is of. Raises StoreError."""
        try:
            return {name: json.loads(value) for name, value in self.rows("SELECT * FROM facts")}
        except ValueError:
            raise StoreError(f"{self._path}: its facts are damaged") from None

    def next_leg(self) -> int:
        """The number of the first leg that is not there. Raises StoreError."""
        with self._errors():
            return self._next()

    def _next(self) -> int:
        return self._number("SELECT ifnull(max(number), -1) + 1 FROM legs")

    def episodes(self) -> int:
        with self._errors():
            return self._number("SELECT sum(episodes) FROM legs")

    def elapsed(self) -> float:
        """Seconds by the clock, over all sessions."""
        return float(self.rows("SELECT max(elapsed) FROM times")[0][0] or 0.0)

    def pairs(self, scope: int) -> Numbers:
        found = self.rows("SELECT pair FROM pairs WHERE scope = ?", scope)
        return np.array([pair for (pair,) in found], np.int64)

    def legs_of_failures(self) -> dict[int, int]:
        """How many legs each failure has."""
        query = "SELECT failure, count(*) FROM legs WHERE failure NOT NULL GROUP BY failure"
        return dict(self.rows(query))

    def hit_cells(self) -> set[tuple[str, str, str]]:
        return set(self.rows("SELECT machine, state, event FROM cells WHERE count > 0"))

    def yields(self, first: int) -> Iterator[Yield]:
        """What the legs from a number on have brought, in their order."""
        columns = "profile, pinned, new_own + new_line, transitions"
        for profile, pinned, pairs, transitions in self.rows(
            f"SELECT {columns} FROM legs WHERE number >= ? ORDER BY number", first
        ):
            yield Yield(Turn(profile, json.loads(pinned)), pairs, transitions)

    def failures(self) -> list[FailureRow]:
        """In the order of their first legs."""
        found = self.rows("SELECT * FROM failures ORDER BY id")
        return [
            FailureRow(id, kind, blamed, headline, leg, profile, json.loads(files), least)
            for id, kind, blamed, headline, leg, profile, files, least in found
        ]

    # ------------------------------------------------------------------ writing

    def set_facts(self, facts: Mapping[str, object]) -> None:
        """In the place of those that are there. Raises StoreError."""
        with self._errors(), self._base:
            self._base.execute("DELETE FROM facts")
            self._base.executemany(
                "INSERT INTO facts VALUES (?, ?)",
                [(name, json_text(value)) for name, value in facts.items()],
            )

    def add(self, rows: Sequence[LegRow], failures: Iterable[FailureRow] = ()) -> None:
        """Commit legs, which follow on those that are there; ones that are there already are left
        out. Raises StoreError, with nothing of them stored."""
        with self._errors(), self._base:
            self._base.execute("BEGIN IMMEDIATE")
            self._base.executemany(
                "INSERT OR IGNORE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (f.id, f.kind, f.blamed, f.headline, f.leg, f.profile, json_text(dict(f.files)),
                     f.least)
                    for f in failures
                ],
            )  # fmt: skip
            first = self._next()
            self._insert([row for row in rows if row.record.number >= first])

    def _insert(self, rows: Sequence[LegRow]) -> None:
        for row in rows:
            number, coverage = row.record.number, row.record.coverage
            cells = 0 if coverage is None else self._add_cells(number, coverage)
            self._add_leg(row, cells)
            pairs = [(OWN, row.new_own), (LINE, row.new_line)]
            self._base.executemany(
                "INSERT INTO pairs VALUES (?, ?, ?)",
                [(scope, pair, number) for scope, found in pairs for pair in found.tolist()],
            )

    def _add_leg(self, row: LegRow, cells: int) -> None:
        record, totals = row.record, row.record.totals
        assert totals is not None, "legs are stored that were run"
        self._base.execute(
            "INSERT INTO legs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                record.number,
                record.profile,
                json_text(dict(record.pinned or {}), compact=True),
                totals.episodes,
                totals.lane_accesses,
                totals.ticks,
                record.transitions,
                cells,
                len(row.new_own),
                len(row.new_line),
                row.failure,
            ),
        )
        self._base.execute(
            "INSERT INTO times VALUES (?, ?, ?)", (record.number, record.seconds, row.elapsed)
        )

    def _add_cells(self, number: int, coverage: Coverage) -> int:
        """How many were never executed before."""
        new = 0
        for name, machine in coverage.machines.items():
            known = self._number("SELECT count(*) FROM cells WHERE machine = ?", name)
            if not known:
                self._base.executemany(
                    "INSERT INTO cells VALUES (?, ?, ?, 0, NULL)",
                    [(name, machine.states[s], machine.events[e]) for s, e in machine.counts],
                )
            hit = [
                (count, number, name, machine.states[s], machine.events[e])
                for (s, e), count in machine.counts.items()
                if count
            ]
            before = self._number(
                "SELECT count(*) FROM cells WHERE machine = ? AND count > 0", name
            )
            self._base.executemany(
                "UPDATE cells SET count = count + ?, leg = ifnull(leg, ?) "
                "WHERE machine = ? AND state = ? AND event = ?",
                hit,
            )
            after = self._number("SELECT count(*) FROM cells WHERE machine = ? AND count > 0", name)
            assert after >= before, "a cell that was executed stays so"
            new += after - before
        return new
