"""Generates programs: random, race-free by construction, and rich in conflicts.

An episode's lanes pick locations of their group (`tester.generator.address_selection`) while the
virtual clock determines which other episodes are live. The order of starts is the order of
episodes. Because conflicting episodes do not overlap on that clock, most of the waits derived from
the order are over before they are needed: agents run concurrently, although every hand-over of a
byte is protected. Invariant: what a chunk contains depends on configuration, seed and position
alone; chunks have the same size whatever the limit, only the last one is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.prng import Prng
from tester.arrays import BoolArray, ByteArray, IntArray
from tester.counter_rng import CounterRng
from tester.errors import ConfigError
from tester.generator.access_patterns import PatternGenerator
from tester.generator.address_selection import LANE_BITS, SIZES, AddressSelector, Block
from tester.generator.compiled_generator import (
    CompiledGenerator,
    adders_with_others,
    block_episodes,
    stores_whole_lines,
)
from tester.generator.config import EPISODES
from tester.generator.config import GeneratorConfig as GeneratorConfig
from tester.generator.native_loops import CompiledLoops
from tester.generator.unaligned import Drawn, Unaligned
from tester.generator.virtual_clock import Pace, Timetable, VirtualClock
from tester.program.address_map import AddressMap, build_map
from tester.program.expectations import ExpectationState, explode
from tester.program.program import (
    ATOMIC,
    BARE,
    BYPASSING_LOAD,
    CONTINUES,
    FLUSHES,
    GLC,
    INACTIVE,
    INSTRUCTION,
    LOAD,
    OPERATIONS,
    PLAIN,
    QUIET,
    RACING_LOAD,
    SLC,
    STORE,
    Program,
    concatenate,
)
from tester.program.store_values import Versions

_LENGTH_BITS: Final = 12


class Generator:
    """State between chunks: the clock, reservations, byte versions and expectations."""

    def __init__(self, config: GeneratorConfig, prng: Prng) -> None:
        self.config: Final = config
        self.run_key: Final = prng.fork("run").bits64()
        self.map: Final[AddressMap] = build_map(config.full_map(), prng.fork("map"))
        self.expectations: Final = ExpectationState(
            self.map.lines,
            self.map.line_size,
            self.run_key,
            self.map.group_word,
            len(config.agents),
        )
        self._stores: BoolArray = np.array([a.stores for a in config.agents], np.bool_)
        self._adds: BoolArray = np.array([a.adds for a in config.agents], np.bool_)
        able = config.all_abilities()
        self._flushes: BoolArray = np.array([a.flush for a in able], np.bool_)
        self._only_stores: BoolArray = np.array([not a.loads for a in able], np.bool_)
        self._plain: BoolArray = np.array([a.plain for a in able], np.bool_)
        self._whole_lines: BoolArray = np.array(stores_whole_lines(config), np.bool_)
        kinds = np.array([a.kind for a in config.agents])
        self._wavefronts: BoolArray = np.asarray(kinds == "gpu")
        self._fetches: BoolArray = np.array([a.instructions for a in able], np.bool_)
        self._agent_lanes: IntArray = np.array([a.lanes for a in config.agents], np.int64)
        self._isolation: IntArray = np.array(
            config.isolation_groups or (0,) * len(config.agents), np.int64
        )
        self._wide: BoolArray = np.array(adders_with_others(config), np.bool_)
        self._lanes: Final = int(self._agent_lanes.max())
        pace = Pace(config.lengths, config.slack_percent, config.tight_percent)
        self._clock = VirtualClock(len(config.agents), pace, CounterRng(prng.fork("clock")))
        self._versions = Versions(self.expectations.values, prng.fork("values"))
        self._episode_rng = CounterRng(prng.fork("episode"))
        self._lane_rng = CounterRng(prng.fork("lane"))
        self._action_rng = CounterRng(prng.fork("action"))
        self._atomic_rng = CounterRng(prng.fork("atomic"))
        self._bypass_rng = CounterRng(prng.fork("bypass"))
        self._operation_rng = CounterRng(prng.fork("operation"))
        self._instruction_rng = CounterRng(prng.fork("instruction"))
        self._unaligned = Unaligned(config, self.map, prng)
        self._selector = AddressSelector(config, self.map, self._unaligned, prng)
        self._made = 0
        self._block: Final = block_episodes(config)

    def empty(self) -> Program:
        """The program before its first episode."""
        none = np.zeros(0, np.int64)
        nothing = np.zeros((0, self._lanes), np.int64)
        program = Program(
            agents=self.config.agents,
            run_key=self.run_key,
            line_size=self.map.line_size,
            episode_thread=none.astype(np.int32),
            episode_first_action=np.zeros(1, np.int64),
            episode_group=nothing.astype(np.int32),
            group_word=self.map.group_word,
            action_kind=none.astype(np.uint8),
            action_size=none.astype(np.uint8),
            lane_address=nothing,
            store_value=nothing.astype(np.uint64),
        )
        return replace(program, derived=True)

    def next_chunk(self) -> Program | None:
        """The next chunk, derived, or None after the last episode."""
        count = self._block
        if self.config.episodes is not None:
            count = min(count, self.config.episodes - self._made)
        if count <= 0:
            return None
        base = self.expectations.counts()
        table = self._clock.take(count)
        self._made += count
        program, identity = self._draw(table, base)
        events = explode(program, self.map.lines)
        values = self._versions.assign(program, events, identity)
        return self.expectations.advance(replace(program, store_value=values), events)

    # ------------------------------------------------------------------ one block

    def _draw(self, table: Timetable, base: IntArray) -> tuple[Program, IntArray]:
        """A program without values, and the identity of each access [A, L] for hashing them."""
        config, rng = self.config, self._action_rng
        count, lanes = len(table.agent), self._lanes
        first = np.concatenate(([0], np.cumsum(table.length)))
        episode = np.repeat(np.arange(count), table.length)
        number = np.arange(first[-1]) - first[episode]
        action = (table.identity[episode] << _LENGTH_BITS) | number

        low, high = config.load_percent
        share = low + self._episode_rng.below(table.identity * 4, high - low + 1)
        is_store = rng.below(action * 8, 100) >= share[episode]
        is_store &= self._stores[table.agent][episode]
        is_store |= self._only_stores[table.agent][episode]
        weights = np.cumsum(config.size_weights)
        kind_of_size = np.searchsorted(
            weights, rng.below(action * 8 + 1, int(weights[-1])), side="right"
        )
        group = self._groups(table)
        scoped = rng.percent(action * 8 + 2, config.scope_percent)
        scope = np.where(scoped, 1 + rng.below(~action, GLC | SLC), 0)
        fetched = self._instruction_rng.percent(action, config.instruction_percent)
        fetched &= ~is_store & self._fetches[table.agent][episode]
        scope |= np.where(fetched, INSTRUCTION, 0)
        kind, op, quiet = self._operations(table, action, episode, is_store, kind_of_size)
        scope |= quiet
        episode_scope = self._atomic_scope(table)
        whole_line = is_store & self._whole_lines[table.agent][episode]
        drawn = Drawn(action, episode, table.agent[episode], kind, whole_line)
        shaping = self._unaligned.shaping(drawn, episode_scope)
        block = Block(
            table, action, number, is_store, whole_line, kind_of_size, first, group, shaping
        )
        selected = self._selector.select(block)
        rows = self._unaligned.rows(selected.address, SIZES[kind_of_size], selected.shapes)
        at = rows.action
        program = Program(
            agents=config.agents,
            run_key=self.run_key,
            line_size=self.map.line_size,
            episode_thread=table.agent.astype(np.int32),
            episode_first_action=np.searchsorted(episode[at], np.arange(count + 1)),
            episode_group=group.astype(np.int32),
            episode_scope=episode_scope,
            group_word=self.map.group_word,
            action_kind=kind[at],
            action_op=op[at],
            action_size=rows.size.astype(np.uint8),
            action_scope=(scope[at] | np.where(rows.part, CONTINUES, 0)).astype(np.uint8),
            lane_address=rows.address,
            store_value=np.zeros((len(at), lanes), np.uint64),
            thread_base=base,
        )
        identity = (action[at, None] << LANE_BITS) | np.arange(lanes)
        identity[:, 0] += rows.part  # agents with pieces have one lane
        return program, identity

    def _operations(
        self,
        table: Timetable,
        action: IntArray,
        episode: IntArray,
        is_store: BoolArray,
        kind_of_size: IntArray,
    ) -> tuple[ByteArray, ByteArray, IntArray]:
        """[A] (kind, operation, scope bits): some of the stores are atomic actions."""
        config, rng = self.config, self._operation_rng
        atomic = is_store & (kind_of_size >= 2) & self._adds[table.agent][episode]
        atomic &= rng.percent(action * 3, config.atomic_percent)
        kind = np.where(is_store, STORE, LOAD)
        op = np.array(OPERATIONS)[rng.below(action * 3 + 1, len(OPERATIONS))]
        quiet = atomic & rng.percent(action * 3 + 2, config.quiet_percent)
        return (
            np.where(atomic, ATOMIC, kind).astype(np.uint8),
            np.where(atomic, op, 0).astype(np.uint8),
            np.where(quiet, QUIET, 0),
        )

    def _atomic_scope(self, table: Timetable) -> ByteArray:
        """[E] how the fetch-adds of each episode are made."""
        config, rng = self.config, self._atomic_rng
        name = table.identity * 3
        scoped = rng.percent(name, config.atomic_scope_percent)
        scope = np.where(scoped, 1 + rng.below(name + 1, GLC | SLC), 0)
        scope = np.where(self._wide[table.agent], SLC, scope)
        quiet = np.where(rng.percent(name + 2, config.quiet_percent), QUIET, 0)
        bare = np.where(rng.percent(~name, config.bare_percent), BARE, 0)
        races = rng.percent(~name - 1, config.peek_percent) & ~self._only_stores[table.agent]
        racing = np.where(races, RACING_LOAD, 0)
        flush = rng.percent(~name - 2, config.flush_percent) & self._flushes[table.agent]
        flushes = np.where(flush, FLUSHES, 0)
        plain = rng.percent(~name - 3, config.plain_percent) & self._plain[table.agent]
        episode_scope = np.where(plain, PLAIN | BARE, scope | quiet | bare)
        bypassing = self._bypass_rng.percent(name, config.peek_bypass_percent)
        bypassing &= self._wavefronts[table.agent] & (racing > 0)
        racing = np.where(bypassing, RACING_LOAD | BYPASSING_LOAD, racing)
        return np.asarray(episode_scope | flushes | racing, np.uint8)

    def _groups(self, table: Timetable) -> IntArray:
        """[E, L] the group of each lane, -1 for lanes that are off."""
        config, rng = self.config, self._episode_rng
        lane = np.arange(self._lanes)
        own = ((table.identity[:, None] << LANE_BITS) | lane) * 2
        isolation = self._isolation[table.agent][:, None]
        isolation_groups = int(self._isolation.max()) + 1
        # Group g of words belongs to isolation group g modulo their number.
        choices = (len(self.map.group_word) - 1 - isolation) // isolation_groups + 1
        group = isolation + isolation_groups * self._lane_rng.below(own, choices)
        shared = rng.percent(table.identity * 4 + 2, config.shared_group_percent)
        group = np.where(shared[:, None], group[:, :1], group)
        exists = lane < self._agent_lanes[table.agent][:, None]
        active = exists & self._lane_rng.percent(own + 1, config.lane_percent)
        active[~active.any(axis=1), 0] = True
        return np.where(active, group, INACTIVE)


AnyGenerator = Generator | CompiledGenerator | PatternGenerator


def generator_for(
    config: GeneratorConfig, prng: Prng, loops: CompiledLoops | None = None
) -> AnyGenerator:
    """The generator of the configuration's pattern. Raises ConfigError."""
    if config.pattern != EPISODES:
        return PatternGenerator(config, prng, loops)
    return Generator(config, prng) if loops is None else CompiledGenerator(config, prng, loops)


def generate(
    config: GeneratorConfig, prng: Prng, loops: CompiledLoops | None = None
) -> Iterator[Program]:
    """The program chunk by chunk, without end if `config.episodes` is None."""
    generator = generator_for(config, prng, loops)
    while (chunk := generator.next_chunk()) is not None:
        yield chunk


def generate_program(
    config: GeneratorConfig, prng: Prng, loops: CompiledLoops | None = None
) -> Program:
    """The whole program as one value. Raises ConfigError for an endless one."""
    if config.episodes is None:
        raise ConfigError("an endless program does not fit into one value; give `episodes`")
    chunks = list(generate(config, prng, loops))
    if not chunks:
        kind = Generator if config.pattern == EPISODES else PatternGenerator
        return kind(config, prng).empty()
    return concatenate(chunks) if len(chunks) > 1 else chunks[0]
