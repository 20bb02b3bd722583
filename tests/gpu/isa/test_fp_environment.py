"""The host's floating-point environment: what is set is obeyed, and nothing stays set."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpu.isa import fp_environment
from gpu.isa.wave_registers import FloatMode

needs_host = pytest.mark.skipif(
    not fp_environment.AVAILABLE, reason="the host's rounding cannot be set"
)
DENORMAL = np.full(64, 1e-40, np.float32)
LEAST = np.full(64, 2.0**-126, np.float32)


def _third() -> float:
    return float(np.divide(np.ones(64, np.float32), np.full(64, 3, np.float32))[5])


@needs_host
def test_rounding() -> None:
    with fp_environment.plain_afterwards():
        thirds = []
        for rounding in range(4):
            fp_environment.use(12 | rounding)
            thirds.append(_third())
    nearest, up, down, to_zero = thirds
    assert down == to_zero < 1 / 3 < up == nearest
    assert up == np.nextafter(np.float32(down), np.float32(1))


@needs_host
@pytest.mark.parametrize("denormals", range(4))
def test_denormals(denormals: int) -> None:
    """0 flushes both, 1 results, 2 sources, 3 neither."""
    with fp_environment.plain_afterwards():
        fp_environment.use(denormals << 2)
        source_counts = bool(np.greater(DENORMAL, np.float32(0))[5])
        result_counts = np.multiply(LEAST, np.float32(0.5)).view(np.uint32)[5] != 0
    assert source_counts == bool(denormals & 1)
    assert result_counts == bool(denormals & 2)


@needs_host
def test_an_error_leaves_everything_as_it_was() -> None:
    before = _third()
    with pytest.raises(RuntimeError, match="stop"), fp_environment.plain_afterwards():
        fp_environment.use(2)
        raise RuntimeError("stop")
    assert fp_environment.current == fp_environment.PLAIN
    assert _third() == before
    assert math.ldexp(1.0, -1060) * 0.5 == math.ldexp(1.0, -1061)


def test_a_mode_names_its_environments() -> None:
    mode = FloatMode(0x6B)
    plain, single, double, flushed, approximate, wide = mode.environments
    assert (plain, wide, approximate) == (
        fp_environment.PLAIN,
        fp_environment.PLAIN,
        fp_environment.FLUSHING,
    )
    assert (single, double, flushed) == (3 | 2 << 2, 2 | 1 << 2, 3)


def test_control_words() -> None:
    assert fp_environment.control_word(fp_environment.PLAIN) == 0x1F80
    assert fp_environment.control_word(fp_environment.FLUSHING) == 0x9FC0
    assert [fp_environment.control_word(12 | rounding) for rounding in (1, 2, 3)] == [
        0x5F80,
        0x3F80,
        0x7F80,
    ]
