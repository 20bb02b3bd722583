"""Ways to make the program of a leg simpler: what may be taken away, piece by piece.

A `ShrinkStep` says how many pieces of a kind a leg has, and returns the leg without some of them;
the search decides which. Invariant: what a step returns is simpler in one thing without being worse
in another, so that a search over steps ends; whether it is a leg at all, and free of races, is for
`tester.program.replay_file.with_expectations` to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray
from tester.program.program import (
    ATOMIC,
    BARE,
    BYPASSING_LOAD,
    CONTINUES,
    FLUSHES,
    GLC,
    INACTIVE,
    INSTRUCTION,
    QUIET,
    RACING_LOAD,
    SLC,
    Program,
)
from tester.program.replay_file import Leg
from tester.shrink.scripts import with_lines_moved


@dataclass(frozen=True, slots=True)
class ShrinkStep:
    """``what``: the pieces, in words. ``without``: the leg without the marked pieces [N]; None:
    there is no such leg. ``retimed``: whether to try it with other delays as well. ``sound``: the
    leg has accesses where it had some before and nowhere else, so its program is one if that was
    one."""

    what: str
    count: Callable[[Leg], int]
    without: Callable[[Leg, BoolArray], Leg | None]
    retimed: bool = True
    sound: bool = True


def program_steps() -> tuple[ShrinkStep, ...]:
    """All steps that change the program, what saves most first."""
    return (_FETCH_ADDS, *_PIECES, *_FLAGS, *_BYTES, _GROUPS, _LINES)


def _of_program(
    what: str,
    count: Callable[[Program], int],
    without: Callable[[Program, BoolArray], Program],
) -> ShrinkStep:
    def less(leg: Leg, away: BoolArray) -> Leg | None:
        program = without(leg.program, away)
        return replace(leg, program=program) if program.episodes else None

    return ShrinkStep(what, lambda leg: count(leg.program), less)


# ------------------------------------------------------------------ pieces


def _agents(program: Program) -> list[int]:
    return [int(agent) for agent in np.unique(program.episode_thread)]


def _without_agents(program: Program, away: BoolArray) -> Program:
    keep = np.ones(program.agent_count, np.bool_)
    keep[np.array(_agents(program))[away]] = False
    return program.keep_agents(keep)


def _columns(program: Program) -> BoolArray:
    """[L]: some episode has this lane."""
    return np.asarray((program.episode_group >= 0).any(axis=0))


def _without_columns(program: Program, away: BoolArray) -> Program:
    keep = np.ones(program.lanes, np.bool_)
    keep[np.flatnonzero(_columns(program))[away]] = False
    return program.keep_lanes(np.broadcast_to(keep, program.episode_group.shape))


def _without_actions(program: Program, away: BoolArray) -> Program:
    return program.keep_actions(~away)


def _lanes(program: Program) -> BoolArray:
    return np.asarray(program.episode_group >= 0)


def _without_lanes(program: Program, away: BoolArray) -> Program:
    keep = np.ones(program.episode_group.shape, np.bool_)
    keep[_lanes(program)] = ~away
    return program.keep_lanes(keep)


def _without_accesses(program: Program, away: BoolArray) -> Program:
    keep = np.ones(program.lane_address.shape, np.bool_)
    keep[program.active()] = ~away
    return program.keep_slots(keep)


_PIECES: Final = (
    _of_program("agents", lambda p: len(_agents(p)), _without_agents),
    _of_program("episodes", lambda p: p.episodes, lambda p, away: p.keep_episodes(~away)),
    _of_program("lanes", lambda p: int(_columns(p).sum()), _without_columns),
    _of_program("actions", lambda p: p.actions, _without_actions),
    _of_program("lanes of episodes", lambda p: int(_lanes(p).sum()), _without_lanes),
    _of_program("accesses", lambda p: int(p.active().sum()), _without_accesses),
)

# ------------------------------------------------------------------ what accesses need not be


def _fetch_adds(leg: Leg) -> int:
    """Episodes that could do without; none where the system's hand-overs need them."""
    if any("bare" in group.without for group in leg.description.agents.values()):
        return 0
    return int(leg.program.adds().sum())


def _without_adds(leg: Leg, away: BoolArray) -> Leg:
    program = leg.program
    scope = program.episode_scope.copy()
    scope[np.flatnonzero(program.adds())[away]] |= BARE
    return replace(leg, program=replace(program, derived=False, episode_scope=scope))


_FETCH_ADDS: Final = ShrinkStep("fetch-adds", _fetch_adds, _without_adds)


def _flag(what: str, array: str, bits: int) -> ShrinkStep:
    """Bits of episodes or actions that need not be set."""

    def marked(program: Program) -> BoolArray:
        return np.asarray(getattr(program, array) & bits > 0)

    def without(program: Program, away: BoolArray) -> Program:
        scope = getattr(program, array).copy()
        scope[np.flatnonzero(marked(program))[away]] &= ~np.uint8(bits)
        return replace(program, derived=False, **{array: scope})

    return _of_program(what, lambda program: int(marked(program).sum()), without)


_FLAGS: Final = (
    _flag("flushes", "episode_scope", FLUSHES),
    _flag("racing loads", "episode_scope", RACING_LOAD | BYPASSING_LOAD),
    _flag("racing loads that bypass the first level", "episode_scope", BYPASSING_LOAD),
    _flag("scopes of fetch-adds", "episode_scope", GLC | SLC),
    _flag("quiet fetch-adds", "episode_scope", QUIET),
    _flag("scopes", "action_scope", GLC | SLC),
    _flag("quiet atomics", "action_scope", QUIET),
    _flag("instruction fetches", "action_scope", INSTRUCTION),
)


def _wide(program: Program) -> BoolArray:
    """[A]: the action could access fewer bytes a lane."""
    piece = program.action_scope & CONTINUES > 0
    has_more = np.append(piece[1:], False)
    alone = ~piece & ~has_more & (program.action_kind != ATOMIC)
    return np.asarray(alone & (program.action_size > 1))


def _narrowed(
    what: str, size_of: Callable[[IntArray], IntArray], upper: bool = False
) -> ShrinkStep:
    """Accesses of fewer bytes: the lower ones, or the upper ones."""

    def without(program: Program, away: BoolArray) -> Program:
        rows = np.flatnonzero(_wide(program))[away]
        old = program.action_size[rows].astype(np.int64)
        new = size_of(old)
        size, value = program.action_size.copy(), program.store_value.copy()
        address = program.lane_address.copy()
        assert ((new >= 1) & (new < old)).all(), "an access becomes narrower"
        size[rows] = new
        if upper:
            moved = (old - new)[:, None]
            address[rows] = np.where(address[rows] >= 0, address[rows] + moved, INACTIVE)
            value[rows] >>= (8 * moved).astype(np.uint64)
        value[rows] &= (~np.uint64(0) >> (64 - 8 * new).astype(np.uint64))[:, None]
        return replace(
            program, derived=False, action_size=size, store_value=value, lane_address=address
        )

    return _of_program(what, lambda program: int(_wide(program).sum()), without)


def _half(size: IntArray) -> IntArray:
    """The largest power of two below."""
    return np.asarray(1 << np.maximum(0, np.ceil(np.log2(size)).astype(np.int64) - 1))


_BYTES: Final = (
    _narrowed("further bytes", np.ones_like),
    _narrowed("upper halves", _half),
    _narrowed("lower halves", _half, upper=True),
)

# ------------------------------------------------------------------ where accesses are


def _used_groups(program: Program) -> IntArray:
    """Whose words episodes add to; of bare episodes alone, any one will do."""
    group = program.episode_group
    adding = np.broadcast_to(program.adds()[:, None], group.shape) & (group >= 0)
    used = np.unique(group[adding])
    return np.asarray(used if len(used) else np.unique(group[group >= 0])[:1])


def _without_groups(program: Program, away: BoolArray) -> Program:
    """Without all groups that are not used, whichever are marked."""
    used = _used_groups(program)
    assert len(used) <= program.groups
    to = np.zeros(program.groups, np.int32)
    to[used] = np.arange(len(used))
    group = program.episode_group
    return replace(
        program,
        derived=False,
        group_word=program.group_word[used],
        episode_group=np.where(group >= 0, to[group], INACTIVE),
    )


_GROUPS: Final = _of_program(
    "groups", lambda p: int(p.groups > len(_used_groups(p))), _without_groups
)


def lines_of(program: Program) -> list[int]:
    """Lines with accesses, or with words that episodes add to, in the order of their first use."""
    found: dict[int, None] = {}
    size, adds = program.line_size, program.adds()
    for episode in range(program.episodes):
        if adds[episode]:
            for _, group in program.groups_of(episode):
                found[int(program.group_word[group]) // size * size] = None
        for action in program.actions_of(episode):
            for address in program.lane_address[action].tolist():
                if address >= 0:
                    found[address // size * size] = None
    return list(found)


def _without_lines(leg: Leg, away: BoolArray) -> Leg:
    """What is on the marked lines happens on the first of the others."""
    lines = lines_of(leg.program)
    kept = [line for line, gone in zip(lines, np.append(False, away)) if not gone]
    return with_lines_moved(
        leg, {line: kept[0] for line, gone in zip(lines, np.append(False, away)) if gone}
    )


_LINES: Final = ShrinkStep(
    "lines", lambda leg: max(0, len(lines_of(leg.program)) - 1), _without_lines, sound=False
)
