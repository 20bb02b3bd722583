"""The small expressions that pairs hold as text: ``default=``, ``constructor=``, ``template=``.

gem5's compiler pastes such text into generated C++; here it has a grammar of its own, which
accepts exactly the forms that protocols use: numbers, ``true``, ``nullptr``, ``m_x``, ``m_x_ptr``,
``Type_Member``, a few calls, ``? :``, ``+ - << >> *``, parentheses and one brace list.
Invariant: no text is ever evaluated as code of the host language.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicc import ir, prelude
from slicc.ir import type_rules
from slicc.parser.limits import DIGITS
from slicc.prelude.functions import PAIR_TEXT_FUNCTIONS
from slicc.resolve.scope.symbols import TypeKind, VariableKind, did_you_mean, enumeration_constant
from slicc.source import Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest

if TYPE_CHECKING:
    from slicc.resolve.scope.scopes import GlobalScope

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*(?:::\w+)*)|(<<|>>|->|[-+*?:(){},]))")

_SYSTEM = "RubySystem::"
_BINARY: dict[str, tuple[int, ir.BinaryOperator]] = {
    "<<": (1, ir.BinaryOperator.SHIFT_LEFT),
    ">>": (1, ir.BinaryOperator.SHIFT_RIGHT),
    "+": (2, ir.BinaryOperator.ADD),
    "-": (2, ir.BinaryOperator.SUBTRACT),
    "*": (3, ir.BinaryOperator.MULTIPLY),
}


class _Unreadable(Exception):
    """The text does not fit the grammar; the argument gives the reason."""


def element_type(scope: GlobalScope, type_: ir.Type, pairs: syntax.Pairs) -> ir.Type:
    """``type_`` with the element that ``template="<M_T>"`` names (the first of several)."""
    pair = pairs.find_any("template", "template_hack")
    if pair is None or not isinstance(type_, ir.ClassType):
        return type_
    name = pair.value.strip().removeprefix("<").removesuffix(">").split(",")[0].strip()
    found = scope.find_type(name)
    if found is None and scope.machine is not None and name.startswith(f"{scope.machine}_"):
        found = scope.find_type(name.removeprefix(f"{scope.machine}_"))
    if found is None:
        scope.sink.error(
            "unknown-type",
            f"no type named `{name}` to fill `{type_.name}` with",
            pair.value_span,
            "not declared",
            help=lambda: did_you_mean(name.removeprefix(f"{scope.machine}_"), scope.type_names()),
        )
        return type_
    return ir.ClassType(type_.name, type_.value, type_.immutable, found.type)


def default_value(scope: GlobalScope, type_: ir.Type, span: Span) -> ir.Expr:
    """The value of a variable of this type without an explicit default."""
    match type_:
        case ir.ScalarType(kind):
            if kind is ir.ScalarKind.BOOL:
                return ir.BoolConst(False, span=span)
            if kind is ir.ScalarKind.STRING:
                return ir.StringConst("", span=span)
            return ir.IntConst(0, type_, span=span)
        case ir.EnumType():
            symbol = scope.symbol_of(type_)
            return ir.EnumConst("NUM" if symbol is None else symbol.default, type_, span=span)
        case ir.PointerType():
            return ir.Null(type_, span=span)
        case ir.ClassType(value=False):
            return ir.Null(type_, span=span)
        case _:
            return ir.NewStruct(type_, span=span)


def read_value(scope: GlobalScope, pair: syntax.Pair, expected: ir.Type) -> ir.Expr | None:
    """The value of ``default=``, typed as ``expected``; None after reporting that it is none."""
    value = _read(scope, pair, expected)
    if value is None:
        return None
    if len(value) == 1:
        only = _adapt(value[0], expected)
        if only is not None:
            check_range(scope, only, pair.value_span)
            return only
    scope.sink.error(
        "type-mismatch-initial",
        f"`{pair.value}` is no value of type `{type_rules.describe(expected)}`",
        pair.value_span,
        f"is `{type_rules.describe(value[0].type)}`" if value else "is nothing",
    )
    return None


def check_range(scope: GlobalScope, value: ir.Expr, span: Span) -> None:
    """Report a number that its type cannot hold; a negative one may stand for an unsigned one."""
    if not isinstance(value, ir.IntConst) or not isinstance(value.type, ir.ScalarType):
        return
    kind = value.type.kind
    low, high = -(1 << kind.bits - 1), (1 << kind.bits - kind.signed) - 1
    if not low <= value.value <= high:
        scope.sink.error(
            "number-out-of-range",
            f"`{type_rules.describe(value.type)}` holds numbers of {kind.bits} bits",
            span,
            f"larger than {high}" if value.value > high else f"less than {low}",
        )


def read_arguments(scope: GlobalScope, pair: syntax.Pair) -> tuple[ir.Expr, ...] | None:
    """The arguments in ``constructor=``, without the leading ``this``; None if reported."""
    value = _read(scope, pair, ir.UNKNOWN)
    return None if value is None else tuple(value)


def _adapt(value: ir.Expr, expected: ir.Type) -> ir.Expr | None:
    if isinstance(value, ir.Null):
        return ir.Null(expected, span=value.span) if type_rules.is_pointer(expected) else None
    if type_rules.same(value.type, expected):
        return value
    if isinstance(value, ir.IntConst) and expected == ir.BOOL and value.value in (0, 1):
        return ir.BoolConst(value.value == 1, span=value.span)
    if isinstance(value, ir.IntConst) and type_rules.is_integer(expected):
        return ir.IntConst(value.value, expected, span=value.span)
    if type_rules.is_integer(value.type) and type_rules.is_integer(expected):
        return ir.Cast(value, expected, span=value.span)
    return None


def _read(scope: GlobalScope, pair: syntax.Pair, expected: ir.Type) -> list[ir.Expr] | None:
    try:
        return _Reader(scope, pair.value, pair.value_span, expected).arguments()
    except _Unreadable as reason:
        scope.sink.error(
            "invalid-initializer",
            f"`{pair.value}` cannot be read: {reason}",
            pair.value_span,
            "not understood",
            help=lambda: _suggest_name(scope, pair.value),
        )
        return None


def _suggest_name(scope: GlobalScope, text: str) -> str | None:
    """Help for a text that is one name."""
    if text.startswith("m_"):
        close = suggest(text[2:], scope.variable_names())
        return None if close is None else f"did you mean `m_{close}`?"
    return "write the type in front, as in `Type_Member`" if "_" in text else None


@dataclass
class _Reader:
    """Recursive descent over the tokens of one text."""

    scope: GlobalScope
    text: str
    span: Span
    expected: ir.Type

    def __post_init__(self) -> None:
        self._tokens: list[str] = []
        position = 0
        text = self.text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise _Unreadable(f"`{text[position]}` has no meaning here")
            self._tokens.append(match[0].strip())
            position = match.end()
        self._next = 0

    def arguments(self) -> list[ir.Expr]:
        found: list[ir.Expr] = []
        while self._next < len(self._tokens):
            if self._peek() == "this":
                self._take()
            elif self._peek() == "{":
                self._take()
                while self._peek() != "}":
                    found.append(self._expression())
                    if self._peek() == ",":
                        self._take()
                self._take()
            else:
                found.append(self._expression())
            if self._next < len(self._tokens):
                self._expect(",")
        return found

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise _Unreadable("it ends too early")
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise _Unreadable(f"`{token}` expected before `{self._peek() or 'its end'}`")
        self._next += 1

    def _expression(self) -> ir.Expr:
        condition = self._binary(0)
        if self._peek() != "?":
            return condition
        self._take()
        then = self._expression()
        self._expect(":")
        orelse = self._expression()
        return ir.Conditional(condition, then, orelse, then.type, span=self.span)

    def _binary(self, level: int) -> ir.Expr:
        left = self._operand()
        while True:
            known = _BINARY.get(self._peek())
            if known is None or known[0] <= level:
                return left
            self._take()
            right = self._binary(known[0])
            result = type_rules.binary_result(known[1], left.type, right.type)
            if result is None:
                raise _Unreadable(
                    f"`{type_rules.describe(left.type)} {known[1].value} "
                    f"{type_rules.describe(right.type)}` does not exist"
                )
            left = ir.Binary(known[1], left, right, result, span=self.span)

    def _operand(self) -> ir.Expr:
        token = self._take()
        if token == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if token == "-":
            inner = self._operand()
            if isinstance(inner, ir.IntConst):
                return ir.IntConst(-inner.value, inner.type, span=self.span)
            return ir.Unary(ir.UnaryOperator.NEGATE, inner, inner.type, span=self.span)
        if token == "*":
            return self._operand()  # objects are references here, so there is nothing to do
        if token.isdecimal():
            if len(token) > DIGITS:
                raise _Unreadable(f"it has more than {DIGITS} digits")
            return ir.IntConst(int(token), ir.INT, span=self.span)
        if token in ("true", "false"):
            return ir.BoolConst(token == "true", span=self.span)
        if token == "m_ruby_system" and self._peek() == "->":
            self._take()  # the system is asked for what its class once knew
            return self._call(_SYSTEM + self._take().removeprefix(_SYSTEM))
        if token in ("nullptr", "NULL"):
            return ir.Null(ir.UNKNOWN, span=self.span)
        if self._peek() == "(":
            return self._call(token)
        found = self._object(token) or self._member(token)
        if found is None:
            raise _Unreadable(f"`{token}` is not known")
        return found

    def _call(self, name: str) -> ir.Expr:
        self._expect("(")
        arguments: list[ir.Expr] = []
        while self._peek() != ")":
            arguments.append(self._expression())
            if self._peek() == ",":
                self._take()
        self._expect(")")
        if name in type_rules.SCALARS and len(arguments) == 1:
            scalar = type_rules.SCALARS[name]
            return _adapt(arguments[0], scalar) or arguments[0]
        row = PAIR_TEXT_FUNCTIONS.get(name)
        misspelt = suggest(name, PAIR_TEXT_FUNCTIONS) is not None
        if row is None and name.startswith(_SYSTEM) and not misspelt:
            self.scope.sink.warning(
                "unknown-system-setting",
                f"the system has no `{name}`",
                self.span,
                "read as 0",
            )
            return ir.IntConst(0, ir.INT, span=self.span)
        if row is None:
            raise _Unreadable(f"there is no function `{name}`")
        signature = prelude.parse_signature(row.lines[0])
        if len(signature.parameters) != len(arguments):
            raise _Unreadable(f"`{name}` takes {len(signature.parameters)} argument(s)")
        result = type_rules.SCALARS[signature.result]
        home = ir.BuiltinHome(row.home.value)
        return ir.CallBuiltin(signature.python, home, tuple(arguments), result, span=self.span)

    def _object(self, token: str) -> ir.Expr | None:
        if not token.startswith("m_"):
            return None
        name = token[2:]
        older = name.removeprefix(f"{self.scope.machine}_")
        for candidate in (name, name.removesuffix("_ptr"), older, older.removesuffix("_ptr")):
            variable = self.scope.find_variable(candidate)
            if variable is not None and variable.kind is VariableKind.OBJECT:
                return ir.MachineObject(candidate, variable.type, span=self.span)
        inherited = prelude.INHERITED_PARAMETERS.get(name)
        if inherited is None:
            return None
        field = ir.ControllerField(name)
        return ir.ControllerValue(field, type_rules.SCALARS[inherited], span=self.span)

    def _member(self, token: str) -> ir.Expr | None:
        """``Type_Member``, also with the machine's name in front."""
        texts = [token]
        if self.scope.machine is not None and token.startswith(f"{self.scope.machine}_"):
            texts.append(token.removeprefix(f"{self.scope.machine}_"))
        for text in texts:
            for index in (i for i, char in enumerate(text) if char == "_"):
                symbol = self.scope.find_type(text[:index])
                member = text[index + 1 :]
                if symbol is None or symbol.kind is not TypeKind.ENUM:
                    continue
                if member in symbol.members:
                    return enumeration_constant(symbol, member, self.span)
        return None
