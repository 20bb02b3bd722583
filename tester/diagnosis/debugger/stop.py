"""What is shown where a run stops, and the debugger that takes over there.

The debugger is Python's own, in the frame of the generated in-port that triggers the transition;
``step`` leads into its first action. Code of ours is stepped over. Invariant: nothing is executed
but what is typed: no start-up file is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pdb import Pdb
from types import FrameType
from typing import Any, Final

from protocols.transition_texts import Cell, TransitionText
from slicc.text.command.exit_status import INTERRUPTED
from tester.diagnosis.debugger.breakpoint import Breakpoint
from tester.diagnosis.events.line_events import Fields
from tester.diagnosis.events.record_fields import BLOCK, held_by
from tester.diagnosis.events.system_inspection import (
    controller_name,
    messages_about,
    record_of,
    state_of,
)

_OURS: Final = ("runtime.*", "tester.*", "protocols.*", "slicc.*", "pdb", "bdb", "cmd")
_CONTINUES: Final = -1
"""The line that a debugger stops at after `continue`: none."""
HELP: Final = (
    "entry, tbe, buffers, copies, states, sm print what is there; step, next, continue and all "
    "other commands of pdb work; quit ends the run"
)


class Moment:
    """A transition that is about to run."""

    def __init__(
        self, system: Any, controller: Any, address: int, texts: Mapping[Cell, TransitionText]
    ) -> None:
        self.controller = controller
        self.line: int = address & -system.topology.line_size
        self._system = system
        self._line_size: int = system.topology.line_size
        kind = controller
        self._cell = (
            str(kind.MACHINE),
            str(kind.STATES.name_of(kind.transition_state)),
            str(kind.EVENTS.name_of(kind.transition_event)),
        )
        self._text = texts.get(self._cell)

    def headline(self) -> str:
        """``tick 98: L1Cache 1, line 0x40: Data in IS  [MI-cache.sm:365]``."""
        _, state, event = self._cell
        place = "" if self._text is None else f"  [{self._text.passage.place}]"
        tick, name = self.controller.engine.now, controller_name(self.controller)
        return f"tick {tick:,}: {name}, line {self.line:#x}: {event} in {state}{place}"

    def entry(self) -> list[str]:
        """The cache's or the directory's entry of the line."""
        return _fields(held_by(self.controller, self.line).entry, "no entry")

    def tbe(self) -> list[str]:
        """The transaction record of the line."""
        return _fields(held_by(self.controller, self.line).tbe, "no TBE")

    def buffers(self) -> list[str]:
        """Messages about the line that no controller has taken."""
        found = [
            f"{controller_name(each)}: {message}"
            for each in self._system.controllers
            for message in messages_about(each, self.line, self._line_size)
        ]
        return found or ["no message about the line"]

    def copies(self) -> list[str]:
        """Every copy of the line: caches, TBEs, messages, memory."""
        size = self._line_size
        return [
            f"{copy.where:<28} {copy.state:<10} {copy.data.to_bytes(size, 'little').hex(' ', 8)}"
            for copy in self._system.copies(self.line)
        ]

    def states(self) -> list[str]:
        """The state of the line in every controller."""
        return [
            f"{controller_name(each):<16} {state_of(each, self.line) or '?'}"
            + (" with TBE" if record_of(each, self.line) is not None else "")
            for each in self._system.controllers
        ]

    def sm(self) -> list[str]:
        """The text of the transition and of its actions, as the protocol has it."""
        if self._text is None:
            return ["the text of this transition is not known"]
        passages = [self._text.passage, *(passage for _, passage in self._text.actions)]
        lines: list[str] = []
        for passage in passages:
            lines += [passage.place]
            lines += [
                f"{number:>6}  {text}"
                for number, text in enumerate(passage.text.split("\n"), passage.line)
            ]
        return lines

    def whole(self) -> Iterator[str]:
        """What is printed where nothing is asked."""
        yield self.headline()
        for title, lines in (
            ("entry", self.entry()),
            ("TBE", self.tbe()),
            ("buffers", self.buffers()),
            ("copies", self.copies()),
        ):
            yield from (f"  {title:<8} {line}" for line in lines)


Stopped = Callable[[Moment], None]


def install(
    system: Any, wanted: Breakpoint, texts: Mapping[Cell, TransitionText], stopped: Stopped
) -> None:
    """Call ``stopped`` before each of the transitions, when nothing holds it back any more."""

    def before(controller: Any, transaction: Any) -> None:
        line = transaction.address & -system.topology.line_size
        if wanted.line in (-1, line):
            stopped(Moment(system, controller, transaction.address, texts))

    for controller in system.controllers:
        if wanted.machine == controller.MACHINE:
            for state, event in sorted(wanted.cells):
                controller.run_before(state, event, before)


class Debugger(Pdb):
    """Takes over where a run stops."""

    def __init__(self) -> None:
        super().__init__(skip=_OURS, nosigint=True, readrc=False)
        self.prompt = "(slicc) "
        self._moment: Moment | None = None

    def stop(self, moment: Moment) -> None:
        """Ask what to do, in the frame of the generated code that triggers the transition."""
        first = self._moment is None
        self._moment = moment
        self.message(moment.headline())
        if first:
            self.message(HELP)
        frame = _generated(sys._getframe(), type(moment.controller).__module__)
        self.reset()
        each: FrameType | None = frame
        while each is not None:
            each.f_trace = self.trace_dispatch
            self.botframe = each
            each = each.f_back
        self.set_step()
        self.interaction(frame, None)
        if self.breaks or self.stoplineno != _CONTINUES:
            sys.settrace(self.trace_dispatch)

    def do_entry(self, _: str) -> None:
        """entry: the entry of the line here"""
        self._show(Moment.entry)

    def do_tbe(self, _: str) -> None:
        """tbe: the transaction record of the line here"""
        self._show(Moment.tbe)

    def do_buffers(self, _: str) -> None:
        """buffers: messages about the line that are under way, waiting or stalled"""
        self._show(Moment.buffers)

    def do_copies(self, _: str) -> None:
        """copies: every copy of the line"""
        self._show(Moment.copies)

    def do_states(self, _: str) -> None:
        """states: the state of the line in every controller"""
        self._show(Moment.states)

    def do_sm(self, _: str) -> None:
        """sm: the text of the transition and its actions"""
        self._show(Moment.sm)

    def do_quit(self, _: str) -> None:
        """quit: end the run"""
        sys.settrace(None)
        raise SystemExit(INTERRUPTED)

    do_q = do_exit = do_EOF = do_quit  # type: ignore[assignment]

    def _show(self, what: Callable[[Moment], Iterable[str]]) -> None:
        assert self._moment is not None
        for line in what(self._moment):
            self.message(line)


def _generated(frame: FrameType, module: str) -> FrameType:
    """The innermost frame of a controller's own module; the given one if there is none."""
    each: FrameType | None = frame
    while each is not None:
        if each.f_globals.get("__name__") == module:
            return each
        each = each.f_back
    return frame


def _fields(fields: Fields, none: str) -> list[str]:
    return [f"{name} = {_bytes(value)}" for name, value in fields] or [none]


def _bytes(value: str) -> str:
    return bytes.fromhex(value[len(BLOCK) :]).hex(" ", 8) if value.startswith(BLOCK) else value
