"""From productions of the grammar to nodes of the tree, while the parser runs.

The parser calls one method per production with the tokens and nodes it consists of. Methods are
named after productions; a trailing ``_`` avoids Python's keywords. Tokens are strings with a place.
Invariant: a node's span reaches from its first to its last token, and nothing is looked up or
checked here.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from slicc.source import BUILTIN, SourceFile, Span
from slicc.syntax import nodes as syntax

Children = list[Any]
"""Tokens and nodes of one production, in order."""


class TreeBuilder:
    """The ``transformer=`` of the parser. Set :attr:`file` before parsing."""

    def __init__(self) -> None:
        self.file: SourceFile = BUILTIN

    def __getattr__(self, production: str) -> Any:
        """``if`` and ``return`` are built by ``if_`` and ``return_``."""
        if production.endswith("_") or production.startswith("_"):
            raise AttributeError(production)
        return getattr(self, production + "_")

    def span(self, children: Children) -> Span:
        """From the first to the last of a non-empty list of children."""
        return Span(self.file, _start(children[0]), _end(children[-1]))

    def _pairs(self, items: list[syntax.Pair], before: Any) -> syntax.Pairs:
        """The pair list behind ``before``; an empty one is an empty span there."""
        if items:
            return syntax.Pairs(tuple(items), span=items[0].span.to(items[-1].span))
        end = _end(before)
        return syntax.Pairs((), span=Span(self.file, end, end))

    # -------------------------------------------------------- declarations

    def unit(self, children: Children) -> syntax.Unit:
        return syntax.Unit(tuple(children), span=Span(self.file, 0, len(self.file.text)))

    def protocol(self, children: Children) -> syntax.Protocol:
        options = tuple([child for child in children[2:] if not isinstance(child, str)])
        return syntax.Protocol(children[1], options, span=self.span(children))

    def include(self, children: Children) -> syntax.Include:
        return syntax.Include(children[1], span=self.span(children))

    def machine(self, children: Children) -> syntax.Machine:
        return syntax.Machine(
            children[2],
            self._pairs(children[3], children[2]),
            tuple(children[6]),
            tuple(children[8]),
            span=self.span(children),
        )

    def object_declarations(self, children: Children) -> Children:
        return children

    def declarations(self, children: Children) -> Children:
        return children

    def action(self, children: Children) -> syntax.Action:
        _, _, name, pairs, _, body = children
        return syntax.Action(name, self._pairs(pairs, name), body, span=self.span(children))

    def in_port(self, children: Children) -> syntax.InPort:
        _, _, name, _, message, _, buffer, pairs, _, body = children
        return syntax.InPort(
            name, message, buffer, self._pairs(pairs, buffer), body, span=self.span(children)
        )

    def out_port(self, children: Children) -> syntax.OutPort:
        _, _, name, _, message, _, buffer, pairs, _, _ = children
        return syntax.OutPort(
            name, message, buffer, self._pairs(pairs, buffer), span=self.span(children)
        )

    def transition(self, children: Children) -> syntax.Transition:
        _, _, states, _, events, next_state, _, *groups = children
        return syntax.Transition(
            states,
            events,
            next_state,
            groups[0] if len(groups) == 2 else None,
            groups[-1],
            span=self.span(children),
        )

    def next_state(self, children: Children) -> syntax.Name | None:
        if not children:
            return None
        state = children[1]
        return self.name([state]) if isinstance(state, str) else cast(syntax.Name, state)

    def bare_set(self, children: Children) -> syntax.NameSet:
        return syntax.NameSet((children[0],), False, span=children[0].span)

    def braced_set(self, children: Children) -> syntax.NameSet:
        names = tuple([child for child in children if not isinstance(child, str)])
        return syntax.NameSet(names, True, span=self.span(children))

    def extern_type(self, children: Children) -> syntax.ExternType:
        type_name = children[2]
        return syntax.ExternType(
            type_name, self._pairs(children[3], type_name), span=self.span(children)
        )

    def structure(self, children: Children) -> syntax.Structure:
        keyword, _, type_name, pairs, _, _, members, _ = children
        return syntax.Structure(
            type_name,
            self._pairs(pairs, type_name),
            tuple(members),
            "global" if keyword == "global" else "structure",
            span=self.span(children),
        )

    def members(self, children: Children) -> Children:
        return children

    def enumeration(self, children: Children) -> syntax.Enumeration:
        _, _, type_name, pairs, _, _, members, _ = children
        return syntax.Enumeration(
            type_name, self._pairs(pairs, type_name), tuple(members), span=self.span(children)
        )

    def enumeration_members(self, children: Children) -> Children:
        return children

    def enumeration_member(self, children: Children) -> syntax.EnumerationMember:
        name, pairs, _ = children
        return syntax.EnumerationMember(name, self._pairs(pairs, name), span=self.span(children))

    def state_declaration(self, children: Children) -> syntax.StateDeclaration:
        _, _, type_name, pairs, _, _, members, _ = children
        return syntax.StateDeclaration(
            type_name, self._pairs(pairs, type_name), tuple(members), span=self.span(children)
        )

    def state_members(self, children: Children) -> Children:
        return children

    def state_member(self, children: Children) -> syntax.StateMember:
        name, _, permission, pairs, _ = children
        return syntax.StateMember(
            name, permission, self._pairs(pairs, permission), span=self.span(children)
        )

    def object_declaration(self, children: Children) -> syntax.ObjectDeclaration:
        pointer = isinstance(children[1], str)
        name = children[2] if pointer else children[1]
        behind = children[3 if pointer else 2 :]
        pairs, initial = (behind[0], None) if len(behind) == 2 else ([], behind[1])
        return syntax.ObjectDeclaration(
            children[0],
            pointer,
            name,
            self._pairs(pairs, name),
            initial,
            span=self.span(children),
        )

    def function(self, children: Children) -> syntax.Function:
        result, name, _, parameters, closing, pairs, end = children
        return syntax.Function(
            None if isinstance(result, str) else result,
            name,
            tuple(parameters),
            self._pairs(pairs, closing),
            None if isinstance(end, str) else end,
            span=self.span(children),
        )

    def parameters(self, children: Children) -> Children:
        return [child for child in children if not isinstance(child, str)]

    def parameter(self, children: Children) -> syntax.Parameter:
        mode: Literal["value", "pointer", "reference"] = "value"
        if isinstance(children[1], str):
            mode = "pointer" if children[1] == "*" else "reference"
        behind = children[1 if mode == "value" else 2 :]
        default = behind[2] if len(behind) == 3 else None
        return syntax.Parameter(children[0], mode, behind[0], default, span=self.span(children))

    def parameter_types(self, children: Children) -> Children:
        return [
            syntax.Parameter(child, "value", None, span=child.span)
            for child in children
            if not isinstance(child, str)
        ]

    # -------------------------------------------------------- shared pieces

    def type_name(self, children: Children) -> syntax.TypeName:
        return syntax.TypeName(tuple(children[::2]), span=self.span(children))

    def name(self, children: Children) -> syntax.Name:
        token = children[0]
        return syntax.Name(str(token), span=Span(self.file, token.start_pos, token.end_pos))

    def pairs(self, children: Children) -> Children:
        return children[1::2]

    def pair(self, children: Children) -> syntax.Pair:
        token = children[-1]
        value = str(token)
        kind: syntax.PairKind = "name"
        if token.type == "STRING":
            value = value[1:-1]
            kind = "string"
        elif token.type == "NUMBER":
            kind = "number"
        return syntax.Pair(
            children[0] if len(children) == 3 else None,
            value,
            kind,
            value_span=Span(self.file, token.start_pos, token.end_pos),
            span=self.span(children),
        )

    # -------------------------------------------------------- statements

    def block(self, children: Children) -> syntax.Block:
        return syntax.Block(tuple(children[1:-1]), span=self.span(children))

    def expression_statement(self, children: Children) -> syntax.ExpressionStatement:
        return syntax.ExpressionStatement(children[0], span=self.span(children))

    def assign(self, children: Children) -> syntax.Assign:
        return syntax.Assign(children[0], children[2], span=self.span(children))

    def if_(self, children: Children) -> syntax.If:
        orelse = children[6] if len(children) == 7 else None
        return syntax.If(children[2], children[4], orelse, span=self.span(children))

    def return_(self, children: Children) -> syntax.Return:
        return syntax.Return(children[1], span=self.span(children))

    def peek(self, children: Children) -> syntax.Peek:
        _, _, port, _, message, pairs, _, body = children
        return syntax.Peek(
            port, message, self._pairs(pairs, message), body, span=self.span(children)
        )

    def enqueue(self, children: Children) -> syntax.Enqueue:
        latency = children[6] if len(children) > 7 else None
        bypass = children[8] if len(children) > 9 else None
        return syntax.Enqueue(
            children[2], children[4], latency, bypass, children[-1], span=self.span(children)
        )

    def defer_enqueueing(self, children: Children) -> syntax.DeferEnqueueing:
        return syntax.DeferEnqueueing(
            children[2], children[4], children[6], span=self.span(children)
        )

    def stall_and_wait(self, children: Children) -> syntax.StallAndWait:
        return syntax.StallAndWait(children[2], children[4], span=self.span(children))

    def wakeup_port(self, children: Children) -> syntax.WakeupPort:
        return syntax.WakeupPort(children[2], children[4], span=self.span(children))

    def check_allocate(self, children: Children) -> syntax.CheckAllocate:
        return syntax.CheckAllocate(children[2], span=self.span(children))

    def check_next_cycle(self, children: Children) -> syntax.CheckNextCycle:
        return syntax.CheckNextCycle(span=self.span(children))

    def check_on_cache_probe(self, children: Children) -> syntax.CheckOnCacheProbe:
        return syntax.CheckOnCacheProbe(children[2], children[4], span=self.span(children))

    def check_stop_slots(self, children: Children) -> syntax.CheckStopSlots:
        return syntax.CheckStopSlots(
            children[2], children[4], children[6], span=self.span(children)
        )

    # -------------------------------------------------------- expressions

    def binary(self, children: Children) -> syntax.Binary:
        left, operator, right = children
        return syntax.Binary(
            cast(syntax.BinaryOperator, str(operator)),
            left,
            right,
            operator_span=Span(self.file, operator.start_pos, operator.end_pos),
            span=Span(self.file, left.span.start, right.span.end),
        )

    def unary(self, children: Children) -> syntax.Unary:
        operator, operand = children
        return syntax.Unary(
            cast(syntax.UnaryOperator, str(operator)), operand, span=self.span(children)
        )

    def variable(self, children: Children) -> syntax.Variable:
        return syntax.Variable(children[0], span=children[0].span)

    def enum_member(self, children: Children) -> syntax.EnumMember:
        return syntax.EnumMember(children[0], children[2], span=self.span(children))

    def local_declaration(self, children: Children) -> syntax.LocalDeclaration:
        return syntax.LocalDeclaration(children[0], children[1], span=self.span(children))

    def call(self, children: Children) -> syntax.Call:
        return syntax.Call(children[0], tuple(children[2]), span=self.span(children))

    def method_call(self, children: Children) -> syntax.MethodCall:
        return syntax.MethodCall(
            children[0], children[2], tuple(children[4]), span=self.span(children)
        )

    def field_access(self, children: Children) -> syntax.FieldAccess:
        return syntax.FieldAccess(children[0], children[2], span=self.span(children))

    def index(self, children: Children) -> syntax.Index:
        return syntax.Index(children[0], tuple(children[2]), span=self.span(children))

    def new(self, children: Children) -> syntax.New:
        return syntax.New(children[1], span=self.span(children))

    def parenthesized(self, children: Children) -> syntax.Parenthesized:
        return syntax.Parenthesized(children[1], span=self.span(children))

    def null_test(self, children: Children) -> syntax.NullTest:
        return syntax.NullTest(children[0] == "is_valid", children[2], span=self.span(children))

    def static_cast(self, children: Children) -> syntax.StaticCast:
        mode = children[4] if len(children) == 8 else None
        return syntax.StaticCast(children[2], mode, children[-2], span=self.span(children))

    def arguments(self, children: Children) -> Children:
        return [child for child in children if not isinstance(child, str)]

    def string_literal(self, children: Children) -> syntax.StringLiteral:
        text = str(children[0])
        quote: Literal['"', "'"] = '"' if text[0] == '"' else "'"
        return syntax.StringLiteral(text[1:-1], quote, span=self.span(children))

    def number_literal(self, children: Children) -> syntax.NumberLiteral:
        return syntax.NumberLiteral(int(children[0]), span=self.span(children))

    def float_literal(self, children: Children) -> syntax.FloatLiteral:
        return syntax.FloatLiteral(str(children[0]), span=self.span(children))

    def bool_literal(self, children: Children) -> syntax.BoolLiteral:
        return syntax.BoolLiteral(children[0] == "true", span=self.span(children))

    def out_of_date(self, children: Children) -> syntax.OutOfDate:
        return syntax.OutOfDate(span=self.span(children))


def _start(child: Any) -> int:
    start: int = child.span.start if isinstance(child, syntax.Node) else child.start_pos
    return start


def _end(child: Any) -> int:
    end: int = child.span.end if isinstance(child, syntax.Node) else child.end_pos
    return end
