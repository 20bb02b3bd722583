"""A test is a value: what every agent does, defined before anything runs.

A `Program` is a set of frozen numpy arrays. An engine issues the accesses in them, waits where they
require it and compares answers with them; replaying is running the same arrays again, reducing is
deleting from them. Invariant: the derived arrays (`expected`, `wait_*`) are a function of the
others and of what ran before `thread_base`, and only `tester.program.expectations` computes them;
every method here that deletes something therefore returns a program without them (`derived` is
false).

Episodes stand in one total order. The episode e of agent t runs like this: each active lane adds
1 to the atomic word of its group (one instruction), the wave acquires, its loads and stores follow,
the wave releases (every store complete), and the same lanes add 1 to the same words again. Agents
that cannot add (DMA engines, instruction caches) leave the fetch-adds out, and so do bare episodes;
plain ones, of processors behind coherent caches, consist of loads and stores alone. A program may
be a chunk of an endless one: `thread_base` then counts the episodes of each agent that came
before, and waits keep counting from the very beginning.

A row of the action arrays is a load, store or atomic action of 1 to 8 bytes per lane, inside one
line. A longer access, or one over several lines, is written as several rows, its *pieces*: each but
the first starts where the one before it ended (CONTINUES). Expected values are stored row by row;
engines issue all pieces as one access.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from runtime.requesters.port import AccessKind, Scope
from runtime.types.atomic_op import AtomicKind
from tester.arrays import BoolArray, ByteArray, IntArray, WordArray

LOAD: Final = AccessKind.LOAD
STORE: Final = AccessKind.STORE
ATOMIC: Final = AccessKind.ATOMIC
ACTION_NAMES: Final = ("load", "store", "atomic")

ATOMIC_BYTES: Final = 4
"""Width of an atomic word; its fetch-adds wrap at 32 bits."""

INACTIVE: Final = -1
"""Marks a lane that is switched off (`episode_group`) or sits an action out (`lane_address`)."""

BY_COMPLETION: Final = 0
"""Kind of a wait: until the engine has seen that many episodes of the agent complete."""

GLC: Final = Scope.GLC
SLC: Final = Scope.SLC
"""Scope bits of an action: bypass the first level, bypass first and second level."""
QUIET: Final = Scope.QUIET
"""Besides scope bits in `episode_scope`: the closing fetch-adds ask for no old values."""
BARE: Final = 8
"""Likewise: the episode makes no fetch-adds, it only acquires and releases."""
RACING_LOAD: Final = 16
"""Likewise: while it waits for another episode's last access, it loads the bytes it will need, so
that the line moves at the same time; `tester.execution.early_loads` has what it may return."""
FLUSHES: Final = 32
"""Likewise: the lines it stored into are flushed after its release."""
PLAIN: Final = 64
"""Likewise, beside BARE: it neither acquires nor releases; it is complete with its last answer."""
BYPASSING_LOAD: Final = 128
"""Likewise, beside RACING_LOAD: that load bypasses the first level."""
EPISODE_BITS: Final = GLC | SLC | QUIET | BARE | RACING_LOAD | FLUSHES | PLAIN | BYPASSING_LOAD

INSTRUCTION: Final = Scope.INSTRUCTION
"""Besides scope bits in `action_scope`: a load that a processor makes as an instruction fetch."""
CONTINUES: Final = 16
"""Likewise: the row is a further piece of the access that the row before it belongs to."""
IN_ORDER: Final = 32
"""Likewise, of a load in a plain episode: it waits for the loads before it that have this bit, as a
processor whose loads overtake its stores keeps them."""
ACTION_BITS: Final = GLC | SLC | QUIET | INSTRUCTION | CONTINUES | IN_ORDER
"""An atomic action with QUIET asks for no old values."""

FAILS: Final = 0x80
"""Beside CAS in `action_op`: the comparison is with another value than the one in memory."""
OPERATIONS: Final = (*range(AtomicKind.NUM), AtomicKind.CAS | FAILS)
"""All values of `action_op`."""

DMA: Final = "dma"
FETCH: Final = "fetch"
"""Kinds of agents that make no fetch-adds; a fetching one does not store either."""

MAX_ROW_BYTES: Final = 8
MAX_ACCESS_BYTES: Final = 16
"""Of one access of a processor or reader; it lies in one line."""
MAX_PIECES: Final = 64


class AgentSpec(Struct, frozen=True):
    """The declaration of an agent. `kind`: "gpu", "cpu", DMA or FETCH; `requester`: port index."""

    kind: str
    requester: int
    lanes: int
    name: str

    @property
    def adds(self) -> bool:
        """Whether its episodes begin and end with fetch-adds."""
        return self.kind not in (DMA, FETCH)

    @property
    def stores(self) -> bool:
        return self.kind != FETCH

    @property
    def aligned(self) -> bool:
        """Whether its accesses have 1, 2, 4 or 8 bytes at a multiple of that."""
        return self.kind == "gpu"


DTYPES: Final[dict[str, Any]] = {
    "episode_thread": np.int32,
    "episode_first_action": np.int64,
    "episode_group": np.int32,
    "episode_scope": np.uint8,
    "group_word": np.int64,
    "action_kind": np.uint8,
    "action_size": np.uint8,
    "action_scope": np.uint8,
    "action_op": np.uint8,
    "lane_address": np.int64,
    "store_value": np.uint64,
    "thread_base": np.int64,
    "expected": np.uint64,
    "wait_first": np.int64,
    "wait_thread": np.int32,
    "wait_count": np.int32,
    "wait_kind": np.uint8,
}
_DTYPES: Final = tuple((name, np.dtype(dtype)) for name, dtype in DTYPES.items())
_LITTLE_ENDIAN: Final = tuple((name, dtype.newbyteorder("<")) for name, dtype in _DTYPES)


@dataclass(frozen=True, eq=False)
class Program:
    """Arrays over E episodes, A actions, L lanes (widest agent), G groups, T agents, W waits.

    Compare with `equals` or `digest`. Arrays are converted to their type and made read-only.
    """

    agents: tuple[AgentSpec, ...]
    run_key: int
    """Names the initial contents of memory (and, in an engine, the message delays)."""
    line_size: int
    episode_thread: npt.NDArray[np.int32]  # [E]
    episode_first_action: IntArray  # [E+1]; the actions of e are first[e] .. first[e+1]-1
    episode_group: npt.NDArray[np.int32]  # [E, L]; -1: the lane is off for the episode
    group_word: IntArray  # [G]; byte address, 4-byte aligned
    action_kind: ByteArray  # [A]; LOAD, STORE or ATOMIC
    action_size: ByteArray  # [A]; bytes per lane: 1 to 8
    lane_address: IntArray  # [A, L]; byte address, -1: the lane sits out
    store_value: WordArray  # [A, L]; little endian, zero for loads; operands
    action_scope: ByteArray = field(
        default_factory=lambda: np.zeros(0, np.uint8)
    )  # [A]; ACTION_BITS
    action_op: ByteArray = field(default_factory=lambda: np.zeros(0, np.uint8))  # [A]; of ATOMIC
    episode_scope: ByteArray = field(
        default_factory=lambda: np.zeros(0, np.uint8)
    )  # [E]; EPISODE_BITS
    thread_base: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # [T]
    derived: bool = False
    """Whether the arrays below hold; they are written by `tester.program.expectations`."""
    expected: WordArray = field(
        default_factory=lambda: np.zeros((0, 0), np.uint64)
    )  # [A, L]; what loads and atomic actions return
    wait_first: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # [E+1]
    wait_thread: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # [W]
    wait_count: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # [W]
    wait_kind: ByteArray = field(default_factory=lambda: np.zeros(0, np.uint8))  # [W]

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.action_scope.size == 0:
            put(self, "action_scope", np.zeros(len(self.action_kind), np.uint8))
        if self.action_op.size == 0:
            put(self, "action_op", np.zeros(len(self.action_kind), np.uint8))
        if self.episode_scope.size == 0:
            put(self, "episode_scope", np.zeros(len(self.episode_thread), np.uint8))
        if self.thread_base.size == 0:
            put(self, "thread_base", np.zeros(len(self.agents), np.int64))
        if not self.derived:
            put(self, "expected", np.zeros(np.shape(self.lane_address), np.uint64))
            put(self, "wait_first", np.zeros(len(self.episode_thread) + 1, np.int64))
            for name in ("wait_thread", "wait_count", "wait_kind"):
                put(self, name, np.zeros(0, DTYPES[name]))
        for name, dtype in _DTYPES:
            array = getattr(self, name)
            if isinstance(array, np.ndarray) and array.dtype is dtype:
                flags = array.flags
                if flags.c_contiguous and not flags.writeable:
                    continue  # of another program, most likely
            array = np.ascontiguousarray(array, dtype).view()
            array.flags.writeable = False
            put(self, name, array)

    # ------------------------------------------------------------------ sizes and parts

    @property
    def episodes(self) -> int:
        return len(self.episode_thread)

    @property
    def actions(self) -> int:
        return len(self.action_kind)

    @property
    def lanes(self) -> int:
        """Lanes of the widest agent; narrower agents leave the upper lanes inactive."""
        return int(self.episode_group.shape[1])

    @property
    def agent_count(self) -> int:
        return len(self.agents)

    @property
    def groups(self) -> int:
        return len(self.group_word)

    @property
    def waits(self) -> int:
        return len(self.wait_thread)

    def actions_of(self, episode: int) -> range:
        """The loads and stores of an episode, as indices of actions."""
        first = self.episode_first_action
        return range(int(first[episode]), int(first[episode + 1]))

    def waits_of(self, episode: int) -> list[tuple[int, int]]:
        """(agent, n): the episode starts only after n episodes of that agent are complete."""
        part = slice(int(self.wait_first[episode]), int(self.wait_first[episode + 1]))
        return list(zip(self.wait_thread[part].tolist(), self.wait_count[part].tolist()))

    def groups_of(self, episode: int) -> list[tuple[int, int]]:
        """(lane, group) of the active lanes of an episode, in lane order."""
        return [(i, g) for i, g in enumerate(self.episode_group[episode].tolist()) if g >= 0]

    def active(self) -> BoolArray:
        """[A, L]: the lane takes part in the action."""
        return self.lane_address >= 0

    def action_episode(self) -> IntArray:
        """[A]: the episode of each action."""
        return np.repeat(np.arange(self.episodes), np.diff(self.episode_first_action))

    def episode_ordinal(self) -> IntArray:
        """[E]: how many episodes of the same agent come before, earlier chunks included."""
        order = np.argsort(self.episode_thread, kind="stable")
        sorted_agent = self.episode_thread[order]
        first = np.searchsorted(sorted_agent, np.arange(self.agent_count))
        ordinal = np.empty(self.episodes, np.int64)
        ordinal[order] = np.arange(self.episodes) - first[sorted_agent]
        return ordinal + self.thread_base[self.episode_thread]

    def episodes_by_agent(self) -> IntArray:
        """[T]: episodes of each agent in this program."""
        return np.bincount(self.episode_thread, minlength=self.agent_count).astype(np.int64)

    def increments(self) -> IntArray:
        """[G]: fetch-adds on each atomic word in this program: two per active lane and episode,
        except of bare ones and of agents that do not add."""
        group = self.episode_group[self.adds()]
        group = group[group >= 0]
        return 2 * np.bincount(group, minlength=self.groups).astype(np.int64)

    def adds(self) -> BoolArray:
        """[E]: the episode begins and ends with fetch-adds."""
        able = np.array([agent.adds for agent in self.agents], np.bool_)[self.episode_thread]
        return np.asarray(able & (self.episode_scope & BARE == 0))

    # ------------------------------------------------------------------ identity

    def equals(self, other: Program) -> bool:
        """Whether both are equal, derived arrays included."""
        for f in fields(self):
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if isinstance(mine, np.ndarray):
                if not np.array_equal(mine, theirs):
                    return False
            elif mine != theirs:
                return False
        return True

    def digest(self) -> str:
        """A short hash of the contents; equal in every process and on every platform."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # Digests keep the class name that older versions wrote.
        head = repr((self.agents, self.run_key, self.line_size)).replace("AgentSpec(", "Agent(")
        state = hashlib.sha256(head.encode())
        for name, dtype in _LITTLE_ENDIAN:
            array = getattr(self, name)
            state.update(f"{name}{array.shape}".encode())
            state.update(array.astype(dtype, copy=False).tobytes())
        return state.hexdigest()[:16]

    # ------------------------------------------------------------------ pieces of the order

    def part(self, first: int, last: int) -> Program:
        """Episodes first .. last-1 as a chunk of their own; derived arrays stay valid."""
        assert 0 <= first <= last <= self.episodes
        a, b = (int(self.episode_first_action[i]) for i in (first, last))
        w, x = (int(self.wait_first[i]) for i in (first, last))
        before = np.bincount(self.episode_thread[:first], minlength=self.agent_count)
        return replace(
            self,
            episode_thread=self.episode_thread[first:last],
            episode_first_action=self.episode_first_action[first : last + 1] - a,
            episode_group=self.episode_group[first:last],
            episode_scope=self.episode_scope[first:last],
            action_kind=self.action_kind[a:b],
            action_size=self.action_size[a:b],
            action_scope=self.action_scope[a:b],
            action_op=self.action_op[a:b],
            lane_address=self.lane_address[a:b],
            store_value=self.store_value[a:b],
            thread_base=self.thread_base + before,
            expected=self.expected[a:b],
            wait_first=self.wait_first[first : last + 1] - w,
            wait_thread=self.wait_thread[w:x],
            wait_count=self.wait_count[w:x],
            wait_kind=self.wait_kind[w:x],
        )

    def parts(self, size: int) -> Iterator[Program]:
        """The program cut into chunks of `size` episodes."""
        for first in range(0, self.episodes, size):
            yield self.part(first, min(first + size, self.episodes))

    # ------------------------------------------------------------------ deletion
    # For programs edited by hand: a failing leg can be cut down and replayed
    # (docs/tester-programs.md).

    def keep_episodes(self, keep: BoolArray) -> Program:
        """Only the marked [E] episodes, in the same order."""
        return self._kept(keep, self.lane_address, self.episode_group)

    def keep_agents(self, keep: BoolArray) -> Program:
        """Only the episodes of the marked [T] agents; agent numbers do not change."""
        return self.keep_episodes(keep[self.episode_thread])

    def keep_lanes(self, keep: BoolArray) -> Program:
        """Only the marked [E, L] lanes; episodes left without a lane disappear."""
        group = np.where(keep, self.episode_group, INACTIVE)
        address = np.where(keep[self.action_episode()], self.lane_address, INACTIVE)
        return self._kept(np.asarray((group >= 0).any(axis=1)), address, group)

    def keep_actions(self, keep: BoolArray) -> Program:
        """Only the marked [A] rows; an episode without any still synchronises.

        Without a piece in its middle an access falls into two.
        """
        return self.keep_slots(np.broadcast_to(keep[:, None], self.lane_address.shape))

    def keep_slots(self, keep: BoolArray) -> Program:
        """Only the marked [A, L] accesses; rows left without one disappear."""
        everything = np.ones(self.episodes, np.bool_)
        address = np.where(keep, self.lane_address, INACTIVE)
        return self._kept(everything, address, self.episode_group)

    def _kept(
        self, episodes: BoolArray, address: IntArray, group: npt.NDArray[np.int32]
    ) -> Program:
        """Apply a deletion: rows without a lane are removed, values of absent lanes become zero; a
        piece whose predecessor is removed begins an access of its own."""
        assert len(episodes) == self.episodes and len(address) == self.actions
        actions = episodes[self.action_episode()] & (address >= 0).any(axis=1)
        orphan = ~np.append(False, actions)[:-1]
        scope = np.where(orphan, self.action_scope & ~np.uint8(CONTINUES), self.action_scope)
        count = np.bincount(self.action_episode()[actions], minlength=self.episodes)[episodes]
        address = address[actions]
        return replace(
            self,
            derived=False,
            episode_thread=self.episode_thread[episodes],
            episode_first_action=np.concatenate(([0], np.cumsum(count))),
            episode_group=group[episodes],
            episode_scope=self.episode_scope[episodes],
            action_kind=self.action_kind[actions],
            action_size=self.action_size[actions],
            action_scope=scope[actions],
            action_op=self.action_op[actions],
            lane_address=address,
            store_value=np.where(address >= 0, self.store_value[actions], np.uint64(0)),
        )


def concatenate(chunks: Sequence[Program]) -> Program:
    """Consecutive chunks of one program as one; derived arrays stay valid.

    Raises ValueError when the chunks do not follow each other.
    """
    head = chunks[0]
    base = head.thread_base
    for chunk in chunks:
        if (chunk.agents, chunk.run_key) != (head.agents, head.run_key):
            raise ValueError("chunks of different programs")
        if not np.array_equal(chunk.thread_base, base):
            raise ValueError("a chunk does not continue where the one before it ends")
        if chunk.derived != head.derived or not np.array_equal(chunk.group_word, head.group_word):
            raise ValueError("chunks of different programs")
        base = base + chunk.episodes_by_agent()

    def joined(name: str) -> Any:
        return np.concatenate([getattr(chunk, name) for chunk in chunks])

    def indices(name: str) -> IntArray:
        sizes = np.concatenate([np.diff(getattr(chunk, name)) for chunk in chunks])
        return np.concatenate(([0], np.cumsum(sizes)))

    index_arrays = ("episode_first_action", "wait_first")
    kept = ("group_word", "thread_base", *index_arrays)
    changes: dict[str, Any] = {name: joined(name) for name in DTYPES if name not in kept}
    changes |= {name: indices(name) for name in index_arrays}
    return replace(head, **changes)
