"""The transition in which a controller failed, which it could not report itself.

Invariant: its number follows those of the events before it, whose place in the stream is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.errors import ErrorKind, ProtocolError
from tester.diagnosis.events.history import History
from tester.diagnosis.events.line_events import Event, Transition
from tester.diagnosis.events.system_inspection import (
    controller_name,
    failed_controller,
    transitions_of,
)
from tester.execution.events import Finding, Verdict
from tester.execution.leg import LegRun

_UNDEFINED: Final = "UNDEFINED"
"""In place of the line of a transition that the protocol does not have."""
_PLACES: Final = 3


def failed_transition(
    run: LegRun, finding: Finding, history: History, events: Sequence[Event]
) -> Transition | None:
    """What a controller was doing when it failed; None: no controller did."""
    error = run.outcome.error
    controller = failed_controller(run.system.controllers, error)
    if error is None or controller is None or finding.verdict is Verdict.RUNAWAY:
        return None  # the transition of a runaway was made, again and again
    messages = history.failed_on(controller)
    sends = [each.sent.number for each in messages if each.sent is not None]
    who = controller_name(controller)
    return Transition(
        number=events[-1].number + 1 if events else 0,
        tick=finding.tick,
        who=who,
        line=-1 if error.address is None else error.address & -run.program.line_size,
        event=error.event or error.action or "in-port",
        state=error.state or "?",
        next_state="?",
        messages=[str(each) for each in messages],
        taken=sends,
        location=_place_in_text(controller, error),
        causes=[*_last_of_each_line(events, who), *sends],
    )


def _last_of_each_line(events: Sequence[Event], who: str) -> list[int]:
    last = {e.line: e.number for e in events if isinstance(e, Transition) and e.who == who}
    return list(last.values())


def _place_in_text(controller: Any, error: ProtocolError) -> str:
    """``FAILED`` and its line; for a missing one, the lines that take its event elsewhere."""
    rows = transitions_of(type(controller))
    if error.kind is ErrorKind.UNDEFINED_TRANSITION:
        places = list(dict.fromkeys(place for _, event, place in rows if event == error.event))
        return " ".join([_UNDEFINED, *_elsewhere(places)])
    here = (error.state, error.event)
    return " ".join(["FAILED", *(place for state, event, place in rows if (state, event) == here)])


def _elsewhere(places: Sequence[str]) -> list[str]:
    """``(elsewhere MSI-cache.sm:448, MSI-cache.sm:476, ...)``; nothing where there is none."""
    shown = [*places[:_PLACES], "..."] if len(places) > _PLACES else places
    return [f"(elsewhere {', '.join(shown)})"] if places else []
