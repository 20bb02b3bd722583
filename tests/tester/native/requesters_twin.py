"""A scenario played by requesters and agents of either engine, behind controllers with one script.

Invariant: both runs have the same methods, and their states the same words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from runtime.errors import ErrorKind, ProtocolError
from runtime.native.plan_words import MAGIC, VERSION
from runtime.native.system import zeroed_block
from runtime.prng import initial_byte
from runtime.requesters.base import RequesterBase
from runtime.requesters.coalescer import VIPERCoalescer
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.sequencer import Sequencer
from runtime.sim.engine import Engine
from runtime.types.messages import MachineType
from tester.execution.checker import Checker
from tester.execution.driver import Driver
from tester.execution.events import Finding, Role, Verdict
from tester.execution.flush import FLUSHES, READ_BACKS, Flusher
from tester.native.program import ProgramView
from tester.native.system import TESTER_CLIENTS
from tester.program.program import Program
from tests.runtime.native.core_twin import NONE, call, library
from tests.tester.native.requesters_scenario import FAULTS, Port, RequesterScenario
from tests.tester.native.requesters_script import Mini, Script

LIMIT: Final = 3000
STATE: Final = (
    *("verdict", "tick", "identity", "index", "address", "size", "expected", "got", "role", "kind"),
    *("now", "sequence", "error", "error_tick", "pool", "lane_accesses", "leaks", "flushers"),
    "refused",
    *(
        f"{name}{number}"
        for number in range(2)
        for name in (
            *("completed", "live", "live_time", "handover_time", "agent_time", "end"),
            *("running", "identity"),
        )
    ),
)


class PythonRun:
    """The Python engine."""

    def __init__(self, scenario: RequesterScenario) -> None:
        self.scenario = scenario
        self.engine = engine = Engine()
        self.script = script = Script(scenario)
        self.error: ProtocolError | None = None
        self.minis = [Mini(engine, script, i, port) for i, port in enumerate(scenario.ports)]
        self.requesters: list[RequesterBase] = []
        for number, (port, mini) in enumerate(zip(scenario.ports, self.minis)):
            requester = self._requester(number, port, mini)
            self.requesters.append(requester)
        for requester, mini in zip(self.requesters, self.minis):
            controller: Any = mini
            requester.attach(engine, controller, mini.queue)
            mini.requester = requester
        script.sequencers = [each for each in self.requesters if isinstance(each, Sequencer)]
        key = scenario.program.run_key

        def initial(address: int) -> int:
            return sum(initial_byte(key, address + i) << 8 * i for i in range(4))

        self.checker = Checker(64, initial, engine.stop)
        self.drivers: list[Driver] = []
        self.flushers: list[Flusher] = []

    def _requester(self, number: int, port: Port, mini: Mini) -> RequesterBase:
        name = f"{port.kind}{number}"
        if port.kind == "dma":
            return DMASequencer(name, number, port.lanes, 64, outstanding=port.outstanding)
        if port.kind == "cpu":
            return Sequencer(
                name,
                number,
                port.lanes,
                64,
                caches=(mini.cache,),
                walk=port.walk,
                fetch=port.fetch,
                outstanding=port.outstanding,
                atomics=port.atomics,
            )
        linked: Any = tuple(self.requesters[i] for i in port.linked)
        return VIPERCoalescer(
            name,
            number,
            port.lanes,
            64,
            caches=(mini.cache,),
            linked=linked,
            tokens=port.tokens,
            outstanding=port.outstanding,
            coalesces_per_cycle=port.coalesces,
            one_request_per_lane=port.per_lane,
        )

    def add_driver(self, program: Program, role: int, identity: int, steps: bool) -> None:
        driver = Driver(
            self.engine,
            self.requesters,
            [agent.requester for agent in program.agents],
            [program],
            64,
            self.checker,
            role,
            identity,
            self.scenario.steps if steps else (),
        )
        self.drivers.append(driver)
        driver.start()

    def add_flusher(self, requester: int, lines: list[int], identity: int) -> None:
        flusher = Flusher(self.engine, self.requesters[requester], lines, self.checker, identity)
        self.flushers.append(flusher)
        self.engine.schedule(flusher, self.engine.now + 1)

    def run(self, until: int) -> None:
        try:
            self.engine.run(until)
        except ProtocolError as error:
            self.error = error

    def next_tick(self) -> int | None:
        return self.engine.ticks[0] if self.engine.ticks else None

    def over(self) -> bool:
        return self.error is not None or self.checker.finding is not None

    def overdue(self) -> bool:
        return self.checker.overdue(self.engine.now, LIMIT) is not None

    def finish(self) -> bool:
        return self.checker.finish(self.engine.now) is not None

    def byte(self, address: int) -> int:
        return self.script.block(address & -64).data >> 8 * (address & 63) & 0xFF

    def state(self) -> dict[str, int]:
        finding = self.checker.finding or Finding(Verdict.HANG, 0, "")
        verdict = 0
        if self.checker.finding is not None:
            verdict = 1 + list(Verdict).index(finding.verdict)
        request = finding.request
        words = [verdict, finding.tick]
        if request is None:
            words += [0] * 8
        else:
            words += [request.identity, finding.index, finding.address, finding.size]
            words += [finding.expected, finding.got, request.role, request.kind]
        engine, error = self.engine, self.error
        words += [engine.now, engine.sequence]
        words += [0 if error is None else 1 + list(ErrorKind).index(error.kind)]
        words += [0 if error is None else engine.now, 0, self.checker.lane_accesses]
        words += [sum(bool(requester.leaks()) for requester in self.requesters)]
        words += [sum(not flusher.finished for flusher in self.flushers), self._refused()]
        for driver in [*self.drivers, None, None][:2]:
            if driver is None:
                words += [0] * 8
                continue
            s = driver.concurrency
            words += [driver.completed, s.live, s.live_time, s.handover_time, s.agent_time, s.end]
            words += [driver._running, driver._identity]
        return dict(zip(STATE, [word & NONE for word in words], strict=True))

    def _refused(self) -> int:
        driver = self.drivers[-1]
        refused = [agent.number for agent in driver.agents if agent.refused is not None]
        return refused[0] if refused else -1


# ---------------------------------------------------------------------------- native


def plan_words(scenario: RequesterScenario, agents: int, capacities: tuple[int, ...]) -> np.ndarray:
    ports = scenario.ports
    count = len(ports)
    words = [MAGIC, VERSION, scenario.program.run_key, 6, 0, 40, 10_000]
    words += [1 << 62, 1 << 62, 0, 0, MachineType.NUM]  # no limits to messages and work, no script
    for kind in range(MachineType.NUM):
        instances = count if kind == MachineType.Cache else 0
        words += [instances, count if kind > MachineType.Cache else 0, NONE]
    words += [count, count, count, 2 * count + agents, 2 * count, 0, count, *capacities]
    for buffer in range(2 * count):
        words += [0, 0, buffer // 2, 0, 0]
    for number, port in enumerate(ports):
        words += [number, *port.cache, 6, 0, 0, 1, 1, 1, 1, 0, 1]
    for number in range(count):
        words += [0, number, MachineType.Cache, 0, 32, 10_000, 1, 16, 1, 0, 0]
        words += [NONE, NONE, NONE, 0, 0, 0, 0, 1, 16]
    for number, port in enumerate(ports):
        words += [("cpu", "gpu", "dma").index(port.kind), number, 2 * number, port.lanes]
        words += [port.walk, port.fetch, port.outstanding, port.tokens, port.coalesces]
        words += [port.per_lane, 100 if port.kind == "gpu" else 0, port.atomics, 0, 0]
        caches = [number] if port.kind != "dma" else []
        words += [len(caches), *caches, len(port.linked), *port.linked]
    return np.array([word & NONE for word in words], dtype=np.uint64)


class NativeRun:
    """The native engine, with the same methods."""

    def __init__(
        self, scenario: RequesterScenario, flights: int = 4096, rows: int = 1 << 16
    ) -> None:
        self.scenario = scenario
        clients = [f"-D{name}={value}" for name, value in TESTER_CLIENTS.defines().items()]
        include = f"-I{TESTER_CLIENTS.include_root}"
        self.lib = library(Path(__file__).with_name("requesters_driver.cpp"), include, *clients)
        self.kept: list[object] = []
        view = ProgramView(scenario.program)
        agents = 2 * scenario.program.agent_count + 2 * len(scenario.ports)
        groups = len(scenario.program.group_word)
        capacities = (1 << 15, 1 << 10, view.increments, 1 << 12, 1 << 14, flights, rows)
        capacities += (1 << 12, groups, 1 << 12, 64)
        words = plan_words(scenario, agents, capacities)
        size = call(self.lib, "t_size", words, len(words))
        self.block = zeroed_block(size)
        assert call(self.lib, "t_start", self.block, size, words, len(words))
        fault = FAULTS.index(scenario.fault)
        call(self.lib, "t_script", scenario.seed, scenario.slow, fault, scenario.fault_at)

    def __call__(self, name: str, *arguments: object) -> int:
        return call(self.lib, name, self.block, *arguments)

    def add_driver(self, program: Program, role: int, identity: int, steps: bool) -> None:
        view = ProgramView(program)
        requesters = np.array([agent.requester for agent in program.agents], np.uint32)
        bits = np.zeros(len(requesters), np.uint8)
        if steps:
            bits[:] = [step.flush + 2 * step.invalidate for step in self.scenario.steps]
        self.kept.append(view)
        at = ctypes.addressof(view.struct)
        assert self("t_add_driver", at, role, requesters, bits, identity) < 8

    def add_flusher(self, requester: int, lines: list[int], identity: int) -> None:
        array = np.array(lines, np.uint64)
        assert self("t_add_flusher", requester, array, len(lines), identity) != NONE

    def run(self, until: int) -> None:
        self("t_run", until)

    def next_tick(self) -> int | None:
        tick = self("t_next_tick")
        return None if tick == NONE else tick

    def over(self) -> bool:
        state = self.state()
        return bool(state["verdict"] or state["error"] or state["pool"])

    def overdue(self) -> bool:
        return bool(self("t_overdue", LIMIT))

    def finish(self) -> bool:
        return bool(self("t_finish"))

    def byte(self, address: int) -> int:
        return self("t_byte", address)

    def state(self) -> dict[str, int]:
        words = np.zeros(len(STATE), np.uint64)
        self("t_state", words)
        return dict(zip(STATE, words.tolist(), strict=True))


Run = PythonRun | NativeRun


def play(run: Run, look: Callable[[Run], None] = lambda run: None) -> dict[str, int]:
    """A leg from the first episode to the last byte read back; the final state."""

    def go(finished: Callable[[], bool]) -> bool:
        until = 0
        while not run.over() and not finished():
            tick = run.next_tick()
            if tick is None:
                return not run.finish()
            until = max(until, tick) + 400
            run.run(until)
            look(run)
            if run.over() or run.overdue():
                return False
        return not run.over()

    def still() -> bool:
        return run.next_tick() is None

    scenario = run.scenario
    run.add_driver(scenario.program, Role.ACTION, 0, steps=True)
    if go(still) and not run.finish() and not run.state()["leaks"]:
        for number, (requester, lines) in enumerate(scenario.flushed()):
            run.add_flusher(requester, lines, FLUSHES + (number << 20))
        if go(still):
            run.add_driver(scenario.read_back(), Role.READ_BACK, READ_BACKS, steps=False)
            go(still)
    return run.state()
