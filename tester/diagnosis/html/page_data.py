"""A recorded run as the data of its page: small arrays of numbers, and one table of texts.

The scripts of the page (`assets/model.js`) read this and nothing else; the two change together.
Invariant: it holds only lists, dictionaries, texts, numbers and booleans, is the same for the same
recording, and no text in it acts on the reader's view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from protocols.transition_texts import Cell, TransitionText
from runtime.types.messages import AccessPermission
from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text
from tester.diagnosis.events.history import ISSUED
from tester.diagnosis.events.lifelines import Lifelines
from tester.diagnosis.events.line_events import (
    AtPort,
    Event,
    Fields,
    Held,
    Sent,
    Stall,
    Transition,
)
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.events.system_inspection import controller_name
from tester.execution.events import Verdict
from tester.program.program import Program

FORMAT: Final = 1
TRANSITION, SENT, PORT, STALL = range(4)
"""The first number of an event."""
NONE: Final = -1
_OFFSET: Final = re.compile(r"\+([0-9a-f]+)\b")
_MOST_TEXT: Final = 4000
"""Characters of one text of a protocol, and of one value, that a page shows."""


@dataclass(slots=True)
class _Tables:
    """What events name by number: texts, and lists of fields."""

    texts: dict[str, int] = field(default_factory=dict)
    fields: dict[Fields, int] = field(default_factory=dict)

    def text(self, text: str) -> int:
        text = page_text(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}...")
        return self.texts.setdefault(text, len(self.texts))

    def field_list(self, fields: Fields) -> int:
        return self.fields.setdefault(fields, len(self.fields)) if fields else NONE

    def field_lists(self) -> list[list[int]]:
        """Names and values in turn."""
        return [[self.text(part) for pair in each for part in pair] for each in self.fields]


def page_data(
    recording: Recording,
    texts: Mapping[Cell, TransitionText],
    line_names: Mapping[int, str],
) -> dict[str, Any]:
    """``line_names``: what lines are called; others are called by their address."""
    return _Data(recording, texts, line_names).whole()


class _Data:
    def __init__(
        self,
        recording: Recording,
        texts: Mapping[Cell, TransitionText],
        line_names: Mapping[int, str],
    ) -> None:
        self._recording = recording
        self._texts = texts
        self._tables = _Tables()
        self._lifelines = Lifelines(recording)
        found = {event.line for event in recording.events if event.line >= 0}
        named = [line for line in line_names if line in found]
        self._lines = {
            line: line_names.get(line, f"{line:#x}")
            for line in (*named, *sorted(found - set(named)))
        }
        self._line_numbers = {line: number for number, line in enumerate(self._lines)}
        self._requests: dict[int, int] = {}
        self._buffers: dict[str, int] = {}

    def whole(self) -> dict[str, Any]:
        recording = self._recording
        events = [self._event(event) for event in recording.events]
        return {
            "format": FORMAT,
            "lifelines": [
                [page_text(line.name), line.kind, page_text(line.machine)]
                for line in self._lifelines.all
            ],
            "machines": self._machines(),
            "lines": self._line_list(),
            "lineSize": recording.run.program.line_size,
            "events": events,
            "dropped": recording.dropped,
            "failure": self._failure(),
            "sources": self._sources(),
            "buffers": list(self._buffers),
            "fields": self._tables.field_lists(),
            "texts": list(self._tables.texts),
        }

    # ------------------------------------------------------------------ what there is

    def _line_list(self) -> list[dict[str, Any]]:
        program = self._recording.run.program
        touched = _touched_bytes(program)
        question = self._recording.history.bytes
        if question.address >= 0:
            line = question.address & -program.line_size
            touched[line] = [[question.address - line, question.size]]
        return [
            {"name": page_text(name), "address": f"{line:#x}", "bytes": touched.get(line, [])}
            for line, name in self._lines.items()
        ]

    def _machines(self) -> dict[str, Any]:
        """States with permissions, events, and each defined pair with how often it was made."""
        machines: dict[str, Any] = {}
        for controller in self._recording.run.system.controllers:
            states, events = controller.STATES, controller.EVENTS
            counts = [
                (state, event, controller.count_of(state, event))
                for state, event in sorted(controller.TRANSITIONS)
            ]
            machine = machines.setdefault(
                controller.MACHINE,
                {
                    "states": [
                        [states.name_of(number), AccessPermission.name_of(permission)]
                        for number, permission in enumerate(controller.PERMISSIONS)
                    ],
                    "events": [events.name_of(number) for number in range(events.NUM)],
                    "cells": [[state, event, 0] for state, event, _ in counts],
                },
            )
            for cell, (_, _, count) in zip(machine["cells"], counts):
                cell[2] += count
        return machines

    def _sources(self) -> dict[str, Any]:
        """By ``machine state event``: each text once, those of transitions that were seen."""
        machines = {controller_name(c): c.MACHINE for c in self._recording.run.system.controllers}
        seen = {
            (machines[event.who], event.state, event.event): None
            for event in self._recording.events
            if isinstance(event, Transition | Stall) and event.who in machines
        }
        passages: dict[str, dict[str, Any]] = {}
        cells: dict[str, str] = {}
        for cell in seen:
            text = self._texts.get(cell)
            if text is not None:
                place = page_text(text.passage.place)
                cells[page_text(" ".join(cell))] = place
                passages.setdefault(
                    place,
                    {
                        "text": self._tables.text(text.passage.text),
                        "actions": [
                            [self._tables.text(name), self._tables.text(passage.place)]
                            for name, passage in text.actions
                        ],
                    },
                )
                for _, passage in text.actions:
                    passages.setdefault(
                        page_text(passage.place),
                        {"text": self._tables.text(passage.text), "actions": []},
                    )
        return {"cells": cells, "passages": passages}

    def _failure(self) -> dict[str, Any] | None:
        """Which events are the failing ones: the transition, or the answers of the request."""
        recording = self._recording
        finding = recording.finding
        if finding is None:
            return None
        failed = [] if recording.failed is None else [recording.failed.number]
        if not failed and finding.request is not None:
            mine = [
                event.number
                for event in recording.events
                if isinstance(event, AtPort) and event.request is finding.request
            ]
            wrong = [n for n in mine if recording.events[n - recording.dropped].touched]
            failed = (wrong or mine)[-1:]
        return {
            "tick": finding.tick,
            "stuck": finding.verdict in (Verdict.HANG, Verdict.LEAK),
            "events": [number - recording.dropped for number in failed],
            "line": self._line(finding.address & -recording.run.program.line_size)
            if finding.address >= 0
            else NONE,
        }

    # ------------------------------------------------------------------ events

    def _event(self, event: Event) -> list[Any]:
        head = [event.tick, self._lifelines.of(event), self._line(event.line)]
        if isinstance(event, Transition):
            return [TRANSITION, *head, *self._transition(event)]
        if isinstance(event, Sent):
            return [SENT, *head, *self._sent(event)]
        if isinstance(event, AtPort):
            return [PORT, *head, *self._port(event)]
        assert isinstance(event, Stall)
        text = self._tables.text
        names = text(event.event), text(event.state), text(event.location)
        return [STALL, *head, *names, event.times, event.until]

    def _transition(self, event: Transition) -> list[Any]:
        text, held = self._tables.text, event.held or Held()
        after = event.state if event is self._recording.failed else event.next_state
        return [
            *(text(event.event), text(event.state), text(after), text(event.location)),
            *(self._tables.field_list(held.entry), self._tables.field_list(held.tbe)),
            self._known(event.taken),
            *(self._known([event.set_aside]) or [NONE]),
            *(text(event.comment), event.times, event.until),
        ]

    def _sent(self, event: Sent) -> list[Any]:
        hops = [
            [self._lifelines.named(hop.receiver), self._buffer(hop.buffer), hop.arrival]
            for hop in event.hops
        ]
        memory = NONE if event.held is None else self._tables.field_list(event.held.entry)
        network = NONE if event.network is None else event.network
        return [
            *(self._tables.text(event.kind), network, self._tables.field_list(event.fields)),
            *(hops, *(self._known(event.causes[:1]) or [NONE]), memory),
        ]

    def _port(self, event: AtPort) -> list[Any]:
        request = self._requests.setdefault(id(event.request), len(self._requests))
        causes = [] if event.step == ISSUED else event.causes
        lanes = event.who.partition(" lane")[2].lstrip("s ")
        return [
            *(self._tables.text(_decimal(event.access)), self._tables.text(event.step), request),
            *(self._tables.text(lanes), *(self._known(causes[:1]) or [NONE])),
        ]

    def _line(self, line: int) -> int:
        return self._line_numbers.get(line, NONE)

    def _buffer(self, name: str) -> int:
        return self._buffers.setdefault(name, len(self._buffers))

    def _known(self, numbers: Sequence[int]) -> list[int]:
        """Places in the list of events; none of those that were dropped."""
        dropped = self._recording.dropped
        return [number - dropped for number in numbers if number >= dropped]


def _decimal(access: str) -> str:
    """The offsets of an access in decimal digits, as the listing of the program has them."""
    return _OFFSET.sub(lambda found: f"+{int(found[1], 16)}", access)


def _touched_bytes(program: Program) -> dict[int, list[list[int]]]:
    """Offset and length of the bytes of each line that a program accesses, neighbours together."""
    size = program.line_size
    spans: dict[int, set[int]] = {}
    rows = zip(program.lane_address.tolist(), program.action_size.tolist())
    for addresses, length in rows:
        for address in addresses:
            if address >= 0:
                offsets = range(address % size, min(size, address % size + length))
                spans.setdefault(address // size * size, set()).update(offsets)
    return {line: _runs(sorted(offsets)) for line, offsets in spans.items()}


def _runs(offsets: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and sum(runs[-1]) == offset:
            runs[-1][1] += 1
        else:
            runs.append([offset, 1])
    return runs
