"""The generator of random episodes as compiled code: the same chunks, a call each.

Invariant: chunks are byte for byte those of `tester.generator.generator.Generator`.
"""

from __future__ import annotations

from operator import attrgetter
from struct import Struct, pack
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.prng import Prng
from tester.arrays import ByteArray, IntArray
from tester.generator.config import GeneratorConfig
from tester.generator.native_loops import (
    CompiledLoops,
    Drawing,
    ImpossibleMap,
    Knowledge,
    MapSettings,
    Settings,
    address,
    words_at,
    work,
)
from tester.program.address_map import LAYOUTS, build_map
from tester.program.program import DMA, DTYPES, Program

BLOCK_SLOTS: Final = 1 << 16
BLOCK_EPISODES: Final = 1024


def block_episodes(config: GeneratorConfig) -> int:
    """How many episodes a chunk has."""
    lanes = [agent.lanes for agent in config.agents]
    slots = int(sum(lanes) / len(lanes) * sum(config.lengths) / len(config.lengths))
    return max(1, min(BLOCK_EPISODES, BLOCK_SLOTS // max(1, slots)))


def adders_with_others(config: GeneratorConfig) -> list[bool]:
    """By agent: whether it is a wavefront that adds to the same words as processors do.

    A GPU's shared cache performs what is not of system scope by itself, so these must be.
    """
    agents = config.agents
    groups = config.isolation_groups or (0,) * len(agents)
    others = {group for a, group in zip(agents, groups) if a.adds and a.kind != "gpu"}
    return [a.kind == "gpu" and group in others for a, group in zip(agents, groups)]


def stores_whole_lines(config: GeneratorConfig) -> list[bool]:
    """By agent: whether it stores nothing but whole lines."""
    rows = zip(config.agents, config.all_abilities())
    return [able.whole_lines and agent.lanes == 1 and agent.kind == DMA for agent, able in rows]


class CompiledGenerator:
    """Same use as `tester.generator.generator.Generator`."""

    def __init__(self, config: GeneratorConfig, prng: Prng, loops: CompiledLoops) -> None:
        self.config: Final = config
        self.run_key: Final = prng.fork("run").bits64()
        self._loops = loops
        self._made = 0
        self._block = block_episodes(config)
        self._lanes = max(agent.lanes for agent in config.agents)
        agents = len(config.agents)
        lengths = len(config.lengths)
        words = _agents(config) + pack(f"{lengths}q", *config.lengths) + bytes(16 * agents)
        self._words = np.frombuffer(words, np.uint8)
        """What the record points to, for as long as it does: agents, lengths, and two words for
        each agent's clock."""
        record = self._record = Drawing(
            prng.key, _map_settings(config), _settings(config), agents, self._lanes
        )
        record.isolation_groups = max(config.isolation_groups, default=0) + 1
        record.agent = place = address(self._words)
        record.lengths = lengths
        record.length = place = place + agents * _AGENT.size
        record.carried.ordinal = place = place + 8 * lengths
        record.carried.start = place + 8 * agents
        room = loops.room()
        try:
            self._room = work(loops.draw_map, record, room)
        except ImpossibleMap:
            build_map(config.full_map(), prng.fork("map"))  # says what is wrong
            raise AssertionError("our own bug: the map is possible") from None
        self._begin = record.room.used + 15 & ~15
        places = record.map
        self._group_word = words_at(places.group_word, config.map.groups)
        self._knowledge = Knowledge(
            words_at(places.line, places.lines),
            config.map.line_size,
            self.run_key,
            prng.fork("values").key,
            agents,
        )
        record.known = self._knowledge.record

    def next_chunk(self) -> Program | None:
        """The next chunk, derived, or None after the last episode."""
        count, record = self._block, self._record
        left = None if self.config.episodes is None else self.config.episodes - self._made
        if left is not None:
            count = min(count, left)
        if count <= 0:
            return None
        base = self._knowledge.come.copy()
        record.episodes, record.fresh = count, self._made == 0
        record.more = left is None or left > count
        room = work(self._loops.draw_chunk, record, self._room, self._begin)
        self._made += count
        program = self._program(room, base)
        if record.more:
            self._keep()
            if room is not self._room:
                self._loops.vacate(room)
        else:
            self._loops.vacate(room)
        return program

    def _program(self, room: ByteArray, base: IntArray) -> Program:
        """A copy of the program that stands in the room."""
        rows, episodes, lanes = self._record.result, self._record.episodes, self._lanes
        start = rows.episode_thread
        begin = start - address(room)
        block = room[begin : begin + rows.wait_thread - start + 8 * rows.waits].copy()
        block.flags.writeable = False

        def part(name: str, place: int, *shape: int) -> npt.NDArray[Any]:
            return np.ndarray(shape, _DTYPES[name], block, place - start)

        actions, waits = rows.rows, rows.waits
        return Program(
            agents=self.config.agents,
            run_key=self.run_key,
            line_size=self.config.map.line_size,
            episode_thread=part("episode_thread", start, episodes),
            episode_first_action=part("episode_first_action", rows.first_row, episodes + 1),
            episode_group=part("episode_group", rows.group, episodes, lanes),
            episode_scope=part("episode_scope", rows.episode_scope, episodes),
            group_word=self._group_word,
            action_kind=part("action_kind", rows.kind, actions),
            action_size=part("action_size", rows.size, actions),
            action_scope=part("action_scope", rows.scope, actions),
            action_op=part("action_op", rows.op, actions),
            lane_address=part("lane_address", rows.address, actions, lanes),
            store_value=part("store_value", rows.value, actions, lanes),
            thread_base=base,
            derived=True,
            expected=part("expected", rows.expected, actions, lanes),
            wait_first=part("wait_first", rows.wait_first, episodes + 1),
            wait_thread=part("wait_thread", rows.wait_thread, waits),
            wait_count=part("wait_count", rows.wait_thread + 4 * waits, waits),
            wait_kind=np.zeros(waits, np.uint8),
        )

    def _keep(self) -> None:
        """Copy what the next chunk begins with out of the room."""
        self._knowledge.record = self._record.known
        self._knowledge.keep_loads()
        self._record.known = self._knowledge.record


def _agents(config: GeneratorConfig) -> bytearray:
    """A record of each agent, as the compiled code has it."""
    groups = config.isolation_groups or (0,) * len(config.agents)
    abilities, wides = config.all_abilities(), adders_with_others(config)
    rows = zip(config.agents, groups, abilities, stores_whole_lines(config), wides)
    made: dict[tuple[object, ...], bytes] = {}
    records = bytearray()
    for agent, group, able, whole, wide in rows:
        alike = agent.kind, agent.lanes, group, id(able), wide  # most agents are like others
        record = made.get(alike)
        if record is None:
            record = made[alike] = _AGENT.pack(
                agent.lanes,
                group,
                agent.stores,
                able.loads,
                agent.adds,
                able.flush,
                able.plain,
                agent.kind == "gpu",
                able.instructions,
                able.longest if agent.lanes == 1 else 0,
                whole,
                wide,
                able.streams,
            )
        records += record
    return records


_AGENT: Final = Struct("13q")
_DTYPES: Final = {name: np.dtype(kind) for name, kind in DTYPES.items()}
_settings_of: Final = attrgetter(*(name for name, _ in Settings._fields_[6:]))


def _map_settings(config: GeneratorConfig) -> Any:
    places = config.map
    return MapSettings(
        places.groups,
        -1 if places.locations is None else places.locations,
        -1 if places.lines is None else places.lines,
        places.fill_percent,
        places.cluster_bytes,
        LAYOUTS.index(places.layout),
        places.stride_lines,
        places.sets,
        places.line_size,
        *config.extremes(),
        places.memory_bytes,
    )


def _settings(config: GeneratorConfig) -> Any:
    return Settings(*config.load_percent, *config.size_weights, *_settings_of(config))
