"""A program that reads everything again at the end of a leg.

Every byte of the lines under test is loaded once, by an agent to which its last writer may hand it
over, and behind another port than the writer's where there is one: a copy in the writer's own cache
proves nothing. Nothing is read back where copies stay readable for a while. Invariant: no load
touches bytes of two isolation groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tester.arrays import IntArray, WordArray
from tester.program.final_memory import FinalContents
from tester.program.program import INACTIVE, LOAD, Program

_WIDEST: Final = 8
_NOBODY: Final = -1
_MASK_BITS: Final = 62
"""Requesters in one integer of a set of them."""


def read_back_program(
    program: Program,
    final: FinalContents,
    isolation_groups: Sequence[int],
    reads_back: Sequence[bool] = (),
) -> Program | None:
    """Loads of whole lines, one episode per reader; None when there is nothing to read.

    There is one reader for each requester and isolation group, of those agents that read at all
    (``reads_back``; empty: all do). Bytes that none of these may read are left out. Readers take
    turns line by line, so that a wave's lanes share lines. Atomic words belong to the isolation
    group of the agents that add to them.
    """
    addresses, owner = final.addresses, final.owners
    if not len(addresses):
        return None
    isolation = np.array(isolation_groups or (0,) * program.agent_count, np.int64)
    place, size = _pieces(np.where(owner >= 0, isolation[owner], _NOBODY))
    readers = _readers(program, isolation, reads_back or (True,) * program.agent_count)
    turn = addresses[place] // program.line_size
    reader = _assign(program, readers, isolation, _of_pieces(owner, place, size), turn)
    order = np.lexsort((place, -size, reader))
    order = order[reader[order] != _NOBODY]
    if not len(order):
        return None
    place, size, reader = place[order], size[order], reader[order]
    values = _of_pieces(final.contents, place, size, np.uint8(0))
    return _loads(program, readers, reader, addresses[place], size, values.view("<u8").ravel())


def _pieces(isolation: IntArray) -> tuple[IntArray, IntArray]:
    """(place, size): the words of 8 bytes, cut where isolation groups meet."""
    place: IntArray = np.arange(0, len(isolation), _WIDEST)
    size = _WIDEST
    done = []
    while size > 1 and len(place):
        inside = isolation[place[:, None] + np.arange(size)]
        lowest = np.where(inside == _NOBODY, np.iinfo(np.int64).max, inside).min(axis=1)
        mixed = lowest < inside.max(axis=1)
        done.append((place[~mixed], np.full(np.count_nonzero(~mixed), size)))
        size //= 2
        place = np.concatenate((place[mixed], place[mixed] + size))
    done.append((place, np.full(len(place), size)))
    places, sizes = (np.concatenate(each) for each in zip(*done))
    assert int(sizes.sum()) == len(isolation), "each byte is in one piece"
    order = np.argsort(places, kind="stable")
    return places[order], sizes[order]


def _of_pieces(
    values: np.ndarray, place: IntArray, size: IntArray, nothing: int | np.uint8 = _NOBODY
) -> np.ndarray:
    """[P, 8] what `values` holds for the bytes of each piece, `nothing` behind its end."""
    offset = np.arange(_WIDEST)
    inside = offset < size[:, None]
    return np.where(inside, values[np.where(inside, place[:, None] + offset, 0)], nothing)


def _readers(program: Program, isolation: IntArray, reads_back: Sequence[bool]) -> list[int]:
    """One agent per requester and isolation group."""
    found: dict[tuple[int, int], int] = {}
    for number, agent in enumerate(program.agents):
        if reads_back[number]:
            found.setdefault((agent.requester, int(isolation[number])), number)
    return list(found.values())


def _assign(
    program: Program, readers: list[int], isolation: IntArray, owner: IntArray, turn: IntArray
) -> IntArray:
    """[P] index into `readers` for each piece, whose bytes have the owners [P, 8], or `_NOBODY`."""
    port = np.array([agent.requester for agent in program.agents], np.int64)
    theirs = np.where(owner >= 0, port[owner], _NOBODY)
    columns = [np.where(owner >= 0, isolation[owner], _NOBODY).max(axis=1)]
    for first in range(0, int(port.max()) + 1, _MASK_BITS):
        here = (theirs >= first) & (theirs < first + _MASK_BITS)
        bits = np.where(here, np.int64(1) << np.where(here, theirs - first, 0), 0)
        columns.append(np.bitwise_or.reduce(bits, axis=1))
    kinds, kind = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    choices = [_choice(program, readers, isolation, row) for row in kinds.tolist()]
    count = np.maximum([len(choice) for choice in choices], 1)
    table = np.full((len(choices), int(count.max())), _NOBODY, np.int64)
    for number, choice in enumerate(choices):
        table[number, : len(choice)] = choice
    kind = kind.ravel()
    chosen: IntArray = table[kind, turn % count[kind]]
    return chosen


def _choice(program: Program, readers: list[int], isolation: IntArray, row: list[int]) -> list[int]:
    """The readers that may read, in turns, bytes of an isolation group (-1: of none) that these
    requesters have written."""
    wanted, *masks = row
    allowed = [i for i, reader in enumerate(readers) if wanted < 0 or isolation[reader] == wanted]

    def wrote(reader: int) -> int:
        word, bit = divmod(program.agents[reader].requester, _MASK_BITS)
        return masks[word] >> bit & 1

    return [i for i in allowed if not wrote(readers[i])] or allowed


def _loads(
    program: Program,
    readers: list[int],
    reader: IntArray,
    address: IntArray,
    size: IntArray,
    value: WordArray,
) -> Program:
    """Acquire, then the loads, which are sorted by reader and size: no fetch-adds, no waits."""
    lanes = np.array([program.agents[reader].lanes for reader in readers], np.int64)
    new = np.append(True, (reader[1:] != reader[:-1]) | (size[1:] != size[:-1]))
    first = np.flatnonzero(new)
    wide = lanes[reader[first]]
    rows = -(-np.diff(np.append(first, len(size))) // wide)
    group = np.cumsum(new) - 1
    within = np.arange(len(size)) - first[group]
    row = (np.cumsum(rows) - rows)[group] + within // wide[group]
    lane = within % wide[group]
    count = int(rows.sum())
    lane_address = np.full((count, program.lanes), INACTIVE, np.int64)
    assert len(np.unique(row * program.lanes + lane)) == len(address), "a lane loads once a row"
    lane_address[row, lane] = address
    expected = np.zeros((count, program.lanes), np.uint64)
    expected[row, lane] = value
    per_reader = np.bincount(reader[first], weights=rows, minlength=len(readers))
    episodes = len(readers)
    return Program(
        agents=tuple(program.agents[reader] for reader in readers),
        run_key=program.run_key,
        line_size=program.line_size,
        episode_thread=np.arange(episodes, dtype=np.int32),
        episode_first_action=np.concatenate(([0], np.cumsum(per_reader))).astype(np.int64),
        episode_group=np.full((episodes, program.lanes), INACTIVE, np.int32),
        group_word=program.group_word,
        action_kind=np.full(count, LOAD, np.uint8),
        action_size=np.repeat(size[first], rows).astype(np.uint8),
        lane_address=lane_address,
        store_value=np.zeros((count, program.lanes), np.uint64),
        derived=True,
        expected=expected,
        wait_first=np.zeros(episodes + 1, np.int64),
    )
