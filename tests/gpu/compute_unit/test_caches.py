"""Requests of instructions to the two data caches, with caches behind the ports."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from gpu.compute_unit.timed_unit import TimedUnit
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.harness import Bench, run_timed, split
from tests.gpu.memory.coherent.streams import ENGINES, opened


@pytest.mark.parametrize("engine", ENGINES)
def test_each_invalidation_is_for_one_cache(engine: str) -> None:
    """AMDGPU usage guide, "Memory model GFX6-GFX9": the scalar and the vector cache are not
    coherent, and a wavefront's acquire is of the vector cache alone."""
    memory = opened("GPU_VIPER", engine=engine)
    bench = Bench("two_caches", cast(FlatMemory, memory))  # whose methods it has
    word, result = bench.buffer(np.array([3], np.uint32)), bench.buffer(12)
    unit = TimedUnit(0, memory)
    unit.start(bench.group([*split(word), *split(result)]))
    run_timed(memory, unit)
    assert bench.array(result, 3).tolist() == [3, 7, 7]
