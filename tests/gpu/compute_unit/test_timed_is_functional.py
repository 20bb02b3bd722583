"""Whatever the timing, a kernel without races computes what it computes without time."""

from __future__ import annotations

import zlib
from itertools import count

import pytest

from gpu.compute_unit.pipeline.arbitration import POLICIES
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.host.device import Device
from gpu.memory.interface import MemoryRequest
from tests.gpu.compute_unit.slow_memory import Delay, SlowMemory
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.corpus.runner import run_case
from tests.sampling import sampled

CHOSEN = ("matmul.matmul", "scratch.isort", "scan.whole", "lock.ticketlock", "reduce.reduce_atomic")
BY_NAME = {case.name: case for case in CASES}
SLUGGISH = Timing(
    vector_cycles=3, branch_cycles=9, lines_per_cycle=1, memory_queue=1, address_cycles=11,
    lds_cycles=7, fetch_bytes=16, buffer_bytes=32,
)  # fmt: skip


def _random(seed: int) -> Delay:
    """Delays from 1 to 90 ticks; each request has its own, the same in every run."""
    numbers = count()

    def delay(request: MemoryRequest) -> int:
        return 1 + zlib.crc32(f"{seed} {next(numbers)}".encode()) % 90

    return delay


@pytest.mark.parametrize("name", sampled(CHOSEN, 4))
@pytest.mark.parametrize(
    "cus, seed, policy, timing",
    [
        (1, 1, "oldest-first", Timing()),
        (2, 2, "round-robin", Timing()),
        (5, 3, "oldest-first", SLUGGISH),
        (8, 4, "round-robin", SLUGGISH),
    ],
    ids=["1 unit", "2 units", "5 sluggish units", "8 sluggish units"],
)
def test_equal_results(name: str, cus: int, seed: int, policy: str, timing: Timing) -> None:
    case = BY_NAME[name]
    expected = run_case(case, Device(functional=True, cus=1))
    memory = SlowMemory(_random(seed), cus=cus)
    device = Device(memory=memory, policy=POLICIES[policy], timing=timing)
    found = run_case(case, device)
    assert case.complaint(found) is None
    assert {key: value.tobytes() for key, value in found.items()} == {
        key: value.tobytes() for key, value in expected.items()
    }
