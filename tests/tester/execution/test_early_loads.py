"""Racing loads: what they may return, on hand-written events and in planted protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from runtime.prng import Prng
from runtime.requesters.port import AccessKind
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.diagnosis.value_attribution import byte_versions
from tester.engines.choice import Choice
from tester.engines.selection import PYTHON, choose
from tester.execution.early_loads import EarlyLoads, EarlyRule, Versions, versions_of
from tester.execution.events import Request, Role, Verdict
from tester.execution.handover import handover_rules_of
from tester.generator.config import GeneratorConfig
from tester.generator.generator import generate_program
from tester.native.leg import NativeLegRun
from tester.program.address_map import MapConfig
from tester.program.program import GLC, LOAD, RACING_LOAD, AgentSpec
from tests.sampling import sampled

BYTE = 0x40
READER, WRITER, NEIGHBOUR = 0, 1, 2


def request(role: int, kind: int, episode: int, row: int, agent: int) -> Request:
    return Request(row, agent, episode, role, kind, [0], [BYTE], 1, [0], [0], row)


class Run:
    """Agent 1 stores 1, 2 and 3 to a byte in episodes 0, 1 and 2; agent 0 loads it in episode 3.

    ``neighbours``: episodes whose store is that of another agent instead, on the reader's port."""

    def __init__(
        self,
        rule: EarlyRule,
        scope: int = 0,
        flushes: bool = False,
        neighbours: Sequence[int] = (),
    ) -> None:
        numbers = np.arange(3)
        writers = np.full(3, WRITER)
        writers[list(neighbours)] = NEIGHBOUR
        versions = Versions(
            np.full(3, BYTE), numbers, (numbers + 1).astype(np.uint8), numbers, writers
        )
        rules = [rule, EarlyRule.NEVER, EarlyRule.NEVER]
        self.judge = EarlyLoads(
            versions, rules, [False, flushes, False], [0, 1, 0], lambda address: 9
        )
        self.load = request(Role.RACING_LOAD, AccessKind.LOAD, 3, 3, READER)
        self.load.scope = scope

    def store(self, number: int, complete: bool = True) -> None:
        store = request(Role.ACTION, AccessKind.STORE, number, number, WRITER)
        assert self.judge.issued(store) is None
        if complete:
            self.judge.completed(store)

    def begin(self) -> None:
        assert self.judge.issued(self.load) is None

    def answer(self, value: int) -> bool:
        """Whether the value is right."""
        return self.judge.answered(self.load, 0, value, BYTE) is None

    def start(self) -> bool:
        """The reader's episode begins: whether the value that it kept is right."""
        return self.judge.issued(request(Role.OPEN, AccessKind.ATOMIC, 3, -1, READER)) is None


@pytest.mark.parametrize(
    ("value", "right"), [(9, False), (1, True), (2, True), (3, False), (7, False)]
)
def test_between_the_last_complete_and_the_last_issued(value: int, right: bool) -> None:
    run = Run(EarlyRule.ALWAYS)
    run.store(0)
    run.begin()
    run.store(1, complete=False)
    assert run.answer(value) is right


def test_before_any_store_memory_is_read() -> None:
    for value, right in ((9, True), (1, False)):
        run = Run(EarlyRule.ALWAYS)
        run.begin()
        assert run.answer(value) is right


def test_what_is_complete_only_after_a_flush_may_be_missed_until_the_next_episode() -> None:
    for begun in (False, True):
        run = Run(EarlyRule.ALWAYS, flushes=True)
        run.store(0)
        if begun:
            run.store(1, complete=False)
        run.begin()
        assert run.answer(9) is not begun


def test_loads_that_may_hit_old_copies_are_judged_only_if_they_bypass_them() -> None:
    for rule, scope, judged in (
        (EarlyRule.NEVER, GLC, False),
        (EarlyRule.BYPASSING, 0, False),
        (EarlyRule.BYPASSING, GLC, True),
    ):
        run = Run(rule, scope)
        run.store(0)
        run.begin()
        assert run.answer(9) is not judged


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_a_kept_value_is_the_episodes_own_unless_the_line_was_lost(lost: bool, late: bool) -> None:
    run = Run(EarlyRule.HELD)
    run.store(0)
    run.store(1)
    run.begin()
    run.store(2, complete=False)
    if not late:
        assert run.answer(2)
    run.load.lost = lost
    assert run.start() is (late or lost)
    if late:
        assert run.answer(2) is lost


def test_a_kept_value_is_judged_where_evictions_are_reported() -> None:
    run = Run(EarlyRule.ALWAYS)
    run.store(0)
    run.begin()
    run.store(1)
    run.store(2)
    assert run.answer(1)
    assert run.start()


@pytest.mark.parametrize(
    ("neighbours", "kept", "right"),
    [
        ((0, 1, 2), 9, True),
        ((1, 2), 1, True),
        ((2,), 1, False),
        ((1,), 1, False),
        ((0, 1), 9, False),
    ],
)
def test_no_machine_reports_what_another_agent_of_the_port_stores(
    neighbours: Sequence[int], kept: int, right: bool
) -> None:
    run = Run(EarlyRule.HELD, neighbours=neighbours)
    if kept == 1:
        run.store(0)
    run.begin()
    assert run.answer(kept)
    for number in range(kept == 1, 3):
        run.store(number)
    assert run.start() is right


def test_versions_are_those_of_the_program() -> None:
    agents = tuple(
        AgentSpec(kind, i, lanes, f"{kind}{i}")
        for i, (kind, lanes) in enumerate((("cpu", 1), ("cpu", 1), ("gpu", 4), ("dma", 1)))
    )
    config = GeneratorConfig(
        agents,
        60,
        MapConfig(2, 40),
        peek_percent=50,
        bare_percent=50,
        atomic_percent=20,
        unaligned_percent=50,
    )
    program = generate_program(config, Prng(5))
    versions = versions_of(program)
    assert len(versions.byte) > 50
    for byte in np.unique(versions.byte).tolist():
        known = byte_versions(program, byte)[1:]
        mine = versions.before(byte, program.episodes)
        assert [v.value for v in known] == versions.value[mine.start : mine.stop].tolist()
    racing = np.flatnonzero(program.episode_scope & RACING_LOAD)
    loads = [
        row
        for episode in racing.tolist()
        for row in [r for r in program.actions_of(episode) if program.action_kind[r] == LOAD][:1]
    ]
    stored = set(versions.byte.tolist())
    for row in loads:
        for address in program.lane_address[row][program.lane_address[row] >= 0].tolist():
            known = byte_versions(program, address)
            assert (len(known) > 1) == (address in stored)


LOADS = "if (in_msg.Type == RubyRequestType:LD) {\n          "
PLANTED = {
    "no report of a lost copy": (
        "MSI",
        "MSI-cache.sm",
        "transition(S, Inv, I) {\n    lc_loseCopy;",
        "transition(S, Inv, I) {",
        {"atomics": "line", "peek_percent": 100},
    ),
    "a bypassing load hits the first level": (
        "GPU_VIPER",
        "GPU_VIPER-TCP.sm",
        LOADS + "if (in_msg.isGLCSet || in_msg.isSLCSet) {",
        LOADS + "if (in_msg.isGLCSet && in_msg.isSLCSet) {",
        {"peek_percent": 100, "peek_bypass_percent": 100, "bare_percent": 100},
    ),
}


def planted(directory: Path, name: str) -> LoadedProtocol:
    protocol, file, old, new, _ = PLANTED[name]
    text = (DIRECTORY / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    for path in DIRECTORY.glob("*.sm"):
        (directory / path.name).write_bytes(path.read_bytes())
    for path in DIRECTORY.glob(f"{protocol}.*"):
        (directory / path.name).write_bytes(path.read_bytes())
    (directory / file).write_text(text.replace(old, new), encoding="utf-8")
    return load_protocol(str(directory / f"{protocol}.slicc"), native=True)


@pytest.mark.parametrize("name", sampled(PLANTED, 2))
def test_only_racing_loads_show_it_on_both_engines(name: str, tmp_path: Path) -> None:
    protocol = planted(tmp_path, name)
    fixed = PLANTED[name][4]
    native = choose(Choice.native, protocol, lambda text: None)
    campaign = Campaign(protocol, Options(1, 10_000, fixed=fixed), native)
    without = Campaign(protocol, Options(1, 10_000, fixed={**fixed, "peek_percent": 0}), native)
    for number in range(30):
        leg = campaign.plan(number).leg
        _, finding = campaign.run_leg(leg)
        assert without.run_leg(without.plan(number).leg)[1] is None
        if finding is not None:
            break
    assert finding is not None
    assert finding.request is not None and finding.request.role == Role.RACING_LOAD
    assert finding.verdict in (Verdict.STALE_READ, Verdict.WRONG_VALUE)
    _, same = Campaign(protocol, Options(1, 10_000, fixed=fixed), PYTHON).run_leg(leg)
    assert same is not None
    assert (same.tick, same.address, same.expected, same.got) == (
        finding.tick,
        finding.address,
        finding.expected,
        finding.got,
    )


@pytest.mark.parametrize("name", PLANTED)
def test_a_batch_judges_racing_loads_as_a_leg_alone_does(name: str, tmp_path: Path) -> None:
    """It derives what stores leave behind itself."""
    protocol = planted(tmp_path, name)
    native = choose(Choice.native, protocol, lambda text: None)
    assert native.native is not None and native.batch is not None
    fixed = PLANTED[name][4]
    campaign = Campaign(protocol, Options(1, 10_000, fixed=fixed, leg_episodes=40), native)
    legs = [campaign.plan(number).leg for number in range(12)]
    alone = []
    for leg in legs:
        run = NativeLegRun(leg, native.native, handover_rules_of(leg))
        run.run()
        alone.append((run.failure, run.outcome.ticks))
    undone = [replace(leg, program=replace(leg.program, derived=False)) for leg in legs]
    assert [(each.failure, each.ticks) for each in native.batch.run(undone)] == alone
    assert len({failure for failure, _ in alone}) > 1
