"""Conditions over outcomes: what `exists`, `forbidden` and `forall` say, and whether it holds.

An outcome gives every observable (a register of a thread, a place in memory at the end) a value.
Runs, the models and exhaustive exploration all make outcomes; only this module compares them with
what a scenario says. Invariant: whether a condition holds depends on the outcome alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import assert_never

from slicc.source import NOWHERE, Span
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Register:
    """What an operation of a thread returned."""

    thread: str
    name: str
    span: Span = field(default=NOWHERE, kw_only=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.thread}:{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """``offset`` bytes behind a location that has a name."""

    name: str
    offset: int = 0
    span: Span = field(default=NOWHERE, kw_only=True, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}+{self.offset}" if self.offset else self.name


Term = Register | Place
"""An observable."""

Outcome = Mapping[Term, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``term = value``, or ``term != value``."""

    term: Term
    value: int
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Negation:
    part: Formula


@dataclass(frozen=True, slots=True)
class Conjunction:
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    parts: tuple[Formula, ...]


Formula = Comparison | Negation | Conjunction | Disjunction


class Quantifier(StrEnum):
    exists = "exists"
    """It is of interest; whether it may be seen is for the model to say."""
    forbidden = "forbidden"
    """No run may end like that."""
    forall = "forall"
    """Every run must end like that."""


class Model(StrEnum):
    """Memory models that outcomes are judged by: of processors, and of kernels."""

    sc = "sc"
    tso = "tso"
    hsa = "hsa"
    opencl = "opencl"


@dataclass(frozen=True, slots=True)
class Condition:
    """One line. ``under``: the model that it is about; None: all."""

    quantifier: Quantifier
    formula: Formula
    under: Model | None = None
    span: Span = field(default=NOWHERE, kw_only=True, compare=False, repr=False)

    def applies(self, model: Model | None) -> bool:
        """Whether it says anything about runs that are judged by a model (None: by none)."""
        return self.under is None or self.under is model

    def refused_by(self, outcome: Outcome) -> bool:
        """Whether a run with this outcome is a failure."""
        match self.quantifier:
            case Quantifier.forbidden:
                return holds(self.formula, outcome)
            case Quantifier.forall:
                return not holds(self.formula, outcome)
            case Quantifier.exists:
                return False
            case _:
                assert_never(self.quantifier)

    def __str__(self) -> str:
        under = f" under {self.under.value}" if self.under else ""
        return f"{self.quantifier.value} {text_of(self.formula)}{under}"


def holds(formula: Formula, outcome: Outcome) -> bool:
    """Whether a formula is true of an outcome, which must have all of its terms."""
    match formula:
        case Comparison(term, value, differs):
            return (outcome[term] == value) != differs
        case Negation(part):
            return not holds(part, outcome)
        case Conjunction(parts):
            return all(holds(part, outcome) for part in parts)
        case Disjunction(parts):
            return any(holds(part, outcome) for part in parts)
        case _:
            assert_never(formula)


def comparisons_of(formula: Formula) -> Iterator[Comparison]:
    """All comparisons, from left to right."""
    match formula:
        case Comparison():
            yield formula
        case Negation(part):
            yield from comparisons_of(part)
        case Conjunction(parts) | Disjunction(parts):
            for part in parts:
                yield from comparisons_of(part)
        case _:
            assert_never(formula)


def terms_of(formula: Formula) -> list[Term]:
    """The observables that it mentions, each once, from left to right."""
    return list(dict.fromkeys(comparison.term for comparison in comparisons_of(formula)))


def text_of(formula: Formula) -> str:
    """The formula as it is written."""
    return _text(formula, 0)


def _text(formula: Formula, level: int) -> str:
    """``level``: 0 inside of nothing, 1 of an ``or``, 2 of an ``and``, 3 of a ``not``."""
    match formula:
        case Comparison(term, value, differs):
            text, own = f"{term} {'!=' if differs else '='} {number(value)}", 4
        case Negation(part):
            text, own = f"not {_text(part, 3)}", 3
        case Conjunction(parts):
            text, own = " and ".join(_text(part, 3) for part in parts), 2
        case Disjunction(parts):
            text, own = " or ".join(_text(part, 2) for part in parts), 1
        case _:
            assert_never(formula)
    return text if own >= level else f"({text})"


def outcome_text(outcome: Outcome) -> str:
    """``P0:r0=1; x=2``: an outcome in a line, in the order of its observables."""
    return "; ".join(f"{term}={number(value)}" for term, value in outcome.items())


def number(value: int) -> str:
    """A value as texts write it: small ones as they are spoken."""
    return str(value) if value < 10 else f"{value:#x}"
