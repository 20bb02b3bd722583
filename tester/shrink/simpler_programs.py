"""Ways to make a program simpler: what may be taken away, piece by piece.

A `Step` says how many pieces of a kind a program has, and returns the program without some of them;
the search decides which. Invariant: what a step returns is a program that
`tester.program.expectations` can derive, and simpler in one thing without being worse in another,
so that a search over steps ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tester.arrays import BoolArray
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


@dataclass(frozen=True)
class Step:
    """``what``: the pieces, in words. ``without``: the program without the marked pieces [N]."""

    what: str
    count: Callable[[Program], int]
    without: Callable[[Program, BoolArray], Program]


def deletions(bare: bool) -> tuple[Step, ...]:
    """All steps, what saves most first. ``bare``: whether episodes can do without fetch-adds."""
    return (*((_FETCH_ADDS,) if bare else ()), *_PIECES, *_FLAGS, _BYTES)


def one_group(program: Program) -> Program | None:
    """With the atomic words that episodes add to, and no others; None: there are no others."""
    group = program.episode_group
    adding = np.broadcast_to(program.adds()[:, None], group.shape) & (group >= 0)
    used = np.unique(group[adding])
    if len(used) == 0:  # of bare episodes: any word will do
        used = np.unique(group[group >= 0])[:1]
    if len(used) == program.groups:
        return None
    to = np.zeros(program.groups, np.int32)
    to[used] = np.arange(len(used))
    return replace(
        program,
        derived=False,
        group_word=program.group_word[used],
        episode_group=np.where(group >= 0, to[group], INACTIVE),
    )


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
    Step("agents", lambda p: len(_agents(p)), _without_agents),
    Step("episodes", lambda p: p.episodes, lambda p, away: p.keep_episodes(~away)),
    Step("lanes", lambda p: int(_columns(p).sum()), _without_columns),
    Step("actions", lambda p: p.actions, _without_actions),
    Step("lanes of episodes", lambda p: int(_lanes(p).sum()), _without_lanes),
    Step("accesses", lambda p: int(p.active().sum()), _without_accesses),
)

# ------------------------------------------------------------------ what accesses need not be


def _without_adds(program: Program, away: BoolArray) -> Program:
    scope = program.episode_scope.copy()
    scope[np.flatnonzero(program.adds())[away]] |= BARE
    return replace(program, derived=False, episode_scope=scope)


_FETCH_ADDS: Final = Step("fetch-adds", lambda p: int(p.adds().sum()), _without_adds)


def _flag(what: str, array: str, bits: int) -> Step:
    """Bits of episodes or actions that need not be set."""

    def marked(program: Program) -> BoolArray:
        return np.asarray(getattr(program, array) & bits > 0)

    def without(program: Program, away: BoolArray) -> Program:
        scope = getattr(program, array).copy()
        scope[np.flatnonzero(marked(program))[away]] &= ~np.uint8(bits)
        return replace(program, derived=False, **{array: scope})

    return Step(what, lambda program: int(marked(program).sum()), without)


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
    """[A]: the action could access one byte a lane instead of several."""
    piece = program.action_scope & CONTINUES > 0
    has_more = np.append(piece[1:], False)
    alone = ~piece & ~has_more & (program.action_kind != ATOMIC)
    return np.asarray(alone & (program.action_size > 1))


def _without_bytes(program: Program, away: BoolArray) -> Program:
    rows = np.flatnonzero(_wide(program))[away]
    size, value = program.action_size.copy(), program.store_value.copy()
    size[rows] = 1
    value[rows] &= np.uint64(0xFF)
    return replace(program, derived=False, action_size=size, store_value=value)


_BYTES: Final = Step("further bytes", lambda p: int(_wide(p).sum()), _without_bytes)
