"""An independent check of a program: is it race-free, and are its expectations correct?

Everything that `tester.program.expectations` and the generator guarantee is checked again, byte by
byte, with plain dictionaries and sets of episodes; no code is shared with them, and nothing here is
fast. Invariant: an empty answer means that every execution which starts each
episode after its waits returns the expected values on a coherent machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from runtime.prng import initial_byte
from runtime.types.atomic_op import AtomicOp
from slicc.text.lazy_dataclass import dataclass
from tester.program.array_validation import shape_errors
from tester.program.program import (
    ACTION_NAMES,
    ATOMIC,
    ATOMIC_BYTES,
    BARE,
    CONTINUES,
    DMA,
    FAILS,
    LOAD,
    STORE,
    Program,
)

MAX_MESSAGES = 20


@dataclass(frozen=True, slots=True)
class _Access:
    episode: int
    action: int
    lane: int
    kind: int
    address: int
    size: int
    value: int
    """What is stored, the operand of an atomic action, or what the load expects."""
    old: int = 0
    """The old value that an atomic action expects."""
    op: int = 0
    scope: int = 0

    @property
    def is_store(self) -> bool:
        """Whether it needs exclusive use of its bytes."""
        return self.kind != LOAD

    def __str__(self) -> str:
        return (
            f"episode {self.episode}, action {self.action}, lane {self.lane}: "
            f"{ACTION_NAMES[self.kind]} of {self.size} bytes at {self.address:#x}"
        )


def verify(program: Program) -> list[str]:
    """What is wrong with a whole, derived program; at most MAX_MESSAGES findings.

    Cost grows with bytes times episodes: meant for tests and for programs from elsewhere.
    """
    errors = shape_errors(program)
    if errors:
        return errors[:MAX_MESSAGES]
    if program.thread_base.any():
        return ["the program starts in the middle: episodes before it are missing"]
    if not program.derived:
        return ["the program has no expectations and waits yet"]
    for check in (_check_form, _check_pieces, _check_words, _check_lanes, _check_waits):
        errors += check(program)
    if not errors:  # both need accesses and waits that make sense
        errors += _check_races(program)
        errors += _check_values(program)
    return errors[:MAX_MESSAGES]


def _accesses(program: Program) -> Iterator[_Access]:
    """All accesses in program order of the total order."""
    for episode in range(program.episodes):
        for action in program.actions_of(episode):
            yield from _of_row(program, episode, action)


def _of_row(program: Program, episode: int, action: int) -> Iterator[_Access]:
    """The accesses of the lanes of one row."""
    kind = int(program.action_kind[action])
    values = program.expected if kind == LOAD else program.store_value
    for lane in range(program.lanes):
        address = int(program.lane_address[action, lane])
        if address >= 0:
            yield _Access(
                episode,
                action,
                lane,
                kind,
                address,
                int(program.action_size[action]),
                int(values[action, lane]),
                int(program.expected[action, lane]) if kind == ATOMIC else 0,
                int(program.action_op[action]),
                int(program.action_scope[action]),
            )


def _check_form(program: Program) -> Iterator[str]:
    """Lanes exist and are active, rows stay in their line, those of wavefronts and atomic actions
    are aligned, values fit."""
    for episode in range(program.episodes):
        agent = program.agents[int(program.episode_thread[episode])]
        active = [lane for lane, _ in program.groups_of(episode)]
        if not active:
            yield f"episode {episode} has no active lane"
        elif active[-1] >= agent.lanes:
            yield f"episode {episode} uses lane {active[-1]} of {agent.name}, it has {agent.lanes}"
    for action in range(program.actions):
        if all(int(address) < 0 for address in program.lane_address[action]):
            yield f"action {action} has no lane"
        for lane in range(program.lanes):
            stored = int(program.store_value[action, lane])
            expected = int(program.expected[action, lane])
            silent = int(program.lane_address[action, lane]) < 0
            kind = int(program.action_kind[action])
            if stored and (silent or kind == LOAD):
                yield f"action {action}, lane {lane} stores nothing, yet has a value to store"
            if expected and (silent or kind == STORE):
                yield f"action {action}, lane {lane} loads nothing, yet expects a value"
    for access in _accesses(program):
        if int(program.episode_group[access.episode, access.lane]) < 0:
            yield f"{access}: the lane is off for this episode"
        agent = program.agents[int(program.episode_thread[access.episode])]
        if (agent.kind == "gpu" or access.kind == ATOMIC) and access.address % access.size:
            yield f"{access}: not aligned to its size"
        last = access.address + access.size - 1
        if access.address // program.line_size != last // program.line_size:
            yield f"{access}: crosses its line"
        for value in (access.value, access.old):
            if value >> 8 * access.size:
                yield f"{access}: value {value:#x} is wider than the access"


def _check_pieces(program: Program) -> Iterator[str]:
    """Accesses of several rows belong to one lane, lie together, and are no longer than allowed."""
    for episode in range(program.episodes):
        agent = program.agents[int(program.episode_thread[episode])]
        longest = 512 if agent.kind == DMA else 16
        parts: list[_Access] = []
        for row in program.actions_of(episode):
            here = list(_of_row(program, episode, row))
            if not program.action_scope[row] & CONTINUES:
                parts = here
                continue
            if len(parts) == 0 or len(here) != 1 or agent.kind == "gpu":
                yield f"episode {episode}, action {row}: continues nothing that it could"
                continue
            last, piece = parts[-1], here[0]
            if (last.lane, last.kind) != (piece.lane, piece.kind) or last.kind == ATOMIC:
                yield f"{piece}: does not belong to {last}"
            if piece.address != last.address + last.size:
                yield f"{piece}: does not lie behind {last}"
            if int(program.action_scope[row]) & ~CONTINUES != last.scope & ~CONTINUES:
                yield f"{piece}: is not made like {last}"
            parts.append(piece)
            length = piece.address + piece.size - parts[0].address
            if length > longest or len(parts) > 64:
                yield f"{piece}: {agent.name} cannot access {length} bytes at once"
            lines = {access.address // program.line_size for access in parts}
            if agent.kind != DMA and len(lines) > 1:
                yield f"{piece}: {agent.name} cannot access several lines at once"


def _check_words(program: Program) -> Iterator[str]:
    """Atomic words are aligned and apart; every other byte is used by one group only.

    Episodes without fetch-adds hand over by completion alone: to them it does not matter which
    word others use.
    """
    owner: dict[int, str] = {}
    for group in range(program.groups):
        word = int(program.group_word[group])
        if word % ATOMIC_BYTES:
            yield f"the atomic word {word:#x} of group {group} is not aligned"
        for byte in range(word, word + ATOMIC_BYTES):
            if byte in owner:
                yield f"the atomic word of group {group} overlaps the {owner[byte]}"
            owner[byte] = f"atomic word of group {group}"
    for access in _accesses(program):
        group = int(program.episode_group[access.episode, access.lane])
        agent = program.agents[int(program.episode_thread[access.episode])]
        bare = not agent.adds or int(program.episode_scope[access.episode]) & BARE
        for byte in range(access.address, access.address + access.size):
            if bare and not owner.get(byte, "").startswith("atomic"):
                continue
            name = owner.setdefault(byte, f"data of group {group}")
            if name != f"data of group {group}":
                yield f"{access}: a lane of group {group} touches the {name}"
                break


def _check_lanes(program: Program) -> Iterator[str]:
    """Within an episode, a byte that a lane stores is touched by no other lane."""
    touched: dict[int, set[int]] = defaultdict(set)
    stored: dict[int, set[int]] = defaultdict(set)
    episode = -1
    for access in _accesses(program):
        if access.episode != episode:
            touched.clear()
            stored.clear()
            episode = access.episode
        for byte in range(access.address, access.address + access.size):
            touched[byte].add(access.lane)
            if access.is_store:
                stored[byte].add(access.lane)
            if len(touched[byte]) > 1 and stored[byte]:
                lanes = ", ".join(map(str, sorted(touched[byte])))
                yield f"{access}: byte {byte:#x} is stored, and touched by lanes {lanes}"
                break


def _check_waits(program: Program) -> Iterator[str]:
    """Waits name episodes that exist and come earlier in the order."""
    done = [0] * program.agent_count
    for episode in range(program.episodes):
        for agent, count in program.waits_of(episode):
            if not 1 <= count <= done[agent]:
                yield (
                    f"episode {episode} waits for {count} episodes of agent {agent}, "
                    f"{done[agent]} stand before it"
                )
        done[int(program.episode_thread[episode])] += 1


def _completed_before(program: Program) -> list[set[int]]:
    """For each episode the episodes that are certainly complete when it starts."""
    before: list[set[int]] = []
    of_agent: list[list[int]] = [[] for _ in program.agents]
    for episode in range(program.episodes):
        own = of_agent[int(program.episode_thread[episode])]
        causes = own[-1:] + [of_agent[t][count - 1] for t, count in program.waits_of(episode)]
        known = set(causes)
        for cause in causes:
            known |= before[cause]
        before.append(known)
        own.append(episode)
    return before


def _check_races(program: Program) -> Iterator[str]:
    """Any two episodes that touch a byte, one of them storing, are ordered by completion.

    If both make fetch-adds, `_check_words` has shown that their lanes belong to one group, hence
    that the earlier one ended, and the later one began, with a fetch-add on the same word:
    completion before start therefore means release before acquire in memory.
    """
    before = _completed_before(program)
    touching: dict[int, set[int]] = defaultdict(set)
    storing: dict[int, set[int]] = defaultdict(set)
    for access in _accesses(program):
        for byte in range(access.address, access.address + access.size):
            others = touching[byte] if access.is_store else storing[byte]
            race = others - before[access.episode] - {access.episode}
            if race:
                yield f"{access}: byte {byte:#x} races with episode {min(race)}"
                break
        for byte in range(access.address, access.address + access.size):
            touching[byte].add(access.episode)
            if access.is_store:
                storing[byte].add(access.episode)


def _check_values(program: Program) -> Iterator[str]:
    """Every load expects what running the episodes one after the other would give."""
    memory: dict[int, int] = {}
    for access in _accesses(program):
        places = range(access.address, access.address + access.size)
        held = bytes(memory.get(byte, initial_byte(program.run_key, byte)) for byte in places)
        right = int.from_bytes(held, "little")
        expected = access.old if access.kind == ATOMIC else access.value
        if access.kind != STORE and expected != right:
            yield f"{access}: {expected:#x} expected, {right:#x} is right"
        if access.is_store:
            value = access.value if access.kind == STORE else _operated(access, right)
            memory.update(zip(places, value.to_bytes(access.size, "little")))


def _operated(access: _Access, old: int) -> int:
    """What an atomic action leaves."""
    compare = old ^ 1 if access.op & FAILS else old
    return AtomicOp(access.op & ~FAILS, access.value, access.size, compare).apply(old)
