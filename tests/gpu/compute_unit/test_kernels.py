"""Compiled kernels on one compute unit alone, without time and with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.launching import Launch, put, run_launch
from tests.gpu.kernels.stored import stored

UNITS: list[Callable[[int, FlatMemory], FunctionalUnit | TimedUnit]] = [FunctionalUnit, TimedUnit]


@pytest.mark.parametrize("configuration", ["clang14-O2", "clang19-O2", "clang14-O0"])
@pytest.mark.parametrize("make", UNITS)
def test_vector_addition(
    make: Callable[[int, FlatMemory], FunctionalUnit | TimedUnit], configuration: str
) -> None:
    memory = FlatMemory()
    random = np.random.default_rng(1)
    count = 600  # the last group is partial, its last wave empty
    first, second = random.random((2, count), np.float32)
    a, b, c = put(memory, first), put(memory, second), put(memory, np.zeros_like(first))
    code = stored("vadd", configuration)
    launch = Launch(memory, code, "vadd", [a, b, c, count], (count,), (256,))
    run_launch(memory, launch, [make(0, memory)])
    assert not launch.listener.faults
    assert (np.frombuffer(memory.read(c, 4 * count), np.float32) == first + second).all()
