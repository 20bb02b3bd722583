"""Pictures of a machine's states, as diagrams of Graphviz.

Events with the same source and target state share an edge; events that keep the state are listed
inside its node; stalled and recycled messages are left out: they would dominate the picture.
Invariant: the same machine gives the same text, and every text of the protocol is shown literally.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import graphviz
import networkx as nx

from slicc import ir
from slicc.book.edge_ends import part_ends
from slicc.book.places import Place, in_one_page
from slicc.book.state_graph import StateAttributes, state_graph
from slicc.coverage.cells import Cells, Status
from slicc.coverage.report import MEANINGS
from slicc.text.markup import dot_html, dot_text, dot_tooltip

_LABEL_WIDTH = 24
_LABEL_LINES = 6
_FEW_EDGES = 4
# Dark enough to read on white, one per source state in turn, so that an edge can be followed.
COLORS = (
    "#1f5f99",
    "#a8431f",
    "#2f7d4f",
    "#7a3f9d",
    "#8a6d00",
    "#b02a5b",
    "#0f7c86",
    "#5b5b5b",
)

_GRAPH_STYLE = {
    "rankdir": "TB",
    "nodesep": "0.45",
    "ranksep": "0.7",
    "pad": "0.3",
    "bgcolor": "white",
    "fontname": "Helvetica",
    "fontsize": "16",
    "labelloc": "t",
    "labeljust": "l",
}
_NODE_STYLE = {
    "fontname": "Helvetica",
    "fontsize": "14",
    "color": "#33475b",
    "fontcolor": "#14202b",
}
_EDGE_STYLE = {
    "fontname": "Helvetica",
    "fontsize": "10",
    "arrowsize": "0.7",
    "penwidth": "1.2",
}
_START, _COMPUTED = "(start)", "(computed)"
"""Nodes that are no states: names of states have no parentheses."""

_Edges = dict[tuple[str, str], list[str]]
"""Events by source and target."""


class GraphvizMissing(Exception):
    """There is no ``dot`` program; the message explains how to install it."""


_STATUS_COLORS = {
    Status.HIT: "#2f7d4f",
    Status.REACHABLE: "#b07a00",
    Status.UNSENT: "#8a949c",
    Status.NOT_REACHED: "#7a3f9d",
    Status.UNKNOWN: "#b3261e",
}


def state_diagram(
    machine: ir.Machine,
    protocol: str,
    place: Place = in_one_page,
    covered: Cells | None = None,
    *,
    titled: bool = True,
) -> graphviz.Digraph:
    """The diagram of one machine; its ``source`` is the DOT text.

    States and edges link to their rows and cells at ``place``; in SVG an edge has a class
    ``e-EVENT`` for each of its events. ``covered``: what is known of its cells, which gives edges
    their colours. ``titled``: with the machine's name and a legend.
    """
    if covered is not None and machine.name not in covered.machines:
        covered = None
    title = _title(machine, protocol, covered is not None) if titled else ""
    diagram = graphviz.Digraph(
        dot_text(f"{protocol} {machine.name}"),
        graph_attr=_GRAPH_STYLE | {"label": title},
        node_attr=_NODE_STYLE,
        edge_attr=_EDGE_STYLE,
    )
    graph = state_graph(machine)
    edges, kept, stalled = _drawn_events(graph)
    for state in graph:
        about = cast(StateAttributes, graph.nodes[state])
        diagram.node(
            dot_text(state),
            _node_label(state, kept[state]),
            tooltip=_tooltip(state, about, kept[state], stalled[state]),
            URL=place(f"m-{machine.name}", f"s-{machine.name}-{state}"),
            **_node_style(about),
            **node_size(sum(state in ends for ends in edges)),
        )
    if machine.states.default in graph:
        diagram.node(_START, shape="point", width="0.12", color="#33475b", tooltip="initial state")
        diagram.edge(_START, dot_text(machine.states.default), color="#33475b")
    if any(target == _COMPUTED for _, target in edges):
        diagram.node(_COMPUTED, "*", shape="circle", style="dashed", tooltip="computed")
    colors = {state: COLORS[index % len(COLORS)] for index, state in enumerate(graph)}
    _draw_edges(diagram, machine.name, edges, colors, place, covered)
    return diagram


def _drawn_events(
    graph: nx.MultiDiGraph[str],
) -> tuple[_Edges, dict[str, list[str]], dict[str, list[str]]]:
    """The events of each edge; and by state, those that keep it, which its node lists, and those
    that it stalls or recycles, which only its tooltip does."""
    edges: _Edges = {}
    kept: dict[str, list[str]] = {state: [] for state in graph}
    stalled: dict[str, list[str]] = {state: [] for state in graph}
    for state, target, event, attributes in graph.edges(keys=True, data=True):
        if attributes["put_off"]:
            stalled[state].append(event)
        elif attributes["transition"].next.kind is ir.NextKind.COMPUTED:
            events = edges.setdefault((state, _COMPUTED), [])
            if event not in events:  # it has an edge to every state
                events.append(event)
        elif state == target:
            kept[state].append(event)
        else:
            edges.setdefault((state, target), []).append(event)
    return edges, kept, stalled


def _draw_edges(
    diagram: graphviz.Digraph,
    machine: str,
    edges: _Edges,
    colors: dict[str, str],
    place: Place,
    covered: Cells | None,
) -> None:
    """``colors``: of what leaves a state, where nothing is known of cells."""
    for (state, target), events in edges.items():
        color, tooltip = colors[state], ", ".join(events)
        if covered is not None:
            color = _STATUS_COLORS[_worst(covered, machine, state, events)]
            notes = (covered.note(machine, (state, event)) for event in events)
            tooltip = ", ".join(f"{event}: {note}" for event, note in zip(events, notes))
        diagram.edge(
            dot_text(state),
            dot_text(target),
            _edge_label(events),
            color=color,
            fontcolor=color,
            tooltip=dot_tooltip(tooltip),
            URL=place(f"m-{machine}", f"c-{machine}-{state}-{events[0]}"),
            **{"class": " ".join(f"e-{event}" for event in events)},
        )


def _worst(covered: Cells, machine: str, state: str, events: Sequence[str]) -> Status:
    """The status that colours an edge with several events: the least that is known; what is never
    caused counts only if nothing else is there."""
    found = [covered.status(machine, (state, event)) for event in events]
    order = (Status.UNKNOWN, Status.NOT_REACHED, Status.REACHABLE, Status.HIT, Status.UNSENT)
    return min(found, key=order.index)


def render_diagram(diagram: graphviz.Digraph, format: str) -> bytes:
    """The diagram as ``dot``, ``svg`` or ``png``. Raises :class:`GraphvizMissing`.

    Raises ``OSError`` if Graphviz fails.
    """
    if format == "dot":
        return str(diagram.source).encode()
    if format == "png":
        diagram = diagram.copy()
        diagram.graph_attr["dpi"] = "110"
    try:
        content: bytes = diagram.pipe(format, quiet=True)
    except graphviz.ExecutableNotFound:
        raise GraphvizMissing(
            f"{format} needs the program `dot` of Graphviz, which is not installed; get it with "
            "`apt install graphviz`\nor `brew install graphviz`, or from https://graphviz.org, or "
            "choose `--format dot`"
        ) from None
    except graphviz.CalledProcessError as error:
        raise OSError(f"Graphviz failed: {error.stderr.decode(errors='replace').strip()}") from None
    return part_ends(content.decode()).encode() if format == "svg" else content


def _title(machine: ir.Machine, protocol: str, colored: bool) -> str:
    legend = (
        "box: stable &#183; dashed: transient &#183; double line: initial &#183; "
        "gray: no transition leads here &#183; &#8635; keeps the state &#183; "
        "messages put off (stalled, recycled) are not shown"
    )
    if colored:
        legend += f'<br align="left"/>{_colors_legend()}'
    name = dot_html(f"{protocol}: {machine.name}")
    title = f" &#8212; {dot_html(machine.title)}" if machine.title not in ("", machine.name) else ""
    return (
        f'<<b>{name}</b>{title}<br align="left"/>'
        f'<font point-size="11" color="#5b6b7a">{legend}</font><br align="left"/>>'
    )


def _colors_legend() -> str:
    return " &#183; ".join(
        f'<font color="{color}">{dot_html(MEANINGS[status])}</font>'
        for status, color in _STATUS_COLORS.items()
    )


def _node_label(name: str, keeps: list[str]) -> str:
    if not keeps:
        return f"<<b>{dot_html(name)}</b>>"
    text = "<br/>".join(dot_html(line) for line in label_lines(keeps, 20, 3))
    return (
        f'<<b>{dot_html(name)}</b><br/><font point-size="9" color="#5b6b7a">&#8635; {text}</font>>'
    )


def _node_style(about: StateAttributes) -> dict[str, str]:
    if about["transient"]:
        style = {"shape": "ellipse", "style": "filled,dashed", "fillcolor": "#fdf6e3"}
    else:
        style = {"shape": "box", "style": "filled,rounded", "fillcolor": "#dcebf7"}
    if about["initial"]:
        style["peripheries"] = "2"
    if not about["reachable"]:
        style |= {"fillcolor": "#eeeeee", "fontcolor": "#8a8a8a", "color": "#8a8a8a"}
    return style


def node_size(edges: int) -> dict[str, str]:
    """Where many edges end, they need an outline that is long enough to tell them apart."""
    if edges <= _FEW_EDGES:
        return {}
    more = min(edges - _FEW_EDGES, 12)
    return {"width": f"{0.75 + 0.12 * more:.2f}", "height": f"{0.5 + 0.06 * more:.2f}"}


def _tooltip(state: str, about: StateAttributes, kept: list[str], stalled: list[str]) -> str:
    parts = [about["desc"] or state]
    if about["permission"] is not None:
        parts.append(f"permission {about['permission'].value}")
    if kept:
        parts.append(f"kept by {', '.join(kept)}")
    if stalled:
        parts.append(f"stalls {', '.join(stalled)}")
    return dot_tooltip("; ".join(parts))


def _edge_label(events: list[str]) -> str:
    return beside_an_edge(label_lines(events, _LABEL_WIDTH, _LABEL_LINES))


def beside_an_edge(lines: Sequence[str]) -> str:
    """A label with blanks, which keep it off the edge that it stands beside."""
    return dot_text("\n".join(f"  {line}  " for line in lines))


def label_lines(events: Sequence[str], width: int, lines: int) -> list[str]:
    """Comma-separated names in lines of about ``width``; what is too much is counted."""
    result: list[str] = []
    used = 0
    for event in events:
        if result and len(result[-1]) + len(event) + 2 <= width:
            result[-1] += f", {event}"
        elif len(result) < lines:
            result.append(event)
        else:
            break
        used += 1
    result = [f"{line}," if line is not result[-1] else line for line in result]
    if used < len(events):
        result[-1] += f", +{len(events) - used}"
    return result
