"""Kernels, programs of both cores and copies at once: the engines agree in every value and tick."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpu.host.processors.actions import Action, Atomic, Load, Program, Sleep, Store
from runtime.types.atomic_op import AtomicKind
from tests.gpu.host.processors.devices import launched, opened, shared
from tests.sampling import sampled

BYTES = 512


def drawn(numbers: random.Random, words: int) -> Action:
    """Any action that ends by itself, in the words that all share."""
    size = numbers.choice((4, 8))
    at = words + numbers.randrange(BYTES // size) * size
    value, compare = numbers.randrange(1 << 8 * size), numbers.randrange(4)
    access = (
        Load(at, size),
        Store(at, value, size),
        Atomic(numbers.randrange(AtomicKind.NUM), at, value, compare, size),
    )
    return numbers.choice((*access, access, Sleep(1 + value % 200), Load(at + 1, 1)))


def everything(engine: str, delays: str, seed: int) -> list[object]:
    """What was found, when, and how often each transition was made."""
    device = opened(engine, delays, seed)
    words, total = device.alloc(np.zeros(BYTES, np.uint8), mtype="cc"), shared(device)
    old = device.alloc(np.zeros(64, np.int32))
    source, target = (device.alloc(np.full(3000, n, np.uint8)) for n in (5, 0))
    found: list[object] = []

    def program(core: int) -> Program:
        numbers = random.Random(f"{seed} {core}")
        for _ in range(30):
            value = yield drawn(numbers, words.address)
            old_total = yield Atomic("add", total.address, 1)
            found.append((core, device.now, value, old_total))

    done = [launched(device, "litmus", "rmw_sc_sys", 64, total, old) for _ in range(2)]
    tasks = [device.cpu(core).start(program, core) for core in (0, 1, 1)]
    tasks.append(device.dma().start(target.address + 1, source.address + 66, 2800))
    for signal in done:
        device.run(until=signal)
    for task in tasks:
        device.run(until=task)
    assert total.numpy()[0] == 2 * 64 + 3 * 30
    assert target.numpy().nonzero()[0].tolist() == list(range(1, 2801))
    return [found, device.now, words.numpy().tolist(), old.numpy().tolist(), device.stats]


@pytest.mark.parametrize(
    ("delays", "seed"), sampled([("nominal", 1), ("uniform", 2), ("heavy_tail", 3)], 2)
)
def test_kernels_cores_and_copies_at_once(delays: str, seed: int) -> None:
    assert everything("native", delays, seed) == everything("python", delays, seed)
