"""Graphs of state machines: what is drawn, and that nothing escapes its quotes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import networkx as nx
import pytest

from slicc import ir
from slicc.book.state_diagram import render_diagram, state_diagram
from slicc.book.state_graph import state_graph
from slicc.source import NOWHERE
from tests.conftest import Golden

HERE = "L1Cache"
TBE = ir.PointerType(ir.TypeRef(HERE, "TBE"))

Row = tuple[str, str, str | None, Sequence[str]]
"""States (by blanks), event, next state (None: stay, ``*``: computed), actions."""


def set_tbe(value: ir.Expr | None) -> ir.SetTransaction:
    return ir.SetTransaction(ir.TransactionField.TBE, value, span=NOWHERE)


BODIES: dict[str, tuple[ir.Stmt, ...]] = {
    "alloc": (set_tbe(ir.Local("t", TBE, span=NOWHERE)),),
    "free": (set_tbe(None),),
    "maybe": (
        ir.If(
            ir.BoolConst(True, span=NOWHERE),
            (set_tbe(ir.Local("t", TBE, span=NOWHERE)),),
            (),
            span=NOWHERE,
        ),
    ),
    "send": (),
    "z_stall": (),
    "wait": (
        ir.StallAndWait(ir.PortRef(HERE, "p"), ir.IntConst(0, ir.ADDR, span=NOWHERE), span=NOWHERE),
    ),
}


def machine(
    rows: Sequence[Row],
    permissions: dict[str, ir.AccessPermission],
    default: str = "I",
    title: str = "a title",
    desc: str = "",
) -> ir.Machine:
    events = list(dict.fromkeys(row[1] for row in rows))
    transitions: list[ir.Transition] = []
    cells: list[ir.Cell] = []
    for states, event, target, actions in rows:
        kind = ir.NextKind.STAY if target is None else ir.NextKind.STATE
        kind = ir.NextKind.COMPUTED if target == "*" else kind
        cells += [ir.Cell(state, event, len(transitions)) for state in states.split()]
        transitions.append(
            ir.Transition(
                tuple(states.split()),
                (event,),
                ir.NextState(kind, target if kind is ir.NextKind.STATE else None),
                (),
                tuple(ir.ActionRef(HERE, action) for action in actions),
                (),
                stalls="z_stall" in actions,
                span=NOWHERE,
            )
        )
    return ir.Machine(
        name=HERE,
        title=title,
        parameters=(),
        states=ir.Enum_(
            ir.TypeRef(HERE, "State"),
            tuple(
                ir.EnumMember(name, desc, permission=permission, span=NOWHERE)
                for name, permission in permissions.items()
            ),
            default,
            span=NOWHERE,
        ),
        events=ir.Enum_(
            ir.TypeRef(HERE, "Event"),
            tuple(ir.EnumMember(name, desc, span=NOWHERE) for name in events),
            events[0],
            span=NOWHERE,
        ),
        request_types=None,
        enums=(),
        structs=(),
        tbe=TBE.ref,
        entry=None,
        objects=(),
        functions=(),
        in_ports=(),
        out_ports=(),
        actions=tuple(
            ir.Action(ir.ActionRef(HERE, name), name, f"does {name}", body, span=NOWHERE)
            for name, body in BODIES.items()
        ),
        transitions=tuple(transitions),
        cells=tuple(cells),
        span=NOWHERE,
    )


BUSY, INVALID = ir.AccessPermission.BUSY, ir.AccessPermission.INVALID
READ, WRITE = ir.AccessPermission.READ_ONLY, ir.AccessPermission.READ_WRITE

SMALL = machine(
    [
        ("I", "Load", "IS", ["send"]),
        ("I", "Store", "IM", ["alloc", "send"]),
        ("IS", "Data", "S", []),
        ("IM SM", "Data", "M", ["free"]),
        ("S", "Store", "SM", ["alloc", "send"]),
        ("S M", "Load", None, []),
        ("M", "Store", "M", []),
        ("S M", "Inv", "I", []),
        ("IS", "Inv", None, ["wait"]),
        ("IM", "Inv", None, ["z_stall"]),
        ("X", "Inv", "*", []),
    ],
    {"I": INVALID, "S": READ, "M": WRITE, "IS": BUSY, "IM": BUSY, "SM": READ, "X": INVALID},
)


def states_that_are(attribute: str, of: ir.Machine) -> set[str]:
    return {state for state, holds in state_graph(of).nodes(data=attribute) if holds}


def test_small_machine(golden: Golden) -> None:
    golden("graph_small.dot", state_diagram(SMALL, "Toy").source)


def test_nodes_are_states_and_edges_are_events() -> None:
    graph = state_graph(SMALL)
    assert list(graph) == ["I", "S", "M", "IS", "IM", "SM", "X"]
    assert nx.shortest_path(graph, "I", "SM") == ["I", "IS", "S", "SM"]
    assert graph.edges["S", "SM", "Store"]["transition"] is SMALL.transitions[4]
    assert set(graph["M"]["M"]) == {"Load", "Store"}
    assert set(graph["X"]) == set(graph)  # a computed next state may be any
    assert graph.nodes["IS"]["permission"] is BUSY and states_that_are("initial", SMALL) == {"I"}


def test_messages_that_are_put_off_are_marked() -> None:
    edges = state_graph(SMALL).edges(data="put_off")
    assert [(start, end) for start, end, put_off in edges if put_off] == [
        ("IS", "IS"),
        ("IM", "IM"),
    ]


def test_transient_states_are_busy_or_hold_a_tbe() -> None:
    assert states_that_are("transient", SMALL) == {"IS", "IM", "SM"}


def test_a_state_with_and_without_tbe_is_stable() -> None:
    made = machine(
        [("I", "A", "S", ["alloc"]), ("I", "B", "S", []), ("I", "C", "T", ["maybe"])],
        {"I": INVALID, "S": READ, "T": READ},
    )
    assert states_that_are("transient", made) == {"T"}


def test_a_tbe_that_is_freed_on_the_way_is_not_held() -> None:
    made = machine(
        [("I", "A", "B", ["alloc"]), ("B", "A", "C", ["send"]), ("C", "A", "D", ["free"])],
        dict.fromkeys("IBCD", READ),
    )
    assert states_that_are("transient", made) == {"B", "C"}


def test_reachable_states() -> None:
    assert states_that_are("reachable", SMALL) == {"I", "S", "M", "IS", "IM", "SM"}
    everywhere = machine([("I", "A", "*", [])], {"I": INVALID, "S": READ})
    assert states_that_are("reachable", everywhere) == {"I", "S"}
    elsewhere = machine([("S", "A", "M", [])], {"I": INVALID, "S": READ, "M": READ})
    assert states_that_are("reachable", elsewhere) == {"I", "S", "M"}, "a function sets the first"


def test_the_same_bytes_whatever_strings_hash_to() -> None:
    code = (
        "from slicc.book.state_diagram import state_diagram\n"
        "from tests.slicc.book.test_state_graph import SMALL\n"
        "print(state_diagram(SMALL, 'Toy').source, end='')"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        text = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
        assert text == state_diagram(SMALL, "Toy").source


def test_many_events_share_a_wrapped_label() -> None:
    rows: list[Row] = [("I", f"Event_number_{number}", "S", []) for number in range(40)]
    dot = state_diagram(machine(rows, {"I": INVALID, "S": READ}), "Toy").source
    label = dot.split('I -> S [label="')[1].split('"')[0]
    assert len(label.split("\n")) == 6
    assert label.endswith(", +34  ")


HOSTILE = '</b>"]; evil [label=<\\\n&\x1b &lt; \\N \\G'


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_texts_are_shown_literally() -> None:
    made = machine([("I", "A", "S", [])], {"I": INVALID, "S": READ}, title=HOSTILE, desc=HOSTILE)
    svg = render_diagram(state_diagram(made, HOSTILE), "svg").decode()
    page = ET.fromstring(svg)
    shown = HOSTILE.replace("\x1b", "\ufffd").replace("\n", "")
    texts = ["".join(each.itertext()) for each in page.iter("{http://www.w3.org/2000/svg}text")]
    assert f" \u2014 {shown}" in texts and f"{shown}: L1Cache" in texts
    tooltips = [each.get("{http://www.w3.org/1999/xlink}title", "") for each in page.iter()]
    hidden = HOSTILE.replace("\x1b", "\ufffd")
    assert f"{hidden}; permission Invalid" in [each.replace("\u200b", "") for each in tooltips]
    assert svg.count('class="node"') == 3
    assert render_diagram(state_diagram(SMALL, "Toy"), "png").startswith(b"\x89PNG")


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_failing_is_an_error_not_a_picture() -> None:
    diagram = state_diagram(SMALL, "Toy")
    diagram.body.append("[")
    with pytest.raises(OSError, match="syntax error"):
        render_diagram(diagram, "svg")
