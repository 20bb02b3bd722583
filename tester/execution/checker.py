"""Checks what the ports answered. Independent of the driver: it sees events and expectations.

Checked here: the value of every byte that a load returned; fetch-add results (order between
intervals, each value once); every request answered exactly once, for its own bytes, by the
right kind of response, and in time. What is checked at the end of a leg (memory contents,
leaks) is in :mod:`tester.execution.leg`.

Invariant: the first fault is the verdict. Once :attr:`Checker.finding` is set nothing changes it,
and later events are not checked, because one fault causes the next ones.

Fetch-adds. Every increment of a word adds one, so a returned value minus the initial one is
the increment's rank. Ranks are consistent with real time exactly when they are a permutation
and every increment's rank is above the ranks of all increments that had returned before it was
issued. The other bound, "no more increments than had been issued", follows at the end but is
checked at once. Quiet increments return nothing: they only count, as one rank each. Issue and
response in one tick count as overlapping, whichever the engine ran first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from runtime.requesters.port import AccessKind
from slicc.text.wording import counted
from tester.execution.early_loads import EarlyLoads, WrongByte
from tester.execution.events import KIND_NAMES, Finding, Request, Role, Verdict

_WORD = 0xFFFFFFFF
_PLAUSIBLE = 1 << 24
"""No leg makes so many increments: a larger sum is not a sum."""

# Names of this module, because an attribute of a class costs several times as much.
_LOAD: Final = AccessKind.LOAD
_STORE: Final = AccessKind.STORE
_ATOMIC: Final = AccessKind.ATOMIC
_RACING_LOAD: Final = Role.RACING_LOAD
_ACTION: Final = Role.ACTION


class _Open:
    """A request without all of its answers."""

    __slots__ = ("lower", "pending", "progress", "request", "uncompleted")

    def __init__(self, request: Request, pending: int, uncompleted: int) -> None:
        self.request = request
        self.pending = pending
        """Bit i: address i has no first answer (data, acceptance, old value) yet."""
        self.uncompleted = uncompleted
        """Bit i: the store to address i is not globally performed yet."""
        self.progress = request.issued
        self.lower: list[int] = []


class _Word:
    """The increments of one word so far."""

    __slots__ = (
        "done",
        "done_before",
        "done_tick",
        "initial",
        "issued",
        "latest",
        "latest_tick",
        "seen",
        "settled",
    )

    def __init__(self, initial: int) -> None:
        self.initial = initial
        self.issued = 0
        self.seen: set[int] = set()
        self.latest = -1
        """Highest rank returned so far, the last one at ``latest_tick`` ..."""
        self.latest_tick = -1
        self.settled = -1
        """... and highest rank returned before that tick."""
        self.done = 0
        """Increments answered so far, quiet ones included, the last at ``done_tick`` ..."""
        self.done_tick = -1
        self.done_before = 0
        """... and those answered before that tick."""

    def answered(self, tick: int) -> None:
        if tick > self.done_tick:
            self.done_before = self.done
            self.done_tick = tick
        self.done += 1

    def below(self, tick: int) -> int:
        """The highest rank that an increment issued at ``tick`` cannot have."""
        rank = self.latest if self.latest_tick < tick else self.settled
        return max(rank, (self.done if self.done_tick < tick else self.done_before) - 1)


class Checker:
    """Compares events with expectations; see the module docstring for what exactly.

    ``initial_word(address)`` gives the four bytes (little endian) that memory starts with;
    ``stop`` is called once, when the first fault is found. Without ``values`` only answers are
    checked, not their values. ``early_loads`` judges racing loads, if there are any.
    """

    def __init__(
        self,
        line_size: int,
        initial_word: Callable[[int], int],
        stop: Callable[[], None],
        values: bool = True,
        early_loads: EarlyLoads | None = None,
    ) -> None:
        self._values = values
        self.finding: Finding | None = None
        self.lane_accesses = 0
        self._line_size = line_size
        self._initial_word = initial_word
        self._stop = stop
        self._open: dict[int, _Open] = {}
        self._words: dict[int, _Word] = {}
        self._line_progress: dict[int, int] = {}
        self._early: list[tuple[int, _Word, Request, int, int]] = []
        self.early_loads = early_loads

    # ------------------------------------------------------------------ events

    def issued(self, request: Request, tick: int) -> None:
        count = len(request.addresses)
        kind = request.kind
        all_lanes = (1 << count) - 1
        if kind <= _ATOMIC:
            self.lane_accesses += count
            entry = _Open(request, all_lanes, all_lanes if kind == _STORE else 0)
            if kind == _ATOMIC and request.role != _ACTION:
                self._increments_issued(entry, request, tick)
        else:
            entry = _Open(request, 0, 0)
        self._open[request.identity] = entry
        if self.early_loads is not None:
            self._judge_load(self.early_loads.issued(request), tick)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        # The hottest function of the tester: one pass over the lanes, without calls.
        entry = self._open.get(request.identity)
        if entry is None or request.kind != _LOAD or not indices:
            self._unexpected(request, "data", tick)
            return
        if request.role == _RACING_LOAD:
            self._raced(entry, indices, line, data, tick)
            return
        mask = (1 << (request.size << 3)) - 1
        addresses = request.addresses
        expected = request.expected
        line_size = self._line_size
        pending = entry.pending
        for index in indices:
            bit = 1 << index
            offset = addresses[index] - line
            if not pending & bit:
                self._unexpected(request, "data", tick)
                return
            if not 0 <= offset < line_size:
                self._wrong_line(request, index, line, tick)
                return
            value = (data >> (offset << 3)) & mask
            if value != expected[index] and self._values:
                self._wrong_value(request, index, value, tick)
                return
            pending ^= bit
        self._line_progress[line] = tick
        if pending:
            entry.pending = pending
            entry.progress = tick
        else:
            del self._open[request.identity]

    def _raced(self, entry: _Open, indices: list[int], line: int, data: int, tick: int) -> None:
        """Data of a racing load arrives once, and from its line."""
        request = entry.request
        if self._answered(request, indices, AccessKind.LOAD, "data", tick) is not None:
            self._in_line(request, indices, line, tick)
            if not entry.pending:
                del self._open[request.identity]
            if self.early_loads is not None and self.finding is None:
                for index in indices:
                    wrong = self.early_loads.answered(request, index, data, line)
                    self._judge_load(wrong, tick)

    def _judge_load(self, wrong: WrongByte | None, tick: int) -> None:
        if wrong is None or self.finding is not None:
            return
        headline = f"racing load returned {wrong.got:#04x}, expected {wrong.expected:#04x}"
        if wrong.held:
            headline += ": the value was kept, for the line was not reported lost"
        else:
            headline += ", or an earlier value that was not overwritten when it was issued"
        request, index = wrong.request, wrong.lane
        self._fail(Verdict.WRONG_VALUE, tick, headline, request, index, wrong.expected, wrong.got)
        assert self.finding is not None
        self.finding.address = wrong.address
        self.finding.size = 1

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        if self._answered(request, indices, _STORE, "acceptance", tick) is not None:
            self._in_line(request, indices, line, tick)

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        entry = self._open.get(request.identity)
        bits = _bits(indices)
        if entry is None or request.kind != _STORE or bits & ~entry.uncompleted:
            self._unexpected(request, "store completion", tick)
            return
        if bits & entry.pending:
            self._fail(
                Verdict.UNEXPECTED_RESPONSE,
                tick,
                "a store was reported complete before its bytes were accepted",
                request,
                indices[0],
            )
            return
        entry.uncompleted ^= bits
        entry.progress = tick
        self._in_line(request, indices, line, tick)
        if not entry.uncompleted:
            del self._open[request.identity]
            if self.early_loads is not None:
                self.early_loads.completed(request)

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        entry = self._answered(request, indices, AccessKind.ATOMIC, "fetch-add result", tick)
        if entry is None:
            return
        if len(values) != (0 if request.quiet else len(indices)):
            self._unexpected(request, f"fetch-add result of {len(values)} values", tick)
            return
        for index in indices:
            self._line_progress[request.addresses[index] & -self._line_size] = tick
        if request.role == _ACTION:
            for index, value in zip(indices, values if self._values else ()):
                if value != request.expected[index]:
                    self._wrong_value(request, index, value, tick)
                    return
            if not entry.pending:
                del self._open[request.identity]
                if self.early_loads is not None:
                    self.early_loads.completed(request)
            return
        for index in indices:
            self._words[request.addresses[index]].answered(tick)
        for index, value in zip(indices, values if self._values else ()):
            address = request.addresses[index]
            if not self._increment_returned(entry, request, index, address, value, tick):
                return
        if not entry.pending:
            del self._open[request.identity]

    def synchronized(self, request: Request, tick: int) -> None:
        entry = self._open.pop(request.identity, None)
        if entry is None or request.kind < AccessKind.ACQUIRE:
            self._unexpected(request, "synchronisation response", tick)
        elif request.kind == AccessKind.RELEASE:
            self._released(request, tick)

    # ------------------------------------------------------------------ time

    def overdue(self, tick: int, limit: int) -> Finding | None:
        """The oldest request that waited more than ``limit`` ticks without sign of progress.

        Progress is an answer to another part of the request, or any answer from its line (a
        queue in front of a busy line is slow, not stuck), for a release that of the stores it
        waits for; ten limits are too many in any case.
        Sets :attr:`finding` when there is one.
        """
        self._judge_early()
        for entry in self._open.values():
            if tick - entry.request.issued <= limit:
                break
            since = self._progress(entry)
            age = tick - entry.request.issued
            if tick - since > limit or age > 10 * limit:
                return self._hang(entry, tick, f"no progress for {tick - since} ticks")
        return self.finding

    def stuck(self, tick: int) -> Finding | None:
        """Nothing is pending in the system any more: an open request will never be answered."""
        self._judge_early()
        for entry in self._open.values():
            return self._hang(entry, tick, f"nothing has moved since tick {tick}")
        return self.finding

    def outstanding(self) -> Iterator[Request]:
        """Requests that still lack an answer, oldest first."""
        return (entry.request for entry in self._open.values())

    def missing(self, request: Request) -> tuple[list[int], list[int]]:
        """Indices of ``request`` without a first answer, and of stores without completion."""
        entry = self._open.get(request.identity)
        if entry is None:
            return [], []
        count = range(len(request.addresses))
        return (
            [i for i in count if entry.pending >> i & 1],
            [i for i in count if entry.uncompleted >> i & 1],
        )

    def finish(self, tick: int) -> Finding | None:
        """Judge the leg as complete: every request answered, every sum as issued."""
        self._judge_early()
        if self.finding is None and self._open:
            self.stuck(tick)
        return self.finding

    def increments(self, address: int) -> int:
        """How many fetch-adds of the word at ``address`` have been issued."""
        word = self._words.get(address)
        return 0 if word is None else word.issued

    def _released(self, release: Request, tick: int) -> None:
        for entry in self._open.values():
            request = entry.request
            if request.agent == release.agent and entry.uncompleted:
                headline = "the release finished before all stores of its agent were complete"
                index = (entry.uncompleted & -entry.uncompleted).bit_length() - 1
                self._fail(Verdict.EARLY_RELEASE, tick, headline, request, index)
                return

    # ------------------------------------------------------------------ fetch-adds

    def _increments_issued(self, entry: _Open, request: Request, tick: int) -> None:
        if self._early and tick > self._early[0][0]:
            self._judge_early()
        words = self._words
        for address in request.addresses:
            word = words.get(address)
            if word is None:
                word = words[address] = _Word(self._initial_word(address))
            word.issued += 1
            entry.lower.append(word.below(tick))

    def _increment_returned(
        self, entry: _Open, request: Request, index: int, address: int, value: int, tick: int
    ) -> bool:
        word = self._words[address]
        rank = (value - word.initial) & _WORD
        if rank >= _PLAUSIBLE:
            self._wrong_increment(Verdict.ATOMIC_FOREIGN, request, index, value, tick)
            return False
        if rank in word.seen:
            self._wrong_increment(Verdict.ATOMIC_REPEATED, request, index, value, tick)
            return False
        if rank <= entry.lower[index]:
            self._wrong_increment(Verdict.ATOMIC_ORDER, request, index, value, tick)
            return False
        if rank >= word.issued:
            # More increments may be issued in this very tick: judged when it is over.
            self._early.append((tick, word, request, index, value))
        word.seen.add(rank)
        if tick > word.latest_tick:
            word.settled = word.latest
            word.latest_tick = tick
        if rank > word.latest:
            word.latest = rank
        return True

    def _judge_early(self) -> None:
        early, self._early = self._early, []
        for tick, word, request, index, value in early:
            if (value - word.initial) & _WORD >= word.issued:
                self._wrong_increment(Verdict.ATOMIC_SKIPPED, request, index, value, tick)

    def _wrong_increment(
        self, verdict: Verdict, request: Request, index: int, value: int, tick: int
    ) -> None:
        address = request.addresses[index]
        word = self._words[address]
        rank = (value - word.initial) & _WORD
        if verdict is Verdict.ATOMIC_FOREIGN:
            headline = f"fetch-add returned {value:#x}, which no number of increments makes"
        elif verdict is Verdict.ATOMIC_REPEATED:
            headline = f"fetch-add returned {value:#x} a second time"
        elif verdict is Verdict.ATOMIC_ORDER:
            headline = (
                f"fetch-add returned {value:#x}, although more increments had been answered "
                "before it was issued"
            )
        else:
            headline = (
                f"fetch-add returned {value:#x}, more than the "
                f"{counted(word.issued, 'increment')} issued so far can make"
            )
        self._fail(verdict, tick, headline, request, index, word.initial, value)
        assert self.finding is not None
        shown = f" = initial + {rank}" if rank < _PLAUSIBLE else ""
        self.finding.notes.append(
            f"initial value {word.initial:#x}; returned {value:#x}{shown}; "
            f"{counted(word.issued, 'increment')} issued, "
            f"{counted(len(word.seen), 'different value')} returned"
        )

    # ------------------------------------------------------------------ verdicts

    def _answered(
        self, request: Request, indices: list[int], kind: int, what: str, tick: int
    ) -> _Open | None:
        """Take a first answer off the pending ones; None when it was not expected."""
        entry = self._open.get(request.identity)
        bits = _bits(indices)
        if entry is None or request.kind != kind or bits & ~entry.pending or not bits:
            self._unexpected(request, what, tick)
            return None
        entry.pending ^= bits
        entry.progress = tick
        return entry

    def _in_line(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self._line_progress[line] = tick
        addresses = request.addresses
        line_size = self._line_size
        for index in indices:
            if not 0 <= addresses[index] - line < line_size:
                self._wrong_line(request, index, line, tick)
                return

    def _progress(self, entry: _Open) -> int:
        """When something last happened that ``entry`` may have been waiting for."""
        since = entry.progress
        if entry.request.kind == AccessKind.RELEASE:
            stores = [each for each in self._open.values() if each.uncompleted]
            mine = [each for each in stores if each.request.agent == entry.request.agent]
            return max([since, *map(self._progress, mine)])
        for line in entry.request.lines(self._line_size):
            since = max(since, self._line_progress.get(line, 0))
        return since

    def _unexpected(self, request: Request, what: str, tick: int) -> None:
        name = request.what
        headline = f"a {name} got a {what} that it was not waiting for"
        self._fail(Verdict.UNEXPECTED_RESPONSE, tick, headline, request, -1)

    def _wrong_line(self, request: Request, index: int, line: int, tick: int) -> None:
        headline = f"the answer came from line {line:#x}, which does not hold the bytes asked for"
        self._fail(Verdict.UNEXPECTED_RESPONSE, tick, headline, request, index)

    def _wrong_value(self, request: Request, index: int, got: int, tick: int) -> None:
        wanted, size, offset = request.expected[index], request.size, 0
        reader = "read-back" if request.role == Role.READ_BACK else request.what
        if request.pieces:
            reader += f" of {size} bytes"
            size, offset, wanted, got = _first_wrong(request.pieces, wanted, got)
        width = 2 + 2 * size
        headline = f"{reader} returned {got:#0{width}x}, expected {wanted:#0{width}x}"
        if offset:
            headline += f" from byte {offset} on"
        self._fail(Verdict.WRONG_VALUE, tick, headline, request, index, wanted, got)
        if request.pieces and self.finding is not None and self.finding.request is request:
            self.finding.address += offset
            self.finding.size = size

    def _hang(self, entry: _Open, tick: int, why: str) -> Finding | None:
        request = entry.request
        what = Role.NAMES[request.role]
        if request.role == Role.ACTION:
            what = request.what
        if request.kind == AccessKind.STORE and not entry.pending:
            what = "completion of a store"
        headline = f"{what} outstanding for {tick - request.issued} ticks: {why}"
        pending = entry.pending or entry.uncompleted
        index = (pending & -pending).bit_length() - 1
        self._fail(Verdict.HANG, tick, headline, request, index)
        if self.finding is not None and self.finding.request is request:
            self.finding.stuck = KIND_NAMES[request.kind]
        return self.finding

    def _fail(
        self,
        verdict: Verdict,
        tick: int,
        headline: str,
        request: Request,
        index: int,
        expected: int = 0,
        got: int = 0,
    ) -> None:
        if self.finding is not None:
            return
        address = request.addresses[index] if 0 <= index < len(request.addresses) else -1
        self.finding = Finding(
            verdict, tick, headline, request, index, address, request.size, expected, got
        )
        self._stop()


def _first_wrong(pieces: list[int], expected: int, got: int) -> tuple[int, int, int, int]:
    """(size, offset, expected, got) of the lowest piece that differs."""
    offset = 0
    for size in pieces:
        ones = (1 << 8 * size) - 1
        wanted, found = expected >> 8 * offset & ones, got >> 8 * offset & ones
        if wanted != found:
            return size, offset, wanted, found
        offset += size
    raise AssertionError("our own bug: no piece of the access is wrong")


def _bits(indices: list[int]) -> int:
    if len(indices) == 1:
        return 1 << indices[0]
    bits = 0
    for index in indices:
        bits |= 1 << index
    return bits
