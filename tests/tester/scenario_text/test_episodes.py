"""Rows become episodes, and a row that cannot is refused at its place."""

from __future__ import annotations

import pytest

from slicc.scenario_text.errors import ScenarioError
from tester.program.program import BARE, FLUSHES, GLC, PLAIN, QUIET, RACING_LOAD
from tester.scenario_text.episodes import ScenarioEpisode, episodes_of
from tester.scenario_text.placement import agents_of_threads
from tests.tester.scenarios import bound

WAVES = "gpu0.0 | gpu1.0\n"


def episodes(text: str, protocol: str = "MI", overlap: bool = False) -> list[ScenarioEpisode]:
    made = bound(text, protocol)
    agents = agents_of_threads(made.scenario, made.cast)
    return episodes_of(made.scenario, agents, made.cast, overlap=overlap)


def shapes(found: list[ScenarioEpisode]) -> list[tuple[int, int, int, list[tuple[int, int]]]]:
    """Column, scope, number of instructions and waits of each."""
    return [(e.column, e.scope, len(e.instructions), e.waits) for e in found]


def test_operations_of_processors_are_episodes_of_their_own() -> None:
    text = "P0 | P1\nstore A = 1 | load B\nload A |\n| after P0\n| load A\n"
    plain = BARE | PLAIN
    assert shapes(episodes(text)) == [
        (0, plain, 1, []),
        (1, plain, 1, []),
        (0, plain, 1, []),
        (1, plain, 1, [(0, 2)]),
    ]


def test_brackets_make_one_episode_of_several_rows() -> None:
    text = "P0\nbegin\nload A\nload B\nend\nacquire\nstore A = 1\nrelease\n"
    assert shapes(episodes(text)) == [(0, BARE | PLAIN, 2, []), (0, BARE, 1, [])]


def test_an_episode_with_fetch_adds() -> None:
    text = (
        f"{WAVES}add 1 to L, lane 2 M glc |\nacquire |\nstore A = 1 |\n"
        "with lane 2: store A+4 = 2 |\nrelease |\nflush |\nadd 1 to L, lane 2 M glc quiet |\n"
        "| racing loads\n| after gpu0.0\n| load A\n"
    )
    first, second = episodes(text, "GPU_VIPER")
    assert first.scope == GLC | QUIET | FLUSHES
    assert {lane: str(place) for lane, place in first.words.items()} == {0: "L", 2: "M"}
    assert len(first.instructions) == 1 and len(first.instructions[0].accesses) == 2
    assert (second.scope, second.waits) == (BARE | RACING_LOAD, [(0, 1)])


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ("store A = 1\nload B", [2]),
        ("store A = 1\nfence\nload B", [1, 1]),
        ("store A = 1\nstore B = 1\nload C\nload D", [1, 3]),
        ("store A = 1\nload B\nfence\nload C\nload D", [2, 1, 1]),
        ("atomic add A 1\nload B", [1, 1]),
        ("load A\nstore B = 1", [1, 1]),
    ],
)
def test_with_overlap_a_load_does_not_wait_for_the_store_before(
    rows: str, sizes: list[int]
) -> None:
    text = f"P0\n{rows}\n"
    assert [len(e.instructions) for e in episodes(text, overlap=True)] == sizes
    assert {len(e.instructions) for e in episodes(text)} == {1}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("P0\nbegin\nload A\n", "begins what no `end` ends", 2),
        ("P0\nacquire\nload A\n", "begins what no `release` ends", 2),
        ("P0\nadd 1 to A\nload B\n", "an access stands where `acquire` should", 3),
        ("P0\nadd 1 to A\nacquire\nrelease\nload B\n", "an access stands where `add` should", 5),
        ("P0\nadd 1 to A\nacquire\nrelease\nadd 1 to B\n", "that it began with", 5),
        ("P0\nload A\nrelease\n", "`release` stands where an access should", 3),
        ("P0\nbegin\nacquire\n", "`acquire` stands where `end` should", 3),
        ("P0 | P1\n| after P0\nload A | load B\n", "nothing of P0 stands above", 2),
        (
            "P0 | P1\nload A |\n| after P0, 2 episodes\n| load B\n",
            "1 episodes of P0 stand above",
            3,
        ),
        ("P0 | P1\nbegin |\nload A |\n| after P0\nend | load B\n", "is not yet ended here", 4),
        ("P0\nload A\nafter P0\nload B\n", "a thread waits for itself", 3),
        ("P0 | P1\nload A |\n| after P0\n", "no operation of cpu1 follows", 3),
        ("P0\nwith lane 0: load A\n", "no instruction above to join", 2),
        ("P0\nload A\nflush\n", "a flush stands behind a release", 3),
        ("dma0\nadd 1 to A\nacquire\nrelease\nadd 1 to A\n", "dma0 makes no atomic operations", 2),
        ("dma0\nbegin\nload A\nend\n", "dma0 needs acquire and release", 2),
        ("dma0\nload A\nfence\n", "a fence stands between accesses of a processor", 3),
    ],
)
def test_rows_that_make_no_episode(text: str, message: str, line: int) -> None:
    with pytest.raises(ScenarioError) as caught:
        episodes(text)
    assert message in str(caught.value)
    assert caught.value.diagnostic.primary.span.line == line


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("with lane 1: load A", "lanes of one instruction differ in place and value only"),
        ("with lane 0: store B = 1", "lane 0 is in the instruction twice"),
    ],
)
def test_lanes_of_one_instruction(row: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        episodes(f"gpu0.0\nstore A = 1\n{row}\n", "GPU_VIPER")
