"""Programs like those of well-known testers of processors, so that rates can be compared.

`CHECKS`: a small table of words, 32 of them adjacent and 198 in lines that share few sets. Each
word goes through a cycle: one processor stores its first byte, another one the next byte, and so
on, then a processor loads the whole word, every other time as an instruction fetch. `BYTES`: every
processor has a byte of its own in every line, which it loads and stores in any order; only lines
are shared.

Every access is a plain episode (or an action of one): bytes are handed over by completion alone.
Invariant: as for other programs, the waits and the values of loads are derived from the order
alone, and chunks do not depend on the limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from runtime.prng import Prng
from tester.arrays import BoolArray, IntArray
from tester.counter_rng import CounterRng
from tester.errors import ConfigError
from tester.generator.config import BYTES, GeneratorConfig
from tester.generator.native_loops import CompiledLoops, Knowledge, observe
from tester.program.expectations import ExpectationState, explode
from tester.program.program import BARE, INACTIVE, INSTRUCTION, LOAD, PLAIN, STORE, Program
from tester.program.store_values import Versions

_FIRST: Final = 1000
_WORD: Final = 4
_ADJACENT: Final = 32
_STRIDE: Final = 256
_FAMILY: Final = 99
_BLOCK: Final = 4096
_LANE_BITS: Final = 6


class PatternGenerator:
    """Same use as `tester.generator.generator.Generator`; `config.pattern` is CHECKS or BYTES."""

    def __init__(
        self, config: GeneratorConfig, prng: Prng, loops: CompiledLoops | None = None
    ) -> None:
        able = config.all_abilities()
        self._agents: IntArray = np.flatnonzero([each.plain and each.loads for each in able])
        if not len(self._agents):
            raise ConfigError(
                f"the pattern {config.pattern} needs processors behind coherent caches; "
                "this system has none"
            )
        self.config: Final = config
        self.run_key: Final = prng.fork("run").bits64()
        self._fetches: BoolArray = np.array([each.instructions for each in able], np.bool_)
        size = config.map.line_size
        self._own_bytes: Final = config.pattern == BYTES
        if self._own_bytes and len(self._agents) > size:
            raise ConfigError(f"{len(self._agents)} processors, a line has {size} bytes")
        self._words: IntArray = _table()
        count = config.map.lines or 64
        lines = np.arange(count) * size if self._own_bytes else np.unique(self._words & -size)
        self._lines: IntArray = lines
        word = int(lines[-1]) + size
        self.group_word: IntArray = np.array([word])
        self.expectations: Final = ExpectationState(
            np.append(lines, word),
            size,
            self.run_key,
            self.group_word,
            len(config.agents),
        )
        self._versions = Versions(self.expectations.values, prng.fork("values"))
        self._loops = loops
        self._knowledge = Knowledge(
            self.expectations.lines, size, self.run_key, prng.fork("values").key, len(config.agents)
        )
        self._rng = CounterRng(prng.fork("pattern"))
        self._turns: IntArray = np.zeros(len(self._words), np.int64)
        self._width: Final = max(agent.lanes for agent in config.agents)
        self._made = 0
        self._counts: IntArray = np.zeros(len(config.agents), np.int64)

    def empty(self) -> Program:
        """The program before its first episode."""
        program, _ = self._program(np.zeros(0, np.int64))
        return replace(program, derived=True)

    def next_chunk(self) -> Program | None:
        """The next chunk, derived, or None after the last episode."""
        count = _BLOCK
        if self.config.episodes is not None:
            count = min(count, self.config.episodes - self._made)
        if count <= 0:
            return None
        program, identity = self._program(self._made + np.arange(count))
        fresh, self._made = self._made == 0, self._made + count
        self._counts = self._counts + program.episodes_by_agent()
        if self._loops is not None:
            more = self._made != self.config.episodes
            return observe(self._loops, program, identity[:, 0], self._knowledge, fresh, more)
        events = explode(program, self.expectations.lines)
        values = self._versions.assign(program, events, identity)
        return self.expectations.advance(replace(program, store_value=values), events)

    def _program(self, number: IntArray) -> tuple[Program, IntArray]:
        """Episodes of these numbers without values, and the identity of each access."""
        rng = self._rng
        agent = self._agents[rng.below(number * 8, len(self._agents))]
        if self._own_bytes:
            actions, first = _lengths(self.config.lengths, rng, number)
            action = np.arange(int(first[-1]))
            name = (number[actions] << 12) | (action - first[actions])
            line = self._lines[rng.below(name * 8 + 1, len(self._lines))]
            address = line + np.searchsorted(self._agents, agent)[actions]
            is_store = rng.below(name * 8 + 2, 100) >= self._loads(number)[actions]
            size = np.ones(len(action), np.int64)
        else:
            actions, first = np.arange(len(number)), np.arange(len(number) + 1)
            name = number << 12
            check = rng.below(number * 8 + 1, len(self._words))
            turn = self._turns[check] + _ordinals(check)
            self._turns += np.bincount(check, minlength=len(self._turns))
            phase = turn % (_WORD + 1)
            is_store = phase < _WORD
            address = self._words[check] + np.where(is_store, phase, 0)
            size = np.where(is_store, 1, _WORD)
        fetched = rng.percent(name * 8 + 3, self.config.instruction_percent)
        fetched &= ~is_store & self._fetches[agent][actions]
        count = len(address)
        places = np.full((count, self._width), INACTIVE, np.int64)
        places[:, 0] = address
        groups = np.full((len(number), self._width), INACTIVE, np.int32)
        groups[:, 0] = 0
        program = Program(
            agents=self.config.agents,
            run_key=self.run_key,
            line_size=self.config.map.line_size,
            episode_thread=agent.astype(np.int32),
            episode_first_action=first,
            episode_group=groups,
            episode_scope=np.full(len(number), PLAIN | BARE, np.uint8),
            group_word=self.group_word,
            action_kind=np.where(is_store, STORE, LOAD).astype(np.uint8),
            action_size=size.astype(np.uint8),
            action_scope=np.where(fetched, INSTRUCTION, 0).astype(np.uint8),
            lane_address=places,
            store_value=np.zeros((count, self._width), np.uint64),
            thread_base=self._counts,
        )
        return program, (name[:, None] << _LANE_BITS) | np.arange(self._width)

    def _loads(self, number: IntArray) -> IntArray:
        low, high = self.config.load_percent
        return low + self._rng.below(number * 8 + 4, high - low + 1)


def _table() -> IntArray:
    """The words of the table: neighbours, and two in every fourth line."""
    adjacent = _FIRST + _WORD * np.arange(_ADJACENT)
    family = _FIRST + _STRIDE * np.arange(1, _FAMILY + 1)
    return np.concatenate((adjacent, family, family + _WORD))


def _ordinals(values: IntArray) -> IntArray:
    """How often each value stands before its place."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    result = np.empty(len(values), np.int64)
    result[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return result


def _lengths(
    lengths: tuple[int, ...], rng: CounterRng, number: IntArray
) -> tuple[IntArray, IntArray]:
    """(episode of each action, first action of each episode)."""
    drawn = np.array(lengths)[rng.below(number * 8 + 5, len(lengths))]
    first = np.concatenate(([0], np.cumsum(drawn)))
    return np.repeat(np.arange(len(number)), drawn), first
