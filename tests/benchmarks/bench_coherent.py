"""Kernels behind the caches beside their recorded requests, replayed into the same system.

    python -m tests.benchmarks.bench_coherent [--engine python|native] [--repeat N]

Five compiled kernels run on a device of four compute units and two banks of shared cache; what it
asked of memory is recorded once and then replayed, in turn with runs that are not recorded.
Processor time counts, the best of N. Either takes the time of the engine; a replay pushes all its
requests from Python, of which native units push few. The quotient should be at most `LIMIT`. A
replay makes the same transitions in the same ticks, which is checked. In turn with them, as many
bare additions of 64 masked lanes run as the kernel has wave instructions: the rate of the one to
that of the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from gpu.host.device import Device
from gpu.memory.address_space import AddressSpace
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import EngineChoice, LoadedSystem, choose_engine, load_system
from gpu.memory.coherent.recording import Recording, replay
from tests.benchmarks.bench_kernels import additions
from tests.gpu.corpus.case import Case, Launch
from tests.gpu.corpus.runner import run_case

LIMIT = 2.0


def cases() -> list[Case]:
    """Streams, tiles in LDS, byte loads, atomics; a few thousand wave instructions each."""
    numbers = np.random.default_rng(1)
    n = 1 << 13
    a, b = numbers.random((2, n), np.float32)
    side = 48
    c, d = numbers.random((2, side, side), np.float32)
    octets = numbers.integers(0, 256, 64 * 512, np.uint8)
    words = numbers.integers(0, 1 << 20, n).astype(np.int32)
    return [
        Case("vadd", "vadd", {"a": a, "b": b, "c": np.zeros_like(a)},
             (Launch("vadd", (n,), (256,), ("a", "b", "c", n)),)),
        Case("matmul", "matmul", {"a": c, "b": d, "c": np.zeros_like(c)},
             (Launch("matmul", (side, side), (16, 16), ("a", "b", "c", side)),)),
        Case("crc", "crc", {"data": octets, "out": np.zeros(512, np.uint32)},
             (Launch("crc_bits", (512,), (64,), ("data", "out", 64, 512)),)),
        Case("reduce", "reduce", {"in": words, "out": np.zeros(1, np.int32)},
             (Launch("reduce_atomic", (n,), (256,), ("in", "out", n)),)),
        Case("scan", "scan", {"in": words, "out": np.zeros_like(words),
                              "totals": np.zeros(n // 256, np.int32)},
             (Launch("scan_groups", (n,), (256,), ("in", "out", "totals", n)),)),
    ]  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def opened(
    system: LoadedSystem, engine: EngineChoice, space: AddressSpace | None = None
) -> CoherentMemory:
    return choose_engine(system, engine, space=space, optimised=True).memory


def run(case: Case, memory: CoherentMemory) -> int:
    """Returns how many wave instructions there were."""
    device = Device(memory=memory)
    run_case(case, device)
    while memory.busy:
        memory.run(None)
    return sum(sum(unit.statistics.by_unit) for unit in device.units)


def measure(
    case: Case, system: LoadedSystem, engine: EngineChoice, repeat: int
) -> tuple[float, float, float, Recording]:
    """Best seconds of a run, of a replay, of the additions, and what was recorded."""
    memory = opened(system, engine)
    recording = memory.record()
    count = run(case, memory)
    runs, replays, bare = [], [], []
    for _ in range(repeat):
        fresh = opened(system, engine)
        runs.append(timed(lambda fresh=fresh: run(case, fresh)))  # type: ignore[misc]
        if fresh.backend.tick != memory.backend.tick:
            raise AssertionError(f"{case.name}: a run that is recorded took other ticks")
        again = opened(system, engine, recording.space())
        replays.append(timed(lambda again=again: replay(recording, again)))  # type: ignore[misc]
        if (again.now, again.backend.tick) != (memory.now, memory.backend.tick):
            raise AssertionError(f"{case.name}: a replay took other ticks")
        bare.append(additions(count))
    return min(runs), min(replays), min(bare), recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["python", "native"], action="append")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    system = load_system(cus=4, tccs=2, native=True)
    for name in options.engine or ["python", "native"]:
        engine = EngineChoice(name)
        total = [0.0, 0.0, 0.0]
        print(f"{name} engine: requests, seconds of a run, of a replay, quotient, additions")
        for case in cases():
            ran, replayed, bare, recording = measure(case, system, engine, options.repeat)
            for place, seconds in enumerate((ran, replayed, bare)):
                total[place] += seconds
            print(
                f"  {case.name:8} {recording.requests:6,} {ran:8.3f} {replayed:8.3f} "
                f"{ran / replayed:6.2f} {bare / ran:6.3f}"
            )
        print(f"  together {total[0]:15.3f} {total[1]:8.3f} {total[0] / total[1]:6.2f} "
              f"{total[2] / total[0]:6.3f}  (at most {LIMIT})")  # fmt: skip


if __name__ == "__main__":
    main()
