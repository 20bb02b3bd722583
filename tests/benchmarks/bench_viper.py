"""Transitions per second of the compiled GPU protocol under random accesses, requesters included.

Run by hand: ``python -m tests.benchmarks.bench_viper [accesses] [--delays NAME] [--profile]``.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path

from runtime.controller.shapes import ProtocolInfo
from runtime.description import load_description
from runtime.prng import Prng
from runtime.requesters.port import Access, AccessKind, Requester
from runtime.sim.engine import Consumer, Engine
from runtime.system.builder import build_system
from runtime.system.system import System
from runtime.types.values import DataBlock
from slicc.codegen.python.importer import load_package
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink

PROTOCOLS = Path(__file__).parents[2] / "protocols"
LANES = 16


class RandomWave(Consumer):
    """Keeps four accesses under way at one requester until its share is done."""

    __slots__ = ("open", "prng", "refused", "requester", "to_do")

    def __init__(self, engine: Engine, requester: Requester, number: int, to_do: int) -> None:
        super().__init__(engine)
        self.requester = requester
        self.prng = Prng(1).fork(f"wave{number}")
        self.to_do = to_do
        self.open = 0
        self.refused: Access | None = None
        engine.schedule(self, 1)

    def _next(self) -> Access:
        below = self.prng.below
        kind = (AccessKind.LOAD, AccessKind.LOAD, AccessKind.STORE, AccessKind.STORE)[below(4)]
        if below(16) == 0:
            return Access(AccessKind.ATOMIC, self, addresses=[64 * 512 + 4 * below(8)], values=[1])
        if below(24) == 0:
            return Access(AccessKind.ACQUIRE, self)
        addresses = [4 * below(16 * 512) for _ in range(LANES)]
        values = [below(1 << 32) for _ in addresses] if kind == AccessKind.STORE else []
        return Access(kind, self, addresses=addresses, values=values)

    def wakeup(self) -> None:
        while self.open < 4 and self.to_do:
            access = self.refused or self._next()
            self.refused = None
            access.open = 0
            if not self.requester.issue(access):
                self.refused = access
                return
            self.to_do -= 1
            self.open += 1

    def _answered(self, access: Access) -> None:
        if access.open <= 1:
            self.open -= 1
            self.engine.schedule(self, self.engine.now + 1)

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        self._answered(access)

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        pass

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        self._answered(access)

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        self._answered(access)

    def synchronized(self, access: Access) -> None:
        self._answered(access)

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)


def viper() -> ProtocolInfo:
    """The shipped GPU protocol, compiled."""
    compiled = compile_files([PROTOCOLS / "GPU_VIPER.slicc"], [PROTOCOLS], DiagnosticSink())
    info = load_package(compiled[0].protocol).PROTOCOL
    assert isinstance(info, ProtocolInfo)
    return info


def prepare(accesses: int, delays: str) -> System:
    description = load_description(PROTOCOLS / "GPU_VIPER.toml")
    description = description.override({"network.delays": delays})
    system = build_system(viper(), description, 1)
    waves = [requester for requester in system.requesters if requester.kind == "gpu"]
    for number, requester in enumerate(waves):
        if "coalescer" in type(requester).__name__.lower():
            RandomWave(system.engine, requester, number, accesses // 4)
    return system


def main() -> None:
    accesses = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 4000
    delays = sys.argv[sys.argv.index("--delays") + 1] if "--delays" in sys.argv else "nominal"
    system = prepare(accesses, delays)
    profile = cProfile.Profile()
    started = time.process_time()
    if "--profile" in sys.argv:
        profile.runcall(system.engine.run)
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        return
    system.engine.run()
    seconds = time.process_time() - started
    done = sum(sum(controller.counts) for controller in system.controllers)
    print(
        f"{accesses} accesses, {done} transitions, {seconds / done * 1e6:.2f} us each, "
        f"{done / seconds:,.0f}/s, {accesses * LANES / seconds:,.0f} lanes/s, "
        f"until tick {system.engine.now}"
    )
    for problem in system.leaks()[:5]:
        print(problem)


if __name__ == "__main__":
    main()
