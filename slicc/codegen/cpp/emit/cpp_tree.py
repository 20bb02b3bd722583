"""Expressions of C++ as text that knows how tightly it binds and what evaluating it may do.

C++ leaves open in which order the arguments of a call are evaluated. Invariant: expressions are
joined only after a check with :func:`clash`, so the author's order is kept wherever it matters.
"""

from __future__ import annotations

from slicc.codegen.cpp.acts import Acts
from slicc.text.lazy_dataclass import dataclass

_FAILURES = Acts.NULLS | Acts.FAILS

PRIMARY = 16
UNARY = 15
PRODUCT = 13
SUM = 12
SHIFT = 11
ORDER = 9
EQUALITY = 8
AND = 4
OR = 3
CHOICE = 2


@dataclass(frozen=True, slots=True)
class Code:
    """``level``: how tightly its outermost operator binds."""

    text: str
    level: int = PRIMARY
    acts: Acts = Acts.NOTHING

    def inside(self, level: int) -> str:
        """The text as an operand of an operator of that level."""
        return self.text if self.level >= level else f"({self.text})"


NULL = Code("nullptr")
NO_OBJECT = Code("NIL")
TRUE = Code("true")
FALSE = Code("false")


def atom(text: str, acts: Acts = Acts.READS) -> Code:
    return Code(text, PRIMARY, acts)


def clash(first: Acts, second: Acts) -> bool:
    """Whether it makes a difference which of two expressions is evaluated first."""
    if first & Acts.CHANGES and second:
        return True
    if second & Acts.CHANGES and first:
        return True
    if not (first & _FAILURES and second & _FAILURES):
        return False
    return bool((first | second) & Acts.FAILS)


def any_clash(codes: list[Code]) -> bool:
    return any(clash(codes[i].acts, codes[j].acts) for j in range(len(codes)) for i in range(j))


def together(codes: list[Code]) -> Acts:
    acts = Acts.NOTHING
    for code in codes:
        acts |= code.acts
    return acts


def call(name: str, arguments: list[Code], acts: Acts = Acts.NOTHING, before: str = "x") -> Code:
    """``name(before, arguments…)``, with the arguments evaluated in order; ``before`` are fixed."""
    done = acts | together(arguments)
    if any_clash(arguments):
        return Code(_in_order(name, arguments, before), PRIMARY, done)
    listed = ", ".join([*([before] if before else []), *[each.text for each in arguments]])
    return Code(f"{name}({listed})", PRIMARY, done)


def _in_order(name: str, arguments: list[Code], before: str) -> str:
    """A call whose arguments are computed in order, each in a variable of its own."""
    steps = []
    names = [before] if before else []
    for number, each in enumerate(arguments, start=1):
        if each.acts:
            steps.append(f"auto&& value_{number} = {each.text};")
            names.append(f"value_{number}")
        else:
            names.append(each.text)
    return f"[&]() -> decltype(auto) {{ {' '.join(steps)} return {name}({', '.join(names)}); }}()"


def binary(left: Code, operator: str, right: Code, level: int) -> Code:
    """``left operator right``. Operands that are operations themselves get parentheses, except
    where precedence is common knowledge (comparisons inside of ``&&``, products inside of sums).
    """
    acts = left.acts | right.acts
    if level not in (AND, OR) and clash(left.acts, right.acts):
        text = (
            f"[&] {{ auto&& value_1 = {left.text}; auto&& value_2 = {right.text}; "
            f"return value_1 {operator} value_2; }}()"
        )
        return Code(text, PRIMARY, acts)
    same = level in (AND, OR, SUM, PRODUCT)
    first = left.text if same and left.level == level else left.inside(_operand(level))
    return Code(f"{first} {operator} {right.inside(_operand(level))}", level, acts)


def _operand(level: int) -> int:
    if level in (AND, OR):
        return EQUALITY
    return PRODUCT if level == SUM else UNARY


def choice(condition: Code, then: Code, orelse: Code) -> Code:
    text = f"{condition.inside(OR)} ? {then.inside(OR)} : {orelse.inside(CHOICE)}"
    return Code(text, CHOICE, condition.acts | then.acts | orelse.acts)


def field(receiver: Code, name: str) -> Code:
    return Code(f"{receiver.inside(PRIMARY)}.{name}", PRIMARY, receiver.acts | Acts.READS)
