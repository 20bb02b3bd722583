"""Statements that an author might have meant instead of those that are there, for a diagnosis.

The operators of mutants make a mistake, so they also undo one; what they do not undo is a statement
that is missing, or a value that stands in place of another. What is put there the author has
written elsewhere in the machine, or it is a constant. Invariant: a change is one statement that is
left out, added, or has another part; it names no local that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Final

from slicc import ir
from slicc.ir.walk import expressions_in
from slicc.mutation.body_operators import SIZES, Rules, operator_changes
from slicc.mutation.fresh_fields import with_fresh_fields
from slicc.mutation.reachability import Declared, reachable_declarations
from slicc.mutation.rewriting import Body, Site, sites, with_body, with_part
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_VALUES: Final = 4
"""Other values of the author's in one place, at most."""
_ADDED: Final = 8
"""Statements of the author's that are added in one place, at most."""
_SHOWN: Final = 60
"""Characters of the author's text in words."""
_EVENTS: Final = 8
"""Other events of one trigger, at most."""
_IDLE: Final = ("profile", "setMRU")
"""How methods begin that no run depends on."""
_JOINING: Final = (ir.BinaryOperator.AND, ir.BinaryOperator.OR)
_SET: Final = "NetDest"
_MEMBER: Final = ir.ClassType("MachineID", value=True, immutable=True)
_Written = tuple[str, ir.Expr]
"""A value and how it is shown."""


@dataclass(frozen=True, slots=True)
class OtherStatement:
    """A changed statement. ``words``: how it differs, behind *it passes*; ``machine``: as it is
    then."""

    span: Span
    words: str
    machine: ir.Machine


@dataclass(frozen=True, slots=True)
class _Scope:
    """``names``: of locals that can be used; ``types``: of all locals of the body; ``acts``:
    whether there is a transaction."""

    names: frozenset[str]
    types: Mapping[str, ir.Type]
    acts: bool = False

    def within(self, *locals: str) -> _Scope:
        return replace(self, names=self.names.union(locals))

    def has(self, nodes: Iterator[ir.Expr]) -> bool:
        """Whether all that expressions name is there."""
        for node in nodes:
            match node:
                case ir.Local(name, type_):
                    if name not in self.names or self.types.get(name) != type_:
                        return False
                case ir.TransactionValue() if not self.acts:
                    return False
                case _:
                    pass
        return True


class OtherStatements:
    """Those of one machine."""

    def __init__(self, protocol: ir.Protocol, machine: ir.Machine) -> None:
        self._machine = machine
        self._rules = Rules(protocol, machine)
        self.declarations = reachable_declarations(machine)

    def of(self, declared: Declared) -> Iterator[Sequence[OtherStatement]]:
        """The changes of each statement of a body."""
        scope = _scope_of(declared)
        for site in sites(declared.body, scope.names):
            found: dict[Body, str] = {(site.statement,): ""}
            ends = isinstance(declared, ir.Action) and site.statement is declared.body[-1]
            for words, statements in self._changes(site, scope.within(*site.names), ends):
                found.setdefault(statements, words)
            del found[site.statement,]
            yield [
                OtherStatement(
                    site.statement.span, words, self._with(declared, site.put(statements))
                )
                for statements, words in found.items()
            ]

    def _with(self, declared: Declared, body: Body) -> ir.Machine:
        return with_body(self._machine, declared, with_fresh_fields(body, self._rules.structs))

    def _changes(self, site: Site, scope: _Scope, ends: bool) -> Iterator[tuple[str, Body]]:
        """In words, and what stands there instead. ``ends``: whether a statement may be added
        behind this one."""
        statement = site.statement
        for change in operator_changes(self._rules, site):
            yield f"if {change.description}", change.statements
        match statement:
            case ir.Assign(value=value) if _is_size(value):
                return
            case ir.Assign() | ir.SetTransaction() | ir.WakeupPort() | ir.Enqueue():
                yield f"without `{_text(statement)}`", ()
            case ir.Evaluate(expression) if not _is_idle(expression):
                yield f"without `{_text(statement)}`", ()
            case ir.If(condition):
                for text, constant in _constants(condition):
                    words = f"if `{_text(condition)}` is {text}"
                    yield words, (replace(statement, condition=constant),)
            case _:
                pass
        for part, text, other in self._parts(statement, scope):
            words = f"with `{text}` in place of `{_text(part)}`"
            yield words, (_with_part(statement, part, other),)
        match statement:
            case ir.Enqueue(local=local, body=body):
                for text, added in self._of_message(statement, scope.within(local)):
                    yield f"with `{text}` in addition", (replace(statement, body=(*body, added)),)
            case ir.Peek(local=local, body=body) if ends:
                for text, added in self._elsewhere(body, scope.within(local)):
                    yield f"with `{text}` in addition", (replace(statement, body=(*body, added)),)
            case _ if ends:
                for text, added in self._elsewhere((statement,), scope):
                    yield f"with `{text}` in addition", (statement, added)
            case _:
                pass

    # -------------------------------------------------------------- other parts

    def _parts(self, statement: ir.Stmt, scope: _Scope) -> Iterator[tuple[ir.Expr, str, ir.Expr]]:
        """A part of a statement, and what could stand in its place."""
        match statement:
            case ir.If():
                for node in expressions_in((statement,), nested=False):
                    if isinstance(node, ir.Binary) and node.operator in _JOINING:
                        for side in (node.left, node.right):
                            yield node, _text(side), side
            case ir.Trigger(event=ir.EnumConst() as event):
                for member in islice(self._triggered, _EVENTS):
                    yield event, f"Event:{member}", replace(event, member=member)
            case _:
                for value in _values(statement):
                    values = self._written_for(_field(statement), value.type, scope)
                    for text, other in chain(_near(statement, value), islice(values, _VALUES)):
                        yield value, text, other

    def _written_for(self, field: str, type_: ir.Type, scope: _Scope) -> Iterator[_Written]:
        """What the machine's text has of a type, the values of a field first."""
        fitting = [
            (field not in fields, value)
            for value, fields in self._values.items()
            if value.type == type_ and scope.has(expressions_in((_evaluated(value),)))
        ]
        for _, value in sorted(fitting, key=lambda each: each[0]):
            yield _text(value), value

    # -------------------------------------------------------------- statements more

    def _of_message(self, message: ir.Enqueue, scope: _Scope) -> Iterator[tuple[str, ir.Stmt]]:
        """About a message: fields that are not set, machines in addition to those that it names or
        without them, and what other messages have."""
        nodes = list(expressions_in(message.body))
        fields = dict.fromkeys(
            node
            for node in nodes
            if isinstance(node, ir.FieldAccess)
            and isinstance(node.receiver, ir.Local)
            and node.receiver.name == message.local
        )
        for there in {each.receiver: None for each in fields}:
            yield from self._unset(message, there, {each.name for each in fields}, scope)
        for each in fields:
            if isinstance(each.type, ir.ClassType) and each.type.name == _SET:
                for text, value in islice(self._written_for("", _MEMBER, scope), _VALUES):
                    for method in ("remove", "add"):
                        call = ir.CallMethod(
                            *(each, _SET, method, (value,), ir.VoidType()),
                            mutates=True,
                            span=each.span,
                        )
                        yield f"{_text(each)}.{method}({text})", _evaluated(call)
        yield from self._elsewhere(message.body, scope, message.local)

    def _unset(
        self, message: ir.Enqueue, there: ir.Expr, known: set[str], scope: _Scope
    ) -> Iterator[tuple[str, ir.Stmt]]:
        struct = self._rules.structs.get(message.message)
        for field in () if struct is None else struct.fields:
            if field.name in known or _is_size(field.default):
                continue
            target = ir.FieldAccess(there, field.name, field.type, span=message.span)
            constants = _constants(field.default) if field.type == ir.BOOL else ()
            values = chain(constants, self._written_for(field.name, field.type, scope))
            for text, value in islice(values, _VALUES):
                added = ir.Assign(target, value, _copying(value), span=message.span)
                yield f"{message.local}.{field.name} := {text}", added

    def _elsewhere(
        self, body: Body, scope: _Scope, message: str = ""
    ) -> Iterator[tuple[str, ir.Stmt]]:
        """Statements of other bodies, about the message that is built here if there is one."""
        fitting = (
            (_text(each), each)
            for each in self._statements
            if each not in body
            and (_changed(each) == message if message else _changed(each) not in self._messages)
            and scope.has(expressions_in((each,)))
        )
        return islice(fitting, _ADDED)

    # -------------------------------------------------------------- what the text has

    @cached_property
    def _values(self) -> Mapping[ir.Expr, set[str]]:
        """Values, with the fields that they are assigned to."""
        found: dict[ir.Expr, set[str]] = {}
        for node in self._all:
            for value in _values(node):
                found.setdefault(value, set()).add(_field(node))
        return found

    @cached_property
    def _statements(self) -> Sequence[ir.Stmt]:
        """What changes something, assignments first; without what is all that an action does:
        that is tried as an action more of a row."""
        alone = {each.body[0] for each in self._machine.actions if len(each.body) == 1}
        found = dict.fromkeys(node for node in self._all if _changed(node) is not None)
        return sorted(
            (each for each in found if each not in alone),
            key=lambda each: not isinstance(each, ir.Assign),
        )

    @cached_property
    def _messages(self) -> frozenset[str]:
        """What messages are called that are being built."""
        return frozenset(node.local for node in self._all if isinstance(node, ir.Enqueue))

    @cached_property
    def _triggered(self) -> Sequence[str]:
        events = [node.event for node in self._all if isinstance(node, ir.Trigger)]
        return list(dict.fromkeys(each.member for each in events if isinstance(each, ir.EnumConst)))

    @cached_property
    def _all(self) -> Sequence[ir.Stmt]:
        return [site.statement for each in self.declarations for site in sites(each.body)]


def _scope_of(declared: Declared) -> _Scope:
    """What a body begins with."""
    types = {
        node.name: node.type for node in expressions_in(declared.body) if isinstance(node, ir.Local)
    }
    match declared:
        case ir.Action():
            return _Scope(frozenset(), types, acts=True)
        case ir.Function(parameters=parameters):
            own = {each.name: each.type for each in parameters}
            return _Scope(frozenset(own), {**types, **own})
        case _:
            return _Scope(frozenset(), types)


def _near(statement: ir.Stmt, value: ir.Expr) -> Iterator[_Written]:
    """Values that are made of a value."""
    text, span = _text(value), value.span
    match value.type:
        case ir.BOOL:
            yield from _constants(value)
            if not isinstance(value, ir.BoolConst):
                yield f"!({text})", ir.Unary(ir.UnaryOperator.NOT, value, ir.BOOL, span=span)
        case ir.INT:
            if isinstance(statement, ir.Assign):
                target = statement.target
                together = ir.Binary(ir.BinaryOperator.ADD, target, value, ir.INT, span=span)
                yield f"{_text(target)} + {text}", together
            one = ir.IntConst(1, ir.INT, span=span)
            for operator in (ir.BinaryOperator.ADD, ir.BinaryOperator.SUBTRACT):
                other = ir.Binary(operator, value, one, ir.INT, span=span)
                yield f"{text} {operator.value} 1", other
        case _:
            pass


def _constants(value: ir.Expr) -> list[_Written]:
    return [(str(truth).lower(), ir.BoolConst(truth, span=value.span)) for truth in (True, False)]


def _values(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The parts of a statement for which another value could stand."""
    match statement:
        case ir.Assign(value=value) if not _is_size(value):
            return (value,)
        case ir.Return(value) if not _is_mutable(value):
            return (value,)
        case ir.Evaluate(ir.CallMethod(arguments=arguments) as call) if not _is_idle(call):
            return tuple(each for each in arguments if not _is_mutable(each))
        case _:
            return ()


def _field(statement: ir.Stmt) -> str:
    """What an assignment sets, if that is a field."""
    match statement:
        case ir.Assign(target=ir.FieldAccess(name=name)):
            return name
        case _:
            return ""


def _changed(statement: ir.Stmt) -> str | None:
    """The local that an assignment or a call changes, empty if that is none; None: nothing is."""
    match statement:
        case ir.Evaluate(node) | ir.Assign(value=node) if _is_idle(node) or _is_size(node):
            return None
        case ir.Assign(target=node) | ir.Evaluate(ir.CallMethod(receiver=node)):
            while isinstance(node, ir.FieldAccess):
                node = node.receiver
            return node.name if isinstance(node, ir.Local) else ""
        case _:
            return None


def _with_part(statement: ir.Stmt, part: ir.Expr, other: ir.Expr) -> ir.Stmt:
    changed = with_part(statement, part, other)
    if isinstance(changed, ir.Assign) and changed.copying is ir.Copying.REBIND:
        return replace(changed, copying=_copying(other))
    return changed


def _copying(value: ir.Expr) -> ir.Copying:
    return ir.Copying.COPY if _is_mutable(value) else ir.Copying.REBIND


def _is_mutable(value: ir.Expr) -> bool:
    """Whether it is an object that what takes it may change, so that not any value will do."""
    type_ = value.type
    return isinstance(type_, ir.ClassType) and type_.value and not type_.immutable


def _evaluated(value: ir.Expr) -> ir.Stmt:
    return ir.Evaluate(value, span=value.span)


def _is_size(value: ir.Expr) -> bool:
    """Whether it says how large a message is, on which nothing but time depends."""
    return isinstance(value.type, ir.EnumType) and value.type.ref.name == SIZES


def _is_idle(node: ir.Expr) -> bool:
    return isinstance(node, ir.CallMethod) and node.method.startswith(_IDLE)


def _text(node: ir.Stmt | ir.Expr) -> str:
    """What the author wrote, without a block; of a long text the beginning."""
    text = " ".join(node.span.text.partition("{")[0].rstrip(";").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
