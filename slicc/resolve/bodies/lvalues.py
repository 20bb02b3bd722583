"""What may be assigned: the rules about messages, parameters and results.

Invariant: an expression that passes :func:`check_changeable` denotes storage that outlives the
statement and that its holder may change.
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.bodies.context import Body
from slicc.resolve.scope.symbols import VariableKind
from slicc.source import Span


def check_changeable(body: Body, target: ir.Expr, why: str) -> bool:
    """Report a target that must not be written; True if it may."""
    root = target
    while True:
        match root:
            case ir.FieldAccess(receiver):
                if isinstance(receiver.type, ir.PointerType):
                    return True
                root = receiver
            case ir.Cast(operand):
                root = operand
            case ir.CallMethod(receiver, by_reference=True):
                root = receiver
            case _:
                break
    match root:
        case ir.Local(name):
            return _check_local(body, name, target.span, why)
        case ir.MachineObject() | ir.SelfField() | ir.TransactionValue():
            return True
        case ir.CallFunction():
            if root.by_reference or isinstance(root.type, ir.PointerType):
                return True
        case _:
            if isinstance(root.type, ir.PointerType | ir.UnknownType):
                return True
    body.sink.error(
        "not-assignable", f"{why}, and this is a temporary value", target.span, "a value"
    )
    return False


def check_assignable(body: Body, target: ir.Expr, why: str) -> bool:
    """As :func:`check_changeable`; fields of a received message may be assigned, with a warning.

    Requests and answers of memory may not: they belong to who made them.
    """
    root = target
    while isinstance(root, ir.FieldAccess) and not isinstance(root.receiver.type, ir.PointerType):
        root = root.receiver
    symbol = body.scope.symbol_of(root.type)
    if (
        root is target
        or not isinstance(root, ir.Local)
        or symbol is None
        or symbol.library
        or not any(
            variable.ir_name == root.name and variable.kind is VariableKind.IN_MESSAGE
            for frame in body.locals.frames
            for variable in frame.values()
        )
    ):
        return check_changeable(body, target, why)
    body.sink.warning(
        "received-message-changed",
        "a received message is changed",
        target.span,
        "part of `in_msg`",
        notes=["the message keeps the value until it is dequeued"],
    )
    return True


def _check_local(body: Body, name: str, span: Span, why: str) -> bool:
    """``name``: of a variable in the IR, in which the place at ``span`` lies."""
    for frame in reversed(body.locals.frames):
        for variable in frame.values():
            if variable.ir_name != name:
                continue
            if variable.kind is VariableKind.IN_MESSAGE:
                body.sink.error(
                    "not-assignable",
                    f"{why}, and a received message is read-only",
                    span,
                    "part of `in_msg`",
                    notes=["messages are shared with their sender, not copied"],
                )
                return False
            if variable.kind is VariableKind.PARAMETER and not isinstance(
                variable.type, ir.PointerType
            ):
                body.sink.error(
                    "not-assignable",
                    f"{why}, and the parameter `{variable.name}` is read-only",
                    span,
                    "a parameter passed by value",
                    help=f"declare a local copy, or take it by reference: `& {variable.name}`",
                )
                return False
            return True
    return True
