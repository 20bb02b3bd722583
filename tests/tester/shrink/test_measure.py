"""What is counted, small numbers, and how a small program is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from runtime.description import DelayedMessage
from runtime.requesters.port import AccessKind
from tester.diagnosis.listing import listing
from tester.execution.events import Finding, Request, Role, Verdict
from tester.program.program import BARE, LOAD, STORE, AgentSpec, Program
from tester.program.replay_file import Leg
from tester.program.verifier import verify
from tester.shrink.measure import Size
from tester.shrink.scripts import with_script
from tester.shrink.search import Shrunk
from tester.shrink.shrink_report import as_text
from tester.shrink.simpler_programs import ShrinkStep, lines_of, program_steps
from tester.shrink.small_numbers import reading_steps
from tester.shrink.trials import derived
from tests.tester.native.equality import leg_of, loaded

BASE = 0x22840


def message_passing() -> Leg:
    """A writer and a reader that waits for it; words of 4 bytes."""
    leg = leg_of("MSI", "line-duel", 1, 1)
    agents = tuple(AgentSpec("cpu", port, 1, f"cpu{port}") for port in range(2))
    program = Program(
        agents=agents,
        run_key=7,
        line_size=64,
        episode_thread=np.array([0, 1]),
        episode_first_action=np.array([0, 2, 3]),
        episode_group=np.array([[0], [0]]),
        group_word=np.array([BASE + 64]),
        action_kind=np.array([STORE, STORE, LOAD]),
        action_size=np.array([4, 4, 4]),
        lane_address=np.array([[BASE], [BASE + 8], [BASE + 8]]),
        store_value=np.array([[0xDEADBEEF], [0xCAFEBABE], [0]], np.uint64),
        episode_scope=np.array([0, BARE]),
    )
    return derived(replace(leg, program=program))


def changed(leg: Leg, step: ShrinkStep) -> Leg:
    less = step.without(leg, np.ones(step.count(leg), np.bool_))
    assert less is not None
    return derived(less)


def step(what: str) -> ShrinkStep:
    return next(each for each in (*program_steps(), *reading_steps()) if each.what == what)


def test_fetch_adds_are_accesses() -> None:
    size = Size.of(message_passing().program)
    assert (size.accesses, size.fetch_adds, size.episodes) == (5, 2, 2)
    assert (size.threads, size.lines) == (2, 2)
    assert str(size) == "5 accesses in 2 episodes of 2 threads on 2 lines"
    bare = changed(message_passing(), step("fetch-adds"))
    assert str(Size.of(bare.program)) == "3 accesses in 2 episodes of 2 threads on 1 line"


def test_lines_are_merged_and_numbers_made_small() -> None:
    leg = message_passing()
    small = leg
    for what in ("large values", "lines far away", "run key"):
        small = changed(small, step(what))
        assert step(what).count(small) == 0
    program = small.program
    assert program.store_value.ravel().tolist() == [1, 2, 0]
    assert program.lane_address.ravel().tolist() == [0x1040, 0x1048, 0x1048]
    assert program.group_word.tolist() == [0x1000]
    assert program.run_key == 1
    assert int(program.expected[2, 0]) == 2
    words_apart = replace(leg, program=replace(leg.program, group_word=np.array([BASE + 64 + 32])))
    assert Size.of(changed(words_apart, step("lines")).program).lines == 1
    assert verify(program) == []


def test_accesses_become_narrower() -> None:
    leg = message_passing()
    one = changed(leg, step("further bytes")).program
    assert one.action_size.tolist() == [1, 1, 1]
    assert one.store_value.ravel().tolist() == [0xEF, 0xBE, 0]
    low = changed(leg, step("upper halves")).program
    assert (low.action_size.tolist(), int(low.store_value[0, 0])) == ([2, 2, 2], 0xBEEF)
    high = changed(leg, step("lower halves")).program
    assert (int(high.lane_address[0, 0]), int(high.store_value[0, 0])) == (BASE + 2, 0xDEAD)
    for program in (one, low, high):
        assert verify(program) == []


def finding(leg: Leg, role: int, episode: int, row: int) -> Finding:
    request = Request(
        1, 1, episode, role, AccessKind.LOAD, [0], [BASE + 8], 4, [0], [0xCAFEBABE], row
    )
    return Finding(Verdict.STALE_READ, 9, "", request, 0, BASE + 8, 4, 0xCAFEBABE, 0x11)


def test_the_listing_has_a_column_for_each_thread() -> None:
    leg = message_passing()
    lines = listing(leg, finding(leg, Role.ACTION, 1, 2))
    assert lines == [
        "A = 0x22880   B = 0x22840",
        "cpu0                               cpu1",
        "add 1 to A+0",
        "acquire",
        "store B+0 = 0xdeadbeef (4 bytes)",
        "store B+8 = 0xcafebabe (4 bytes)",
        "release",
        "add 1 to A+0",
        "                                   after cpu0, 1 episode",
        "                                   acquire",
        "                                   load B+8 -> 0xcafebabe (4 bytes)   "
        "<-- stale-read: got 0x11 instead of 0xcafebabe",
        "                                   release",
    ]


def test_the_listing_compares_a_fetch_add_with_no_single_value() -> None:
    """What was expected is any value not returned before: one is not named in place of it."""
    leg = message_passing()
    request = Request(1, 0, 0, Role.CLOSE, AccessKind.ATOMIC, [0], [BASE], 4, [1], [])
    repeated = Finding(Verdict.ATOMIC_REPEATED, 9, "", request, 0, BASE, 4, 0x17, 0x17)
    (marked,) = (line for line in listing(leg, repeated) if "<--" in line)
    assert marked.endswith("<-- atomic-repeated: got 0x17")


def test_the_listing_shows_a_failing_read_back() -> None:
    leg = message_passing()
    lines = listing(leg, finding(leg, Role.READ_BACK, 0, 0))
    assert "at the end: load B+8" in lines[-1]
    assert lines[-1].endswith("<-- stale-read: got 0x11 instead of 0xcafebabe")


def test_what_is_left_has_no_line_without_end() -> None:
    """A script of 1,000 delays was one line of 60,000 characters."""
    protocol = loaded("MSI")
    leg = leg_of("MSI", "replacement", 4, 40)
    late = [DelayedMessage("L1Cache0.mandatoryQueue", n + 1, 9, 0x1000) for n in range(1000)]
    leg = with_script(leg, late)
    size = Size.of(leg.program)
    lines = as_text(Shrunk(leg, "hang", size, size), protocol, {}, "replay")
    assert len(lines[2].split("   ")) <= 60 < len(lines_of(leg.program))
    assert "message 6 of" in lines[1] and "message 7 of" not in lines[1]
    assert lines[1].endswith(" and 994 more (they are in the .leg)")
    [before] = [line for line in lines if line.endswith(" rows before")]
    assert len(lines) - lines.index(before) == 60 + 3


def test_a_search_that_was_cut_names_what_may_come_down_to_less() -> None:
    """The same event in another state comes before a smaller leg that fails otherwise."""
    protocol, leg, small = loaded("MSI"), leg_of("MSI", "replacement", 4, 20), message_passing()
    size, kind = Size.of(leg.program), "undefined-transition Directory.{}.Data"
    others = {"hang load": small, kind.format("M"): leg}
    files = {each: Path(f"{number}.leg") for number, each in enumerate(others)}
    shrunk = Shrunk(leg, kind.format("S"), size, size, cut="cut at its limit", others=others)
    hint = "any of them may come down to less: gpu-tester shrink 1.leg"
    assert hint in as_text(shrunk, protocol, files, "replay")
    assert hint not in as_text(replace(shrunk, cut=""), protocol, files, "replay")
