"""A recorded run as trace events: tracks, slices, flows.

A process for each controller, agent and memory, whose first track has its transitions (one tick
each) and whose others, which viewers make by themselves, have the life of each TBE, or of each
access, as asynchronous slices. A message is a flow from the slice that sent it to the one that took
it. A tick is written as a microsecond, the unit of the format. Invariant: every slice that begins
ends, no earlier than it began, and every flow has a start before its end, both within a slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from slicc.text.data import json_text
from slicc.text.files import write_whole
from tester.diagnosis.events.history import ISSUED
from tester.diagnosis.events.lifelines import CONTROLLER, Lifelines
from tester.diagnosis.events.line_events import AtPort, Event, Hop, Sent, Stall, Transition
from tester.diagnosis.events.message_tap import MEMORY
from tester.diagnosis.events.recording import Recording

TraceEvent = dict[str, Any]

TRANSITIONS: Final = 1
"""The track of a process that has its transitions."""
_SERVICE: Final = 1
"""Ticks of a slice of what has no length."""


def write_trace(path: Path, recording: Recording) -> Path:
    """The file is written whole or not at all. Raises OSError."""
    return write_whole(path, json_text(trace(recording), compact=True).encode())


def trace(recording: Recording) -> dict[str, Any]:
    """The document: an object with a list of events."""
    made = _Trace(recording)
    return {
        "traceEvents": list(made.events()),
        "displayTimeUnit": "ns",
        "otherData": {
            "protocol": recording.leg.protocol.name,
            "seed": str(recording.leg.seed),
            "leg": str(recording.leg.number),
            "unit": "a microsecond is a tick",
        },
    }


class _Trace:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lifelines = Lifelines(recording)
        self._end = max((event.tick for event in recording.events), default=0) + 1
        self._flows = 0
        self._lives = 0

    def events(self) -> Iterator[TraceEvent]:
        yield from self._names()
        yield from self._slices()
        yield from self._transactions()
        yield from self._accesses()

    def _names(self) -> Iterator[TraceEvent]:
        for number, line in enumerate(self._lifelines.all):
            yield _meta("process_name", number, {"name": line.name})
            yield _meta("process_sort_index", number, {"sort_index": number})
            name = "transitions" if line.kind == CONTROLLER else "events"
            yield _meta("thread_name", number, {"name": name}, TRANSITIONS)

    # ------------------------------------------------------------------ transitions, messages

    def _slices(self) -> Iterator[TraceEvent]:
        for event in self._recording.events:
            if isinstance(event, Transition):
                yield self._slice(event, event.event, "transition", self._about(event))
                yield from self._ends_of_flows(event)
            elif isinstance(event, Stall):
                yield self._slice(event, f"{event.event} held back", "stall", self._about(event))
            elif isinstance(event, Sent) and event.who == MEMORY:
                yield self._slice(event, event.kind, "memory", {"line": f"{event.line:#x}"})
            elif isinstance(event, Sent) and self._cause(event) is None:
                # Of a transition that failed: it has no slice that the flow could start in.
                yield self._slice(event, f"sends {event.kind}", "message", {})

    def _slice(self, event: Event, name: str, category: str, args: TraceEvent) -> TraceEvent:
        until = getattr(event, "until", -1)
        return {
            **{"ph": "X", "name": name, "cat": category},
            **self._place(event),
            "dur": max(_SERVICE, until - event.tick),
            "args": args,
        }

    def _ends_of_flows(self, event: Transition) -> Iterator[TraceEvent]:
        """Both ends of the flow of each message that the transition took."""
        dropped = self._recording.dropped
        for number in event.taken:
            sent = self._recording.events[number - dropped] if number >= dropped else None
            if isinstance(sent, Sent):
                hop = next((hop for hop in sent.hops if hop.receiver == event.who), None)
                yield from self._flow(sent, hop, event)

    def _flow(self, sent: Sent, hop: Hop | None, event: Transition) -> Iterator[TraceEvent]:
        self._flows += 1
        head = {"name": sent.kind, "cat": "message", "id": self._flows}
        args = {name: value for name, value in sent.fields if not value.startswith("#")}
        if hop is not None:
            args["arrives"] = str(hop.arrival)
        source = self._cause(sent) or sent
        yield {**head, "ph": "s", **self._place(source), "args": args}
        yield {**head, "ph": "f", "bp": "e", **self._place(event)}

    def _cause(self, sent: Sent) -> Event | None:
        """The transition in whose slice a message was sent."""
        dropped = self._recording.dropped
        for number in sent.causes[:1]:
            cause = self._recording.events[number - dropped] if number >= dropped else None
            if cause is not None and (cause.who, cause.tick) == (sent.who, sent.tick):
                return cause
        return None

    @staticmethod
    def _about(event: Transition | Stall) -> TraceEvent:
        about = {"line": f"{event.line:#x}", "state": event.state, "text": event.location}
        if isinstance(event, Transition):
            about["next state"] = event.next_state
            about["messages"] = ", ".join(event.messages)
            if event.waiting:
                about["set aside"] = event.waiting
        return about

    # ------------------------------------------------------------------ what lasts

    def _transactions(self) -> Iterator[TraceEvent]:
        """The lives of TBEs: from the transition that allocated one to that which freed it."""
        open_: dict[tuple[str, int], Transition] = {}
        for event in self._recording.events:
            if isinstance(event, Transition) and event.held is not None:
                place = event.who, event.line
                if event.held.tbe:
                    open_.setdefault(place, event)
                elif place in open_:
                    yield from self._life(open_.pop(place), event.tick + _SERVICE, "TBE", "TBE")
        for begin in open_.values():
            yield from self._life(begin, self._end, "TBE", "TBE that is left")

    def _accesses(self) -> Iterator[TraceEvent]:
        """From an issue to the last answer about the same line."""
        open_: dict[tuple[int, int], list[AtPort]] = {}
        for event in self._recording.events:
            if isinstance(event, AtPort):
                key = id(event.request), event.line
                if event.step == ISSUED:
                    open_[key] = [event]
                elif key in open_:
                    open_[key].append(event)
        for steps in open_.values():
            first, last = steps[0], steps[-1]
            end = last.tick if len(steps) > 1 else self._end
            yield from self._life(first, max(end, first.tick), "access", first.access, last.step)

    def _life(
        self, begin: Event, end: int, category: str, name: str, step: str = ""
    ) -> Iterator[TraceEvent]:
        self._lives += 1
        line = f" {begin.line:#x}" if begin.line >= 0 else ""
        head = {"name": f"{name}{line}", "cat": category, "id": self._lives}
        place = self._place(begin)
        yield {**head, "ph": "b", **place, "args": {"end": step} if step else {}}
        yield {**head, "ph": "e", **place, "ts": end}

    def _place(self, event: Event) -> TraceEvent:
        return {"ts": event.tick, "pid": self._lifelines.of(event), "tid": TRANSITIONS}


def _meta(name: str, process: int, args: TraceEvent, thread: int = 0) -> TraceEvent:
    return {"ph": "M", "name": name, "ts": 0, "pid": process, "tid": thread, "args": args}
