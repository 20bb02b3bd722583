"""Which transitions a run stops at: ``MACHINE.STATE.EVENT[@LINE]``.

A state or an event may be ``*``. A line is an address in it, or its letter in the listing of the
program. Invariant: a breakpoint that is returned has at least one transition of the protocol, and
a misspelt name is answered with the one that is near.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from runtime.controller.protocol_info import ProtocolInfo
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from tester.errors import ConfigError

ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """``cells``: numbers of (state, event) pairs of the machine; ``line`` -1: every line."""

    machine: str
    cells: frozenset[tuple[int, int]]
    line: int = -1


def breakpoint_of(
    text: str, info: ProtocolInfo, lines: Mapping[str, int], line_size: int
) -> Breakpoint:
    """``lines``: addresses by letter. Raises ConfigError."""
    name, at, where = text.partition("@")
    parts = name.split(".")
    if len(parts) != 3 or not all(parts):
        raise _wrong(text, "expected MACHINE.STATE.EVENT[@LINE]")
    machine, state, event = parts
    kinds = {kind.MACHINE: kind for kind in info.machines}
    kind = kinds[_known(text, "machine", machine, kinds)]
    table: Any = kind.TRANSITIONS
    states, events = dict(_numbers(kind.STATES)), dict(_numbers(kind.EVENTS))
    wanted_states = _wanted(text, f"state of {machine}", state, states)
    wanted_events = _wanted(text, f"event of {machine}", event, events)
    cells = {(s, e) for s, e in table if s in wanted_states and e in wanted_events}
    if not cells:
        raise _wrong(text, f"{machine} has no transition from {state} on {event}")
    if all(table[cell].stalls for cell in cells):
        raise _wrong(text, f"{machine} only holds {event} back in {state}: nothing runs there")
    line = _line(text, where, lines) & -line_size if at else -1
    return Breakpoint(machine, frozenset(cells), line)


def _numbers(kind: Any) -> Iterator[tuple[str, int]]:
    yield from ((kind.name_of(number), number) for number in range(kind.NUM))


def _wanted(text: str, what: str, name: str, there: Mapping[str, int]) -> set[int]:
    return set(there.values()) if name == ANY else {there[_known(text, what, name, there)]}


def _known(text: str, what: str, name: str, there: Collection[str]) -> str:
    if name in there:
        return name
    near = suggest(name, there)
    raise _wrong(text, f"there is no {what} {name}" + (f"; did you mean {near}?" if near else ""))


def _line(text: str, where: str, lines: Mapping[str, int]) -> int:
    if where in lines:
        return lines[where]
    try:
        address = int(where, 0)
    except ValueError:
        address = -1
    if address < 0:
        raise _wrong(text, f"{where!r} is neither an address nor a line of the listing")
    return address


def _wrong(text: str, why: str) -> ConfigError:
    return ConfigError(f"--break {text}: {why}")
