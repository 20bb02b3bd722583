"""Driver and checker on a perfect memory, and on one that goes wrong in all ways we know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runtime.prng import Prng, initial_byte
from runtime.requesters.port import AccessKind
from tester.diagnosis.events.history import History
from tester.diagnosis.value_attribution import byte_versions
from tester.execution.events import Request, Role, Verdict
from tester.execution.leg import LegRun
from tester.generator.generator import GeneratorConfig, generate, generate_program
from tester.program.address_map import MapConfig
from tester.program.program import LOAD, PLAIN, STORE, AgentSpec, Program
from tests.tester.execution.fake_system import FAULTS, FakeSystem, Fault

LANES = 8


def config(count: int = 6, episodes: int = 60) -> GeneratorConfig:
    agents = tuple(AgentSpec("gpu", t % 2, LANES, f"wave{t}") for t in range(count))
    return GeneratorConfig(agents, episodes, MapConfig(groups=3, locations=48))


def program(seed: int = 1, **changes: object) -> Program:
    return generate_program(replace(config(), **changes), Prng(seed))  # type: ignore[arg-type]


def system(of: Program, fault: Fault | None = None, **how: object) -> FakeSystem:
    return FakeSystem(
        lambda address: initial_byte(of.run_key, address),
        lanes=LANES,
        fault=fault,
        **how,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("one_request_per_lane", [False, True])
def test_a_perfect_memory_passes(seed: int, one_request_per_lane: bool) -> None:
    test = program(seed)
    fake = system(
        test, refusals=0.2 * (seed & 1), seed=seed, one_request_per_lane=one_request_per_lane
    )
    outcome = LegRun(test, fake, 20_000).run()
    assert outcome.finding is None
    assert outcome.episodes == test.episodes
    assert outcome.lane_accesses >= test.active().sum() + test.increments().sum()


EXPECTED = {
    "stale value": {Verdict.WRONG_VALUE},
    "foreign value": {Verdict.WRONG_VALUE},
    "wrong line": {Verdict.UNEXPECTED_RESPONSE},
    "lost store": {Verdict.WRONG_VALUE},
    "torn store": {Verdict.WRONG_VALUE},
    "lost completion": {Verdict.HANG},
    "lost acceptance": {Verdict.HANG},
    "lost data": {Verdict.HANG},
    "double data": {Verdict.UNEXPECTED_RESPONSE},
    "double completion": {Verdict.UNEXPECTED_RESPONSE},
    "early release": {Verdict.EARLY_RELEASE},
    "duplicated atomic": {Verdict.ATOMIC_REPEATED, Verdict.WRONG_VALUE},
    "skipped atomic": {Verdict.ATOMIC_SKIPPED, Verdict.WRONG_VALUE},
    "lost atomic": {Verdict.HANG},
    "lost synchronization": {Verdict.HANG},
    "lost retry": {Verdict.HANG},
    "hang": {Verdict.HANG},
    "leak": {Verdict.LEAK},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_found(fault: str) -> None:
    """Early or late in the run. A store may be overwritten unseen, so not every single one."""
    assert set(EXPECTED) == set(FAULTS)
    test = program(3)
    found = 0
    stores = fault in ("lost store", "torn store")
    places = (1,) if fault == "leak" else (7, 40, 80, 160, 240) if stores else (1, 2, 5, 9, 14, 23)
    for at in places:
        outcome = LegRun(test, system(test, Fault(fault, at), refusals=0.2), 20_000).run()
        if outcome.finding is not None:
            found += 1
            assert outcome.finding.verdict in EXPECTED[fault], outcome.finding.headline
    assert found == len(places) or (found and stores)


def observable(test: Program, address: int, size: int, value: int) -> bool:
    """Whether a load, or a reader at the end, must see a byte of the store."""
    stores = (test.lane_address == address) & (test.action_kind == STORE)[:, None]
    rows, lanes = np.nonzero(stores & (test.store_value == value))
    (row,) = [r for r, lane in zip(rows, lanes) if test.action_size[r] == size]
    for byte in range(address, address + size):
        versions = byte_versions(test, byte)
        mine = next(v for v in versions if v.row == row)
        after = [v for v in versions if v.number == mine.number + 1]
        if versions[mine.number - 1].value == mine.value:
            continue
        covers = (test.lane_address >= 0) & (test.lane_address <= byte)
        covers &= byte < test.lane_address + test.action_size[:, None]
        covers &= (test.action_kind == LOAD)[:, None]
        loads = np.flatnonzero(covers.any(axis=1))
        last = after[0].row if after else test.actions
        if not after or any(row < load < last for load in loads):
            return True
    return False


def test_a_lost_store_is_found_exactly_when_somebody_must_see_it() -> None:
    test = program(3)
    outcomes = set()
    for at in range(1, 400, 46):
        fault = Fault("lost store", at)
        finding = LegRun(test, system(test, fault), 20_000).run().finding
        assert fault.lost is not None
        assert (finding is not None) == observable(test, *fault.lost)
        outcomes.add(finding is not None)
    assert outcomes == {True, False}


def test_a_lost_last_store_is_found_by_reading_back() -> None:
    test = program(2)
    stores = int(((test.lane_address >= 0) & (test.action_kind == 1)[:, None]).sum())

    def reading_back_finds(at: int) -> bool:
        finding = LegRun(test, system(test, Fault("lost store", at)), 20_000).run().finding
        request = None if finding is None else finding.request
        return request is not None and request.role == Role.READ_BACK

    assert any(reading_back_finds(at) for at in range(stores, stores - 13, -1))


def test_same_program_same_system_same_run() -> None:
    def events() -> list[tuple[int, str, str, str]]:
        test = program(5)
        lines = sorted({int(a) & -64 for a in test.lane_address[test.lane_address >= 0]})
        history = History(lines, 64)
        LegRun(test, system(test, refusals=0.1), 20_000, observers=[history]).run()
        return [(row.tick, row.who, row.what, row.change) for row in history.events]

    assert events() == events()


def test_chunks_do_not_change_what_runs() -> None:
    settings = config(episodes=200)
    whole = generate_program(settings, Prng(9))
    chunks = list(generate(settings, Prng(9)))
    pieces = [part for chunk in chunks for part in chunk.parts(7)]
    from tester.execution.checker import Checker
    from tester.execution.driver import Driver

    def ticks(parts: list[Program]) -> tuple[int, int]:
        fake = system(whole)
        checker = Checker(
            64, lambda a: sum(initial_byte(whole.run_key, a + i) << 8 * i for i in range(4)), fail
        )
        requesters = [agent.requester for agent in whole.agents]
        driver = Driver(fake.engine, fake.requesters, requesters, parts, 64, checker)
        driver.start()
        fake.engine.run()
        assert driver.finished
        return fake.engine.now, driver.completed

    def fail() -> None:
        raise AssertionError("a perfect memory was judged wrong")

    assert ticks([whole]) == ticks(pieces)


class Rules:
    """A watcher that checks the driver against the rules that `tester.execution.agent` states."""

    def __init__(self, test: Program) -> None:
        self.test = test
        self.issues: dict[int, list[int]] = {}
        self.open: dict[int, dict[int, Request]] = {}
        self.busy: dict[tuple[int, int], int] = {}
        self.complete: dict[int, int] = {}
        self.stores: dict[int, int] = {}
        self.waited = 0

    def issued(self, request: Request, tick: int) -> None:
        agent = request.agent
        assert tick not in self.issues.setdefault(agent, []), "two instructions in one tick"
        self.issues[agent].append(tick)
        if request.role == Role.OPEN:
            for other, count in self.test.waits_of(request.episode):
                assert self.complete.get(other, 0) >= count, "did not wait for a hand-over"
                self.waited += 1
        if request.role in (Role.CLOSE, Role.ACQUIRE):
            assert not self.open.get(agent), "something was still outstanding"
            assert not self.stores.get(agent, 0), "a store was not complete"
        if request.role == Role.ACTION:
            for address in {a + i for a in request.addresses for i in range(request.size)}:
                assert (agent, address) not in self.busy, "byte with an outstanding request"
            for address in request.addresses:
                for byte in range(address, address + request.size):
                    self.busy[agent, byte] = self.busy.get((agent, byte), 0) + 1
        if request.kind == AccessKind.STORE:
            self.stores[agent] = self.stores.get(agent, 0) + len(request.addresses)
        if request.kind != AccessKind.STORE:
            self.open.setdefault(agent, {})[request.identity] = request

    def _free(self, request: Request, indices: list[int]) -> None:
        for index in indices:
            for byte in range(request.addresses[index], request.addresses[index] + request.size):
                key = request.agent, byte
                self.busy[key] -= 1
                if not self.busy[key]:
                    del self.busy[key]

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        if request.role == Role.ACTION:
            self._free(request, indices)
        self._answer(request, len(indices))

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self._free(request, indices)

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self.stores[request.agent] -= len(indices)

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        self._answer(request, len(indices))

    def synchronized(self, request: Request, tick: int) -> None:
        del self.open[request.agent][request.identity]

    def _answer(self, request: Request, count: int) -> None:
        left = getattr(self, "_left", {})
        self._left = left
        left[request.identity] = left.get(request.identity, len(request.addresses)) - count
        if not left[request.identity]:
            del self.open[request.agent][request.identity]
            if request.role == Role.CLOSE:
                self.complete[request.agent] = self.complete.get(request.agent, 0) + 1


@pytest.mark.parametrize("one_request_per_lane", [False, True])
def test_the_driver_keeps_its_rules(one_request_per_lane: bool) -> None:
    test = program(11, lengths=(20,), repeat_percent=60)
    rules = Rules(test)
    fake = system(test, refusals=0.1, one_request_per_lane=one_request_per_lane)
    run = LegRun(test, fake, 20_000, observers=[rules])
    assert run.run().finding is None
    assert rules.waited == test.waits
    assert run.outcome.concurrency.mean_live > 1


class Course:
    """A watcher that notes when each episode did what."""

    def __init__(self) -> None:
        self.roles: dict[int, list[int]] = {}
        self.ended: dict[int, int] = {}
        self.began: dict[int, int] = {}

    def issued(self, request: Request, tick: int) -> None:
        if request.episode >= 0:
            self.roles.setdefault(request.episode, []).append(request.role)
            self.began.setdefault(request.episode, tick)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        self.ended[request.episode] = tick

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        pass

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self.ended[request.episode] = tick

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        self.ended[request.episode] = tick

    def synchronized(self, request: Request, tick: int) -> None:
        self.ended[request.episode] = tick


def test_plain_episodes_have_no_fences_and_wait_for_complete_ones() -> None:
    agents = tuple(AgentSpec("cpu", t % 2, 1, f"cpu{t}") for t in range(6))
    settings = GeneratorConfig(
        agents, 200, MapConfig(groups=3, locations=20), lengths=(1, 4), plain_percent=60
    )
    test = generate_program(settings, Prng(8))
    course = Course()
    run = LegRun(test, system(test, refusals=0.2), 20_000, observers=[course])
    assert run.run_episodes().finding is None
    plain = (test.episode_scope & PLAIN > 0).tolist()
    assert 80 < sum(plain) < 160
    by_agent: dict[int, list[int]] = {}
    for episode, agent in enumerate(test.episode_thread.tolist()):
        by_agent.setdefault(agent, []).append(episode)
        fences = {Role.ACQUIRE, Role.RELEASE, Role.OPEN, Role.CLOSE}
        assert bool(fences & set(course.roles.get(episode, ()))) != plain[episode]
        for other, count in test.waits_of(episode):
            before = by_agent[other][count - 1]
            assert (
                episode not in course.began or course.ended.get(before, -1) < course.began[episode]
            )


def test_plain_episodes_without_actions_end_one_after_the_other() -> None:
    agents = tuple(AgentSpec("cpu", t, 1, f"cpu{t}") for t in range(2))
    settings = GeneratorConfig(agents, 3000, MapConfig(1, 20), lengths=(1,), plain_percent=100)
    test = generate_program(settings, Prng(8))
    empty = replace(test.keep_actions(np.zeros(test.actions, np.bool_)), derived=True)
    outcome = LegRun(empty, system(empty), 20_000).run()
    assert outcome.finding is None
    assert outcome.episodes == 3000
