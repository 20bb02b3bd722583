"""The verifier finds what it promises to find: each test breaks good IR in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from slicc import ir
from slicc.ir.verifier import verify
from tests.slicc.resolve.test_ir import compiled

GOOD = compiled("needs")


def _machine(change: Callable[[ir.Machine], ir.Machine]) -> ir.Protocol:
    return replace(GOOD, machines=(change(GOOD.machines[0]),))


def _in_action(machine: ir.Machine, statement: ir.Stmt) -> ir.Machine:
    first = machine.actions[0]
    return replace(machine, actions=(replace(first, body=(statement,)), *machine.actions[1:]))


SPAN = GOOD.span
NUMBER = ir.IntConst(1, ir.INT, span=SPAN)
STRAY = ir.Local("stray", ir.INT, span=SPAN)
DATA = ir.ClassType("DataBlock", value=True)
BLOCK = ir.Declare("d", DATA, ir.NewStruct(DATA, span=SPAN), ir.Copying.REBIND, span=SPAN)


def _transition(machine: ir.Machine, **changes: object) -> ir.Machine:
    first = replace(machine.transitions[0], **changes)  # type: ignore[arg-type]
    return replace(machine, transitions=(first, *machine.transitions[1:]))


BREAKAGES: dict[str, tuple[str, Callable[[ir.Machine], ir.Machine]]] = {
    "cell order": ("not sorted", lambda m: replace(m, cells=m.cells[::-1])),
    "lost cell": ("has no cell", lambda m: replace(m, cells=m.cells[1:])),
    "wrong cell": (
        "is not of transition",
        lambda m: replace(m, cells=(replace(m.cells[0], transition=1), *m.cells[1:])),
    ),
    "unknown action": (
        "unknown action",
        lambda m: _transition(m, actions=(ir.ActionRef(m.name, "gone"),)),
    ),
    "unknown state": ("unknown state", lambda m: _transition(m, states=("Q",))),
    "unknown request": ("unknown request type", lambda m: _transition(m, request_types=("Q",))),
    "next state": (
        "no proper next state",
        lambda m: _transition(m, next=ir.NextState(ir.NextKind.STATE, "Q")),
    ),
    "need without object": (
        "means nothing",
        lambda m: _transition(m, needs=(ir.SlotNeed("gone", 1),)),
    ),
    "needs out of order": (
        "are not sorted",
        lambda m: _transition(m, needs=(ir.SlotNeed("tx", 1), ir.SlotNeed("again", 1))),
    ),
    "stray local": (
        "no local stray",
        lambda m: _in_action(m, ir.Evaluate(STRAY, span=SPAN)),
    ),
    "unknown type": (
        "unknown type",
        lambda m: _in_action(m, ir.Evaluate(ir.Null(ir.UNKNOWN, span=SPAN), span=SPAN)),
    ),
    "condition": ("condition is int", lambda m: _in_action(m, ir.If(NUMBER, (), (), span=SPAN))),
    "shared value": (
        "would be shared",
        lambda m: replace(
            _in_action(m, BLOCK),
            actions=(
                replace(
                    m.actions[0],
                    body=(
                        BLOCK,
                        ir.Declare(
                            "e", DATA, ir.Local("d", DATA, span=SPAN), ir.Copying.REBIND, span=SPAN
                        ),
                    ),
                ),
                *m.actions[1:],
            ),
        ),
    ),
    "copied scalar": (
        "only mutable values are copied",
        lambda m: _in_action(m, ir.Declare("n", ir.INT, NUMBER, ir.Copying.COPY, span=SPAN)),
    ),
    "unknown port": (
        "no port gone",
        lambda m: _in_action(
            m,
            ir.StallAndWait(
                ir.PortRef(m.name, "gone"), ir.IntConst(0, ir.ADDR, span=SPAN), span=SPAN
            ),
        ),
    ),
    "unknown function": (
        "no function gone",
        lambda m: _in_action(
            m,
            ir.Evaluate(
                ir.CallFunction(ir.FunctionRef(m.name, None, "gone"), (), ir.VOID, span=SPAN),
                span=SPAN,
            ),
        ),
    ),
    "unknown member": (
        "no member State:Q",
        lambda m: _in_action(
            m, ir.Evaluate(ir.EnumConst("Q", ir.EnumType(m.states.ref), span=SPAN), span=SPAN)
        ),
    ),
    "result of an operator": (
        "gives another type",
        lambda m: _in_action(
            m,
            ir.Evaluate(
                ir.Binary(ir.BinaryOperator.ADD, NUMBER, NUMBER, ir.BOOL, span=SPAN), span=SPAN
            ),
        ),
    ),
    "buffer": (
        "stands for no object",
        lambda m: replace(m, out_ports=(replace(m.out_ports[0], buffer="gone"),)),
    ),
    "two names": ("two of one name", lambda m: replace(m, functions=m.functions + m.functions)),
}


def test_good_ir_is_good() -> None:
    assert verify(GOOD) == []


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_invariant_is_found(name: str) -> None:
    expected, change = BREAKAGES[name]
    problems = verify(_machine(change))
    assert any(expected in problem for problem in problems), problems
