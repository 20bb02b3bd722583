"""The states of a machine as a graph in DOT, and pictures of it through Graphviz.

Events that lead from one state to the same other one share an edge; events that keep the state
stand inside its node; messages that are put off are left out, they would be most of the picture.
Invariant: the same machine gives the same text, and nothing in it can leave its quotes.
"""

from __future__ import annotations

import html
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Sequence

from slicc import ir
from slicc.codegen.state_kinds import reachable_states, transient_states, waiting_transitions

TIMEOUT_SECONDS = 120
"""Time for Graphviz to lay out one machine."""
_LABEL_WIDTH = 24
_LABEL_LINES = 6
# Dark enough to read on white, one per source state in turn, so that an edge can be followed.
_COLORS = (
    "#1f5f99",
    "#a8431f",
    "#2f7d4f",
    "#7a3f9d",
    "#8a6d00",
    "#b02a5b",
    "#0f7c86",
    "#5b5b5b",
)


class GraphvizMissing(Exception):
    """There is no ``dot`` program; the message says how to get it."""


def machine_graph(machine: ir.Machine, protocol: str, *, self_loops: bool = False) -> str:
    """The DOT text of one machine.

    ``self_loops`` draws what keeps a state as edges too, stalls included.
    """
    transient = transient_states(machine)
    reachable = reachable_states(machine)
    states = [member.name for member in machine.states.members]
    edges, stays, stalls = _edges(machine)
    lines = [
        f"digraph {_quoted(f'{protocol} {machine.name}')} {{",
        "  graph [rankdir=TB, nodesep=0.45, ranksep=0.7, pad=0.3, bgcolor=white,",
        '         fontname="Helvetica", fontsize=16, labelloc=t, labeljust=l,',
        f"         label={_title(machine, protocol)}];",
        '  node [fontname="Helvetica", fontsize=14, color="#33475b", fontcolor="#14202b"];',
        '  edge [fontname="Helvetica", fontsize=10, arrowsize=0.7, penwidth=1.2];',
        "",
    ]
    for member in machine.states.members:
        keeps = stays.get(member.name, [])
        style = _node_style(member, machine, transient, reachable)
        tooltip = _tooltip(member, keeps, stalls.get(member.name, []))
        label = _node_label(member.name, [] if self_loops else keeps)
        lines.append(f"  {_quoted(member.name)} [label={label}, {style}, tooltip={tooltip}];")
    if machine.states.default in states:
        lines += [
            "",
            '  "(start)" [shape=point, width=0.12, color="#33475b", tooltip="initial state"];',
            f'  "(start)" -> {_quoted(machine.states.default)} [color="#33475b"];',
        ]
    if any(target == _COMPUTED for _, target in edges):
        lines.append('  "(computed)" [label="*", shape=circle, style=dashed, tooltip="computed"];')
    lines.append("")
    for (source, target), events in edges.items():
        lines.append(_edge(source, target, events, _COLORS[states.index(source) % len(_COLORS)]))
    if self_loops:
        for source in states:
            kept = [*stays.get(source, []), *stalls.get(source, [])]
            if kept:
                lines.append(_edge(source, source, kept, "#8795a1"))
    return "\n".join([*lines, "}"]) + "\n"


def render_graph(dot: str, format: str) -> bytes:
    """The graph as ``dot``, ``svg`` or ``png``. Raises :class:`GraphvizMissing`.

    Raises ``OSError`` if Graphviz fails or needs more than :data:`TIMEOUT_SECONDS`.
    """
    if format == "dot":
        return dot.encode()
    program = shutil.which("dot")
    if program is None:
        raise GraphvizMissing(
            f"{format} needs the program `dot` of Graphviz, which is not installed; get it with "
            "`apt install graphviz`\nor `brew install graphviz`, or from https://graphviz.org, or "
            "choose `--format dot`"
        )
    options = ["-Gdpi=110"] if format == "png" else []
    try:
        done = subprocess.run(
            [program, f"-T{format}", *options],
            input=dot.encode(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"Graphviz took more than {TIMEOUT_SECONDS} seconds") from None
    if done.returncode != 0 or not done.stdout:
        raise OSError(f"Graphviz failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


_COMPUTED = "(computed)"


def _edges(
    machine: ir.Machine,
) -> tuple[dict[tuple[str, str], list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """Events by (from, to); events that keep a state; events that stall in a state."""
    edges: dict[tuple[str, str], list[str]] = {}
    stays: dict[str, list[str]] = {}
    stalls: dict[str, list[str]] = {}
    waiting = waiting_transitions(machine)
    for cell in machine.cells:
        transition = machine.transitions[cell.transition]
        if cell.transition in waiting:
            stalls.setdefault(cell.state, []).append(cell.event)
        elif transition.next.kind is ir.NextKind.COMPUTED:
            edges.setdefault((cell.state, _COMPUTED), []).append(cell.event)
        elif transition.next.state in (None, cell.state):
            stays.setdefault(cell.state, []).append(cell.event)
        else:
            assert transition.next.state is not None
            edges.setdefault((cell.state, transition.next.state), []).append(cell.event)
    return edges, stays, stalls


def _title(machine: ir.Machine, protocol: str) -> str:
    legend = (
        "box: stable &#183; dashed: transient &#183; double line: initial &#183; "
        "gray: no transition leads here &#183; &#8635; keeps the state &#183; "
        "messages put off (stalled, recycled) are not shown"
    )
    name = _html(f"{protocol}: {machine.name}")
    title = f" &#8212; {_html(machine.title)}" if machine.title not in ("", machine.name) else ""
    return (
        f'<<b>{name}</b>{title}<br align="left"/>'
        f'<font point-size="11" color="#5b6b7a">{legend}</font><br align="left"/>>'
    )


def _node_label(name: str, keeps: list[str]) -> str:
    if not keeps:
        return f"<<b>{_html(name)}</b>>"
    text = "<br/>".join(_html(line) for line in _wrap(keeps, 20, 3))
    return f'<<b>{_html(name)}</b><br/><font point-size="9" color="#5b6b7a">&#8635; {text}</font>>'


def _node_style(
    member: ir.EnumMember,
    machine: ir.Machine,
    transient: frozenset[str],
    reachable: frozenset[str],
) -> str:
    if member.name in transient:
        shape, fill, style = "ellipse", "#fdf6e3", "filled,dashed"
    else:
        shape, fill, style = "box", "#dcebf7", "filled,rounded"
    more = ", peripheries=2" if member.name == machine.states.default else ""
    if member.name not in reachable:
        fill, more = "#eeeeee", more + ', fontcolor="#8a8a8a", color="#8a8a8a"'
    return f'shape={shape}, style="{style}", fillcolor="{fill}"{more}'


def _tooltip(member: ir.EnumMember, keeps: list[str], stalls: list[str]) -> str:
    parts = [member.desc or member.name]
    if member.permission is not None:
        parts.append(f"permission {member.permission.value}")
    if keeps:
        parts.append(f"kept by {', '.join(keeps)}")
    if stalls:
        parts.append(f"stalls {', '.join(stalls)}")
    return _quoted("; ".join(parts))


def _edge(source: str, target: str, events: list[str], color: str) -> str:
    # The blanks keep a label off the edge that it stands beside.
    label = "\n".join(f"  {line}  " for line in _wrap(events, _LABEL_WIDTH, _LABEL_LINES))
    attributes = [
        f"label={_quoted(label)}",
        f'color="{color}"',
        f'fontcolor="{color}"',
        f"tooltip={_quoted(', '.join(events))}",
    ]
    return f"  {_quoted(source)} -> {_quoted(target)} [{', '.join(attributes)}];"


def _wrap(words: Sequence[str], width: int, lines: int) -> list[str]:
    """Comma-separated words in lines of about ``width``; what is too much is counted."""
    result: list[str] = []
    used = 0
    for word in words:
        if result and len(result[-1]) + len(word) + 2 <= width:
            result[-1] += f", {word}"
        elif len(result) < lines:
            result.append(word)
        else:
            break
        used += 1
    result = [f"{line}," if line is not result[-1] else line for line in result]
    if used < len(words):
        result[-1] += f", +{len(words) - used}"
    return result


def _quoted(text: str) -> str:
    escaped = "".join(_printable(text)).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'


def _html(text: str) -> str:
    return html.escape("".join(_printable(text)))


def _printable(text: str) -> Iterable[str]:
    for char in text:
        yield char if char == "\n" or unicodedata.category(char)[0] != "C" else "\ufffd"
