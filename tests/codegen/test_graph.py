"""Graphs of state machines: what is drawn, and that nothing escapes its quotes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from slicc import ir
from slicc.codegen.graph import machine_graph, render_graph
from slicc.codegen.output import write_file
from slicc.codegen.state_kinds import reachable_states, transient_states, waiting_transitions
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


def test_small_machine(golden: Golden) -> None:
    golden("graph_small.dot", machine_graph(SMALL, "Toy"))


def test_text_is_the_same_every_time() -> None:
    assert machine_graph(SMALL, "Toy") == machine_graph(SMALL, "Toy")


def test_transient_states_are_busy_or_hold_a_tbe() -> None:
    assert transient_states(SMALL) == {"IS", "IM", "SM"}


def test_a_state_with_and_without_tbe_is_stable() -> None:
    made = machine(
        [("I", "A", "S", ["alloc"]), ("I", "B", "S", []), ("I", "C", "T", ["maybe"])],
        {"I": INVALID, "S": READ, "T": READ},
    )
    assert transient_states(made) == {"T"}


def test_reachable_states() -> None:
    assert reachable_states(SMALL) == {"I", "S", "M", "IS", "IM", "SM"}
    everywhere = machine([("I", "A", "*", [])], {"I": INVALID, "S": READ})
    assert reachable_states(everywhere) == {"I", "S"}


def test_waiting_transitions_do_nothing_but_put_off() -> None:
    waiting = [SMALL.transitions[index] for index in waiting_transitions(SMALL)]
    assert sorted(transition.states for transition in waiting) == [("IM",), ("IS",)]


def test_self_loops_on_request() -> None:
    assert '"IM" -> "IM"' not in machine_graph(SMALL, "Toy")
    assert '"IM" -> "IM"' in machine_graph(SMALL, "Toy", self_loops=True)


def test_many_events_share_a_wrapped_label() -> None:
    rows: list[Row] = [("I", f"Event_number_{number}", "S", []) for number in range(40)]
    dot = machine_graph(machine(rows, {"I": INVALID, "S": READ}), "Toy")
    (edge,) = [line for line in dot.splitlines() if '"I" -> "S"' in line]
    label = edge.split('label="')[1].split('"')[0]
    assert len(label.split("\\n")) == 6
    assert label.endswith(", +34  ")


HOSTILE = '</b>"]; evil [label=<\\\n&\x1b'


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_texts_cannot_leave_their_quotes() -> None:
    made = machine([("I", "A", "S", [])], {"I": INVALID, "S": READ}, title=HOSTILE, desc=HOSTILE)
    svg = render_graph(machine_graph(made, HOSTILE), "svg").decode()
    assert "&lt;/b&gt;" in svg
    assert ">evil<" not in svg and "\x1b" not in svg
    assert svg.count('class="node"') == 3
    assert render_graph(machine_graph(SMALL, "Toy"), "png").startswith(b"\x89PNG")


def test_graphviz_failing_is_an_error_not_a_picture() -> None:
    if shutil.which("dot") is not None:
        with pytest.raises(OSError, match="syntax error"):
            render_graph("digraph {", "svg")
    assert render_graph("digraph {", "dot") == b"digraph {"


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    assert write_file(path, b"one") == path
    assert write_file(path, b"two").read_bytes() == b"two"
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        write_file(tmp_path / "dir", b"x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dir", "new"]
