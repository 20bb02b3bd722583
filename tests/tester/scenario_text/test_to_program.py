"""Scenarios become programs that the slow verifier finds right; errors name their row."""

from __future__ import annotations

import pytest

from slicc.scenario_text.conditions import Place, Register
from slicc.scenario_text.errors import ScenarioError
from tester.program.program import CONTINUES
from tester.program.verifier import verify
from tests.tester.scenarios import MP, bound


def refused(text: str, protocol: str = "MI") -> str:
    with pytest.raises(ScenarioError) as caught:
        bound(text, protocol).leg(1)
    return str(caught.value)


def test_expected_values_are_derived_and_stated_ones_compared() -> None:
    text = "P0 | P1\nstore A = 0x12345678 |\n| after P0\n| load A+1 -> 0x3456 (2 bytes)\n"
    program = bound(text).leg(1)[0].program
    assert verify(program) == []
    assert program.expected[1, 0] == 0x3456
    message = refused(text.replace("0x3456 (", "0x3457 ("))
    assert "A+1 returns 0x3456 here, not 0x3457" in message
    assert "a.litmus:4:12" in message


def test_memory_that_nothing_was_stored_to_is_initial() -> None:
    assert verify(bound("P0\nload A -> initial\n").leg(5)[0].program) == []
    assert "returns `initial`, what memory holds at first here, not 0x0" in refused(
        "P0\nload A -> 0\n"
    )


def test_a_race_is_named_by_both_operations_and_the_byte() -> None:
    message = refused("A = 0x1000\nP0 | P1\nstore A = 1 |\n| load A+3 (2 bytes)\n")
    assert "two operations race for byte 0x1003 (A+3)" in message
    assert "3 | store A = 1 |" in message and "----------- this one" in message
    assert "4 | | load A+3 (2 bytes)" in message and "and this one" in message
    assert "order them with `after THREAD`" in message


@pytest.mark.parametrize(
    ("rows", "races"),
    [
        ("load A | load A", False),
        ("store A = 1 | store A+4 = 1", False),
        ("load A | store A = 1", True),
        ("store A = 1 | store A = 1", True),
        ("atomic add A 1 | load A", True),
        ("store A = 1 |\n| after P0\nstore B = 1 | load A", False),
        ("store B = 1 |\n| after P0\nstore A = 1 | load A", True),
        (
            "store A = 1 |\nstore B = 1 |\n| after P0, 1 episode\n| load A\n| after P0\n| load B",
            False,
        ),
    ],
)
def test_only_what_after_orders_is_ordered(rows: str, races: bool) -> None:
    text = f"P0 | P1\n{rows}\n"
    if races:
        assert "scenario-race" in refused(text)
    else:
        assert verify(bound(text).leg(1)[0].program) == []


def test_order_is_transitive() -> None:
    text = "P0|P1|P2\nstore A = 1\n|after P0\n|store B = 1\n||after P1\n||store A = 2\n"
    assert verify(bound(text).leg(1)[0].program) == []


def test_lanes_of_an_episode_race() -> None:
    text = "gpu0.0\nacquire\nstore A = 1\nlane 1: load A\nrelease\n"
    assert "lanes 0 and 1 of an episode race for byte" in refused(text, "GPU_VIPER")


def test_bytes_pass_only_where_the_system_has_a_way() -> None:
    text = "first0 | instructions0\nstore A = 1 |\n| after first0\n| load A\n"
    groups = bound(text, "GPU_VIPER_APU").cast.isolation_groups
    if len(set(groups)) > 1:
        assert "which the system has no way for" in refused(text, "GPU_VIPER_APU")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu9\nload A\n", "the system has no agent cpu9"),
        ("P4\nload A\n", "the system has 4 processors, P4 would be one more"),
        ("P0 | cpu0\nload A |\n", "two threads are run by cpu0"),
        ("A = 0x7fffffffffff\nP0\nload A+8\n", "A+8 lies outside of the addresses"),
        ("P0\nload A+62\n", "A+62 of 4 bytes lies in two lines"),
        ("P0\nload A (17 bytes)\n", "17 bytes are too many: this agent accesses 16 at once"),
        ("dma0\nload A (257 bytes)\n", "257 bytes are too many"),
        ("P0\natomic add A+2 1\n", "an atomic operation has 4 or 8 bytes"),
        ("P0\nlane 1: load A\n", "cpu0 has 1 lane, not one of number 1"),
        ("dma0\natomic add A 1\n", "dma0 makes no atomic operations"),
        ("P0\nstore A = 1 instruction\n", "no instruction fetches, or the access is none"),
        ("P0\nload A quiet\n", "only atomic operations are quiet"),
        ("P0\natomic add A 1 -> r0 quiet\n", "a quiet operation returns nothing"),
        ("P0\nadd 1 to A\nacquire\nload A\nrelease\nadd 1 to A\n", "reaches an atomic word"),
    ],
)
def test_what_an_agent_cannot_do(text: str, message: str) -> None:
    assert message in refused(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu0.0\nload A+2\n", "an access of a wavefront has 1, 2, 4 or 8 bytes"),
        ("instructions0\nstore A = 1\n", "instructions0 only loads"),
        (
            "gpu0.0\nadd 1 to L\nacquire\nlane 1: load A\nrelease\nadd 1 to L\n",
            "lane 1 makes no fet",
        ),
    ],
)
def test_what_an_agent_of_a_gpu_cannot_do(text: str, message: str) -> None:
    assert message in refused(text, "GPU_VIPER")


def test_a_transfer_is_one_access_of_several_rows() -> None:
    value = f"{(1 << 159) + 7} (20 bytes)"
    text = f"dma0\nstore A+60 = {value}\nload A+60 -> {value}\n"
    program = bound(text).leg(1)[0].program
    assert verify(program) == []
    sizes = program.action_size.tolist()
    assert sizes == [4, 8, 8] * 2
    assert (program.action_scope & CONTINUES > 0).tolist() == [False, True, True] * 2


def test_a_cas_succeeds_or_fails_as_it_says() -> None:
    rows = "P0\nstore A = 3\natomic cas A 5 if {} -> 3\nload A -> {}\n"
    for compare, after in ((3, 5), (4, 3)):
        assert verify(bound(rows.format(compare, after)).leg(1)[0].program) == []


def test_a_racy_scenario_observes_registers_and_what_is_stored() -> None:
    leg, lowered = bound(MP).leg(1)
    assert list(lowered.observables) == [
        Register("P1", "r0"),
        Register("P1", "r1"),
        Place("x"),
        Place("y"),
    ]
    assert not leg.description.values
    last = leg.program.episodes - 1
    assert leg.program.waits_of(last) == [(0, 2)]  # the reader is P1, which has done its own


def test_the_same_text_and_key_give_the_same_program() -> None:
    digests = [bound(MP).leg(key)[0].program.digest() for key in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]
