"""The book of a protocol: its machines, messages, sources and findings as pages that link.

A site has a page a chapter, a single page has all chapters; either needs no network. Invariant:
text of the protocol reaches a page through the escaping template or as JSON that the script only
compares and shows as text; of scripts a page allows its own alone, by its hash.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import graphviz
from markupsafe import Markup

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.book.message_flow import Flow, flow_diagram, message_flow
from slicc.book.places import Place, in_one_page, in_pages
from slicc.book.run_pictures import RunPicture, fitting
from slicc.book.state_diagram import GraphvizMissing, render_diagram, state_diagram
from slicc.book.transition_table import MachineView, SourceView, Tables, asset
from slicc.coverage.results import NOTHING, Results
from slicc.diagnostics.model import Diagnostic
from slicc.source import SourceFile
from slicc.text.data import script_json
from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text
from slicc.text.templates import render

_TOO_MANY_EDGES = 600
"""Graphviz would take minutes, and nothing could be read."""
_NOT_SHOWN = re.compile(
    r' id="(?:a_)?(?:graph|node|edge|clust)\d+(?:(?:-|&#45;)label)?"|<!--.*?-->\n?', re.DOTALL
)
"""Of Graphviz's SVG: ids that other pictures have as well, and comments."""
_WIDTH = re.compile(r'<svg width="([\d.]+)pt"')


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a book is written from. ``findings``: of the compiler and of the analysis.

    ``results``: what was tested, which cells, edges and lines show.
    """

    protocol: ir.Protocol
    sources: Sequence[SourceFile]
    findings: Sequence[Diagnostic] = ()
    runs: Sequence[RunPicture] = ()
    results: Results = NOTHING


@dataclass(frozen=True, slots=True)
class _Chapter:
    name: str
    title: str
    html: Markup


def site(contents: Contents) -> dict[str, bytes]:
    """By file name, ``index.html`` first."""
    chapters = list(_Writer(contents, in_pages).chapters())
    links = list(_links(contents.protocol, in_pages))
    index = list(_index(contents.protocol, in_pages))
    pages = {
        f"{chapter.name}.html": _page(contents, chapter.title, links, [chapter], index)
        for chapter in chapters
    }
    for run in contents.runs:
        if run.is_page:
            pages[f"{run.anchor}.html"] = run.content
    return pages


def single_page(contents: Contents) -> bytes:
    """All chapters in one page."""
    chapters = list(_Writer(contents, in_one_page).chapters())
    links = list(_links(contents.protocol, in_one_page))
    index = list(_index(contents.protocol, in_one_page))
    return _page(contents, "the whole book", links, chapters, index)


def _page(
    contents: Contents,
    title: str,
    links: Sequence[tuple[str, str]],
    chapters: Iterable[_Chapter],
    index: Sequence[tuple[str, str]],
) -> bytes:
    script = asset("book.js")
    text = render(
        "slicc.book",
        "page.html.jinja",
        escape=True,
        name=page_text(contents.protocol.name),
        title=title,
        links=links,
        chapters=[chapter.html for chapter in chapters],
        broken=sum(found.severity.value == "error" for found in contents.findings),
        style=asset("book.css"),
        script=script,
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        names=Markup(script_json(index)),
    )
    return text.encode("utf-8", "replace")


def _links(protocol: ir.Protocol, place: Place) -> Iterator[tuple[str, str]]:
    """The heads of the pages: their titles and addresses."""
    yield "Overview", place("index", "index")
    for machine in protocol.machines:
        yield machine.name, place(f"m-{machine.name}", f"m-{machine.name}")
    yield "Sources", place("index", "sources")


def _index(protocol: ir.Protocol, place: Place) -> Iterator[tuple[str, str]]:
    """What the search knows: ``L1Cache: state I`` and where it stands."""
    for machine in protocol.machines:
        chapter = f"m-{machine.name}"
        yield machine.name, place(chapter, chapter)
        for kind, letter, names in (
            ("state", "s", [member.name for member in machine.states.members]),
            ("event", "e", [member.name for member in machine.events.members]),
            ("action", "a", [action.ref.name for action in machine.actions]),
        ):
            for name in names:
                address = place(chapter, f"{letter}-{machine.name}-{name}")
                yield f"{machine.name}: {kind} {name}", address


class _Writer:
    def __init__(self, contents: Contents, place: Place) -> None:
        self._contents = contents
        self._place = place
        self._tables = Tables(contents.protocol, contents.sources, place, contents.results)
        self._facts = [
            MachineFacts(contents.protocol, machine) for machine in contents.protocol.machines
        ]

    def chapters(self) -> Iterator[_Chapter]:
        machines = [self._tables.machine(each.machine) for each in self._facts]
        files = self._tables.sources()
        yield _Chapter("index", "Overview", self._overview(machines, files))
        for facts, view in zip(self._facts, machines, strict=True):
            html = _part(
                "machine",
                machine=view,
                graph=self._graph(facts.machine),
                legend=self._tables.overlays.legend,
            )
            yield _Chapter(view.anchor, view.name, html)
        for file in files:
            yield _Chapter(file.anchor, file.name.rsplit("/", 1)[-1], _part("file", file=file))

    def _overview(self, machines: Sequence[MachineView], files: Sequence[SourceView]) -> Markup:
        protocol = self._contents.protocol
        flow = message_flow(self._facts)
        return _part(
            "overview",
            name=page_text(protocol.name),
            machines=[(view, self._place(view.anchor, view.anchor)) for view in machines],
            picture=_shrinking(_svg(flow_diagram(protocol.name, self._facts, flow, self._place))),
            networks=_networks(flow),
            overlays=self._tables.overlays,
            scores=list(self._tables.overlays.scores(view.name for view in machines)),
            permissions=[_permissions(machine) for machine in protocol.machines],
            runs=self._contents.runs,
            files=[(file, self._place(file.anchor, file.anchor)) for file in files],
            findings=[
                (
                    found.severity.value,
                    found.slug,
                    page_text(found.headline),
                    self._tables.where(found.primary.span),
                    self._tables.link(found.primary.span),
                )
                for found in self._contents.findings
            ],
        )

    def _graph(self, machine: ir.Machine) -> Markup | None:
        contents = self._contents
        diagram = state_diagram(
            machine, contents.protocol.name, self._place, contents.results.cells, titled=False
        )
        if str(diagram.source).count(" -> ") > _TOO_MANY_EDGES:
            return None
        return _svg(diagram)


def _part(template: str, **values: object) -> Markup:
    return Markup(render("slicc.book", f"{template}.html.jinja", escape=True, **values))


def _svg(diagram: graphviz.Digraph) -> Markup | None:
    """The picture for a page; None without Graphviz."""
    try:
        text = render_diagram(diagram, "svg").decode()
    except GraphvizMissing:
        return None
    return Markup(_NOT_SHOWN.sub("", text[text.index("<svg") :]))


def _shrinking(picture: Markup | None) -> Markup | None:
    """A picture that shrinks to the width of the page."""
    size = None if picture is None else _WIDTH.match(picture)
    if picture is None or size is None:
        return picture
    return Markup(f'<svg style="{fitting(float(size[1]), "pt")}"') + picture[len("<svg") :]


def _networks(flow: Flow) -> list[tuple[int, list[tuple[str, str, str]]]]:
    """By virtual network: sender, receiver, messages."""
    found: dict[int, list[tuple[str, str, str]]] = {}
    for (sender, receiver, network), kinds in sorted(flow.items(), key=lambda each: each[0][2]):
        found.setdefault(network, []).append((sender, receiver, ", ".join(kinds)))
    return list(found.items())


def _permissions(machine: ir.Machine) -> tuple[str, list[tuple[str, str]]]:
    """What a state lets others read and write: the machine, then permissions with their states."""
    found: dict[str, list[str]] = {}
    for member in machine.states.members:
        if member.permission is not None:
            found.setdefault(member.permission.value, []).append(member.name)
    return machine.name, [(value, ", ".join(names)) for value, names in found.items()]
