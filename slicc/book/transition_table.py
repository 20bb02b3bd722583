"""The transition tables of machines, prepared for HTML: states, events, cells, what they send.

``slicc table`` writes them as one page, which needs no other file, no network and no script, and
holds the sources so that every cell can point into them; the book's chapters show them as well.
Invariant: text of the protocol reaches a page only through escaping.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.sends import sends_of
from slicc.book.overlays import UNKNOWN, Known, Mutants, Overlays
from slicc.book.places import Place, in_one_page
from slicc.book.state_graph import state_graph, waiting_transitions
from slicc.coverage.results import NOTHING, Results
from slicc.source import SourceFile, Span
from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text
from slicc.text.templates import render

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class ActionView:
    """``link`` leads to the line of the action in the page's copy of the source."""

    name: str
    short: str
    desc: str
    link: str
    uses: int
    sends: tuple[str, ...]
    mutants: Mutants | None


@dataclass(frozen=True, slots=True)
class CellView:
    """One transition in one state. ``kind`` is a class of the style sheet.

    ``sends``: ``GETX to Directory``, in the order of the actions.
    """

    kind: str
    next: str
    next_link: str
    actions: tuple[ActionView, ...]
    sends: tuple[str, ...]
    requests: tuple[str, ...]
    where: str
    link: str
    known: Known = UNKNOWN


@dataclass(frozen=True, slots=True)
class MemberView:
    """A state or an event with notes on it. ``ports``: those that may trigger the event."""

    name: str
    anchor: str
    desc: str
    link: str
    remarks: tuple[str, ...]
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowView:
    state: MemberView
    cells: tuple[CellView | None, ...]


@dataclass(frozen=True, slots=True)
class MachineView:
    name: str
    title: str
    anchor: str
    summary: str
    events: tuple[MemberView, ...]
    ports: tuple[str, ...]
    rows: tuple[RowView, ...]
    actions: tuple[ActionView, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """``lines``: (anchor, number, text, mutants of the line)."""

    name: str
    anchor: str
    lines: tuple[tuple[str, int, str, Mutants | None], ...]


def protocol_page(
    protocol: ir.Protocol, sources: Sequence[SourceFile], results: Results = NOTHING
) -> str:
    """The HTML text. ``sources`` are embedded; places in other files are named, not linked.
    ``results``: what was tested, which the tables and sources show."""
    tables = Tables(protocol, sources, in_one_page, results)
    return render(
        "slicc.book",
        "table.html.jinja",
        escape=True,
        name=page_text(protocol.name),
        style=asset("book.css"),
        machines=[tables.machine(machine) for machine in protocol.machines],
        sources=tables.sources(),
        legend=tables.overlays.legend,
    )


def asset(name: str) -> Markup:
    """A style sheet or script of ours, as it is."""
    from markupsafe import Markup

    return Markup((files("slicc.book") / "assets" / name).read_text(encoding="utf-8"))


class Tables:
    """Views of the machines and sources of one protocol."""

    def __init__(
        self,
        protocol: ir.Protocol,
        sources: Sequence[SourceFile],
        place: Place,
        results: Results = NOTHING,
    ) -> None:
        self._protocol = protocol
        self._sources = sources
        self._place = place
        self.overlays = Overlays(results)
        self._numbers = {source.name: number for number, source in enumerate(sources)}
        self._root = _root([source.name for source in sources])

    def sources(self) -> list[SourceView]:
        return [
            SourceView(
                self.shown(source.name),
                f"f{number}",
                tuple(
                    (
                        f"f{number}-{line}",
                        line,
                        page_text(source.line_text(line)),
                        self.overlays.line(source.name, line),
                    )
                    for line in range(1, source.line_count + 1)
                ),
            )
            for number, source in enumerate(self._sources)
        ]

    def machine(self, machine: ir.Machine) -> MachineView:
        uses: dict[ir.ActionRef, int] = {}
        for transition in machine.transitions:
            for ref in dict.fromkeys(transition.actions):
                uses[ref] = uses.get(ref, 0) + 1
        facts = MachineFacts(self._protocol, machine)
        sends = sends_of(facts)
        actions = {
            action.ref: ActionView(
                action.ref.name,
                "" if action.short == action.ref.name else page_text(action.short),
                page_text(action.desc),
                self.link(action.span),
                uses.get(action.ref, 0),
                tuple(page_text(send.text) for send in sends[action.ref]),
                self.overlays.body(machine.name, action.ref.name),
            )
            for action in machine.actions
        }
        cells = self._cells(machine, actions)
        events = [member.name for member in machine.events.members]
        states = self._states(machine)
        rows = tuple(
            RowView(state, tuple(cells.get((state.name, event)) for event in events))
            for state in states
        )
        possible = len(states) * len(events)
        return MachineView(
            name=machine.name,
            title="" if machine.title == machine.name else page_text(machine.title),
            anchor=f"m-{machine.name}",
            summary=f"{len(states)} states, {len(events)} events, {len(actions)} actions; "
            f"{len(machine.cells)} of {possible} cells have a transition",
            events=self._events(facts),
            ports=tuple(port.ref.name for port in machine.in_ports),
            rows=rows,
            actions=tuple(actions.values()),
        )

    def _states(self, machine: ir.Machine) -> list[MemberView]:
        graph = state_graph(machine)
        views = []
        for member in machine.states.members:
            state = graph.nodes[member.name]
            remarks = ["transient" if state["transient"] else "stable"]
            if state["initial"]:
                remarks.insert(0, "initial")
            if member.permission is not None:
                remarks.append(member.permission.value)
            if not state["reachable"]:
                remarks.append("no transition leads here")
            views.append(self._member(machine, member, "s", remarks))
        return views

    def _events(self, facts: MachineFacts) -> tuple[MemberView, ...]:
        machine = facts.machine
        handled = {cell.event for cell in machine.cells}
        views = []
        for member in machine.events.members:
            ports = ports_of(facts, member.name)
            remarks = [] if member.name in handled else ["unhandled"]
            remarks += dict.fromkeys(_network(facts, port) for port in ports)
            view = self._member(machine, member, "e", filter(None, remarks))
            views.append(replace(view, ports=tuple(port.ref.name for port in ports)))
        return tuple(views)

    def _member(
        self, machine: ir.Machine, member: ir.EnumMember, kind: str, remarks: Iterable[str]
    ) -> MemberView:
        return MemberView(
            member.name,
            f"{kind}-{machine.name}-{member.name}",
            page_text(member.desc),
            self.link(member.span),
            tuple(remarks),
        )

    def _cells(
        self, machine: ir.Machine, actions: dict[ir.ActionRef, ActionView]
    ) -> dict[tuple[str, str], CellView]:
        waiting = waiting_transitions(machine)
        views: dict[tuple[str, str], CellView] = {}
        shared: dict[tuple[int, bool], CellView] = {}
        for cell in machine.cells:
            transition = machine.transitions[cell.transition]
            stays = transition.next.state in (None, cell.state)
            stays = stays and transition.next.kind is not ir.NextKind.COMPUTED
            key = (cell.transition, stays)
            if key not in shared:
                shared[key] = self._cell(
                    machine, transition, stays, cell.transition in waiting, actions
                )
            known = self.overlays.cell(machine.name, (cell.state, cell.event))
            views[cell.state, cell.event] = replace(shared[key], known=known)
        return views

    def _cell(
        self,
        machine: ir.Machine,
        transition: ir.Transition,
        stays: bool,
        waits: bool,
        actions: dict[ir.ActionRef, ActionView],
    ) -> CellView:
        kind = "stay" if stays else "go"
        if waits:
            kind = "stall" if transition.stalls else "wait"
        target = transition.next.state
        computed = transition.next.kind is ir.NextKind.COMPUTED
        return CellView(
            kind,
            "computed" if computed else ("" if stays or target is None else target),
            ""
            if computed or target is None
            else self._place(f"m-{machine.name}", f"s-{machine.name}-{target}"),
            tuple(actions[ref] for ref in transition.actions),
            tuple(send for ref in transition.actions for send in actions[ref].sends),
            transition.request_types,
            self.where(transition.span),
            self.link(transition.span),
        )

    def shown(self, file: str) -> str:
        """The name of a source without the directory that all are in: a page tells nothing of the
        machine that it was made on."""
        return page_text(file.removeprefix(self._root))

    def where(self, span: Span) -> str:
        """``MI-cache.sm:12``."""
        return f"{self.shown(span.file.name)}:{span.line}"

    def link(self, span: Span) -> str:
        """Where a line stands, or nothing if its file is not in the book."""
        number = self._numbers.get(span.file.name)
        return "" if number is None else self._place(f"f{number}", f"f{number}-{span.line}")


def _root(files: Sequence[str]) -> str:
    """The directory of all files, with a slash; what no name begins with if there is none."""
    folders = {str(Path(file).parent) for file in files}
    try:
        return f"{commonpath(folders)}/" if folders else "/"
    except ValueError:  # some are absolute, some are not
        return "//"


def ports_of(facts: MachineFacts, event: str) -> list[ir.InPort]:
    """The ports that may trigger an event, in the order of their declaration."""
    sources = {source.port for source in facts.sources.get(event, ())}
    return [port for port in facts.machine.in_ports if port.ref in sources]


def _network(facts: MachineFacts, port: ir.InPort) -> str:
    link = facts.links.get(port.buffer)
    number = None if link is None else link.virtual_network
    return "" if number is None else f"network {number}"
