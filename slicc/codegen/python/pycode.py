"""Python expressions as a small tree, so that precedence and line breaks are decided once.

Invariant: ``text`` of every node is the expression on one line, with exactly the parentheses that
meaning or a reader needs; ``layout`` breaks the same tree when that line is too long.
"""

from __future__ import annotations

from dataclasses import dataclass

# Binding strength, loosest first; an operand that binds looser than its place gets parentheses.
CONDITIONAL, OR, AND, NOT, COMPARISON, SHIFT, ADDITIVE, MULTIPLICATIVE, SIGN, ATOM = range(10)

_STRENGTH = {
    "or": OR,
    "and": AND,
    "==": COMPARISON,
    "!=": COMPARISON,
    "<": COMPARISON,
    ">": COMPARISON,
    "<=": COMPARISON,
    ">=": COMPARISON,
    "is": COMPARISON,
    "is not": COMPARISON,
    "+": ADDITIVE,
    "-": ADDITIVE,
    "*": MULTIPLICATIVE,
    "<<": SHIFT,
    ">>": SHIFT,
}


@dataclass(slots=True)
class Atom:
    """A name or a literal: nothing in it can be broken."""

    text: str

    strength = ATOM


@dataclass(slots=True)
class Attribute:
    value: Code
    name: str
    text: str

    strength = ATOM


@dataclass(slots=True)
class Call:
    function: Code
    arguments: tuple[Code, ...]
    text: str

    strength = ATOM


@dataclass(slots=True)
class Subscript:
    value: Code
    index: Code
    text: str

    strength = ATOM


@dataclass(slots=True)
class Prefix:
    """``not x`` or ``-x``; ``operator`` carries its own space."""

    operator: str
    operand: Code
    text: str
    strength: int


@dataclass(slots=True)
class Chain:
    """Operands joined by operators of one strength: ``a + b - c``, ``a and b and c``."""

    operands: tuple[Code, ...]
    operators: tuple[str, ...]
    text: str
    strength: int


@dataclass(slots=True)
class Choice:
    condition: Code
    then: Code
    orelse: Code
    text: str

    strength = CONDITIONAL


@dataclass(slots=True)
class Parenthesized:
    inner: Code
    text: str

    strength = ATOM


@dataclass(slots=True)
class Keyword:
    """``name=value`` among the arguments of a call."""

    name: str
    value: Code
    text: str

    strength = CONDITIONAL


@dataclass(slots=True)
class Tuple:
    items: tuple[Code, ...]
    text: str

    strength = ATOM


Code = (
    Atom | Attribute | Call | Subscript | Prefix | Chain | Choice | Parenthesized | Keyword | Tuple
)

SELF = Atom("self")
NONE = Atom("None")
TRUE = Atom("True")
FALSE = Atom("False")


def parenthesized(inner: Code) -> Parenthesized:
    return Parenthesized(inner, f"({inner.text})")


def _at_least(strength: int, code: Code) -> Code:
    return code if code.strength >= strength else parenthesized(code)


def _receiver(code: Code) -> Code:
    """Something a dot or a bracket can follow; the digits of a number would swallow the dot."""
    if code.strength < ATOM or (isinstance(code, Atom) and code.text[0].isdigit()):
        return parenthesized(code)
    return code


def attribute(value: Code, name: str) -> Attribute:
    value = _receiver(value)
    return Attribute(value, name, f"{value.text}.{name}")


def dotted(path: str) -> Code:
    """``self.TBEs.lookup`` from its text."""
    first, *rest = path.split(".")
    code: Code = Atom(first)
    for name in rest:
        code = attribute(code, name)
    return code


def call(function: Code, *arguments: Code) -> Call:
    function = _receiver(function)
    inside = ", ".join([argument.text for argument in arguments])
    return Call(function, arguments, f"{function.text}({inside})")


def method(receiver: Code, name: str, *arguments: Code) -> Call:
    return call(attribute(receiver, name), *arguments)


def subscript(value: Code, index: Code) -> Subscript:
    value = _receiver(value)
    return Subscript(value, index, f"{value.text}[{index.text}]")


def tuple_of(items: tuple[Code, ...]) -> Tuple:
    inside = ", ".join([item.text for item in items])
    return Tuple(items, f"({inside},)" if len(items) == 1 else f"({inside})")


def keyword(name: str, value: Code) -> Keyword:
    return Keyword(name, value, f"{name}={value.text}")


def negation(operand: Code) -> Code:
    """``not operand``, with the tests that Python writes in one word turned round."""
    if isinstance(operand, Chain) and operand.operators in {("is",), ("is not",)}:
        left, right = operand.operands
        return operation(left, "is" if operand.operators == ("is not",) else "is not", right)
    # ``not a == b`` is legal, but a reader should not have to know.
    operand = operand if operand.strength in {NOT, ATOM} else parenthesized(operand)
    return Prefix("not ", operand, f"not {operand.text}", NOT)


def minus(operand: Code) -> Prefix:
    operand = _at_least(ATOM, operand)
    return Prefix("-", operand, f"-{operand.text}", SIGN)


def operation(left: Code, operator: str, right: Code) -> Chain:
    """A binary operation; chains of one strength stay flat, mixed ``and``/``or`` are told apart."""
    strength = _STRENGTH[operator]
    operands: tuple[Code, ...]
    operators: tuple[str, ...]
    if strength == COMPARISON:
        left = _at_least(COMPARISON + 1, left)
        right = _at_least(COMPARISON + 1, right)
        operands, operators = (left, right), (operator,)
    else:
        if isinstance(left, Chain) and left.strength == strength:
            operands, operators = left.operands, left.operators
        else:
            operands, operators = (_operand(left, strength),), ()
        operators = (*operators, operator)
        associative = strength in {OR, AND}
        if associative and isinstance(right, Chain) and right.strength == strength:
            operands, operators = operands + right.operands, operators + right.operators
        else:
            operands = (*operands, _operand(right, strength))
    text = operands[0].text
    for sign, operand in zip(operators, operands[1:], strict=True):
        text = f"{text} {sign} {operand.text}"
    return Chain(operands, operators, text, strength)


def _operand(code: Code, strength: int) -> Code:
    if strength == OR and code.strength == AND:
        return parenthesized(code)
    return _at_least(strength + 1, code)


def choice(condition: Code, then: Code, orelse: Code) -> Choice:
    condition, then = _at_least(OR, condition), _at_least(OR, then)
    text = f"{then.text} if {condition.text} else {orelse.text}"
    return Choice(condition, then, orelse, text)
