"""Runs of native code do what the instructions do that they stand for."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.binder import bind
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.instruction import Instruction, Unit
from gpu.isa.native.lane_functions import lane_functions, lane_library
from gpu.isa.native.runs import BoundCode, native_runs
from gpu.isa.tables import every_opcode
from gpu.isa.wave_registers import ALL, EXEC, Wave
from tests.gpu.isa.encoding.random_words import an_instruction, forms
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.semantics.values import specials
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(lane_library() is None, reason="no C++ compiler")

VGPRS = 258
MODES = (0x2F0, 0x3C0, 0x000, 0x0F5, 0x12A, 0x3FF)
"""Roundings and denormals of both widths, IEEE or not."""
_AWKWARD = np.concatenate([
    specials(kind).view(np.uint32) for kind in ("u32", "f32", "f64", "u64")
])  # fmt: skip


def plain(instructions: Sequence[Instruction]) -> BoundCode:
    bound = [bind(instruction) for instruction in instructions]
    return BoundCode(bound, range(len(bound)), 0)


def two_waves(values: np.random.Generator, mode: int, exec: int) -> tuple[Wave, Wave]:
    """Equal ones, with awkward values in a part of their lanes."""
    lanes = values.integers(0, 1 << 32, (VGPRS, 64), dtype=np.uint32)
    chosen = values.choice(_AWKWARD, lanes.shape)
    lanes = np.where(values.integers(0, 3, lanes.shape) > 0, chosen, lanes)
    scalars = [int(each) for each in values.choice([*_AWKWARD, *lanes[0]], EXEC)]
    waves = Wave(VGPRS, mode=mode), Wave(VGPRS, mode=mode)
    for wave in waves:
        wave.vgprs[...] = lanes
        wave.sgprs[:EXEC] = scalars
        wave.set_exec(exec)
    return waves


def execute(code: BoundCode, wave: Wave) -> None:
    with plain_afterwards():
        for each in code.bound:
            each(wave)


def compare(instructions: Sequence[Instruction], seed: int) -> bool:
    """Whether anything was native."""
    values = np.random.default_rng(seed)
    before = plain(instructions)
    after = native_runs(instructions, before)
    if after.bound == before.bound:
        return False
    assert after.rows <= VGPRS
    for exec in (ALL, int(values.integers(0, 1 << 63)), 1 << 40, 0):
        one, other = two_waves(values, MODES[seed % len(MODES)], exec)
        execute(before, one)
        execute(after, other)
        texts = [str(instruction) for instruction in instructions]
        assert one.sgprs == other.sgprs, (seed, exec, texts)
        rows = np.flatnonzero((one.vgprs != other.vgprs).any(1))
        assert not len(rows), (seed, hex(exec), rows, texts)
    return True


@pytest.mark.parametrize("seed", sampled(range(24), 24))
def test_each_instruction(seed: int) -> None:
    """Of every opcode, in every form, of a generation: of the later one if the seed is even."""
    prng = random.Random(seed)
    generation = (Generation.GFX9, Generation.GFX8)[seed % 2]
    native = set()
    for opcode in every_opcode(generation):
        if opcode.unit is not Unit.VECTOR_ALU or opcode.tier != 1:
            continue
        for form in forms(opcode):
            _, instruction = an_instruction(prng, opcode, form, generation)
            if compare([instruction], seed):
                native.add(opcode.meaning)
    assert len(native) > len(lane_functions().number_of) // 2


@pytest.mark.parametrize("seed", sampled(range(40), 4))
def test_runs_of_several(seed: int) -> None:
    """What one leaves in few registers, VCC among them, the next one finds."""
    prng = random.Random(seed)
    of_vcc = ["v_subb_u32", "v_addc_u32", "v_cndmask_b32"]
    others = ["v_add_u32", "v_cmp_lt_u32", "v_mul_f32", "v_mac_f32", "v_xor_b32"]
    made = []
    for _ in range(40):
        name = prng.choice([*of_vcc, *others])
        scalars = [128 + 7] if name in of_vcc else [prng.randrange(6), 106, 128 + 7]
        source = prng.choice([256 + prng.randrange(6), *scalars])
        place = {} if name == "v_cmp_lt_u32" else {"vdst": prng.randrange(6)}
        made.append(decode(words(name, src0=source, vsrc1=prng.randrange(6), **place)[0], None))
    assert compare(made, seed)


def test_what_python_executes_stays_between_runs() -> None:
    names = ["v_xor_b32", "v_xor_b32", "v_readfirstlane_b32", "v_xor_b32", "v_bfrev_b32"]
    instructions = []
    for name in names:
        place = {"sdst": 3} if "lane" in name else {"vdst": 3}
        more = {"vsrc1": 5} if "xor" in name else {}
        instructions.append(decode(words(name, src0=256 + 4, **place, **more)[0], None))
    code = native_runs(instructions, plain(instructions))
    assert code.first == [0, 2, 3, 4]
    assert code.rows == 6


def test_instructions_that_change_exec_are_not_native() -> None:
    instruction = decode(words("v_cmpx_lt_u32", src0=256, vsrc1=1)[0], None)
    assert native_runs([instruction], plain([instruction])).rows == 0
    to_exec = words("v_cmp_lt_u32", "VOP3", vdst=126, src0=256, src1=257)
    instruction = decode(to_exec[0], to_exec[1])
    assert native_runs([instruction], plain([instruction])).rows == 0


def test_without_a_compiler_everything_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/compiler")
    instruction = decode(words("v_xor_b32", vdst=3, src0=256, vsrc1=5)[0], None)
    code = plain([instruction])
    assert native_runs([instruction], code) is code


@pytest.mark.slow
def test_products_are_rounded_also_where_the_processor_can_fuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", "-march=native")
    made = [
        decode(words("v_mac_f32", vdst=row, src0=256 + row + 8, vsrc1=row + 16)[0], None)
        for row in range(8)
    ]
    for seed in range(4):
        assert compare(made, seed)
