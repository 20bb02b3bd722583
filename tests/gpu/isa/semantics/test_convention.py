"""Every entry keeps the convention: types, shapes, no writes to operands, declared environment."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpu.isa import fp_environment
from gpu.isa.semantics import SEMANTICS, Environment, Semantics
from gpu.isa.semantics.saturation import SATURATING
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.values import KINDS, STOCK, random, run, same, specials

ENTRIES = [(name, entry) for table in (SEMANTICS, SATURATING) for name, entry in table.items()]
MODES = [0x3C0, 0x3F0, 0x0C0, 0x005, 0x2AA, 0x13F]


def _operands(entry: Semantics, lanes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [random(kind, lanes, rng) for kind in entry.operands]


def test_types_and_shapes() -> None:
    for (name, entry), bits, lanes in product(ENTRIES, MODES, (64, 1)):
        operands = _operands(entry, lanes)
        before = [operand.copy() for operand in operands]
        for operand in operands:
            operand.flags.writeable = False
        result = run(entry, *operands, mode=FloatMode(bits))
        assert isinstance(result, tuple) == entry.gives_mask, name
        if entry.gives_mask:
            result, mask = result
            assert mask.dtype == np.bool_, name
            assert mask.shape in ((lanes,), (64,)), name
        assert result.dtype == KINDS[entry.result], name
        assert result.shape[-1] in (lanes, 64), name
        for a, b in zip(operands, before):
            assert np.array_equal(a.view(np.uint8), b.view(np.uint8)), name


def test_a_shared_operand_is_the_same_in_every_lane() -> None:
    for name, entry in ENTRIES:
        operands = _operands(entry, 64)
        for place, kind in enumerate(entry.operands):
            if kind in ("mask", "b128"):
                continue
            shared = list(operands)
            shared[place] = operands[place][:1]
            spread = list(operands)
            spread[place] = np.repeat(operands[place][:1], 64)
            narrow, wide = run(entry, *shared), run(entry, *spread)
            if not entry.gives_mask:
                narrow, wide = (narrow,), (wide,)
            for a, b in zip(narrow, wide):
                assert same(np.broadcast_to(a, b.shape), b).all(), (name, place)


def test_no_lane_depends_on_another() -> None:
    """To the bit, payloads of NaNs included: beside ordinary numbers it gives the same."""
    rng = np.random.default_rng(1)
    for (name, entry), bits in product(ENTRIES, MODES[:2]):
        if "b128" in entry.operands or not any(kind[0] == "f" for kind in entry.operands):
            continue
        awkward = [_awkward(kind, rng) for kind in entry.operands]
        together = _bits(entry, awkward, FloatMode(bits))
        for lane in range(0, 64, 2):
            alone = [np.ones_like(values) for values in awkward]
            for values, source in zip(alone, awkward):
                values[lane] = source[lane]
            wanted = _bits(entry, alone, FloatMode(bits))
            assert [a[lane] for a in together] == [b[lane] for b in wanted], (name, bits, lane)


def _awkward(kind: str, rng: np.random.Generator) -> np.ndarray:
    return random(kind, 64, rng) if kind == "mask" else rng.choice(specials(kind), 64)


def _bits(entry: Semantics, operands: list[np.ndarray], mode: FloatMode) -> list[list[int]]:
    """The result, and the mask if there is one, as whole numbers."""
    with np.errstate(all="ignore"):
        result = run(entry, *operands, mode=mode)
    results = result if entry.gives_mask else (result,)
    return [each.view(f"u{each.dtype.itemsize}").tolist() for each in results]


@pytest.mark.skipif(not fp_environment.AVAILABLE, reason="the host's rounding cannot be set")
def test_what_declares_no_environment_needs_none() -> None:
    for name, entry in ENTRIES:
        if entry.environment is not Environment.ANY:
            continue
        operands = _operands(entry, 64)
        plain = run(entry, *operands)
        with fp_environment.plain_afterwards():
            fp_environment.use(2)
            arguments = [STOCK, *operands] if entry.takes_mode else operands
            other = entry.function(*arguments)
        for a, b in zip(*((x if entry.gives_mask else (x,)) for x in (plain, other))):
            assert same(a, b).all(), name
