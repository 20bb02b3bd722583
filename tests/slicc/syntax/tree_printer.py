"""A syntax tree as text again, in one canonical form.

Invariant: for every tree that the parser can produce, ``parse(print_unit(tree)) == tree``. Brackets
are printed where the tree has them and nowhere else; comments are not in the tree and get lost,
and an include is printed as such, without the declarations of its file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from slicc.syntax import nodes as syntax

WIDTH = 100
"""Columns that a transition may take before its actions get a line each."""


def print_unit(unit: syntax.Unit) -> str:
    """The text of one file, ending in a newline unless the unit is empty."""
    return "".join(line + "\n" for line in _declarations(unit.declarations))


def print_expression(expression: syntax.Expression) -> str:
    """An expression on one line."""
    return _expression(expression)


# ------------------------------------------------------------------ declarations


def _declarations(declarations: Iterable[syntax.Declaration]) -> list[str]:
    """Lines; long declarations stand apart, runs of short ones of one kind together."""
    result: list[str] = []
    before: tuple[type[syntax.Node], bool] | None = None
    for declaration in declarations:
        lines = _declaration(declaration)
        now = (type(declaration), len(lines) == 1)
        if result and (before != now or not now[1]):
            result.append("")
        result += lines
        before = now
    return result


def _declaration(node: syntax.Declaration) -> list[str]:
    match node:
        case syntax.Protocol():
            options = ", ".join(option.text for option in node.options)
            return [f"protocol {_expression(node.name)}{' ' if options else ''}{options};"]
        case syntax.Include():
            return [f"include {_expression(node.path)};"]
        case syntax.Machine():
            return _machine(node)
        case syntax.Action():
            return _with_block(f"action({node.name.text}{_pairs(node.pairs)})", node.body)
        case syntax.InPort():
            return _with_block(f"in_port({_port(node)})", node.body)
        case syntax.OutPort():
            return [f"out_port({_port(node)});"]
        case syntax.Transition():
            return _transition(node)
        case syntax.ExternType():
            return [f"external_type({node.type.text}{_pairs(node.pairs)});"]
        case syntax.Structure():
            members = [line for member in node.members for line in _declaration(member)]
            return _braced(f"{node.keyword}({node.type.text}{_pairs(node.pairs)})", members)
        case syntax.Enumeration():
            members = [f"{member.name.text}{_pairs(member.pairs)};" for member in node.members]
            return _braced(f"enumeration({node.type.text}{_pairs(node.pairs)})", members)
        case syntax.StateDeclaration():
            members = [
                f"{member.name.text}, {_expression(member.permission)}{_pairs(member.pairs)};"
                for member in node.members
            ]
            return _braced(f"state_declaration({node.type.text}{_pairs(node.pairs)})", members)
        case syntax.ObjectDeclaration():
            return [_object(node)]
        case syntax.Function():
            return _function(node)
        case _:
            assert_never(node)


def _machine(node: syntax.Machine) -> list[str]:
    head = [f"machine({_expression(node.type)}{_pairs(node.pairs)})"]
    for number, parameter in enumerate(node.parameters):
        head.append(f"  {' ' if number else ':'} {_object(parameter)}")
    if not node.parameters:
        head[0] += " :"
    return [*head, "{", *_indented(_declarations(node.body)), "}"]


def _port(node: syntax.InPort | syntax.OutPort) -> str:
    return f"{node.name.text}, {node.message.text}, {node.buffer.text}{_pairs(node.pairs)}"


def _transition(node: syntax.Transition) -> list[str]:
    heads = [_names(node.states), _names(node.events)]
    if node.next_state is not None:
        heads.append(node.next_state.text)
    head = f"transition({', '.join(heads)})"
    if node.requests is not None:
        head += f" {_names(node.requests)}"
    actions = "".join(f" {name.text};" for name in node.actions.names)
    line = f"{head} {{{actions} }}"
    if len(line) <= WIDTH:
        return [line]
    return _braced(head, [f"{name.text};" for name in node.actions.names])


def _names(node: syntax.NameSet) -> str:
    inner = ", ".join(name.text for name in node.names)
    return f"{{{inner}}}" if node.braced else inner


def _object(node: syntax.ObjectDeclaration) -> str:
    pointer = "* " if node.pointer else ""
    initial = "" if node.initial is None else f" := {_expression(node.initial)}"
    return f"{node.type.text} {pointer}{node.name.text}{_pairs(node.pairs)}{initial};"


def _function(node: syntax.Function) -> list[str]:
    result = "void" if node.result is None else node.result.text
    parameters = ", ".join(_parameter(parameter) for parameter in node.parameters)
    head = f"{result} {node.name.text}({parameters}){_pairs(node.pairs)}"
    return [f"{head};"] if node.body is None else _with_block(head, node.body)


def _parameter(node: syntax.Parameter) -> str:
    mark = {"value": "", "pointer": "* ", "reference": "& "}[node.mode]
    name = "" if node.name is None else f" {mark}{node.name.text}"
    default = "" if node.default is None else f" := {_expression(node.default)}"
    return f"{node.type.text}{name}{default}"


def _pairs(pairs: syntax.Pairs) -> str:
    """With the comma before each pair."""
    return "".join(f", {_pair(pair)}" for pair in pairs.items)


def _pair(pair: syntax.Pair) -> str:
    value = _quoted(pair.value) if pair.kind == "string" else pair.value
    return value if pair.key is None else f"{pair.key.text}={value}"


# ------------------------------------------------------------------ statements


def _with_block(head: str, block: syntax.Block) -> list[str]:
    return _braced(head, _statements(block))


def _braced(head: str, lines: list[str]) -> list[str]:
    if not lines:
        return [f"{head} {{ }}"]
    return [f"{head} {{", *_indented(lines), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def _statements(block: syntax.Block) -> list[str]:
    return [line for statement in block.statements for line in _statement(statement)]


def _statement(node: syntax.Statement) -> list[str]:
    match node:
        case syntax.ExpressionStatement():
            return [f"{_expression(node.expression)};"]
        case syntax.Assign():
            return [f"{_expression(node.target)} := {_expression(node.value)};"]
        case syntax.If():
            return _if(node)
        case syntax.Return():
            return [f"return {_expression(node.value)};"]
        case syntax.Peek():
            head = f"peek({node.port.text}, {node.type.text}{_pairs(node.pairs)})"
            return _with_block(head, node.body)
        case syntax.Enqueue():
            rest = [part for part in (node.latency, node.bypass) if part is not None]
            more = "".join(f", {_expression(part)}" for part in rest)
            return _with_block(f"enqueue({node.port.text}, {node.type.text}{more})", node.body)
        case syntax.DeferEnqueueing():
            return _with_block(f"defer_enqueueing({node.port.text}, {node.type.text})", node.body)
        case syntax.StallAndWait():
            return [f"stall_and_wait({node.port.text}, {node.address.text});"]
        case syntax.WakeupPort():
            return [f"wakeup_port({node.port.text}, {node.address.text});"]
        case syntax.CheckAllocate():
            return [f"check_allocate({node.target.text});"]
        case syntax.CheckNextCycle():
            return ["check_next_cycle();"]
        case syntax.CheckOnCacheProbe():
            return [f"check_on_cache_probe({node.port.text}, {node.address.text});"]
        case syntax.CheckStopSlots():
            texts = f"{_expression(node.condition)}, {_expression(node.handler)}"
            return [f"check_stop_slots({node.target.text}, {texts});"]
        case _:
            assert_never(node)


def _if(node: syntax.If) -> list[str]:
    lines: list[str] = []
    word = "if"
    branch: syntax.If | syntax.Block | None = node
    while branch is not None:
        if isinstance(branch, syntax.Block):
            lines += [f"{word} {{", *_indented(_statements(branch)), "}"]
            break
        head = f"{word} ({_expression(branch.condition)}) {{"
        lines += [head, *_indented(_statements(branch.then)), "}"]
        word = f"{lines.pop()} else" + ("" if isinstance(branch.orelse, syntax.Block) else " if")
        branch = branch.orelse
    else:
        lines.append("}")
    return lines


# ------------------------------------------------------------------ expressions


def _expression(node: syntax.Expression) -> str:
    match node:
        case syntax.StringLiteral():
            return _quoted(node.value)
        case syntax.NumberLiteral():
            return str(node.value)
        case syntax.FloatLiteral():
            return node.text
        case syntax.BoolLiteral():
            return "true" if node.value else "false"
        case syntax.OutOfDate():
            return "OOD"
        case syntax.Variable():
            return node.name.text
        case syntax.EnumMember():
            return f"{node.type.text}:{node.member.text}"
        case syntax.LocalDeclaration():
            return f"{node.type.text} {node.name.text}"
        case syntax.Call():
            return f"{node.function.text}({_arguments(node.arguments)})"
        case syntax.MethodCall():
            receiver = _expression(node.receiver)
            return f"{receiver}.{node.method.text}({_arguments(node.arguments)})"
        case syntax.FieldAccess():
            return f"{_expression(node.receiver)}.{node.field.text}"
        case syntax.Index():
            return f"{_expression(node.receiver)}[{_arguments(node.arguments)}]"
        case syntax.Unary():
            operand = _expression(node.operand)
            apart = " " if node.operator == "-" and operand.startswith("-") else ""
            return f"{node.operator}{apart}{operand}"
        case syntax.Binary():
            return f"{_expression(node.left)} {node.operator} {_expression(node.right)}"
        case syntax.New():
            return f"new {node.type.text}"
        case syntax.NullTest():
            return f"is_{'valid' if node.valid else 'invalid'}({_expression(node.operand)})"
        case syntax.StaticCast():
            mode = "" if node.mode is None else f", {_expression(node.mode)}"
            return f"static_cast({node.type.text}{mode}, {_expression(node.operand)})"
        case syntax.Parenthesized():
            return f"({_expression(node.inner)})"
        case _:
            assert_never(node)


def _arguments(arguments: Iterable[syntax.Expression]) -> str:
    return ", ".join(_expression(argument) for argument in arguments)


def _quoted(text: str) -> str:
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"
