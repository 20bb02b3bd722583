"""What a test of requesters plays: ports, a program, and what a script does with their requests.

Invariant: a scenario is a value, drawn from a seed, that both engines can play.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from runtime.prng import Prng
from runtime.requesters.port import AtomicWay
from tester.execution.agent import HandoverSteps
from tester.generator.config import Abilities
from tester.generator.generator import GeneratorConfig, generate_program
from tester.program.address_map import LINE_DUEL, MapConfig
from tester.program.expectations import final_memory
from tester.program.final_memory import final_contents
from tester.program.program import AgentSpec, Program
from tester.program.read_back import read_back_program

FAULTS: Final = (
    "none",
    "wrong byte",
    "lost completion",
    "double completion",
    "double atomic",
    "idle atomic",
    "wrong callback",
    "short log",
    "foreign atomic",
    "lost store",
    "lost answer",
    "backward atomic",
    "lost walk",
    "wrong address",
    "wrong end",
)


@dataclass(frozen=True)
class Port:
    """One requester and its controller."""

    kind: str
    lanes: int
    cache: tuple[int, int]
    walk: bool = True
    fetch: bool = False
    outstanding: int = 16
    tokens: int = 4
    coalesces: int = 1
    per_lane: bool = False
    linked: tuple[int, ...] = ()
    atomics: int = AtomicWay.LINE


@dataclass(frozen=True)
class RequesterScenario:
    """A whole test: ports, program, script."""

    ports: tuple[Port, ...]
    program: Program
    steps: tuple[HandoverSteps, ...]
    seed: int
    slow: int
    fault: str = "none"
    fault_at: int = 0

    @staticmethod
    def draw(seed: int, episodes: int = 60, unaligned: bool = False) -> RequesterScenario:
        """Any mixture of ports, pressures and programs; if need be with an engine, and one lane
        for all who may access any bytes."""
        prng = Prng(seed)
        lanes = (1, 4, 8, 16)[prng.below(4)]
        ports: list[Port] = []
        agents: list[AgentSpec] = []
        for _ in range(prng.below(3)):
            cache = (1 << prng.below(3), 1 << prng.below(3))
            outstanding = lanes + prng.below(20)
            walk, fetch = prng.below(2) == 1, prng.below(4) == 0
            way = AtomicWay(prng.below(len(AtomicWay)))
            port = Port("cpu", lanes, cache, walk, fetch, outstanding, atomics=way)
            ports.append(port)
        sequencers = tuple(range(len(ports)))
        for _ in range(prng.below(4) + (not ports)):
            per_lane = prng.below(4) == 0
            tokens = (lanes if per_lane else 1) + prng.below(5)
            ports.append(
                Port(
                    "gpu",
                    lanes,
                    (1 << prng.below(4), 1 << prng.below(3)),
                    outstanding=1 + prng.below(20) if prng.below(2) else 2560,
                    tokens=tokens,
                    coalesces=1 + prng.below(3),
                    per_lane=per_lane,
                    linked=sequencers if prng.below(2) else (),
                )
            )
        if prng.below(3) == 0 or unaligned:
            ports.append(Port("dma", lanes, (1, 1), outstanding=lanes + prng.below(9)))
        for number, port in enumerate(ports):
            kind = "fetch" if port.fetch else port.kind
            waves = range(1 + prng.below(4))
            one = unaligned or prng.below(2) == 1
            width = 1 if port.kind != "gpu" and one else port.lanes
            agents += [AgentSpec(kind, number, width, f"{kind}{number}.{wave}") for wave in waves]
        if not any(agent.adds for agent in agents):
            number = len(ports)
            ports.append(Port("gpu", lanes, (2, 2)))
            agents += [AgentSpec("gpu", number, lanes, f"gpu{number}.{wave}") for wave in range(2)]

        def percent() -> int:
            return (0, 0, 30, 100)[prng.below(4)]

        lines = 2 + prng.below(30)
        duel = prng.below(4) == 0
        layout = {"layout": LINE_DUEL} if duel else {}
        config = GeneratorConfig(
            tuple(agents),
            episodes,
            MapConfig(2 + prng.below(3), None, 3 + prng.below(4) if duel else lines, **layout),
            abilities=tuple(
                Abilities(
                    flush=agent.kind == "gpu" and not any(a.kind == "dma" for a in agents),
                    plain=agent.kind == "cpu" and not ports[agent.requester].walk,
                    instructions=agent.kind == "cpu",
                    longest=Abilities.of_kind(agent.kind).longest,
                )
                for agent in agents
            ),
            lengths=((1, 3), (10,), (30,))[prng.below(3)],
            repeat_percent=percent(),
            hot_percent=percent(),
            scope_percent=percent(),
            quiet_percent=percent(),
            bare_percent=(0, 0, 20)[prng.below(3)],
            flush_percent=percent(),
            peek_percent=percent(),
            plain_percent=percent(),
            atomic_percent=percent(),
            instruction_percent=percent(),
            unaligned_percent=90 if unaligned else percent(),
            shared_group_percent=(25, 90)[prng.below(2)],
        )
        steps = []
        for agent in agents:
            is_gpu = ports[agent.requester].kind == "gpu"
            flush = agent.kind not in ("dma", "fetch") and prng.below(3) == 0
            steps.append(HandoverSteps(flush, is_gpu and prng.below(3) == 0))
        return RequesterScenario(
            tuple(ports),
            generate_program(config, prng.fork("program")),
            tuple(steps),
            prng.bits64(),
            prng.below(3),
        )

    def with_fault(self, fault: str, at: int) -> RequesterScenario:
        return replace(self, fault=fault, fault_at=at)

    def flushed(self) -> list[tuple[int, list[int]]]:
        """(requester, lines) of the flushes at the end."""
        addresses, _ = final_memory(self.program)
        lines = sorted({int(address) & -64 for address in addresses})
        able = [i for i, port in enumerate(self.ports) if port.kind != "dma"]
        return [(i, lines[n :: len(able)]) for n, i in enumerate(able)]

    def read_back(self) -> Program:
        program = read_back_program(self.program, final_contents(self.program), ())
        assert program is not None
        return program
