"""Reading back: every byte, by an agent that may, behind another port where there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from runtime.description import SystemDescription
from runtime.prng import Prng, initial_byte
from runtime.sim.engine import Consumer
from tester.execution.agent import HandoverSteps
from tester.execution.events import Verdict
from tester.execution.handover import HandoverRules
from tester.execution.leg import LegRun
from tester.generator.generator import generate_program
from tester.program.array_validation import shape_errors
from tester.program.expectations import final_memory
from tester.program.final_memory import final_contents
from tester.program.program import Program
from tester.program.read_back import read_back_program
from tests.tester.execution.fake_system import FakeSystem
from tests.tester.program.test_final_memory import last_writers
from tests.tester.programs import CONFIGS

HANDOVERS = """
[[handover]]
giver = "gpu"
taker = "cpu"
giver_steps = ["release", "flush"]

[[handover]]
giver = "cpu"
taker = "gpu"
taker_steps = ["acquire", "invalidate_l2"]

[[handover]]
giver = "dma"
taker = "cpu"
allowed = false
"""


def test_rules_follow_the_description() -> None:
    description = SystemDescription.from_toml(HANDOVERS)
    rules = HandoverRules.of(description, ["gpu", "gpu", "cpu", "dma"])
    assert rules.isolation_groups == (0, 0, 0, 1)
    flush, both = HandoverSteps(flush=True, invalidate=True), HandoverSteps()
    assert rules.steps == (flush, flush, both, both)
    alone = HandoverRules.of(description, ["gpu", "gpu"])
    assert alone.steps == (HandoverSteps(), HandoverSteps())


def loads(program: Program) -> list[tuple[int, int, int, int]]:
    """(agent, address, size, expected) of every lane."""
    found = []
    for episode in range(program.episodes):
        for action in program.actions_of(episode):
            for lane, address in enumerate(program.lane_address[action].tolist()):
                if address >= 0:
                    size = int(program.action_size[action])
                    value = int(program.expected[action, lane])
                    found.append((int(program.episode_thread[episode]), address, size, value))
    return found


@pytest.mark.parametrize("name", ["default", "mixed", "bytes"])
def test_every_byte_is_read_by_an_agent_that_may(name: str) -> None:
    config = CONFIGS[name]
    program = generate_program(config, Prng(4))
    addresses, contents = final_memory(program)
    expected = dict(zip(addresses.tolist(), contents.tolist()))
    isolation_groups = config.isolation_groups or (0,) * program.agent_count
    back = read_back_program(program, final_contents(program), isolation_groups)
    assert back is not None
    assert shape_errors(back) == []
    isolation_of = {
        agent.name: isolation for agent, isolation in zip(program.agents, isolation_groups)
    }
    port_of = {agent.name: agent.requester for agent in program.agents}
    writers = last_writers(program)[0]
    seen: set[int] = set()
    elsewhere = 0
    for agent, address, size, value in loads(back):
        reader = back.agents[agent].name
        for byte in range(address, address + size):
            assert byte not in seen
            seen.add(byte)
            assert value >> 8 * (byte - address) & 0xFF == expected[byte]
            if byte in writers:
                assert isolation_of[reader] == isolation_groups[writers[byte]]
                elsewhere += port_of[reader] != program.agents[writers[byte]].requester
    assert seen == set(expected)
    assert elsewhere > len(writers) * 0.8


def test_who_does_not_load_reads_nothing_back() -> None:
    """Bytes that no other agent may read are left out."""
    config = CONFIGS["unaligned"]
    program = generate_program(config, Prng(4))
    groups = config.isolation_groups
    processors = tuple(agent.kind != "dma" for agent in program.agents)
    first = tuple(group == 0 for group in groups)
    assert {all(processors), all(first)} == {False}
    writers = last_writers(program)[0]
    for reads, left_out in ((processors, set()), (first, {1})):
        back = read_back_program(program, final_contents(program), groups, reads)
        assert back is not None
        readers = {back.agents[agent].name for agent, *_ in loads(back)}
        allowed = {agent.name for agent, reading in zip(program.agents, reads) if reading}
        assert readers <= allowed
        seen = {start + i for _, start, size, _ in loads(back) for i in range(size)}
        assert {groups[writer] for byte, writer in writers.items() if byte not in seen} == left_out
    none = (False,) * len(groups)
    assert read_back_program(program, final_contents(program), groups, none) is None


@pytest.mark.parametrize(
    "steps",
    [HandoverSteps(), HandoverSteps(flush=True), HandoverSteps(flush=True, invalidate=True)],
)
def test_steps_at_hand_overs_are_carried_out(steps: HandoverSteps) -> None:
    config = replace(CONFIGS["default"], episodes=30)
    agents = tuple(structs.replace(agent, requester=i % 2) for i, agent in enumerate(config.agents))
    program = generate_program(replace(config, agents=agents), Prng(6))

    class Counter:
        """Counts synchronisations by kind."""

        def __init__(self) -> None:
            self.kinds: dict[int, int] = {}

        def issued(self, request: object, tick: int) -> None:
            kind = getattr(request, "kind", -1)
            self.kinds[kind] = self.kinds.get(kind, 0) + 1

        def loaded(self, *_: object) -> None: ...

        def accepted(self, *_: object) -> None: ...

        def completed(self, *_: object) -> None: ...

        def returned(self, *_: object) -> None: ...

        def synchronized(self, *_: object) -> None: ...

    counter = Counter()
    system = FakeSystem(lambda a: initial_byte(program.run_key, a))
    rules = HandoverRules((0,) * program.agent_count, (steps,) * program.agent_count)
    outcome = LegRun(program, system, 10_000, rules, [counter]).run()
    assert outcome.finding is None
    flushes, invalidations = counter.kinds.get(5, 0), counter.kinds.get(6, 0)
    assert (flushes > 20) == steps.flush
    assert (invalidations > 20) == steps.invalidate


@pytest.mark.parametrize("busy", [0, 5_000, 200_000])
def test_a_system_may_take_its_time_to_rest_but_not_for_ever(busy: int) -> None:
    """No request waits for what moves: ten deadlock limits are granted."""
    config = CONFIGS["default"]
    agents = tuple(structs.replace(agent, requester=i % 2) for i, agent in enumerate(config.agents))
    program = generate_program(replace(config, agents=agents, episodes=5), Prng(6))
    system = FakeSystem(lambda a: initial_byte(program.run_key, a))

    class Restless(Consumer):
        def wakeup(self) -> None:
            if self.engine.now < busy:
                self.engine.schedule(self, self.engine.now + 10)

    system.engine.schedule(Restless(system.engine), 1)
    finding = LegRun(program, system, 1_000).run().finding
    if busy <= 5_000:
        assert finding is None
    else:
        assert finding is not None and finding.verdict is Verdict.HANG
        assert "messages still move" in finding.headline
