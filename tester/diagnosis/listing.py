"""A small program as people read it: a column for each thread, a row for each operation, in order.

    A = 0x1040                      (lines with accesses, by their first one)
    gpu0              gpu1
    store A+0 = 0x17
    release
                      after gpu0
                      acquire
                      load A+0 -> 0x17    <-- got 0x00

Invariant: rows follow the total order of the program, and every access of it has a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from string import ascii_uppercase
from typing import Final

import numpy as np

from runtime.types.atomic_op import AtomicKind
from slicc.text.wording import first_few
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Finding, Role
from tester.program.program import (
    ATOMIC,
    FAILS,
    FLUSHES,
    GLC,
    INSTRUCTION,
    LOAD,
    PLAIN,
    RACING_LOAD,
    SLC,
    Program,
)
from tester.program.replay_file import Leg

_MOST_ROWS: Final = 60
_GAP: Final = 3
_WORDS: Final = 4
"""Atomic words of a fetch-add that are named."""
_NAME: Final = re.compile(r"\b([A-Z]\d*)\+")
_SCOPES: Final = ((GLC, "glc"), (SLC, "slc"), (INSTRUCTION, "instruction"))
_OPERATIONS: Final = {
    value: name.lower() for name, value in vars(AtomicKind).items() if isinstance(value, int)
}


class _Row:
    """An operation of one thread. ``place``: episode, role and row of a request that it is."""

    def __init__(self, thread: int, text: str, place: tuple[int, int, int] = (-1, -1, -1)) -> None:
        self.thread = thread
        self.text = text
        self.place = place


def listing(leg: Leg, finding: Finding | None = None) -> list[str]:
    """Lines of text; of long programs, the last rows, where failures are, with their threads and
    lines alone.

    ``finding``: what is marked.
    """
    program = leg.program
    names = line_names(program)
    rows = [row for episode in range(program.episodes) for row in _episode(program, episode, names)]
    marked = _marked(finding)
    rows += _read_back(finding, names, program.line_size)
    before = len(rows) - _MOST_ROWS
    rows = rows[-_MOST_ROWS:]
    threads = sorted({row.thread for row in rows})
    heads = [program.agents[thread].name for thread in threads]
    widths = [
        _GAP + max(len(head), *(len(row.text) for row in rows if row.thread == thread))
        for thread, head in zip(threads, heads)
    ]
    shown = {found for row in rows for found in _NAME.findall(row.text)}
    lines = ["   ".join(f"{name} = {line:#x}" for line, name in names.items() if name in shown)]
    lines.append("".join(head.ljust(width) for head, width in zip(heads, widths)).rstrip())
    if before > 0:
        lines.append(f"... {before:,} rows before")
    for row in rows:
        column = threads.index(row.thread)
        text = " " * sum(widths[:column]) + row.text.ljust(widths[column])
        lines.append(f"{text}{marked[1] if row.place == marked[0] else ''}".rstrip())
    return lines


def _marked(finding: Finding | None) -> tuple[tuple[int, int, int], str]:
    """Place of the request that a finding is about, and what is written beside it."""
    request = None if finding is None else finding.request
    if finding is None or request is None:
        return (-2, -2, -2), ""
    text = f"<-- {finding.verdict.value}"
    if finding.verdict in VALUE_VERDICTS and finding.size:
        text += f": got {finding.got:#x} instead of {finding.expected:#x}"
    if finding.verdict in ATOMIC_VERDICTS and finding.size:
        # Many values would be right; what the finding has as expected is the initial one.
        text += f": got {finding.got:#x}"
    return (request.episode, request.role, request.row), text


def _read_back(finding: Finding | None, names: dict[int, str], size: int) -> Iterator[_Row]:
    """What is loaded, or not answered, when all episodes are complete, if that is what fails."""
    request = None if finding is None else finding.request
    if finding is None or request is None or request.role != Role.READ_BACK:
        return
    address = finding.address if finding.address >= 0 else min(request.addresses, default=-1)
    line = address // size * size
    what = f"{names.get(line, hex(line))}+{address - line}" if address >= 0 else ""
    place = (request.episode, request.role, request.row)
    yield _Row(request.agent, f"at the end: {request.what} {what}".rstrip(), place)


def line_names(program: Program) -> dict[int, str]:
    """Lines with accesses or atomic words, named in the order of their first use."""
    size = program.line_size
    found: dict[int, str] = {}
    for episode in range(program.episodes):
        words = [program.group_word[group] for _, group in program.groups_of(episode)]
        adds = bool(program.adds()[episode])
        accesses = [program.lane_address[action] for action in program.actions_of(episode)]
        flat = np.concatenate([np.array(words if adds else [], np.int64), *accesses])
        for address in flat[flat >= 0].tolist():
            line = address // size * size
            if line not in found:
                found[line] = _letters(len(found))
    return found


def _letters(number: int) -> str:
    """A, B .. Z, A1, B1 .."""
    turn, letter = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[letter] + (str(turn) if turn else "")


def _episode(program: Program, episode: int, names: dict[int, str]) -> Iterator[_Row]:
    thread = int(program.episode_thread[episode])
    scope = int(program.episode_scope[episode])

    def row(text: str, role: int, action: int = -1) -> _Row:
        return _Row(thread, text, (episode, role, action))

    def at(address: int) -> str:
        line = address // program.line_size * program.line_size
        return f"{names[line]}+{address - line}"

    for other, count in program.waits_of(episode):
        yield _Row(thread, f"after {program.agents[other].name}, {_ordinal(count)}")
    adds = bool(program.adds()[episode])
    groups = program.groups_of(episode) if adds else ()
    words = first_few([at(int(program.group_word[group])) for _, group in groups], _WORDS)
    if scope & RACING_LOAD:
        yield row("racing loads", Role.RACING_LOAD)
    if adds:
        yield row(f"add 1 to {words}", Role.OPEN)
    synchronises = not scope & PLAIN
    if synchronises:
        yield row("acquire", Role.ACQUIRE)
    for action in program.actions_of(episode):
        lanes = np.flatnonzero(program.lane_address[action] >= 0).tolist()
        for lane in lanes:
            which = f"lane {lane}: " if program.lanes > 1 else ""
            yield row(which + _access(program, action, lane, at), Role.ACTION, action)
    if synchronises:
        yield row("release", Role.RELEASE)
    if adds:
        yield row(f"add 1 to {words}", Role.CLOSE)
    if scope & FLUSHES:
        yield row("flush", Role.FLUSH)
    if not adds and not synchronises and not len(program.actions_of(episode)):
        yield row("nothing", Role.ACTION)


def _access(program: Program, action: int, lane: int, at: Callable[[int], str]) -> str:
    kind = int(program.action_kind[action])
    size = int(program.action_size[action])
    value = int(program.store_value[action, lane])
    place = at(int(program.lane_address[action, lane]))
    expected = f"-> {int(program.expected[action, lane]):#x}"
    if kind == LOAD:
        text = f"load {place} {expected}"
    elif kind == ATOMIC:
        op = int(program.action_op[action])
        text = f"atomic {_OPERATIONS.get(op & ~FAILS, op)} {place} {value:#x} {expected}"
    else:
        text = f"store {place} = {value:#x}"
    bytes_ = f" ({size} bytes)" if size > 1 else ""
    scopes = "".join(f" {name}" for bit, name in _SCOPES if program.action_scope[action] & bit)
    return f"{text}{bytes_}{scopes}"


def _ordinal(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"
