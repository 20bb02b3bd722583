"""Texts that would take long, or much memory, are refused or cost what they should."""

from __future__ import annotations

import pytest

from slicc.scenario_text.errors import ScenarioError
from tester.scenario_text.placement import Addresses
from tests.tester.scenarios import bound, scenario


def test_places_far_apart_take_no_memory() -> None:
    text = "A = 0x10000\nP0\nload A+0x7fffffff0000\nload A\nload B\n"
    addresses = Addresses(scenario(text.replace("+0x7fffffff0000", "+0x7ffffff00000")), 64)
    assert addresses.of(scenario("P0\nload A\n").rows[0][0].operation.place) == 0x10000  # type: ignore[union-attr]
    with pytest.raises(ScenarioError, match="lies outside of the addresses"):
        Addresses(scenario(text), 64)


def test_stated_places_are_kept_clear_of() -> None:
    text = "A = 0x10000\nC = 0x10040\nP0\nload A+60\nload B\nload C\nload D+70\nload E\n"
    made = scenario(text)
    addresses = Addresses(made, 64)
    places = {str(step.operation.place): step.operation.place for step in made.steps()}  # type: ignore[union-attr]
    lines = {name: addresses.of(place) // 64 for name, place in places.items()}
    assert lines == {"A+60": 0x400, "C": 0x401, "B": 0x402, "D+70": 0x404, "E": 0x405}


def test_many_loads_of_a_byte_are_not_compared_with_each_other() -> None:
    rows = "load A (1 byte) | load A (1 byte)\n" * 1000
    leg, _ = bound(f"P0 | P1\n{rows}").leg(1)
    assert leg.program.episodes == 2000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P0\n" + "load A\n" * 51, "more than 50 operations"),
        ("dma0\n" + "load A (512 bytes)\n" * 513, "accesses of more than 262,144 bytes together"),
        ("keys " + ", ".join(["1"] * 10_001) + "\nP0\nload A\n", "more than 10,000 run keys"),
        (" | ".join(f"t{n}" for n in range(513)) + "\nload A\n", "513 threads, 512 are possible"),
    ],
)
def test_more_than_is_read(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "operations" in message:
        monkeypatch.setattr("slicc.scenario_text.tree_builder.MAX_STEPS", 50)
    with pytest.raises(ScenarioError, match=message):
        scenario(text)
