"""The history of a line in a report: the events that led to the failure, as a table.

Invariant: what is left out is counted where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from runtime.system.inspection import leaks
from runtime.system.system import System
from tester.diagnosis.events.failed_transition import failed_transition
from tester.diagnosis.events.history import History
from tester.diagnosis.events.line_events import AtPort, Event, Transition
from tester.diagnosis.events.system_inspection import (
    controller_name,
    failed_controller,
    head_message,
    is_busy,
    waits_for,
)
from tester.diagnosis.row_selection import choose, gaps
from tester.diagnosis.value_attribution import INITIAL, Version, judge_bytes
from tester.execution.events import ATOMIC_VERDICTS, Finding, Role, Verdict
from tester.execution.leg import LegRun

_MOST_LINES: Final = 4
_LATEST: Final = 6
"""Events that are explained besides the failing one: those of its controller, or of its word."""
_WHO_WIDTH: Final = 28
_WHAT_WIDTH: Final = 48
_LAST_COPY: Final = "^ no copy of the expected bytes is left"


def line_history(
    run: LegRun, finding: Finding, history: History, limit: int
) -> tuple[str, list[str]]:
    """Title and rows of what happened, as far as there is room; nothing when nothing did."""
    events = [event for event in history.events if event.tick <= finding.tick]
    failed = failed_transition(run, finding, history, events)
    events += [] if failed is None else [failed]
    if not events:
        return "", []
    effects = _effects(run, finding, history, events)
    origins = _origins(run, finding, history, events)
    chosen = choose(events, limit, effects, origins)
    shown = [events[at] for at in chosen]
    several = history.lines is None or len(history.lines) > 1
    rows = format_rows(shown, several)
    text = []
    for row, event, left_out in zip_longest(rows, shown, gaps(chosen)):
        text += [f"... {left_out:,} not shown"] if left_out else []
        text.append(row)
        if event is not None and event.last_copy:
            text.append(_LAST_COPY)
    missing = len(events) - len(chosen)
    more = f" ({missing:,} of {len(events):,} rows not shown: --history all)" if missing else ""
    return f"history of {_subject(history)}{more}", text


def lines_concerned(run: LegRun, finding: Finding) -> list[int] | None:
    """The lines whose history explains a finding; None: unknown."""
    line_size, system = run.program.line_size, run.system
    if finding.address >= 0:
        return waits_for(system.controllers, finding.address & -line_size, line_size)
    head = head_message(failed_controller(system.controllers, run.outcome.error))
    if head is not None:
        lines = [head.line_address()]
    elif finding.verdict is Verdict.LEAK and isinstance(system, System):
        lines = [leak.line for leak in leaks(system)]
    else:
        lines = [part.line for requester in system.requesters for part in requester.outstanding()]
    found = dict.fromkeys(line & -line_size for line in lines if line >= 0)
    return list(found)[:_MOST_LINES] or None


def _subject(history: History) -> str:
    if history.lines is not None:
        return ", ".join(f"line {line:#x}" for line in sorted(history.lines))
    return "the system"


# ------------------------------------------------------------------ what is to be explained


def _effects(
    run: LegRun, finding: Finding, history: History, events: Sequence[Event]
) -> Iterator[Event]:
    """Events whose causes explain the failure.

    The load, the stores, the end of the last copy for wrong values; the last transition of each
    controller for what stands still or fails in a controller.
    """
    if run.outcome.error is not None:
        mine = [e for e in events if isinstance(e, Transition) and e.who == events[-1].who]
        yield from mine[-_LATEST:]
        for last in _of_holders(mine[-1:], run, history):
            yield from _of_transaction(events, last)
    elif finding.verdict is Verdict.LEAK:
        for last in _of_holders(_last_transitions(events), run, history):
            yield from _of_transaction(events, last)
    elif not history.bytes.followed:
        yield from _of_holders(_last_transitions(events), run, history)
    stores = set(_stores(run, finding, history))
    doubles = _doubles(finding, history, events)
    for event in events:
        if event.last_copy or (
            isinstance(event, AtPort)
            and event.touched
            and (event.request is finding.request or _row(event) in stores or event in doubles)
        ):
            yield event


def _place_of_failure(run: LegRun, finding: Finding, events: Sequence[Event]) -> str:
    """The controller that failed, or that gave the wrong answer; empty if there is none."""
    if run.outcome.error is not None:
        return events[-1].who
    by_number = {event.number: event for event in events}
    for event in reversed(events):
        if isinstance(event, AtPort) and event.request is finding.request and event.causes:
            return by_number[event.causes[0]].who
    return ""


def _doubles(finding: Finding, history: History, events: Sequence[Event]) -> list[AtPort]:
    """The fetch-adds that returned the value of a wrong one, and the latest others."""
    if finding.verdict not in ATOMIC_VERDICTS:
        return []
    same = [record.request for record, _ in history.returns_of(finding.address, finding.got)]
    of_word = [e for e in events if isinstance(e, AtPort) and e.touched]
    return [e for e in of_word if e.request in same or e in of_word[-_LATEST:]]


def _origins(
    run: LegRun, finding: Finding, history: History, events: Sequence[Event]
) -> Iterator[Event]:
    """Events whose consequences matter: the stores, what a hang never answered, and how the line
    came to the place of the failure, of which others had to know."""
    place = _place_of_failure(run, finding, events)
    mine = [e for e in events if isinstance(e, Transition) and e.who == place and e.changes_state]
    yield from mine[-_LATEST:]
    stores = set(_stores(run, finding, history))
    unanswered = set()
    if finding.verdict is Verdict.HANG:
        unanswered = {id(request) for request in run.checker.outstanding()}
        yield from _of_holders(_last_changes(events), run, history)
    for event in events:
        if isinstance(event, AtPort) and (_row(event) in stores or id(event.request) in unanswered):
            yield event


def _of_holders(
    events: Sequence[Transition], run: LegRun, history: History
) -> Iterator[Transition]:
    """The events of controllers that have not finished with the line."""
    holders = {
        (controller_name(controller), line)
        for controller in run.system.controllers
        for line in history.lines or ()
        if is_busy(controller, line, run.program.line_size)
    }
    yield from (event for event in events if (event.who, event.line) in holders)


def _of_transaction(events: Sequence[Event], last: Transition) -> list[Transition]:
    """The first transitions of the transaction that is still open after a controller's last."""
    place = last.who, last.line
    mine = [e for e in events if isinstance(e, Transition) and (e.who, e.line) == place]
    begin = max((at for at, event in enumerate(mine) if event.opened), default=0)
    return mine[begin : begin + _LATEST]


def _last_transitions(events: Sequence[Event]) -> list[Transition]:
    """The last transition of each controller on each line."""
    last = {(e.who, e.line): e for e in events if isinstance(e, Transition)}
    return list(last.values())


def _last_changes(events: Sequence[Event]) -> list[Transition]:
    """The transitions after which each controller has been in the state that each line has now."""
    return _last_transitions([e for e in events if isinstance(e, Transition) and e.changes_state])


def _row(event: AtPort) -> int | None:
    """The action of the program that an access belongs to."""
    return event.request.row if event.request.role == Role.ACTION else None


def _stores(run: LegRun, finding: Finding, history: History) -> Iterator[int]:
    """Actions of the program that stored the bytes that were expected, and those that came."""
    if not history.bytes.wrong:
        return
    request = finding.request
    at_end = request is None or request.role == Role.READ_BACK
    row = None if at_end or request is None else request.row
    for verdict in judge_bytes(run.program, finding.address, finding.size, finding.got, row):
        versions: Iterable[Version | None] = (verdict.expected, verdict.found)
        if not verdict.right:
            yield from (v.row for v in versions if v is not None and v.row != INITIAL)


# ------------------------------------------------------------------ the table


def format_rows(events: Sequence[Event], name_lines: bool = False) -> list[str]:
    """A table: tick, who, line (if wanted), what, change, where; ``*``: the bytes in question."""
    tick = max(len(f"{e.tick:,}") for e in events)
    who = min(_WHO_WIDTH, max(len(e.who) for e in events))
    what = min(_WHAT_WIDTH, max(len(e.what) for e in events))
    change = max((len(e.change) for e in events if e.where), default=0)
    line = max(len(f"{e.line:#x}") for e in events) + 2 if name_lines else 0
    return [
        f"{e.tick:>{tick},} {'*' if e.touched else ' '} {e.who:<{who}}  "
        f"{f'{e.line:#x}' if name_lines and e.line >= 0 else '':<{line}}"
        f"{e.what:<{what}}  {e.change:<{change}}  {e.where}".rstrip()
        for e in events
    ]
