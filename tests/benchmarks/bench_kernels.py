"""Wave instructions beside bare additions of 64 masked lanes, in the same run.

    python -m tests.benchmarks.bench_kernels [--repeat N]

Four compiled kernels (tiled matrix product, reductions, CRC-32, prefix sums) run on a functional
unit; in turn with them, the same number of ``np.add(a, b, out=c, where=mask)`` runs in a loop.
Processor time counts. The rate of all four together has to be `LIMIT` of the additions' rate, which
takes a C++ compiler.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.launching import Launch, put, run_launch
from tests.gpu.kernels.stored import stored

LIMIT = 0.9


@dataclass(frozen=True)
class Case:
    """``arguments``: arrays become buffers."""

    source: str
    kernel: str
    arguments: tuple[object, ...]
    grid: tuple[int, ...]
    group: tuple[int, ...]

    def run(self) -> tuple[int, float]:
        """Wave instructions and seconds."""
        memory = FlatMemory()
        arguments = [
            put(memory, value) if isinstance(value, np.ndarray) else value
            for value in self.arguments
        ]
        launch = Launch(memory, stored(self.source), self.kernel, arguments, self.grid, self.group)
        unit = FunctionalUnit(0, memory)
        started = time.process_time()
        run_launch(memory, launch, [unit])
        seconds = time.process_time() - started
        if launch.listener.faults:
            raise launch.listener.faults[0]
        return unit.executed, seconds


def cases() -> list[Case]:
    """The four programs, some 50,000 wave instructions each."""
    random = np.random.default_rng(1)
    side = 96
    a, b = random.random((2, side, side), np.float32)
    words = random.integers(0, 1 << 32, 1 << 15, np.uint32)
    length, blocks = 64, 2048
    octets = random.integers(0, 256, length * blocks, np.uint8)
    return [
        Case("matmul", "matmul", (a, b, np.zeros_like(a), side), (side, side), (16, 16)),
        Case("reduce", "reduce_lds", (words, np.zeros(128, np.uint32), len(words)),
             (len(words),), (256,)),
        Case("reduce", "reduce_atomic", (words, np.zeros(1, np.uint32), len(words)),
             (len(words),), (256,)),
        Case("crc", "crc_bits", (octets, np.zeros(blocks, np.uint32), length, blocks),
             (blocks,), (256,)),
        Case("crc", "crc_table", (octets, np.zeros(blocks, np.uint32), length, blocks),
             (blocks,), (256,)),
        Case("scan", "scan_groups", (words, np.zeros_like(words), np.zeros(128, np.uint32),
                                     len(words)), (len(words),), (256,)),
    ]  # fmt: skip


def additions(count: int) -> float:
    """Seconds for that many masked additions."""
    a, b = np.arange(64, dtype=np.uint32), np.full(64, 3, np.uint32)
    c = np.zeros(64, np.uint32)
    mask = np.arange(64) % 3 != 0
    add = np.add
    started = time.process_time()
    for _ in range(count):
        add(a, b, out=c, where=mask)
    return time.process_time() - started


def main() -> None:
    """Print a line for each program and one for all together."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    chosen = cases()
    for case in chosen:
        case.run()  # decode and bind once
    total, spent, bare = 0, 0.0, 0.0
    for _ in range(repeat):
        for case in chosen:
            count, seconds = case.run()
            reference = additions(count)
            total, spent, bare = total + count, spent + seconds, bare + reference
            print(
                f"{case.kernel:14} {count:8,} instructions  {1e6 * seconds / count:6.2f} us each  "
                f"{reference / seconds:.3f} of the additions' rate"
            )
    print(f"all together {bare / spent:.3f} of the additions' rate; it has to be {LIMIT}")


if __name__ == "__main__":
    main()
