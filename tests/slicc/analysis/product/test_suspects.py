"""What is at fault: transitions that bad rests have in common, and messages at unusual ports."""

from __future__ import annotations

import pytest

from slicc import ir
from slicc.analysis.product.local import Move
from slicc.analysis.product.suspects import Outcomes
from slicc.analysis.reachable import walked
from slicc.compiler import compile_text
from tests.slicc.analysis.small_protocol import SMALL


def move(transition: int) -> Move:
    return Move(("Cache", 0), "I", "Load", "W", transition, ("processor", 0), "LD")


def test_a_transition_of_all_bad_rests_and_no_good_one_is_the_most_suspect() -> None:
    outcomes = Outcomes()
    outcomes.count([move(1), move(2), move(2)], good=False)
    outcomes.count([move(1), move(3)], good=False)
    outcomes.count([move(2), move(3)], good=True)
    assert outcomes.failures == 2
    assert outcomes.suspicion({("Cache", 1)}) == 1
    assert 0 < outcomes.suspicion({("Cache", 2)}) == outcomes.suspicion({("Cache", 3)}) < 1
    assert outcomes.suspicion({("Cache", 4)}) == 0


def first_line(text: str) -> str:
    protocol = compile_text(text)
    assert isinstance(protocol, ir.Protocol)
    happening = walked(protocol, 600).happenings[0]
    return text.splitlines()[happening.span.line - 1].strip()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # What asks gets no answer.
        ("{ d_done; r_return; f_free; p_popPart; }", "{ r_return; f_free; p_popPart; }"),
        # It goes to wait without having asked.
        ("(I, Load, W) { a_allocate; q_ask; p", "(I, Load, W) { a_allocate; p"),
        # Where others wait is not at fault.
        ("{ p_popReturn; w_wakeAsks; }", "{ p_popReturn; }"),
    ],
)
def test_what_is_left_at_rest_is_blamed_on_the_line_with_the_mistake(
    right: str, wrong: str
) -> None:
    assert SMALL.count(right) == 1
    assert wrong in first_line(SMALL.replace(right, wrong))


def test_a_count_that_goes_wrong_is_blamed_on_where_it_counts() -> None:
    wrong = "tbe.parts := tbe.parts + 1"
    assert wrong in first_line(SMALL.replace("tbe.parts := tbe.parts - 1", wrong))
