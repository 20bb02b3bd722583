"""Whether the arrays of a program can be read at all.

Programs come from files, too: no message means that no index goes astray, and that nobody is asked
for an access that it can never make. Invariant: every look at an array is behind the checks of what
it relies on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tester.program import (
    ACTION_BITS,
    ATOMIC,
    BARE,
    BY_COMPLETION,
    CONTINUES,
    DMA,
    DTYPES,
    EPISODE_BITS,
    INACTIVE,
    LOAD,
    MAX_ACCESS_BYTES,
    MAX_LANES,
    MAX_PIECES,
    MAX_THREADS,
    MAX_TRANSFER_BYTES,
    OPERATIONS,
    PLAIN,
    QUIET,
    Program,
)


def shape_errors(program: Program) -> list[str]:
    """See `Program.shape_errors`."""
    tables = ("episode_group", "lane_address", "store_value", "expected")
    for name in DTYPES:
        if getattr(program, name).ndim != (2 if name in tables else 1):
            return [f"{name} has {getattr(program, name).ndim} dimensions"]
    e, a, lanes, threads = program.episodes, program.actions, program.lanes, program.threads
    shapes = {
        "episode_first_action": (e + 1,),
        "episode_group": (e, lanes),
        "episode_scope": (e,),
        "action_size": (a,),
        "action_scope": (a,),
        "action_op": (a,),
        "lane_address": (a, lanes),
        "store_value": (a, lanes),
        "thread_base": (threads,),
        "expected": (a, lanes),
        "wait_first": (e + 1,),
        "wait_count": (program.waits,),
        "wait_kind": (program.waits,),
    }
    errors = [
        f"{name} has shape {getattr(program, name).shape}, {shape} is needed"
        for name, shape in shapes.items()
        if getattr(program, name).shape != shape
    ]
    if not 1 <= threads <= MAX_THREADS:
        errors.append(f"{threads} threads, 1 to {MAX_THREADS} are possible")
    if (
        program.line_size < 8
        or program.line_size & (program.line_size - 1)
        or program.line_size > 4096
    ):
        errors.append(f"line size {program.line_size} is not a power of two from 8 to 4096")
    errors += [
        f"agent {agent.name} has {agent.lanes} lanes, the arrays {lanes}"
        for agent in program.agents
        if not 1 <= agent.lanes <= min(lanes, MAX_LANES)
    ]
    if errors:
        return errors
    for name, total in (("episode_first_action", a), ("wait_first", program.waits)):
        index = getattr(program, name)
        if index[0] != 0 or index[-1] != total or (np.diff(index) < 0).any():
            errors.append(f"{name} does not cut 0..{total} into consecutive parts")
    for name, low, high in (
        ("episode_thread", 0, threads),
        ("episode_group", INACTIVE, program.groups),
        ("action_kind", LOAD, ATOMIC + 1),
        ("action_scope", 0, ACTION_BITS + 1),
        ("episode_scope", 0, EPISODE_BITS + 1),
        ("lane_address", INACTIVE, 1 << 62),
        ("group_word", 0, 1 << 62),
        ("wait_thread", 0, threads),
        ("wait_count", 0, 1 << 31),
        ("wait_kind", BY_COMPLETION, BY_COMPLETION + 1),
        ("thread_base", 0, 1 << 31),
    ):
        array = getattr(program, name)
        if array.size and not (low <= int(array.min()) and int(array.max()) < high):
            errors.append(f"{name} leaves the range {low} to {high - 1}")
    if (program.episode_scope & (PLAIN | BARE) == PLAIN).any():
        errors.append("episode_scope has a plain episode with fetch-adds")
    if program.actions and not 1 <= program.action_size.min() <= program.action_size.max() <= 8:
        errors.append("action_size leaves the range 1 to 8")
    if not errors:
        errors += _atomic_errors(program)
        errors += _piece_errors(program)
    return errors


def _atomic_errors(program: Program) -> list[str]:
    """What is wrong with the atomic actions."""
    atomic = program.action_kind == ATOMIC
    errors = []
    if program.action_op[~atomic].any():
        errors.append("action_op names an operation of a load or store")
    if ((program.action_scope & QUIET > 0) & ~atomic).any():
        errors.append("action_scope has a load or store without old values")
    if not np.isin(program.action_size[atomic], (4, 8)).all():
        errors.append("action_size has an atomic action of other than 4 or 8 bytes")
    if not np.isin(program.action_op[atomic], OPERATIONS).all():
        errors.append("action_op holds something that is no operation")
    return errors


def _piece_errors(program: Program) -> list[str]:
    """What is wrong with sizes that not every agent may use, and with accesses of pieces."""
    thread = program.episode_thread[program.action_episode()]
    aligned = np.array([agent.aligned for agent in program.agents], np.bool_)[thread]
    errors = []
    if not np.isin(program.action_size[aligned], (1, 2, 4, 8)).all():
        errors.append("action_size has an access of a wavefront of other than 1, 2, 4, 8 bytes")
    if not (program.action_scope & CONTINUES).any():
        return errors
    rows = np.flatnonzero(program.action_scope & CONTINUES)
    if np.isin(rows, program.episode_first_action[:-1]).any():
        return [*errors, "action_scope has a piece at the start of an episode"]
    before = rows - 1
    alike = (program.action_kind[rows] == program.action_kind[before]) & ~aligned[rows]
    alike &= program.action_kind[rows] != ATOMIC
    alike &= (program.action_scope[rows] ^ program.action_scope[before]) & ~np.uint8(CONTINUES) == 0
    end = program.lane_address[before] + program.action_size[before, None].astype(np.int64)
    alone = np.count_nonzero(program.lane_address[before] >= 0, axis=1) == 1
    end[program.lane_address[before] < 0] = INACTIVE
    if not (alike & alone & (program.lane_address[rows] == end).all(axis=1)).all():
        return [*errors, "action_scope has a piece that does not go on with the row before it"]
    return errors + _length_errors(program, thread)


def _length_errors(program: Program, thread: npt.NDArray[np.int32]) -> list[str]:
    """Accesses of pieces that are too long, if rows are pieces of one another at all."""
    first = np.flatnonzero(program.action_scope & CONTINUES == 0)
    size = np.add.reduceat(program.action_size.astype(np.int64), first)
    pieces = np.diff(np.append(first, program.actions))
    address = program.lane_address[first].max(axis=1)
    several = pieces > 1
    engine = np.array([agent.kind == DMA for agent in program.agents], np.bool_)[thread[first]]
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
