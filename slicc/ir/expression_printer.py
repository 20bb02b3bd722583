"""Text of IR expressions, statements and types (the small pieces of `slicc.ir.printer`).

Invariant: IR that a backend must treat differently is printed differently.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir
from slicc.text.escapes import quoted


def type_text(type_: ir.Type) -> str:
    """A type; pointers end in ``*``."""
    match type_:
        case ir.ScalarType(kind):
            return kind.spelling
        case ir.EnumType(ref) | ir.StructType(ref):
            return ref.name
        case ir.PointerType(ref):
            return f"{ref.name}*"
        case ir.ClassType():
            element = "" if type_.element is None else f"<{type_text(type_.element)}>"
            return type_.name + element
        case ir.VoidType():
            return "void"
        case ir.UnknownType():
            return "?"
        case _:
            assert_never(type_)


def _list(nodes: tuple[ir.Expr, ...]) -> str:
    return ", ".join(expression(node) for node in nodes)


def expression(node: ir.Expr) -> str:
    """One expression."""
    match node:
        case ir.IntConst(value):
            return str(value)
        case ir.BoolConst(value):
            return "true" if value else "false"
        case ir.StringConst(value):
            return quoted(value)
        case ir.EnumConst(member):
            return f"{node.type.ref.name}:{member}"
        case ir.Null():
            return "null"
        case ir.Local(name):
            return name
        case ir.MachineObject(name):
            return f"self.{name}"
        case ir.ControllerValue(field):
            return f"controller.{field.value}"
        case ir.TransactionValue(field):
            return f"transaction.{field.value}"
        case ir.SelfField(name):
            return f"this.{name}"
        case ir.FieldAccess(receiver, name):
            arrow = "->" if isinstance(receiver.type, ir.PointerType) else "."
            return f"{expression(receiver)}{arrow}{name}"
        case ir.Unary(operator, operand):
            return f"{operator.value}{expression(operand)}"
        case ir.Binary(operator, left, right):
            return f"({expression(left)} {operator.value} {expression(right)})"
        case ir.Conditional(condition, then, orelse):
            return f"({expression(condition)} ? {expression(then)} : {expression(orelse)})"
        case ir.NullTest(valid, operand):
            return f"{'is_valid' if valid else 'is_invalid'}({expression(operand)})"
        case ir.Cast(operand, type_):
            return f"{type_text(type_)}({expression(operand)})"
        case ir.NewEntry(type_):
            return f"new {type_.ref.name}"
        case ir.NewStruct(type_):
            return f"{type_text(type_)}{{}}"
        case ir.EnumToString(operand):
            return f"name_of({expression(operand)})"
        case ir.StateToPermission(_, operand):
            return f"permission_of({expression(operand)})"
        case _:
            return _call(node)


def _call(
    node: ir.CallFunction | ir.CallStructMethod | ir.CallMethod | ir.CallBuiltin | ir.PortCall,
) -> str:
    match node:
        case ir.CallFunction(function, arguments):
            return f"{function.name}({_list(arguments)})" + ("&" if node.by_reference else "")
        case ir.CallStructMethod(receiver, function, arguments):
            return f"{expression(receiver)}.{function.name}({_list(arguments)})"
        case ir.CallMethod(receiver, _, method, arguments):
            inner = _list(arguments)
            if node.needs_controller:
                inner = f"controller, {inner}" if inner else "controller"
            mark = "!" if node.mutates else ""
            return f"{expression(receiver)}.{method}{mark}({inner})"
        case ir.CallBuiltin(name, home, arguments):
            return f"{home.value}.{name}({_list(arguments)})"
        case ir.PortCall(port, operation, arguments):
            return f"port {port.name}.{operation.value}({_list(arguments)})"
        case _:
            assert_never(node)


_ASSIGN = {
    ir.Copying.REBIND: ":=",
    ir.Copying.COPY: ":= copy",
    ir.Copying.OVERWRITE: ":= overwrite",
}


def statements(body: tuple[ir.Stmt, ...], indent: str) -> list[str]:
    """One line per statement; inner blocks are indented by two."""
    lines: list[str] = []
    for node in body:
        _statement(node, indent, lines)
    return lines


def _statement(node: ir.Stmt, indent: str, lines: list[str]) -> None:
    deeper = indent + "  "
    match node:
        case ir.If(condition, then, orelse):
            lines.append(f"{indent}if {expression(condition)}")
            lines.extend(statements(then, deeper))
            if orelse:
                lines.append(f"{indent}else")
                lines.extend(statements(orelse, deeper))
        case ir.Peek(port, message, local, body):
            text = f"{indent}peek {port.name} as {message.name} {local}"
            text += f" block on {node.block_on}" if node.block_on else ""
            text += f" wake up {node.wake_up}" if node.wake_up else ""
            lines.append(text)
            lines.extend(statements(body, deeper))
        case ir.Enqueue(port, message, local, latency, bypass, body, fresh):
            text = f"{indent}enqueue {port.name} {message.name} {local}"
            text += f" latency {expression(latency)}"
            text += f" bypass {expression(bypass)}" if bypass is not None else ""
            text += f" fresh {', '.join(fresh)}" if fresh else ""
            lines.append(text)
            lines.extend(statements(body, deeper))
        case _:
            lines.append(indent + _simple(node))


def _simple(
    node: ir.Declare
    | ir.Assign
    | ir.Evaluate
    | ir.Return
    | ir.Trigger
    | ir.StallPort
    | ir.StallAndWait
    | ir.WakeupPort
    | ir.CheckNextCycle
    | ir.CheckOnCacheProbe
    | ir.CheckAllocate
    | ir.SetTransaction
    | ir.Panic
    | ir.Assert
    | ir.Trace
    | ir.TransitionComment,
) -> str:
    match node:
        case ir.Declare(name, type_, initial, copying):
            return f"{type_text(type_)} {name} {_ASSIGN[copying]} {expression(initial)}"
        case ir.Assign(target, value, copying):
            return f"{expression(target)} {_ASSIGN[copying]} {expression(value)}"
        case ir.Evaluate(value):
            return expression(value)
        case ir.Return(value):
            return f"return {expression(value)}"
        case ir.Trigger(event, address, entry, tbe):
            text = f"trigger {expression(event)} at {expression(address)}"
            text += f" entry {expression(entry)}" if entry is not None else ""
            return text + (f" tbe {expression(tbe)}" if tbe is not None else "")
        case ir.StallPort():
            return "stall port"
        case ir.StallAndWait(port, address):
            return f"stall and wait {port.name} at {expression(address)}"
        case ir.WakeupPort(port, address):
            return f"wake up {port.name} at {expression(address)}"
        case ir.CheckNextCycle():
            return "check next cycle"
        case ir.CheckOnCacheProbe(port, address):
            return f"check on cache probe {port.name} at {expression(address)}"
        case ir.CheckAllocate(target):
            return f"check allocate {target}"
        case ir.SetTransaction(field, optional):
            what = "null" if optional is None else expression(optional)
            return f"transaction.{field.value} := {what}"
        case ir.Panic(text):
            return f"panic {quoted(text)}"
        case ir.Assert(condition):
            return f"assert {expression(condition)}"
        case ir.Trace(flag, text, arguments):
            values = f" {_list(arguments)}" if arguments else ""
            return f"trace {flag or 'always'} {quoted(text)}{values}"
        case ir.TransitionComment(value):
            return f"comment {expression(value)}"
        case _:
            assert_never(node)
