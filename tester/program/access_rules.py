"""Whether the agents of a program from a file may make its accesses.

Expectations are derived from a program as it is: if two lanes of an episode race for a byte, no
system has to return the derived values, and if an access crosses its line, native code would read
beyond the line. `tester.program.verifier` checks the same, slowly and sharing nothing with this.
Invariant: a program that has passed `shape_errors` and for which nothing is reported here is
race-free once it is derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tester.arrays import BoolArray, IntArray
from tester.limits import MAX_LENGTH
from tester.program.array_validation import entry
from tester.program.expectations import MAX_BYTES, touched_lines
from tester.program.program import (
    ATOMIC,
    ATOMIC_BYTES,
    CONTINUES,
    IN_ORDER,
    INACTIVE,
    INSTRUCTION,
    LOAD,
    PLAIN,
    Program,
)

GroupArray = npt.NDArray[np.int32]

MAX_ACCESSES: Final = 1 << 24
"""Lane accesses of a program; so many are possible in a leg."""
_BLOCK_ROWS: Final = 1 << 14
_LANE_BITS: Final = 6


def access_errors(program: Program) -> list[str]:
    """What is wrong with the first of the accesses that break a rule; empty: none does."""
    for check in (_lanes, _kinds, _sizes, _places, _words, _bytes):
        errors = list(check(program))
        if errors:
            return errors
    return []


def _lanes(program: Program) -> Iterator[str]:
    """Every episode and every row has a lane; lanes exist and are on."""
    group, address = program.episode_group, program.lane_address
    off = group == INACTIVE
    none = off.all(axis=1)
    if none.any():
        yield f"episode_group[{int(np.argmax(none))}] has no lane that is on"
    width = np.array([agent.lanes for agent in program.agents])[program.episode_thread]
    missing = ~off & (np.arange(program.lanes) >= width[:, None])
    if missing.any():
        yield f"{entry('episode_group', group, missing)}: its agent has fewer lanes"
    out = address == INACTIVE
    none = out.all(axis=1)
    if none.any():
        yield f"lane_address[{int(np.argmax(none))}] has no lane that takes part"
    silent = ~out & off[program.action_episode()]
    if silent.any():
        yield f"{entry('lane_address', address, silent)}: the lane is off for its episode"


def _kinds(program: Program) -> Iterator[str]:
    """Agents load, store and add only where they are able to."""
    kind, scope = program.action_kind, program.action_scope
    issuer = program.episode_thread[program.action_episode()]
    stores = np.array([agent.stores for agent in program.agents], np.bool_)[issuer]
    adds = np.array([agent.adds for agent in program.agents], np.bool_)[issuer]
    wrong = ((kind != LOAD) & ~stores) | ((kind == ATOMIC) & ~adds)
    if wrong.any():
        yield f"{entry('action_kind', kind, wrong)}, which its agent cannot do"
    wrong = (scope & INSTRUCTION > 0) & (kind != LOAD)
    if wrong.any():
        yield f"{entry('action_scope', scope, wrong)}: only loads are instruction fetches"
    plain = program.episode_scope[program.action_episode()] & PLAIN > 0
    wrong = (scope & IN_ORDER > 0) & ((kind != LOAD) | ~plain)
    if wrong.any():
        yield f"{entry('action_scope', scope, wrong)}: only loads of plain episodes are in order"


def _sizes(program: Program) -> Iterator[str]:
    """Episodes are no longer, and the program no larger, than those of the generator."""
    heads = program.action_scope & CONTINUES == 0
    before = np.append(0, np.cumsum(heads))
    length = np.diff(before[program.episode_first_action])
    if (length > MAX_LENGTH).any():
        episode = int(np.argmax(length > MAX_LENGTH))
        yield f"episode {episode} has {length[episode]} actions, {MAX_LENGTH} are possible"
    accesses = int(np.count_nonzero(program.lane_address[heads] >= 0))
    if accesses > MAX_ACCESSES:
        yield f"{accesses} lane accesses, {MAX_ACCESSES} are possible"


def _places(program: Program) -> Iterator[str]:
    """Rows stay in their line, are aligned where they must be, and store what fits."""
    address = program.lane_address
    size = program.action_size.astype(np.int64)[:, None]
    on = address != INACTIVE
    crosses = on & ((address & (program.line_size - 1)) + size > program.line_size)
    if crosses.any():
        yield f"{entry('lane_address', address, crosses)}: the access crosses its line"
    issuer = program.episode_thread[program.action_episode()]
    aligned = np.array([agent.aligned for agent in program.agents], np.bool_)[issuer]
    aligned |= program.action_kind == ATOMIC
    odd = on & aligned[:, None] & (address % size != 0)
    if odd.any():
        yield f"{entry('lane_address', address, odd)}: not aligned to the size of the access"
    last = ~np.uint64(0) >> (64 - 8 * size).astype(np.uint64)
    stores = on & (program.action_kind != LOAD)[:, None]
    wide = program.store_value > np.where(stores, last, np.uint64(0))
    if wide.any():
        yield f"{entry('store_value', program.store_value, wide)}, more than the access stores"


def _words(program: Program) -> Iterator[str]:
    """Atomic words are aligned and apart, and nothing else accesses them."""
    word, address = program.group_word, program.lane_address
    odd = word % ATOMIC_BYTES != 0
    if odd.any():
        yield f"{entry('group_word', word, odd)}: not aligned"
    order = np.argsort(word, kind="stable")
    ascending = word[order]
    again = np.zeros(len(word), np.bool_)
    again[order[1:]] = ascending[1:] == ascending[:-1]
    if again.any():
        yield f"{entry('group_word', word, again)}, as that of another group"
    if len(word):
        end = address + program.action_size[:, None]
        nearest = np.searchsorted(ascending, end, side="left") - 1  # the last that begins before
        reached = ascending[np.maximum(nearest, 0)] + ATOMIC_BYTES > address
        wrong = (address != INACTIVE) & (nearest >= 0) & reached
        if wrong.any():
            yield f"{entry('lane_address', address, wrong)}: the access reaches an atomic word"


def _bytes(program: Program) -> Iterator[str]:
    """What breaks the rules of bytes: one that a lane stores is used by no other lane of the
    episode, and one that an episode with fetch-adds uses belongs to the group of the lane."""
    lines = touched_lines(program)
    total = len(lines) * program.line_size
    if total > MAX_BYTES:
        yield f"its accesses touch {total} bytes of lines, {MAX_BYTES} are possible"
        return
    owner: GroupArray = np.full(total, INACTIVE, np.int32)
    episodes, adds = program.action_episode(), program.adds()
    for rows in _blocks(program):
        slot, byte = _exploded(program, rows, lines)
        action, lane = np.divmod(slot, program.lanes)
        episode = episodes[action]
        place = (episode - episodes[rows.start]) * total + byte
        stored = program.action_kind[action] != LOAD
        group = program.episode_group[episode, lane]
        for wrong, what in (
            (_contended(place, lane, stored), "stored, and used by another lane"),
            (_foreign(group, byte, adds[episode], owner), "used by lanes of two groups"),
        ):
            if wrong.any():
                row, column = int(action[np.argmax(wrong)]), int(lane[np.argmax(wrong)])
                address = program.lane_address[row, column]
                yield f"lane_address[{row}, {column}] is {address}: a byte of it is {what}"
                return


def _blocks(program: Program) -> Iterator[range]:
    """The rows, some whole episodes at a time."""
    first = program.episode_first_action
    cuts = first[np.searchsorted(first, np.arange(0, program.actions, _BLOCK_ROWS))]
    for a, b in pairwise((*np.unique(cuts).tolist(), program.actions)):
        yield range(a, b)


def _exploded(program: Program, rows: range, lines: IntArray) -> tuple[IntArray, IntArray]:
    """(slot, byte) of every byte of every access of these rows, in their order; bytes are counted
    within the lines."""
    block = program.lane_address[rows.start : rows.stop].ravel()
    slot = np.flatnonzero(block != INACTIVE)
    address = block[slot]
    slot += rows.start * program.lanes
    size = program.action_size[slot // program.lanes].astype(np.int64)
    offset = address & (program.line_size - 1)
    byte = np.searchsorted(lines, address - offset) * program.line_size + offset
    within = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    return np.repeat(slot, size), np.repeat(byte, size) + within


def _contended(place: IntArray, lane: IntArray, stored: BoolArray) -> BoolArray:
    """Which uses are of a byte of an episode (`place`) that several lanes use, one storing it."""
    order = np.argsort(place << _LANE_BITS | lane, kind="stable")
    place, lane, stored = place[order], lane[order], stored[order]
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    several = np.maximum.reduceat(lane, first) > np.minimum.reduceat(lane, first)
    run = np.repeat(
        several & np.logical_or.reduceat(stored, first), np.diff(first, append=len(place))
    )
    wrong = np.empty(len(place), np.bool_)
    wrong[order] = run
    return wrong


def _foreign(group: GroupArray, byte: IntArray, adds: BoolArray, owner: GroupArray) -> BoolArray:
    """Which uses are of a byte of another group; of episodes without fetch-adds none is.

    `owner`: the group of each byte, as far as known; those of these uses are added.
    """
    before = owner[byte]
    owner[byte[adds]] = group[adds]
    other = (before != INACTIVE) & (before != group)
    return np.asarray(adds & (other | (owner[byte] != group)))
