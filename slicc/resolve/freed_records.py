"""Transitions that free the line's TBE and go on with it: what ``setState`` writes then is lost.

gem5 deletes the record, so that its own controller writes into freed memory. A text whose actions
always end the use of what they free (``unset_tbe``) is left as it is; in any other machine,
``setState`` first asks the table whether the record is still there. Invariant: the question changes
nothing but the verdict.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.ir.walk import direct_expressions, expressions_in, inner_blocks

_TABLE = "TBETable"


def with_checks(machine: ir.Machine) -> ir.Machine:
    """The machine, with such a question where transitions may keep what they free.

    Of a machine with several tables nothing is asked: a TBE does not say which one it is of.
    """
    tables = [each for each in machine.objects if _is_table(each.type)]
    if len(tables) != 1 or not _keeps_freed(machine):
        return machine
    functions = tuple(
        _asking(machine, each, tables[0]) if each.written_name == "setState" else each
        for each in machine.functions
    )
    return replace(machine, functions=functions)


def _is_table(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ClassType) and type_.name == _TABLE


def _keeps_freed(machine: ir.Machine) -> bool:
    """Whether in some transition the last thing done to the TBE may be to free it."""
    bodies = {action.ref: action.body for action in machine.actions}
    freeing = {ref for ref, body in bodies.items() if _freed(body, False)}
    for transition in machine.transitions:
        if not freeing.isdisjoint(transition.actions):
            freed = False
            for action in transition.actions:
                freed = _freed(bodies[action], freed)
            if freed:
                return True
    return False


def _freed(body: tuple[ir.Stmt, ...], freed: bool) -> bool:
    """Whether the TBE may be freed and kept behind some statements; ``freed``: before them."""
    for statement in body:
        match statement:
            case ir.If(then=then, orelse=orelse):
                freed = _freed(then, freed) or _freed(orelse, freed)
            case ir.SetTransaction(field=ir.TransactionField.TBE):
                freed = False
            case _:
                freed |= any(map(_frees, direct_expressions(statement)))
                for block in inner_blocks(statement):
                    freed = _freed(block, freed)
    return freed


def _frees(node: ir.Expr) -> bool:
    return (
        isinstance(node, ir.CallMethod)
        and node.method == "deallocate"
        and _is_table(node.receiver.type)
    )


def _asking(machine: ir.Machine, function: ir.Function, table: ir.Object) -> ir.Function:
    """``setState`` with the question in front, if it uses a TBE."""
    tbe = next((p for p in function.parameters if _is_record(p.type, machine)), None)
    if tbe is None or not _uses(function.body, tbe.name):
        return function
    span = function.body[0].span
    record = ir.Local(tbe.name, tbe.type, span=span)
    receiver = ir.MachineObject(table.name, table.type, span=span)
    asked = ir.CallMethod(receiver, _TABLE, "stillHas", (record,), ir.VOID, span=span)
    question = ir.If(
        ir.NullTest(True, record, span=span), (ir.Evaluate(asked, span=span),), (), span=span
    )
    return replace(function, body=(question, *function.body))


def _is_record(type_: ir.Type, machine: ir.Machine) -> bool:
    return isinstance(type_, ir.PointerType) and type_.ref == machine.tbe


def _uses(body: tuple[ir.Stmt, ...], record: str) -> bool:
    return any(
        isinstance(node, ir.FieldAccess)
        and isinstance(node.receiver, ir.Local)
        and node.receiver.name == record
        for node in expressions_in(body)
    )
