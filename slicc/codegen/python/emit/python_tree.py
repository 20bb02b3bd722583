"""Python expressions as text that knows how tightly it binds.

Invariant: the text has exactly the parentheses that meaning or a reader needs.
"""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass

# Binding strength, loosest first; an operand that binds looser than its place gets parentheses.
CONDITIONAL, OR, AND, NOT, COMPARISON, SHIFT, ADDITIVE, MULTIPLICATIVE, SIGN, ATOM = range(10)

STRENGTH = {
    "if": CONDITIONAL,
    "else": CONDITIONAL,
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


@dataclass(frozen=True, slots=True)
class Code:
    """``strength``: how tightly its outermost operator binds."""

    text: str
    strength: int = ATOM

    def inside(self, strength: int) -> str:
        """The text as an operand where an operator of that strength needs it."""
        return self.text if self.strength >= strength else f"({self.text})"


SELF = Code("self")
NONE = Code("None")
TRUE = Code("True")
FALSE = Code("False")


def _receiver(code: Code) -> str:
    """A text that a dot or a bracket can follow; behind digits the dot would read as a fraction."""
    return f"({code.text})" if code.text[0].isdigit() else code.inside(ATOM)


def attribute(value: Code, name: str) -> Code:
    return Code(f"{_receiver(value)}.{name}")


def _listed(codes: tuple[Code, ...]) -> str:
    return ", ".join([each.text for each in codes])


def call(function: Code, *arguments: Code) -> Code:
    return Code(f"{_receiver(function)}({_listed(arguments)})")


def method(receiver: Code, name: str, *arguments: Code) -> Code:
    return call(attribute(receiver, name), *arguments)


def subscript(value: Code, index: Code) -> Code:
    return Code(f"{_receiver(value)}[{index.text}]")


def tuple_of(items: tuple[Code, ...]) -> Code:
    return Code(f"({_listed(items)}{',' if len(items) == 1 else ''})")


def keyword(name: str, value: Code) -> Code:
    """``name=value`` among the arguments of a call."""
    return Code(f"{name}={value.text}", CONDITIONAL)


def negation(operand: Code) -> Code:
    # ``not a == b`` is legal, but a reader should not have to know.
    bare = operand.strength in {NOT, ATOM}
    return Code(f"not {operand.text if bare else f'({operand.text})'}", NOT)


def minus(operand: Code) -> Code:
    return Code(f"-{operand.inside(ATOM)}", SIGN)


def operation(left: Code, operator: str, right: Code) -> Code:
    """A binary operation; chains of one strength stay flat, ``and`` in ``or`` gets parentheses."""
    strength = STRENGTH[operator]
    tighter = NOT if strength == OR else strength + 1
    first = strength if left.strength == strength != COMPARISON else tighter
    associative = right.strength == strength in {OR, AND}
    second = strength if associative else tighter
    return Code(f"{left.inside(first)} {operator} {right.inside(second)}", strength)


def choice(condition: Code, then: Code, orelse: Code) -> Code:
    return Code(f"{then.inside(OR)} if {condition.inside(OR)} else {orelse.text}", CONDITIONAL)
