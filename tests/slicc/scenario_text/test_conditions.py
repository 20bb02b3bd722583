"""Formulas: what they mean, and how they are written."""

from __future__ import annotations

import pytest

from slicc.scenario_text.conditions import (
    Comparison,
    Condition,
    Model,
    Place,
    Quantifier,
    Register,
    holds,
    outcome_text,
    terms_of,
    text_of,
)
from tests.tester.scenarios import scenario

A, B = Register("P0", "a"), Register("P0", "b")
TABLE = "P0\nload x -> a\nload x -> b\nstore x = 1\n"


def condition(text: str) -> Condition:
    return scenario(f"{TABLE}exists {text}").conditions[0]


@pytest.mark.parametrize(
    ("text", "holds_for"),
    [
        ("P0:a = 1", {(1, 0), (1, 1)}),
        ("P0:a != 1", {(0, 0), (0, 1)}),
        ("P0:a = 1 and P0:b = 1", {(1, 1)}),
        ("P0:a = 1 or P0:b = 1", {(0, 1), (1, 0), (1, 1)}),
        ("not P0:a = 1 and P0:b = 1", {(0, 1)}),
        ("not (P0:a = 1 and P0:b = 1)", {(0, 0), (0, 1), (1, 0)}),
        ("P0:a = 1 or P0:b = 0 and P0:a = 0", {(1, 0), (1, 1), (0, 0)}),
        ("(P0:a = 1 or P0:b = 0) and P0:b = 0", {(0, 0), (1, 0)}),
    ],
)
def test_what_a_formula_means(text: str, holds_for: set[tuple[int, int]]) -> None:
    formula = condition(text).formula
    pairs = {(a, b) for a in (0, 1) for b in (0, 1)}
    assert {(a, b) for a, b in pairs if holds(formula, {A: a, B: b})} == holds_for
    assert condition(text_of(formula)).formula == formula


def test_what_runs_a_condition_refuses() -> None:
    formula = Comparison(A, 1)
    refused = {
        quantifier: [Condition(quantifier, formula).refused_by({A: value}) for value in (0, 1)]
        for quantifier in Quantifier
    }
    assert refused == {
        Quantifier.exists: [False, False],
        Quantifier.forbidden: [False, True],
        Quantifier.forall: [True, False],
    }


def test_conditions_are_about_a_model_or_about_all() -> None:
    assert Condition(Quantifier.exists, Comparison(A, 1)).applies(None)
    under = Condition(Quantifier.exists, Comparison(A, 1), Model.tso)
    assert [under.applies(model) for model in (None, Model.sc, Model.tso)] == [False, False, True]


def test_terms_come_once_from_left_to_right() -> None:
    formula = condition("x = 1 and P0:b = 2 and not (x = 3 or P0:a = 1)").formula
    assert terms_of(formula) == [Place("x"), B, A]
    assert outcome_text({Place("x", 4): 12, A: 3}) == "x+4=0xc; P0:a=3"
