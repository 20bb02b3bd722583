"""Requesters and threads of both engines on a flat memory behind controllers that follow a script.

Invariant: the script (``Mini`` here, ``machine_wakeup`` in ``requesters_driver.cpp``) draws from a
hash of how many messages a controller has seen, so that any difference in order changes
everything that follows. What goes wrong, if anything, goes wrong at the same message in both.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from runtime.cache import AbstractCacheEntry, CacheMemory
from runtime.coalescer import VIPERCoalescer
from runtime.dma import DMASequencer
from runtime.engine import Consumer, Engine
from runtime.errors import ErrorKind, ProtocolError
from runtime.library_types import (
    MachineType,
    Message,
    RubyRequest,
    RubyRequestType,
    SequencerMsg,
    SequencerRequestType,
)
from runtime.message_buffer import MessageBuffer
from runtime.native.program_view import ProgramView
from runtime.native.system import zeroed_block
from runtime.prng import Prng, hash64, initial_byte
from runtime.requester_base import RequesterBase
from runtime.sequencer import Sequencer
from runtime.values import DataBlock
from tester.aftermath import FLUSHES, READ_BACKS, Flusher
from tester.checker import Checker
from tester.driver import Driver
from tester.events import Finding, Role, Verdict
from tester.expectations import final_memory
from tester.final_contents import final_contents
from tester.generator import GeneratorConfig, generate_program
from tester.generator_config import Abilities
from tester.groups import LINE_DUEL, MapConfig
from tester.program import Agent, Program
from tester.read_back import read_back_program
from tester.thread import Steps
from tests.native.core_twin import NONE, call, library

LIMIT: Final = 3000
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
STATE: Final = (
    *("verdict", "tick", "identity", "index", "address", "size", "expected", "got", "role", "kind"),
    *("now", "sequence", "error", "error_tick", "pool", "lane_accesses", "leaks", "flushers"),
    "refused",
    *(
        f"{name}{number}"
        for number in range(2)
        for name in (
            *("completed", "live", "live_time", "handover_time", "thread_time", "end"),
            *("running", "identity"),
        )
    ),
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


@dataclass(frozen=True)
class Scene:
    """A whole test: ports, program, script."""

    ports: tuple[Port, ...]
    program: Program
    steps: tuple[Steps, ...]
    seed: int
    slow: int
    fault: str = "none"
    fault_at: int = 0

    @staticmethod
    def draw(seed: int, episodes: int = 60, unaligned: bool = False) -> Scene:
        """Any mixture of ports, pressures and programs; if need be with an engine, and one lane
        for all who may access any bytes."""
        prng = Prng(seed)
        lanes = (1, 4, 8, 16)[prng.below(4)]
        ports: list[Port] = []
        agents: list[Agent] = []
        for _ in range(prng.below(3)):
            cache = (1 << prng.below(3), 1 << prng.below(3))
            outstanding = lanes + prng.below(20)
            walk, fetch = prng.below(2) == 1, prng.below(4) == 0
            ports.append(Port("cpu", lanes, cache, walk, fetch, outstanding))
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
            agents += [Agent(kind, number, width, f"{kind}{number}.{wave}") for wave in waves]
        if not any(agent.adds for agent in agents):
            number = len(ports)
            ports.append(Port("gpu", lanes, (2, 2)))
            agents += [Agent("gpu", number, lanes, f"gpu{number}.{wave}") for wave in range(2)]

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
            steps.append(Steps(flush, is_gpu and prng.below(3) == 0))
        return Scene(
            tuple(ports),
            generate_program(config, prng.fork("program")),
            tuple(steps),
            prng.bits64(),
            prng.below(3),
        )

    def with_fault(self, fault: str, at: int) -> Scene:
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


# ---------------------------------------------------------------------------- Python


class Ping(Message):
    addr: int = 0
    value: int = 0
    hops: int = 0


class Script:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.seen = 0
        self.lines: dict[int, int] = {}

    def faulty(self, fault: str) -> bool:
        if fault != self.scene.fault:
            return False
        self.seen += 1
        return self.seen == self.scene.fault_at

    def block(self, line: int) -> DataBlock:
        if line not in self.lines:
            key = self.scene.program.run_key
            self.lines[line] = sum(initial_byte(key, line + i) << 8 * i for i in range(64))
        return DataBlock(self.lines[line])

    def keep(self, line: int, block: DataBlock) -> None:
        self.lines[line] = block.data


class Mini(Consumer):
    """The controller of one requester."""

    requester: Any

    def __init__(self, engine: Engine, script: Script, number: int, port: Port) -> None:
        super().__init__(engine)
        self.script = script
        self.number = number
        self.port = port
        self.queue = MessageBuffer(f"queue{number}", engine=engine)
        self.done = MessageBuffer(f"done{number}", engine=engine)
        self.queue.set_consumer(self)
        self.done.set_consumer(self)
        sets, ways = port.cache
        self.cache: CacheMemory[AbstractCacheEntry] = CacheMemory(f"cache{number}", sets, ways)
        self.turns = 0

    def mandatoryQueueLatency(self, request_type: int) -> int:
        return 1

    def wakeup(self) -> None:
        script = self.script
        while self.done.isReady():
            ping = self.done.peek(Ping)
            self.done.dequeue()
            if ping.hops:
                self.requester.writeCallback(ping.addr, 0, script.block(ping.addr))
            else:
                self.complete(ping.addr, ping.value)
        serve = {"gpu": self.serve_coalescer, "cpu": self.serve_sequencer, "dma": self.serve_dma}
        while self.queue.isReady():
            h = hash64(script.scene.seed, self.number, self.turns)
            self.turns += 1
            if h % 4 < script.scene.slow:
                self.queue.recycle(1 + (h >> 8) % 20)
                continue
            message: Any = self.queue.peek(Message)
            self.queue.dequeue()
            serve[self.port.kind](message, h >> 16)

    def reside(self, line: int, h: int) -> None:
        cache = self.cache
        if h % 3 == 0 and not cache.isTagPresent(line) and cache.cacheAvail(line):
            cache.allocate(line, AbstractCacheEntry())

    def spoil(self, request: RubyRequest, block: DataBlock) -> None:
        if self.script.faulty("wrong byte"):
            block.data ^= 1 << 8 * (request.PhysicalAddress - request.LineAddress)

    def spoil_end(self, end: int, block: DataBlock) -> None:
        if self.script.faulty("wrong end"):
            block.data ^= 1 << 8 * (end - 1)

    def complete(self, line: int, sequence: int) -> None:
        if self.script.faulty("lost completion"):
            return
        self.requester.writeCompleteCallback(line, sequence)
        if self.script.faulty("double completion"):
            self.requester.writeCompleteCallback(line, sequence)

    def later(self, line: int, sequence: int, what: int, h: int) -> None:
        ping = Ping()
        ping.addr, ping.value, ping.hops = line, sequence, what
        self.done.enqueue(ping, 1 + (h >> 8) % 60)

    def atomic(self, request: RubyRequest) -> None:
        faulty = self.script.faulty
        line = request.LineAddress
        returns = request.Type == RubyRequestType.ATOMIC_RETURN
        block = self.script.block(line)
        result = block.copy()
        idle = faulty("idle atomic")
        result.atomicPartial(block, request.writeMask, not returns)
        if not idle:
            block = DataBlock(result.data)
        offset = request.PhysicalAddress - line
        word = block.read(offset, 4)
        if faulty("double atomic"):
            word += 1
        if faulty("foreign atomic"):
            word ^= 1 << 30
        if faulty("backward atomic"):
            word -= 3
        block.write(offset, 4, word & 0xFFFFFFFF)
        self.script.keep(line, block)
        if returns and faulty("short log"):
            assert result.log is not None
            del result.log[0]
        if not faulty("lost answer"):
            self.requester.atomicCallback(line, 0, result)

    def serve_coalescer(self, request: RubyRequest, h: int) -> None:
        faulty = self.script.faulty
        requester = self.requester
        line = request.LineAddress
        block = self.script.block(line)
        if request.Type == RubyRequestType.LD:
            self.reside(line, h)
            self.spoil(request, block)
            if faulty("lost answer"):
                return
            if faulty("wrong callback"):
                requester.writeCallback(line, 0, block)
                return
            requester.readCallback(line + 4 if faulty("wrong address") else line, 0, block)
        elif request.Type == RubyRequestType.ST:
            self.reside(line, h)
            if not faulty("lost store"):
                block.copyPartial(request.WTData, request.writeMask)
                self.script.keep(line, block)
            sequence = request.instSeqNum
            mode = (h >> 4) % 4
            if mode & 1:
                self.complete(line, sequence)
            if mode < 3:
                requester.writeCallback(line, 0, block)
            else:
                self.later(line, sequence, 1, h)
            if mode == 0:
                self.complete(line, sequence)
            if mode == 2:
                self.later(line, sequence, 0, h)
        elif request.Type == RubyRequestType.REPLACEMENT:
            self.cache.deallocate(line)
            if not faulty("lost walk"):
                requester.invTCPCallback(line)
        elif request.Type == RubyRequestType.InvL2:
            requester.invTCCCallback(line)
        elif request.Type == RubyRequestType.FLUSH:
            requester.writeCallback(line, 0, block)
        else:
            self.atomic(request)

    def serve_sequencer(self, request: RubyRequest, h: int) -> None:
        faulty = self.script.faulty
        line = request.LineAddress
        block = self.script.block(line)
        if request.Type == RubyRequestType.REPLACEMENT:
            self.cache.deallocate(line)
            if not faulty("lost walk"):
                self.requester.invL1Callback()
        elif request.Type in (RubyRequestType.LD, RubyRequestType.IFETCH):
            self.reside(line, h)
            self.spoil(request, block)
            self.spoil_end(request.PhysicalAddress - line + request.Size, block)
            if faulty("lost answer"):
                return
            if faulty("wrong callback"):
                self.requester.writeCallback(line, block)
                return
            self.requester.readCallback(line, block)
        else:
            if h % 4:
                self.requester.writeCallback(line, block)
            else:
                self.requester.writeUniqueCallback(line, block)
            if not faulty("lost store"):
                self.script.keep(line, block)

    def serve_dma(self, request: SequencerMsg, h: int) -> None:
        block = self.script.block(request.LineAddress)
        if self.script.faulty("lost answer"):
            return
        if request.Type == SequencerRequestType.LD:
            self.spoil_end(request.PhysicalAddress - request.LineAddress + request.Len, block)
            self.requester.dataCallback(block, request.PhysicalAddress)
            return
        if not self.script.faulty("lost store"):
            block.copyPartial(request.DataBlk, request.writeMask)
            self.script.keep(request.LineAddress, block)
        self.requester.ackCallback(request.LineAddress)


class PythonRun:
    """The Python engine."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.engine = engine = Engine()
        self.script = script = Script(scene)
        self.error: ProtocolError | None = None
        self.minis = [Mini(engine, script, i, port) for i, port in enumerate(scene.ports)]
        self.requesters: list[RequesterBase] = []
        for number, (port, mini) in enumerate(zip(scene.ports, self.minis)):
            requester = self._requester(number, port, mini)
            self.requesters.append(requester)
        for requester, mini in zip(self.requesters, self.minis):
            controller: Any = mini
            requester.attach(engine, controller, mini.queue)
            mini.requester = requester
        key = scene.program.run_key

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
            self.scene.steps if steps else (),
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
            s = driver.statistics
            words += [driver.completed, s.live, s.live_time, s.handover_time, s.thread_time, s.end]
            words += [driver._running, driver._identity]
        return dict(zip(STATE, [word & NONE for word in words], strict=True))

    def _refused(self) -> int:
        driver = self.drivers[-1]
        refused = [thread.number for thread in driver.threads if thread.refused is not None]
        return refused[0] if refused else -1


# ---------------------------------------------------------------------------- native


def plan_words(scene: Scene, agents: int, capacities: tuple[int, ...]) -> np.ndarray:
    ports = scene.ports
    count = len(ports)
    words = [0x31564C53, 1, scene.program.run_key, 6, 0, 40, 10_000, MachineType.NUM]
    for kind in range(MachineType.NUM):
        instances = count if kind == MachineType.Cache else 0
        words += [instances, count if kind > MachineType.Cache else 0, NONE]
    words += [count, count, count, 2 * count + agents, 2 * count, 0, count, *capacities]
    for buffer in range(2 * count):
        words += [0, 0, buffer // 2, 0, 1]
    for number, port in enumerate(ports):
        words += [number, *port.cache, 6, 0, 0, 1, 1, 1, 1, 0, 1]
    for number in range(count):
        words += [0, number, MachineType.Cache, 0, 32, 10_000, 1, 16, 1, 0, 0]
        words += [NONE, NONE, NONE, 0, 0, 0, 0, 1, 16]
    for number, port in enumerate(ports):
        words += [("cpu", "gpu", "dma").index(port.kind), number, 2 * number, port.lanes]
        words += [port.walk, port.fetch, port.outstanding, port.tokens, port.coalesces]
        words += [port.per_lane, 100 if port.kind == "gpu" else 0]
        caches = [number] if port.kind != "dma" else []
        words += [len(caches), *caches, len(port.linked), *port.linked]
    return np.array([word & NONE for word in words], dtype=np.uint64)


class NativeRun:
    """The native engine, with the same methods."""

    def __init__(self, scene: Scene, flights: int = 4096, rows: int = 1 << 16) -> None:
        self.scene = scene
        self.lib = library("requesters_driver.cpp")
        self.kept: list[object] = []
        view = ProgramView(scene.program)
        agents = 2 * scene.program.threads + 2 * len(scene.ports)
        groups = len(scene.program.group_word)
        capacities = (1 << 15, 1 << 10, view.increments, 1 << 12, 1 << 14, flights, rows)
        capacities += (1 << 12, groups, 1 << 12, 64)
        words = plan_words(scene, agents, capacities)
        size = call(self.lib, "t_size", words, len(words))
        self.block = zeroed_block(size)
        assert call(self.lib, "t_start", self.block, size, words, len(words))
        fault = FAULTS.index(scene.fault)
        call(self.lib, "t_script", scene.seed, scene.slow, fault, scene.fault_at)

    def __call__(self, name: str, *arguments: object) -> int:
        return call(self.lib, name, self.block, *arguments)

    def add_driver(self, program: Program, role: int, identity: int, steps: bool) -> None:
        view = ProgramView(program)
        requesters = np.array([agent.requester for agent in program.agents], np.uint32)
        bits = np.zeros(len(requesters), np.uint8)
        if steps:
            bits[:] = [step.flush + 2 * step.invalidate for step in self.scene.steps]
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

    scene = run.scene
    run.add_driver(scene.program, Role.ACTION, 0, steps=True)
    if go(still) and not run.finish() and not run.state()["leaks"]:
        for number, (requester, lines) in enumerate(scene.flushed()):
            run.add_flusher(requester, lines, FLUSHES + (number << 20))
        if go(still):
            run.add_driver(scene.read_back(), Role.READ_BACK, READ_BACKS, steps=False)
            go(still)
    return run.state()
