"""Whether the arrays of a program can be read at all.

Programs come from files, too: no message means that no index is out of range, and that no agent is
asked for an access that it can never make. What each array must satisfy is defined once, in
`RULES`; the replay file's reader takes lengths and types from there as well. Invariant: an array is
read only after the checks of what the read relies on, and no check computes with a value that has
not been bounded before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from slicc.scenario_text.bounds import MAX_LANES, MAX_PROGRAM_AGENTS, MAX_TRANSFER_BYTES
from slicc.text.lazy_dataclass import dataclass
from tester.program.program import (
    ACTION_BITS,
    ATOMIC,
    BARE,
    BY_COMPLETION,
    CONTINUES,
    DMA,
    EPISODE_BITS,
    INACTIVE,
    LOAD,
    MAX_ACCESS_BYTES,
    MAX_PIECES,
    MAX_ROW_BYTES,
    OPERATIONS,
    PLAIN,
    QUIET,
    Program,
)

LAST_ADDRESS: Final = (1 << 62) - 1
_MOST: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Rule:
    """What one array must be. Extents and bounds are numbers, or name a count of the program."""

    shape: tuple[str, ...]
    low: int = 0
    below: int | str | None = None
    """None: every number that its type has."""
    cuts: str = ""
    """It holds offsets, which cut as many items as this count has into consecutive parts."""


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "episode_thread": Rule(("episodes",), 0, "agents"),
        "episode_first_action": Rule(("episodes + 1",), cuts="actions"),
        "episode_group": Rule(("episodes", "lanes"), INACTIVE, "groups"),
        "episode_scope": Rule(("episodes",), 0, EPISODE_BITS + 1),
        "group_word": Rule(("groups",), 0, LAST_ADDRESS + 1),
        "action_kind": Rule(("actions",), LOAD, ATOMIC + 1),
        "action_size": Rule(("actions",), 1, MAX_ROW_BYTES + 1),
        "action_scope": Rule(("actions",), 0, ACTION_BITS + 1),
        "action_op": Rule(("actions",), 0, max(OPERATIONS) + 1),
        "lane_address": Rule(("actions", "lanes"), INACTIVE, LAST_ADDRESS + 1),
        "store_value": Rule(("actions", "lanes")),
        "thread_base": Rule(("agents",), 0, _MOST + 1),
        "expected": Rule(("actions", "lanes")),
        "wait_first": Rule(("episodes + 1",), cuts="waits"),
        "wait_thread": Rule(("waits",), 0, "agents"),
        "wait_count": Rule(("waits",), 0, _MOST + 1),
        "wait_kind": Rule(("waits",), BY_COMPLETION, BY_COMPLETION + 1),
    }
)


def entry(name: str, array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> str:
    """The first entry that is marked in `wrong`, with its value, as messages name it."""
    place = np.unravel_index(int(np.argmax(wrong)), array.shape)
    return f"{name}[{', '.join(str(i) for i in place)}] is {array[place]}"


def shape_errors(program: Program) -> list[str]:
    """What stops the arrays from being read at all (lengths, ranges, index order).

    Everything else, `verify` included, may assume that this list is empty. Meant for programs
    that come from a file: no message means that no array access can be out of range.
    """
    for name, rule in RULES.items():
        if getattr(program, name).ndim != len(rule.shape):
            return [f"{name} has {getattr(program, name).ndim} dimensions"]
    counts = {
        name: int(getattr(program, name))
        for name in ("episodes", "actions", "lanes", "groups", "waits")
    }
    counts["agents"] = program.agent_count
    errors = [*_scalar_errors(program), *_extent_errors(program, counts)]
    if not errors:
        errors += _value_errors(program, counts)
    if not errors:
        errors += _atomic_errors(program)
        errors += _piece_errors(program)
    return errors


def extents(rule: Rule, counts: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an array in a program of these counts."""
    known = {**counts, "episodes + 1": counts["episodes"] + 1}
    return tuple(known[extent] for extent in rule.shape)


def _scalar_errors(program: Program) -> Iterator[str]:
    size = program.line_size
    if not 1 <= program.agent_count <= MAX_PROGRAM_AGENTS:
        yield f"{program.agent_count} agents, 1 to {MAX_PROGRAM_AGENTS} are possible"
    if not 8 <= size <= 4096 or size & (size - 1):
        yield f"line size {size} is not a power of two from 8 to 4096"
    if program.lanes > MAX_LANES:
        yield f"the arrays have {program.lanes} lanes, {MAX_LANES} are possible"
    for agent in program.agents:
        if not 1 <= agent.lanes <= min(program.lanes, MAX_LANES):
            yield f"agent {agent.name} has {agent.lanes} lanes, the arrays {program.lanes}"


def _extent_errors(program: Program, counts: Mapping[str, int]) -> Iterator[str]:
    for name, rule in RULES.items():
        shape, needed = getattr(program, name).shape, extents(rule, counts)
        if shape != needed:
            yield f"{name} has shape {shape}, {needed} is needed"


def _value_errors(program: Program, counts: Mapping[str, int]) -> Iterator[str]:
    for name, rule in RULES.items():
        array = getattr(program, name)
        if rule.cuts:
            yield from _offset_errors(name, array, rule.cuts, counts[rule.cuts])
        elif rule.below is not None:
            below = counts[rule.below] if isinstance(rule.below, str) else rule.below
            wrong = (array < rule.low) | (array >= below)
            if wrong.any():
                possible = f"{rule.low} to {below - 1} are possible" if below else "none is"
                yield f"{entry(name, array, wrong)}, {possible}"
    plain = program.episode_scope & (PLAIN | BARE) == PLAIN
    if plain.any():
        yield f"{entry('episode_scope', program.episode_scope, plain)}: plain, with fetch-adds"


def _offset_errors(name: str, array: npt.NDArray[np.int64], cuts: str, total: int) -> Iterator[str]:
    """Differences of untrusted numbers may wrap around: they are compared instead."""
    wrong = (array < 0) | (array > total)
    wrong[1:] |= array[1:] < array[:-1]
    wrong[0] |= array[0] != 0
    wrong[-1] |= array[-1] != total
    if wrong.any():
        yield (
            f"{entry(name, array, wrong)}: it does not cut the {total} {cuts} "
            "into consecutive parts"
        )


def _atomic_errors(program: Program) -> Iterator[str]:
    """What is wrong with the atomic actions."""
    atomic = program.action_kind == ATOMIC
    kinds, sizes, operations = program.action_scope, program.action_size, program.action_op
    for name, array, wrong, what in (
        ("action_op", operations, (operations > 0) & ~atomic, "of a load or store"),
        ("action_scope", kinds, (kinds & QUIET > 0) & ~atomic, "a load or store without answer"),
        ("action_size", sizes, ~np.isin(sizes, (4, 8)) & atomic, "atomic, of other than 4 or 8"),
        ("action_op", operations, ~np.isin(operations, OPERATIONS) & atomic, "no operation"),
    ):
        if wrong.any():
            yield f"{entry(name, array, wrong)}: {what}"


def _piece_errors(program: Program) -> list[str]:
    """What is wrong with sizes that not every agent may use, and with accesses of pieces."""
    issuer = program.episode_thread[program.action_episode()]
    aligned = np.array([agent.aligned for agent in program.agents], np.bool_)[issuer]
    scope, size = program.action_scope, program.action_size
    errors = []
    odd = ~np.isin(size, (1, 2, 4, 8)) & aligned
    if odd.any():
        errors.append(f"{entry('action_size', size, odd)}: a wavefront's, of other than 1, 2, 4, 8")
    piece = scope & CONTINUES > 0
    if not piece.any():
        return errors
    starts = np.zeros(program.actions + 1, np.bool_)
    starts[program.episode_first_action] = True
    lost = piece & starts[:-1]
    if lost.any():
        return [*errors, f"{entry('action_scope', scope, lost)}: a piece at an episode's start"]
    lost[piece] = ~_goes_on(program, np.flatnonzero(piece), aligned)
    if lost.any():
        what = "a piece that does not continue the row before it"
        return [*errors, f"{entry('action_scope', scope, lost)}: {what}"]
    return errors + _length_errors(program, issuer)


def _goes_on(
    program: Program, rows: npt.NDArray[np.intp], aligned: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Whether each of these rows is a further piece of the access of the row before it."""
    before = rows - 1
    alike = (program.action_kind[rows] == program.action_kind[before]) & ~aligned[rows]
    alike &= program.action_kind[rows] != ATOMIC
    alike &= (program.action_scope[rows] ^ program.action_scope[before]) & ~np.uint8(CONTINUES) == 0
    end = program.lane_address[before] + program.action_size[before, None].astype(np.int64)
    alone = np.count_nonzero(program.lane_address[before] >= 0, axis=1) == 1
    end[program.lane_address[before] < 0] = INACTIVE
    return np.asarray(alike & alone & (program.lane_address[rows] == end).all(axis=1))


def _length_errors(program: Program, issuer: npt.NDArray[np.int32]) -> list[str]:
    """Accesses of pieces that are too long, if rows are pieces of one another at all."""
    first = np.flatnonzero(program.action_scope & CONTINUES == 0)
    size = np.add.reduceat(program.action_size.astype(np.int64), first)
    pieces = np.diff(np.append(first, program.actions))
    address = program.lane_address[first].max(axis=1)
    several = pieces > 1
    engine = np.array([agent.kind == DMA for agent in program.agents], np.bool_)[issuer[first]]
    mask = program.line_size - 1
    crosses = several & ((address & mask) + size > program.line_size)
    errors = []
    if (several & (size > np.where(engine, MAX_TRANSFER_BYTES, MAX_ACCESS_BYTES))).any():
        errors.append(
            f"action_size makes an access of more than {MAX_ACCESS_BYTES} bytes, or a DMA "
            f"engine's of more than {MAX_TRANSFER_BYTES}"
        )
    offset = program.lane_address.max(axis=1) & mask
    beyond = np.repeat(several, pieces) & (offset + program.action_size > program.line_size)
    if beyond.any():
        errors.append("lane_address has a piece that lies in two lines")
    if (pieces > MAX_PIECES).any():
        errors.append(f"action_scope makes an access of more than {MAX_PIECES} pieces")
    if (crosses & ~engine).any():
        errors.append("lane_address makes an access over two lines, of other than a DMA engine")
    return errors
