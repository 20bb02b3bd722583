"""Reports of failing legs: what a person reads, word for word where it matters."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from protocols import DIRECTORY
from protocols.identity import ProtocolIdentity
from protocols.loader import load
from runtime.description import SystemDescription
from runtime.prng import initial_byte
from runtime.requesters.port import AccessKind
from runtime.system.inspection import Copy
from runtime.types.atomic_op import AtomicKind
from runtime.types.messages import MachineType
from runtime.types.values import MachineID
from slicc.scenario_text.parser import read_scenario
from tester.campaign.run import replay
from tester.diagnosis.events.history import History, lane_list
from tester.diagnosis.events.record_fields import _fields
from tester.diagnosis.failure_report import Failure, in_question, refine, render
from tester.diagnosis.likely_causes import likely_causes
from tester.diagnosis.value_attribution import is_foreign, judge_bytes, misplaced_from
from tester.execution.events import Finding, Request, Role, Verdict
from tester.execution.leg import LegRun
from tester.litmus.binding import bind
from tester.program.expectations import derive
from tester.program.program import ATOMIC, INACTIVE, LOAD, STORE, AgentSpec, Program
from tester.program.replay_file import Leg
from tests.tester.execution.fake_system import FakeSystem, Fault
from tests.tester.shrink.failing import failing

WORD = 0x1000
DATA = 0x1044


def hand_over() -> Program:
    """Agent 0 stores a word twice in two episodes; agent 1 then loads it."""
    agents = (AgentSpec("gpu", 0, 2, "writer"), AgentSpec("gpu", 1, 2, "reader"))
    return derive(
        Program(
            agents=agents,
            run_key=5,
            line_size=64,
            episode_thread=np.array([0, 0, 1]),
            episode_first_action=np.array([0, 1, 2, 3]),
            episode_group=np.zeros((3, 2), np.int64),
            group_word=np.array([WORD]),
            action_kind=np.array([STORE, STORE, LOAD]),
            action_size=np.array([4, 4, 4]),
            lane_address=np.array([[DATA, INACTIVE]] * 3),
            store_value=np.array([[0x11223344, 0], [0xA5B6C7D8, 0], [0, 0]], np.uint64),
        )
    )


def failure(fault: Fault, program: Program | None = None) -> Failure:
    """The failure that a planted fault makes, run twice as the campaign does."""
    test = program or hand_over()

    def system() -> FakeSystem:
        planted = Fault(fault.kind, fault.at)
        return FakeSystem(
            lambda a: initial_byte(test.run_key, a), lanes=2, fault=planted, longest=9
        )

    found = LegRun(test, system(), 1000).run().finding
    assert found is not None
    history = History([found.address & -64], 64, in_question(found, test))
    run = LegRun(test, system(), 1000, observers=[history])
    again = run.run().finding
    assert again is not None
    leg = Leg(test, SystemDescription(), ProtocolIdentity("Fake", "0"), 1000, 7, 2, "none", "0.1.0")
    return Failure(leg, run, history, refine(again, test), True, "gpu-tester replay x.leg")


STALE = """\
BUG: stale-read at tick 111: load returned 0x11223344, expected 0xa5b6c7d8
  Fake, seed 7, leg 2 (profile none), configuration ffffffffffff, version 0.1.0

  load by agent 1 lane 0 (fake.gpu1), episode 2 action 0, issued at 93
  4 bytes at 0x1044, byte 4 of line 0x1040

  expected 0xa5b6c7d8  version 2, agent 0 lane 0, episode 1 action 0: issued 53, accepted 61, \
complete 65
  got      0x11223344  version 1, agent 0 lane 0, episode 0 action 0: issued 20, accepted 23, \
complete 28

copies of 0x1044 now
  memory                                  0xa5b6c7d8  as expected

history of line 0x1040
   20 * agent 0 lane 0  store/4 +4=0x11223344  issued
   23 * agent 0 lane 0  store/4 +4             accepted
   28 * agent 0 lane 0  store/4 +4             complete
   53 * agent 0 lane 0  store/4 +4=0xa5b6c7d8  issued
   61 * agent 0 lane 0  store/4 +4             accepted
   65 * agent 0 lane 0  store/4 +4             complete
   93 * agent 1 lane 0  load/4 +4              issued
  111 * agent 1 lane 0  load/4 +4=0x11223344   WRONG DATA

synchronisation
  writer  agent 0   episode 1     release 54 to 65, closing fetch-add returned at 74
  reader  agent 1   episode 2     acquire 89 to 92, opening fetch-add returned at 88
  the acquire was issued 15 ticks after the writer's closing fetch-adds had returned: it must see \
the store

likely cause
  expected bytes in memory
  no old copy is left: the reader was answered with data that left its source before the write (a
  fill in flight across the acquire?)

agents
  agent 0 is writer, agent 1 is reader

run it again
  gpu-tester replay x.leg
"""


def test_a_stale_read_word_for_word() -> None:
    report = failure(Fault("stale value"))
    text = render(report).replace(report.leg.digest(), "ffffffffffff")
    assert text == STALE


def test_an_atomic_is_complete_when_it_is_answered() -> None:
    program = hand_over()
    kinds = np.array([STORE, ATOMIC, LOAD], program.action_kind.dtype)
    ops = np.array([0, AtomicKind.EXCHANGE, 0], program.action_op.dtype)
    program = derive(replace(program, action_kind=kinds, action_op=ops))
    text = render(failure(Fault("stale value"), program))
    (expected,) = (line for line in text.splitlines() if "  expected 0x" in line)
    assert re.fullmatch(r".*version 2.*: issued \d+, answered \d+", expected)


@pytest.mark.parametrize(
    ("fault", "at", "verdict", "said"),
    [
        ("torn store", 2, Verdict.TORN_BYTES, "a byte mask lost or cut"),
        ("foreign value", 1, Verdict.FOREIGN_BYTES, "never written there by anyone"),
        ("duplicated atomic", 1, Verdict.ATOMIC_REPEATED, "(initial + 0)"),
        ("skipped atomic", 1, Verdict.ATOMIC_SKIPPED, "more than the"),
        ("lost completion", 1, Verdict.HANG, "accepted, not complete"),
        ("lost data", 1, Verdict.HANG, "no answer"),
        ("lost synchronization", 1, Verdict.HANG, "acquire: issued"),
        ("lost atomic", 1, Verdict.HANG, "agent 1 waits for 2 episodes of agent 0 (has 0)"),
        ("leak", 1, Verdict.LEAK, "fake.queue: 1 message stalled"),
        ("double completion", 1, Verdict.UNEXPECTED_RESPONSE, "not waiting for"),
    ],
)
def test_what_reports_say(fault: str, at: int, verdict: Verdict, said: str) -> None:
    report = failure(Fault(fault, at))
    text = render(report)
    assert report.finding.verdict is verdict
    assert said in text
    assert text.splitlines()[0].startswith(f"BUG: {verdict.value} at tick ")
    assert text.rstrip().endswith("gpu-tester replay x.leg")


def test_torn_bytes_are_told_byte_by_byte() -> None:
    text = render(failure(Fault("torn store", 2)))
    assert "ok 0x1044 to 0x1045  expected d8 c7  version 2" in text
    assert "!! 0x1046 to 0x1047  expected b6 a5  version 2" in text
    assert "got      22 11  version 1" in text


def test_a_lost_store_is_a_lost_write_at_the_end() -> None:
    test = hand_over().keep_episodes(np.array([True, True, False]))
    report = failure(Fault("lost store", 2), derive(test))
    assert report.finding.verdict is Verdict.LOST_WRITE
    assert "after the last episode" in render(report)


def test_bytes_of_another_place_are_recognised() -> None:
    test = hand_over()
    row = 2
    wrong = sum(initial_byte(test.run_key, DATA + 8 + i) << 8 * i for i in range(4))
    verdicts = judge_bytes(test, DATA, 4, wrong, row)
    assert misplaced_from(test, verdicts) == DATA + 8


@pytest.mark.parametrize(
    ("got", "foreign"), [(0xA5B6C7D8, False), (0x11B6C7D8, False), (0x22B6C7D8, True)]
)
def test_bytes_that_were_never_stored_are_foreign(got: int, foreign: bool) -> None:
    """The last byte was 0x11 and then 0xA5; what it was at first is a hash of its address."""
    finding = Finding(Verdict.WRONG_VALUE, 9, "", None, 0, DATA, 4, 0xA5B6C7D8, got)
    assert is_foreign(hand_over(), finding) is foreign


def test_lane_lists() -> None:
    assert lane_list([7, 0, 1, 2, 3]) == "0-3,7"
    assert lane_list([5]) == "5"


def test_a_stale_read_back_is_explained_without_an_episode_of_its_own() -> None:
    """Its episodes and rows are those of the read-back, of which the program knows nothing."""
    program = hand_over()
    request = Request(1, 1, 99, Role.READ_BACK, AccessKind.LOAD, [0], [DATA], 4, [], [0], row=1)
    finding = Finding(Verdict.STALE_READ, 9, "stale", request, 0, DATA, 4, 0xA5B6C7D8, 0x11223344)
    said = " ".join(likely_causes(finding, program, None))
    assert "own earlier store" not in said


def test_a_read_back_is_not_part_of_the_episode_that_has_its_number() -> None:
    """Episode 1 of the read-back is not episode 1 of the program, which wrote the bytes."""
    found = failure(Fault("stale value"))
    request = Request(1, 1, 1, Role.READ_BACK, AccessKind.LOAD, [0], [DATA], 4, [], [0], row=0)
    finding = Finding(Verdict.LOST_WRITE, 9, "lost", request, 0, DATA, 4, 0xA5B6C7D8, 0x11223344)
    text = render(replace(found, finding=finding))
    assert "same episode" not in text
    assert "reader  after the last episode, behind an acquire of its own" in text


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (["memory"], "the reader was answered from memory"),
        (["cache", "memory"], "an old copy outlived the store"),
        ([], "no old copy is left"),
    ],
)
def test_where_old_copies_are_says_how_they_came(old: list[str], said: str) -> None:
    """By their kind: a cache may be called cacheMemory."""

    def copy(kind: str, value: int) -> Copy:
        where = "memory" if kind == "memory" else "L1Cache1.cacheMemory"
        return Copy(kind, where, "", DATA & -64, value << 8 * (DATA % 64))

    found = [copy("cache", 0xA5B6C7D8), *(copy(kind, 0x11223344) for kind in old)]
    system = SimpleNamespace(copies=lambda address: found)
    finding = Finding(Verdict.STALE_READ, 9, "stale", None, 0, DATA, 4, 0xA5B6C7D8, 0x11223344)
    assert said in " ".join(likely_causes(finding, hand_over(), system))


def test_a_call_without_a_body_is_no_fault_of_the_protocol() -> None:
    finding = Finding(Verdict.PANIC, 5, "`homeOf` is external: lab.sm:3 declares it without a body")
    (cause,) = likely_causes(finding, hand_over(), None)
    assert "--prelude" in cause
    assert likely_causes(Finding(Verdict.PANIC, 5, "no such line"), hand_over(), None) == []


def test_a_hang_says_what_the_controllers_count_and_remember(tmp_path: Path) -> None:
    """A reader acknowledges nothing: what the writer counts, and whom the directory knows."""
    broken = failing(tmp_path, "msi-overtaken-upgrade-acknowledges-nothing")
    run, finding = broken.campaign.run_leg(broken.leg)
    assert finding is not None
    assert isinstance(run, LegRun)
    text = render(broken.campaign.explain(broken.leg, run, finding))
    assert re.search(r"L1Cache \d +[IS]M_A +busy \(AcksOutstanding=1\)$", text, re.M)
    assert re.search(r"Directory 0 +\w+ +busy \(Sharers=L1Cache-\d.*\)$", text, re.M)


def test_an_agent_without_a_release_is_not_called_releasing(tmp_path: Path) -> None:
    for file in DIRECTORY.glob("MI*"):
        shutil.copy(file, tmp_path)
    cache = tmp_path / "MI-cache.sm"
    text = cache.read_text()
    assert text.count("    x_loadMissDone;\n") == 1
    cache.write_text(text.replace("    x_loadMissDone;\n", ""))
    (tmp_path / "a.litmus").write_text("P0\nload A\n")
    protocol = load(tmp_path / "MI.slicc", native=False)
    leg, _ = bind(read_scenario(tmp_path / "a.litmus"), protocol).leg(1)
    result = replay(leg, protocol, engine="python")
    assert result.finding is not None and result.finding.verdict is Verdict.HANG
    assert "agent 0 on cpu0: waiting for the last answers\n    load 0x" in result.report()


def test_an_error_of_the_read_back_says_that_no_episode_runs_any_more() -> None:
    """The program of such a leg shows none of the loads that meet the fault."""
    found = failure(Fault("stale value"))
    error = Finding(Verdict.PROTOCOL_ERROR, 9, "full", address=DATA)
    said = "after the last episode, while every byte is loaded once more"
    assert said not in render(replace(found, finding=error))
    found.run.read_back = found.run.driver
    assert said in render(replace(found, finding=error))


def test_a_machine_that_is_none_is_called_so() -> None:
    """A field that was never set is no machine of the type behind the last one."""
    never = MachineID(MachineType.NUM, 0)
    topology = SimpleNamespace(line_size=64)
    controller = SimpleNamespace(topology=topology)
    entry = SimpleNamespace(Requestor=never)
    assert _fields(controller, entry) == (("Requestor", "none"),)
