"""After the last episode: writing everything back, and reading everything again.

Invariant: nothing here touches a byte in a way that the system description does not allow; a
byte is read back only by an agent to whom its last writer may hand it over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from runtime.description import SystemDescription
from runtime.engine import Consumer, Engine
from runtime.requester import Access, AccessKind, Requester
from tester.blame import byte_writers
from tester.events import Kind, Request, Role, Watcher
from tester.program import INACTIVE, LOAD, Program
from tester.thread import Steps

READ_BACKS: Final = 1 << 40
FLUSHES: Final = 1 << 41
"""Identities of read-back and flush requests start here, above those of any leg."""
_FLUSH_BATCH: Final = 64
_WIDEST: Final = 8


@dataclass(frozen=True)
class Manners:
    """How agents of a system must behave towards each other, one entry per thread.

    Threads of different ``camps`` never exchange a byte; ``steps`` are what a thread does besides
    acquire and release. Empty: all in one camp, nothing special.
    """

    camps: tuple[int, ...] = ()
    steps: tuple[Steps, ...] = ()

    @staticmethod
    def of(description: SystemDescription, groups: Sequence[str]) -> Manners:
        """``groups[t]`` is the name of the agent group of thread t.

        A group joins the first camp with whose every member hand-overs are allowed both ways.
        """
        forbidden = {(h.giver, h.taker) for h in description.handovers if not h.allowed}
        camp_of: dict[str, int] = {}
        for name in dict.fromkeys(groups):
            camp = 0
            while any(
                number == camp and {(name, other), (other, name)} & forbidden
                for other, number in camp_of.items()
            ):
                camp += 1
            camp_of[name] = camp
        present = set(camp_of)
        rows = [h for h in description.handovers if h.allowed and {h.giver, h.taker} <= present]
        flush = {h.giver for h in rows if "flush" in h.giver_steps}
        invalidate = {h.taker for h in rows if "invalidate_l2" in h.taker_steps}
        return Manners(
            tuple(camp_of[name] for name in groups),
            tuple(Steps(name in flush, name in invalidate) for name in groups),
        )


NO_MANNERS: Final = Manners()


class Flusher(Consumer):
    """Flushes lines through one requester, a batch at a time."""

    def __init__(
        self,
        engine: Engine,
        requester: Requester,
        lines: list[int],
        watcher: Watcher,
        first_identity: int,
    ) -> None:
        super().__init__(engine)
        self.requester = requester
        self._watcher = watcher
        self._batches = [lines[i : i + _FLUSH_BATCH] for i in range(0, len(lines), _FLUSH_BATCH)]
        self._pending: Request | None = None
        self._identity = first_identity

    @property
    def finished(self) -> bool:
        return not self._batches and self._pending is None

    def wakeup(self) -> None:
        if self._pending is not None or not self._batches:
            return
        lines = self._batches[0]
        self._identity += 1
        lanes = list(range(len(lines)))
        request = Request(self._identity, -1, -1, Role.FLUSH, Kind.FLUSH, lanes, lines, 1, [], [])
        request.issued = self.engine.now
        if self.requester.issue(Access(AccessKind.FLUSH, self, self._identity, lines, 1)):
            self._pending = request
            del self._batches[0]
            self._watcher.issued(request, self.engine.now)

    def synchronized(self, access: Access) -> None:
        assert self._pending is not None
        self._watcher.synchronized(self._pending, self.engine.now)
        self._pending = None
        self.engine.schedule(self, self.engine.now + 1)

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)

    def loaded(self, access: Access, lanes: list[int], line: int, data: object) -> None:
        raise AssertionError("data for a flush")

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        raise AssertionError("acceptance for a flush")

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        raise AssertionError("completion for a flush")

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        raise AssertionError("old values for a flush")


def can_flush(requester: Requester) -> bool:
    """Whether the machine behind a requester has an event for flushes."""
    controller = getattr(requester, "controller", None)
    events = () if controller is None else controller.EVENTS.members()
    return any("flush" in event.lower() for event in events)


def read_back_program(
    program: Program, expected: dict[int, int], camps: Sequence[int]
) -> Program | None:
    """Loads of every byte of ``expected`` (whole words of 8 bytes), one episode per reader.

    Readers are threads behind different requesters. A byte goes to a reader of its last writer's
    camp, behind another requester than the writer's where there is one; they take turns line by
    line, so that a wave's lanes share lines. Atomic words go with the camp of who adds to them.
    None when there is nothing to read.
    """
    if not expected:
        return None
    camps = camps or [0] * program.threads
    readers = _readers(program, camps)
    owner = byte_writers(program) | _adders(program)
    work: dict[int, list[tuple[int, int]]] = {reader: [] for reader in readers}
    choices: dict[frozenset[int], list[int]] = {}
    one_camp = len(set(camps)) == 1
    for word in sorted([address for address in expected if not address % _WIDEST]):
        turn = word // program.line_size
        for address, size in [(word, _WIDEST)] if one_camp else _pieces(word, owner, camps):
            writers = frozenset([owner[a] for a in range(address, address + size) if a in owner])
            choice = choices.get(writers)
            if choice is None:
                choice = choices[writers] = _choice(program, readers, camps, writers)
            work[choice[turn % len(choice)]].append((address, size))
    rows: list[tuple[int, list[int]]] = []
    counts = []
    for reader, accesses in work.items():
        before = len(rows)
        lanes = program.agents[reader].lanes
        for size in (8, 4, 2, 1):
            of_size = [address for address, wide in accesses if wide == size]
            rows += [(size, of_size[i : i + lanes]) for i in range(0, len(of_size), lanes)]
        counts.append(len(rows) - before)
    return _loads(program, readers, counts, rows, expected)


def _readers(program: Program, camps: Sequence[int]) -> list[int]:
    """One thread per requester and camp."""
    found: dict[tuple[int, int], int] = {}
    for thread, agent in enumerate(program.agents):
        found.setdefault((agent.requester, camps[thread]), thread)
    return list(found.values())


def _adders(program: Program) -> dict[int, int]:
    """Byte of an atomic word -> a thread that adds to it."""
    episodes, lanes = np.nonzero((program.episode_group >= 0) & program.adds()[:, None])
    words = program.group_word[program.episode_group[episodes, lanes]].tolist()
    threads = program.episode_thread[episodes].tolist()
    return {word + i: thread for word, thread in zip(words, threads) for i in range(4)}


def _pieces(word: int, owner: dict[int, int], camps: Sequence[int]) -> list[tuple[int, int]]:
    """The word cut into (address, size) so that no piece has bytes of two camps."""

    def cut(address: int, size: int) -> list[tuple[int, int]]:
        found = {camps[owner[a]] for a in range(address, address + size) if a in owner}
        if len(found) < 2:
            return [(address, size)]
        half = size // 2
        return cut(address, half) + cut(address + half, half)

    return cut(word, _WIDEST)


def _choice(
    program: Program, readers: list[int], camps: Sequence[int], writers: frozenset[int]
) -> list[int]:
    """Who may read back, in turns, what these threads of one camp wrote."""
    camp = {camps[writer] for writer in writers}
    allowed = [reader for reader in readers if not camp or camps[reader] in camp]
    ports = {program.agents[writer].requester for writer in writers}
    others = [reader for reader in allowed if program.agents[reader].requester not in ports]
    return others or allowed


def _loads(
    program: Program,
    readers: list[int],
    counts: list[int],
    rows: list[tuple[int, list[int]]],
    expected: dict[int, int],
) -> Program:
    """A program of one episode per reader, without fetch-adds: acquire, then the loads."""
    episodes, wide = len(readers), program.lanes
    address = np.full((len(rows), wide), INACTIVE, np.int64)
    values = np.zeros((len(rows), wide), np.uint64)
    for number, (size, places) in enumerate(rows):
        address[number, : len(places)] = places
        for lane, place in enumerate(places):
            values[number, lane] = sum(expected[place + i] << 8 * i for i in range(size))
    return Program(
        agents=tuple(program.agents[reader] for reader in readers),
        run_key=program.run_key,
        line_size=program.line_size,
        episode_thread=np.arange(episodes, dtype=np.int32),
        episode_first_action=np.concatenate(([0], np.cumsum(counts))),
        episode_group=np.full((episodes, wide), INACTIVE, np.int32),
        group_word=program.group_word,
        action_kind=np.full(len(rows), LOAD, np.uint8),
        action_size=np.array([size for size, _ in rows], np.uint8),
        lane_address=address,
        store_value=np.zeros((len(rows), wide), np.uint64),
        derived=True,
        expected=values,
        wait_first=np.zeros(episodes + 1, np.int64),
    )
