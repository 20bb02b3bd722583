"""What waits for what when nothing moves: agent, request, controller, queue, message.

Invariant: every open request of the run appears once, under the agent that issued it; where a chain
of waits cannot be followed further, the text states it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from slicc.text.wording import first_few
from tester.diagnosis.events.line_events import Event, Transition
from tester.diagnosis.events.record_fields import BLOCK, NO_BYTE, NONE, held_by
from tester.diagnosis.events.system_inspection import (
    controller_name,
    is_open,
    messages_about,
    record_of,
    stalled_lines,
    state_of,
    tables_of,
)
from tester.execution.checker import Checker
from tester.execution.driver import Driver
from tester.execution.events import Request, Role

_MAX_AGENTS: Final = 8
_MAX_REQUESTS: Final = 4
_MAX_LINES: Final = 3
_NOTHING: Final = ("0", "False", "None", NONE, NO_BYTE)
"""What a field says that nothing is to be remembered in."""


class Holding:
    """Which states set messages aside, as seen in a run: what waits there may rightly wait.

    A protocol without transactions holds a line by its state alone, and need not say that a state
    is busy.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._states = {
            (event.who.split()[0], event.next_state)
            for event in events
            if isinstance(event, Transition) and event.waiting
        }

    def __call__(self, controller: Any, line: int) -> bool:
        """Whether the controller has a reason to let messages about the line wait."""
        state = (controller.MACHINE, state_of(controller, line))
        return is_open(controller, line) or state in self._states


def wait_graph(
    driver: Driver, checker: Checker, system: Any, line_size: int, holding: Holding
) -> list[str]:
    """Lines of text, from the agent that has waited longest."""
    by_agent: dict[int, list[Request]] = {}
    for request in checker.outstanding():
        by_agent.setdefault(request.agent, []).append(request)
    text: list[str] = []
    lines: dict[int, None] = {}
    for number, requests in list(by_agent.items())[:_MAX_AGENTS]:
        text += _agent(driver, checker, number, requests, line_size, lines)
    if len(by_agent) > _MAX_AGENTS:
        text.append(f"... and {len(by_agent) - _MAX_AGENTS} more agents with open requests")
    for line in list(lines)[:_MAX_LINES]:
        text += _line(system, line, line_size, holding)
    text += _lost_wakeups(system, set(lines), holding)
    waiting = [agent for agent in driver.agents if agent.waiting_for()]
    for agent in waiting[:_MAX_AGENTS]:
        needs = [
            f"{n} episodes of agent {other} (has {driver.agents[other].completed})"
            for other, n in agent.waiting_for()
        ]
        text.append(f"agent {agent.number} waits for {first_few(needs, _MAX_REQUESTS)}")
    if len(waiting) > _MAX_AGENTS:
        text.append(f"... and {len(waiting) - _MAX_AGENTS} more agents waiting for hand-overs")
    return text


def line_graph(checker: Checker, system: Any, line: int, line_size: int) -> list[str]:
    """Open requests to one line, and what controllers hold of it, in the middle of a run."""
    text = []
    for request in checker.outstanding():
        unanswered, uncompleted = checker.missing(request)
        mine = [
            i
            for i in dict.fromkeys(unanswered + uncompleted)
            if request.addresses[i] & -line_size == line
        ]
        if mine:
            what = request.what
            wait = "no answer" if unanswered else "accepted, not complete"
            text.append(
                f"agent {request.agent} {what} {request.addresses[mine[0]]:#x}: issued "
                f"{request.issued:,}, {wait}"
            )
    return text[: 2 * _MAX_AGENTS] + _line(system, line, line_size)


def _agent(
    driver: Driver,
    checker: Checker,
    number: int,
    requests: list[Request],
    line_size: int,
    lines: dict[int, None],
) -> list[str]:
    head = f"agent {number}"
    if 0 <= number < len(driver.agents):
        agent = driver.agents[number]
        head += f" on {agent.requester.name}: {agent.phase}"
    text = [head]
    for request in requests[:_MAX_REQUESTS]:
        unanswered, uncompleted = checker.missing(request)
        open_lanes = unanswered or uncompleted
        what = request.what
        if request.role in (Role.OPEN, Role.CLOSE):
            what = Role.NAMES[request.role]
        if request.addresses:
            wait = "no answer" if unanswered else "accepted, not complete"
            shown = [f"{request.addresses[i]:#x} (lane {request.lanes[i]})" for i in open_lanes]
            text.append(f"  {what} {first_few(shown, 3)}: issued {request.issued:,}, {wait}")
            for index in open_lanes:
                lines.setdefault(request.addresses[index] & -line_size)
        else:
            text.append(f"  {what}: issued {request.issued:,}, not finished")
            if 0 <= number < len(driver.agents):
                text += _inside(driver.agents[number].requester, request, lines)
    if len(requests) > _MAX_REQUESTS:
        text.append(f"  ... and {len(requests) - _MAX_REQUESTS} more requests")
    return text


def _inside(requester: Any, request: Request, lines: dict[int, None]) -> list[str]:
    """What the requester reports about a synchronisation that does not end."""
    text = []
    for part in requester.outstanding():
        if getattr(part.access, "request", None) is request:
            text.append(f"    {requester.name}: {part.where}")
            if part.line >= 0:
                lines.setdefault(part.line)
    return text[:_MAX_REQUESTS]


def _line(system: Any, line: int, line_size: int, holding: Holding | None = None) -> list[str]:
    """Everything that controllers hold of one line. ``holding``: given when nothing moves."""
    text = []
    for controller in system.controllers:
        messages = messages_about(controller, line, line_size)
        record = record_of(controller, line)
        state = state_of(controller, line)
        if record is None and not messages and not _interesting(controller, state):
            continue
        about = f"{_begun(controller, line)} {_noted(controller, line)}".strip()
        text.append(f"  {controller_name(controller):<12} {state or '?':<8} {about}".rstrip())
        text += [f"    {message}" for message in messages[:6]]
        until = {m.until if m.until >= 0 else line for m in messages if m.place == "stalled"}
        if holding is not None and not all(holding(controller, each) for each in until):
            text.append("    !! stalled, but nothing holds the line back: lost wake-up?")
    if not text:
        text.append("  no controller holds it, and no message is about it: a message was lost")
    return [f"line {line:#x}", *text]


def _noted(controller: Any, line: int) -> str:
    """``(AcksOutstanding=1)``: what entry and record count and remember; no data, no states."""
    held = held_by(controller, line)
    noted = " ".join(
        f"{name}={text}"
        for name, text in (*held.entry, *held.tbe)
        if name != "permission"
        and not name.endswith("State")
        and not text.startswith(BLOCK)
        and text not in _NOTHING
    )
    return f"({noted})" if noted else ""


def _begun(controller: Any, line: int) -> str:
    """What a controller has begun about a line; empty for machines without transactions."""
    if record_of(controller, line) is not None:
        return "transaction open"
    if is_open(controller, line):
        return "busy"
    return "no transaction" if tables_of(controller) else ""


def _interesting(controller: Any, state: str) -> bool:
    """Whether a state is another one than "I do not have the line"."""
    return state not in ("", "I", "NP", "READY", controller.STATES.name_of(0))


def _lost_wakeups(system: Any, shown: set[int], holding: Holding) -> list[str]:
    """Stall lists of other lines that nothing is going to wake up."""
    text = []
    for controller in system.controllers:
        for buffer, line, count in stalled_lines(controller):
            if line not in shown and not holding(controller, line):
                text.append(
                    f"!! {controller_name(controller)}: {count} messages stalled in {buffer} for "
                    f"line {line:#x}, which nothing holds back: lost wake-up?"
                )
    return text[:6]
