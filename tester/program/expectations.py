"""What a program must observe, and what each of its episodes must wait for.

The only place that derives waits and expected values from the total order of episodes; generator
and loader both call it, so an edited program is checked by the same rules as a generated one.
Invariant: if the input obeys the lane rules, running each episode after its waits makes every load
return `expected`, whatever else overlaps.

An `ExpectationState` is the state of that derivation after a prefix of the order: chunks of an
endless run are derived one after the other, with the same result as all at once. Its memory is
bounded by the bytes under test times the agents, never by the length of the run.

How it works: all accesses of a chunk are exploded into (byte, place in the order) and sorted.
Within one byte, an access conflicts with the store before it and a load with the store after it;
older conflicts follow, because "complete before start" is transitive. The same fact, kept as a
vector clock per episode, removes every wait that the remaining waits already imply.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from runtime.prng import initial_bytes
from tester.arrays import ByteArray, IntArray, WordArray
from tester.errors import ConfigError
from tester.program.atomics import perform
from tester.program.byte_events import ByteEvents
from tester.program.program import ATOMIC, ATOMIC_BYTES, LOAD, Program

MAX_BYTES: Final = 1 << 26
"""Bytes under test; an ExpectationState takes about 10 bytes for each."""

BLOCK_EPISODES: Final = 1024
"""Derived at once."""
_REMEMBERED: Final = 64
"""Vector clocks kept per agent. Without older ones some redundant waits stay, harmlessly."""


def explode(program: Program, lines: IntArray) -> ByteEvents:
    """Byte events of a program whose accesses all lie in `lines` (ascending line addresses)."""
    flat = program.lane_address.ravel()
    slot = np.flatnonzero(flat >= 0)
    address = flat[slot]
    lanes = program.lanes
    action = slot // lanes
    size = program.action_size[action]
    offset_in_line = address & (program.line_size - 1)
    start = np.searchsorted(lines, address - offset_in_line) * program.line_size + offset_in_line
    bits = max(int(flat.size), 1).bit_length()
    keys = [(start << bits) | slot]
    for extra in range(1, 8):
        wide = size > extra
        if wide.any():
            keys.append((start[wide] + extra << bits) | slot[wide])
    key = np.concatenate(keys)
    key.sort()  # keys are distinct, so the kind of sort cannot show
    byte = key >> bits
    slot = key & ((1 << bits) - 1)
    start_of_slot = np.zeros(flat.size, np.int64)
    start_of_slot[np.flatnonzero(flat >= 0)] = start
    is_store = (program.action_kind != LOAD)[slot // lanes]
    n = len(byte)
    new = np.empty(n, np.bool_)
    if n:
        new[0] = True
        np.not_equal(byte[1:], byte[:-1], out=new[1:])
    first = np.flatnonzero(new)
    segment = np.cumsum(new) - 1
    position = np.arange(n)
    before = np.full(n, -1)
    after = np.full(n, -1)
    if n:
        latest = np.maximum.accumulate(np.where(is_store, position, -1))
        before[1:] = latest[:-1]
        before[before < first[segment]] = -1
        nearest = np.minimum.accumulate(np.where(is_store, position, n)[::-1])[::-1]
        after[:-1] = nearest[1:]
        end = np.append(first[1:], n)
        after[after >= end[segment]] = -1
    return ByteEvents(byte, slot, byte - start_of_slot[slot], is_store, first, before, after)


def derive(program: Program) -> Program:
    """The program with its expected values and waits; it must start from the beginning."""
    if program.thread_base.any():
        raise ValueError("a chunk from the middle of a program needs the state of its beginning")
    return ExpectationState.of(program).advance(program)


def final_memory(program: Program) -> tuple[IntArray, ByteArray]:
    """(addresses, bytes) that memory holds at the end of a whole program; see ExpectationState."""
    expectations = ExpectationState.of(program)
    expectations.advance(program)
    return expectations.final_memory()


def touched_lines(program: Program) -> IntArray:
    """The line addresses that a program uses, ascending.

    Accesses that cross their line are accepted here; `verify` reports them.
    """
    address, word = program.lane_address, program.group_word
    active = address >= 0
    last = (address + (program.action_size[:, None] - 1))[active]
    used = np.concatenate((address[active], last, word, word + ATOMIC_BYTES - 1))
    return _distinct_lines(used, program.line_size)


def _distinct_lines(address: IntArray, line_size: int) -> IntArray:
    """The lines of these addresses, ascending. Lines lie close together, so marking is cheap."""
    if not len(address):
        return address
    bits = line_size.bit_length() - 1
    line = address >> bits
    lowest, highest = int(line.min()), int(line.max())
    if highest - lowest > 8 * len(line) + (1 << 16):
        return np.asarray(np.unique(line) << bits)
    assert lowest >= 0, "an address is not negative"
    marks = np.zeros(highest - lowest + 1, np.bool_)
    marks[line - lowest] = True
    return np.asarray((np.flatnonzero(marks) + lowest) << bits)


class ExpectationState:
    """Contents of memory, last accesses and clocks after the episodes derived so far."""

    def __init__(
        self,
        lines: IntArray,
        line_size: int,
        run_key: int,
        group_word: IntArray,
        agents: int,
    ) -> None:
        """`lines`: ascending addresses of all lines that chunks will use, MAX_BYTES at most."""
        self.lines: Final = lines
        self.line_size: Final = line_size
        self.group_word: Final = group_word
        self.agents: Final = agents
        size = len(lines) * line_size
        if size > MAX_BYTES:
            raise ConfigError(f"{len(lines)} lines are too many: {MAX_BYTES} bytes are possible")
        self.values: ByteArray = initial_bytes(run_key, self.addresses())
        self.increments: IntArray = np.zeros(len(group_word), np.int64)
        # The last store of each byte as count * agents + agent, where count numbers the episodes
        # of the agent from 1; zero: never stored.
        self._stored: IntArray = np.zeros(size, np.int64)
        # Loads since then: sorted byte * agents + agent, and the count of the latest one.
        self._loaded: IntArray = np.zeros(0, np.int64)
        self._loaded_count: IntArray = np.zeros(0, np.int64)
        self._behind: tuple[Program, ByteEvents] | None = None
        """The latest block, whose loads are not included yet."""
        # What is known complete once the last episode of each agent is.
        self._complete: IntArray = np.zeros((agents, agents), np.int64)
        # What is known complete when an episode starts: row agent * _REMEMBERED + count modulo
        # _REMEMBERED, and a last row that knows nothing.
        self._clocks: IntArray = np.zeros((agents * _REMEMBERED + 1, agents), np.int64)
        self._counts: IntArray = np.zeros(agents, np.int64)

    @classmethod
    def of(cls, program: Program) -> ExpectationState:
        """The state at the beginning of a program, for all lines that it touches."""
        return cls(
            touched_lines(program),
            program.line_size,
            program.run_key,
            program.group_word,
            program.agent_count,
        )

    def advance(self, program: Program, events: ByteEvents | None = None) -> Program:
        """Derive the next chunk and advance past it. `events`: its byte events, if known."""
        if not np.array_equal(program.thread_base, self._counts):
            raise ValueError("the chunk does not continue the ones derived so far")
        self.increments = self.increments + program.increments()
        if program.episodes <= BLOCK_EPISODES:
            expected, first, agent, count = self._step(
                program, self._explode(program) if events is None else events
            )
        else:
            pieces = [self._step(p, self._explode(p)) for p in program.parts(BLOCK_EPISODES)]
            expected = np.concatenate([p[0] for p in pieces])
            sizes = np.concatenate([np.diff(p[1]) for p in pieces])
            first = np.concatenate(([0], np.cumsum(sizes)))
            agent = np.concatenate([p[2] for p in pieces])
            count = np.concatenate([p[3] for p in pieces])
        return replace(
            program,
            derived=True,
            expected=expected,
            wait_first=first,
            wait_thread=agent.astype(np.int32),
            wait_count=count.astype(np.int32),
            wait_kind=np.zeros(len(agent), np.uint8),
        )

    def addresses(self) -> IntArray:
        """The address of every byte of the lines under test, ascending."""
        return (self.lines[:, None] + np.arange(self.line_size)).ravel()

    def counts(self) -> IntArray:
        """[T] episodes of each agent derived so far."""
        return self._counts.copy()

    def final_memory(self) -> tuple[IntArray, ByteArray]:
        """(addresses, bytes) of every line under test, in ascending order of address.

        Whole lines: bytes that no episode stores to must still hold what they held at first.
        """
        contents, addresses = self.values.copy(), self.addresses()
        start = np.searchsorted(addresses, self.group_word)
        word = start[:, None] + np.arange(ATOMIC_BYTES)
        shift = 8 * np.arange(ATOMIC_BYTES)
        assert np.array_equal(addresses[start], self.group_word), "words lie in lines under test"
        total = (self.values[word].astype(np.int64) << shift).sum(axis=1) + self.increments
        contents[word] = (total[:, None] >> shift) & 0xFF
        return addresses, contents

    # ------------------------------------------------------------------ one block of episodes

    def _explode(self, program: Program) -> ByteEvents:
        return explode(program, self.lines)

    def _step(
        self, program: Program, events: ByteEvents
    ) -> tuple[WordArray, IntArray, IntArray, IntArray]:
        assert program.episodes <= BLOCK_EPISODES, "a block is derived at once"
        if self._behind is not None:
            self._remember(*self._behind)
        self._behind = (program, events)
        episode = program.action_episode()[events.slot // program.lanes]
        count = program.episode_ordinal() + 1
        expected = self._expected(program, events)
        edges = self._conflicts(program, events, episode, count)
        waits = self._reduce(program, count, *edges)
        last = np.flatnonzero(events.is_store & (events.after < 0))
        stamp = count * self.agents + program.episode_thread
        self._stored[events.byte[last]] = stamp[episode[last]]
        return expected, *waits

    def _expected(self, program: Program, events: ByteEvents) -> WordArray:
        """[A, L] what loads and atomic actions return; steps `values` to the end of the block."""
        stored = np.ascontiguousarray(program.store_value.astype("<u8")).view(np.uint8)
        stored = stored.reshape(-1, 8)
        value = stored[events.slot, events.offset]
        reads = ~events.is_store
        atomic = program.action_kind == ATOMIC
        if atomic.any():
            perform(program, events, value, self.values)
            reads |= atomic[events.slot // program.lanes]
        load = np.flatnonzero(reads)
        before = events.before[load]
        seen = np.where(before >= 0, value[before], self.values[events.byte[load]])
        result = np.zeros((program.lane_address.size, 8), np.uint8)
        result[events.slot[load], events.offset[load]] = seen
        last = np.flatnonzero(events.is_store & (events.after < 0))
        self.values[events.byte[last]] = value[last]
        return result.view("<u8").reshape(program.lane_address.shape).astype(np.uint64)

    def _conflicts(
        self, program: Program, events: ByteEvents, episode: IntArray, count: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """(later episode, agent, count) of all direct conflicts, without duplicates."""
        n, agents = program.episodes, self.agents
        inside = np.zeros(n * n, np.bool_)  # [later * n + earlier]
        after_store = np.flatnonzero(events.before >= 0)
        inside[episode[after_store] * n + episode[events.before[after_store]]] = True
        reread = np.flatnonzero(~events.is_store & (events.after >= 0))
        inside[episode[events.after[reread]] * n + episode[reread]] = True
        later, earlier = np.divmod(np.flatnonzero(inside), max(n, 1))
        source_agent = program.episode_thread[earlier].astype(np.int64)
        source_count = count[earlier]

        # Conflicts with blocks before this one: the first store of a byte waits for its readers,
        # everything up to it for the last store.
        open_ = np.flatnonzero(events.before < 0)
        stamp = self._stored[events.byte[open_]]
        known = stamp > 0
        span = int(self._counts.max(initial=0) + 1) * agents
        keys = [episode[open_[known]] * span + stamp[known]]
        store = open_[events.is_store[open_]]
        low = np.searchsorted(self._loaded, events.byte[store] * agents)
        high = np.searchsorted(self._loaded, (events.byte[store] + 1) * agents)
        readers = _ranges(low, high)
        reader_stamp = self._loaded_count[readers] * agents + self._loaded[readers] % agents
        keys.append(np.repeat(episode[store], high - low) * span + reader_stamp)
        old_later, old_stamp = np.divmod(np.unique(np.concatenate(keys)), span)
        later = np.concatenate((later, old_later))
        source_agent = np.concatenate((source_agent, old_stamp % agents))
        source_count = np.concatenate((source_count, old_stamp // agents))

        # Per episode and agent the latest count is enough; own episodes are in order anyway.
        other = source_agent != program.episode_thread[later]
        key = later[other] * agents + source_agent[other]
        order = np.lexsort((source_count[other], key))
        key, source_count = key[order], source_count[other][order]
        last = np.ones(len(key), np.bool_)
        last[:-1] = key[1:] != key[:-1]
        later, source_agent = np.divmod(key[last], agents)
        return later, source_agent, source_count[last]

    def _reduce(
        self,
        program: Program,
        count: IntArray,
        later: IntArray,
        source_agent: IntArray,
        source_count: IntArray,
    ) -> tuple[IntArray, IntArray, IntArray]:
        """(wait_first, wait_thread, wait_count): conflicts that nothing else implies."""
        bounds = np.searchsorted(later, np.arange(program.episodes + 1)).tolist()
        # The clocks of the episodes waited for; forgotten ones are replaced by one that knows
        # nothing. How far an agent has come is counted where the waiting episode stands.
        come = np.zeros((program.episodes + 1, self.agents), np.int64)
        come[np.arange(program.episodes) + 1, program.episode_thread] = 1
        come = np.cumsum(come, axis=0) + self._counts
        row = source_agent * _REMEMBERED + source_count % _REMEMBERED
        row[come[later, source_agent] - source_count >= _REMEMBERED] = len(self._clocks) - 1
        own_row = program.episode_thread * _REMEMBERED + count % _REMEMBERED

        keep = np.zeros(len(later), np.bool_)
        complete, clocks = self._complete, self._clocks
        turns = zip(program.episode_thread.tolist(), own_row.tolist(), count.tolist())
        for e, (agent, own, number) in enumerate(turns):
            clock = complete[agent]
            a, b = bounds[e], bounds[e + 1]
            if a < b:
                agents, needed = source_agent[a:b], source_count[a:b]
                known = clock[agents]
                fresh = needed > known
                if np.count_nonzero(fresh):
                    # Rows hold what is known at the start of those episodes, so none implies
                    # itself.
                    implied = np.maximum.reduce(clocks[row[a:b]], axis=0)
                    np.logical_and(fresh, needed > implied[agents], out=keep[a:b])
                    np.maximum(clock, implied, out=clock)
                    clock[agents] = np.maximum(clock[agents], needed)
            clocks[own] = clock
            clock[agent] = number
        assert len(bounds) == program.episodes + 1 and bounds[-1] == len(later)
        self._counts = come[-1]
        kept = later[keep]
        first = np.searchsorted(kept, np.arange(program.episodes + 1))
        return first, source_agent[keep], source_count[keep]

    def _remember(self, program: Program, events: ByteEvents) -> None:
        """Keep the loads after the last store of each byte; not before another block needs them."""
        agents = self.agents
        agent = program.episode_thread.astype(np.int64)
        episode = program.action_episode()[events.slot // program.lanes]
        count = program.episode_ordinal() + 1
        last = np.flatnonzero(events.is_store & (events.after < 0))
        # A load counts as long as no store follows it in its byte.
        load = np.flatnonzero(~events.is_store & (events.after < 0))
        key = events.byte[load] * agents + agent[episode[load]]
        stored = np.zeros(len(self._stored), np.bool_)
        stored[events.byte[last]] = True
        # Loads that every agent knows to be complete need no wait any more.
        frontier = self._complete.min(axis=0)
        old = ~stored[self._loaded // agents]
        old &= self._loaded_count > frontier[self._loaded % agents]
        key = np.concatenate((self._loaded[old], key))
        number = np.concatenate((self._loaded_count[old], count[episode[load]]))
        order = np.argsort(key, kind="stable")  # later loads of an agent stay behind earlier ones
        key, number = key[order], number[order]
        newest = np.ones(len(key), np.bool_)
        newest[:-1] = key[1:] != key[:-1]
        self._loaded, self._loaded_count = key[newest], number[newest]


def _ranges(low: IntArray, high: IntArray) -> IntArray:
    """low[0] .. high[0]-1, low[1] .. high[1]-1, and so on, in one array."""
    size = high - low
    start = np.cumsum(size) - size
    shift: IntArray = np.repeat(low - start, size)
    return np.arange(len(shift)) + shift
