"""Episodes of a program as plain Python lists, extracted from the arrays when an agent starts them.

Indexing numpy scalars one by one costs ten times what a list costs, and lists of a whole program
take fifty times the memory of its arrays. Invariant: episodes of one agent come out in their total
order, and the next chunk is requested exactly when an agent has no episode left in those before it,
so execution does not depend on how a program is cut into chunks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from tester.execution.events import Request
from tester.program.program import BARE, CONTINUES, Program


class Episode:
    """What an agent does between two points where it holds no byte."""

    __slots__ = ("actions", "lanes", "number", "scope", "waits", "words")

    def __init__(
        self,
        number: int,
        lanes: list[int],
        words: list[int],
        actions: deque[Request],
        waits: list[tuple[int, int]],
        scope: int,
    ) -> None:
        self.number = number
        """Position in the program's total order, earlier chunks included."""
        self.lanes = lanes
        """Those that make fetch-adds; none in a bare episode or of an agent that cannot."""
        self.words = words
        """Address of the atomic word of each active lane."""
        self.actions = actions
        """Loads and stores still to be issued; active lanes only, in lane order."""
        self.waits = waits
        """(agent, n): start only after n episodes of that agent are complete."""
        self.scope = scope
        """Bits of the fetch-adds: scope, and QUIET for the closing ones."""


def read_episode(
    program: Program, index: int, role: int, first_number: int = 0, first_row: int = 0
) -> Episode:
    """Episode ``index`` of a chunk whose first episode (action) has the given number (row).

    ``role`` is that of its loads and stores.
    """
    words = program.group_word
    groups = program.episode_group[index].tolist()
    scope = int(program.episode_scope[index])
    adds = program.agents[program.episode_thread[index]].adds and not scope & BARE
    lanes = [lane for lane, group in enumerate(groups) if adds and group >= 0]
    number = first_number + index
    return Episode(
        number,
        lanes,
        [int(words[groups[lane]]) for lane in lanes],
        _actions(program, index, role, number, first_row),
        program.waits_of(index),
        scope,
    )


def _actions(
    program: Program, index: int, role: int, number: int, first_row: int
) -> deque[Request]:
    """The loads and stores of an episode with that number, each with its active lanes."""
    agent = int(program.episode_thread[index])
    rows = program.actions_of(index)
    part = slice(rows.start, rows.stop)
    everyone = list(range(program.lanes))
    actions: deque[Request] = deque()
    for row, kind, size, scope, op, addresses, values, expected in zip(
        rows,
        program.action_kind[part].tolist(),
        program.action_size[part].tolist(),
        program.action_scope[part].tolist(),
        program.action_op[part].tolist(),
        program.lane_address[part].tolist(),
        program.store_value[part].tolist(),
        program.expected[part].tolist(),
    ):
        if scope & CONTINUES:
            assert actions and actions[-1].kind == kind, "a piece follows on one of its access"
            (lane,) = actions[-1].lanes
            actions[-1].add_piece(size, values[lane], expected[lane])
            continue
        active = everyone
        if -1 in addresses:
            active = [lane for lane in everyone if addresses[lane] >= 0]
            if not active:
                continue
            addresses = [addresses[lane] for lane in active]
            values = [values[lane] for lane in active]
            expected = [expected[lane] for lane in active]
        request = Request(
            -1,
            agent,
            number,
            role,
            kind,
            active,
            addresses,
            size,
            values,
            expected,
            first_row + row,
        )
        request.scope = scope
        request.op = op
        actions.append(request)
    return actions


class EpisodeStream:
    """Yields the episodes of every agent from a stream of chunks."""

    def __init__(self, chunks: Iterable[Program], role: int) -> None:
        self._chunks = iter(chunks)
        self._role = role
        self._queues: list[deque[tuple[Program, int, int, int]]] = []
        self._episodes = 0
        self._actions = 0
        self._ended = False

    def next_episode(self, agent: int) -> Episode | None:
        """The agent's next episode; None when the program has no more for it."""
        queues = self._queues
        while agent >= len(queues) or not queues[agent]:
            if self._ended or not self._take_chunk():
                return None
        assert queues[agent][0][0].episode_thread[queues[agent][0][1]] == agent
        program, index, first_number, first_row = queues[agent].popleft()
        return read_episode(program, index, self._role, first_number, first_row)

    def _take_chunk(self) -> bool:
        program = next(self._chunks, None)
        if program is None:
            self._ended = True
            return False
        while len(self._queues) < program.agent_count:
            self._queues.append(deque())
        for index, agent in enumerate(program.episode_thread.tolist()):
            self._queues[agent].append((program, index, self._episodes, self._actions))
        self._episodes += program.episodes
        self._actions += program.actions
        return True
