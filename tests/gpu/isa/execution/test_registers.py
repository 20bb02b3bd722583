"""Instructions touch the registers that they say they touch, and no others matter to them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest

from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.binder import bind
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.instruction import Instruction, RegisterRange
from gpu.isa.wave_registers import ALL, EXEC, Wave
from tests.gpu.isa.encoding.random_words import an_instruction, every_form
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.execution.waves import for_executor
from tests.sampling import sampled

Registers = set[tuple[str, int]]
VGPRS = 256


def spread(ranges: Iterable[RegisterRange]) -> Registers:
    return {(place.file, place.first + at) for place in ranges for at in range(place.size)}


def random_wave(random: np.random.Generator) -> Wave:
    wave = Wave(VGPRS, mode=0x3C0)
    wave.vgprs[...] = random.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    wave.sgprs[:EXEC] = [int(value) for value in random.integers(0, 1 << 32, EXEC)]
    wave.scc = int(random.integers(0, 2))
    wave.set_exec(ALL)
    return wave


def like(source: Wave) -> Wave:
    wave = Wave(VGPRS, mode=source.mode)
    wave.vgprs[...] = source.vgprs
    wave.sgprs[:EXEC] = source.sgprs[:EXEC]
    wave.scc = source.scc
    wave.set_exec(source.exec)
    return wave


def copy(registers: Registers, source: Wave, target: Wave) -> None:
    for file, number in registers:
        if file == "v":
            target.vgprs[number] = source.vgprs[number]
        elif file == "s" and number < EXEC:
            target.sgprs[number] = source.sgprs[number]
    if ("scc", 0) in registers:
        target.scc = source.scc
    target.set_exec(source.exec)


def different(one: Wave, other: Wave) -> Registers:
    found: Registers = {("v", int(row)) for row in np.nonzero((one.vgprs != other.vgprs).any(1))[0]}
    found |= {("s", at) for at, value in enumerate(one.sgprs) if value != other.sgprs[at]}
    return found | ({("scc", 0)} if one.scc != other.scc else set())


@cache
def carried_out(seed: int) -> list[Instruction]:
    """One instruction of every opcode and form that is bound and has no computed register."""
    prng = random.Random(seed)
    cases = [an_instruction(prng, opcode, form)[1] for opcode, form in every_form()]
    return [
        instruction
        for instruction in cases
        if instruction.opcode.tier == 1
        and not for_executor(instruction)
        and "movrel" not in instruction.name
        and instruction.name != "s_getreg_b32"
    ]


def run(instruction: Instruction, wave: Wave) -> None:
    with plain_afterwards():
        bind(instruction)(wave)


@pytest.mark.parametrize("seed", sampled(range(2), 2))
def test_only_registers_that_are_declared_change(seed: int) -> None:
    values = np.random.default_rng(seed)
    before = random_wave(values)
    for instruction in carried_out(seed):
        wave = like(before)
        run(instruction, wave)
        assert different(before, wave) <= spread(instruction.writes), instruction


@pytest.mark.parametrize("seed", sampled(range(2), 2))
def test_only_registers_that_are_declared_matter(seed: int) -> None:
    values = np.random.default_rng(seed)
    one, other = random_wave(values), random_wave(values)
    for instruction in carried_out(seed):
        if instruction.form == "DPP":
            continue  # lanes without a source keep what they had
        reads, writes = spread(instruction.reads), spread(instruction.writes)
        first, second = like(one), like(other)
        copy(reads, first, second)
        run(instruction, first)
        run(instruction, second)
        assert different(first, second).isdisjoint(writes), instruction


S, V = "s", "v"


@pytest.mark.parametrize(
    "instruction, reads, writes",
    [
        (words("s_add_u32", sdst=3, ssrc0=4, ssrc1=130), {(S, 4)}, {(S, 3), ("scc", 0)}),
        (words("s_cbranch_vccz", simm16=0), {(S, 106), (S, 107)}, set()),
        (words("s_load_dwordx2", sdata=6, sbase=2, imm=1), {(S, 4), (S, 5)}, {(S, 6), (S, 7)}),
        (words("s_load_dword", sdata=6, sbase=2, offset=9), {(S, 4), (S, 5), (S, 9)}, {(S, 6)}),
        (words("s_store_dword", sdata=6, sbase=2, imm=1), {(S, 4), (S, 5), (S, 6)}, set()),
        (
            words("flat_load_dwordx2", vdst=6, addr=2),
            {(V, 2), (V, 3), (S, 126), (S, 127)},
            {(V, 6), (V, 7)},
        ),
        (
            words("flat_atomic_cmpswap", vdst=9, addr=2, data=4, glc=1),
            {(V, 2), (V, 3), (V, 4), (V, 5), (S, 126), (S, 127)},
            {(V, 9)},
        ),
        (
            words("buffer_store_dword", vdata=1, vaddr=2, offen=1, srsrc=2, soffset=20),
            {(V, 1), (V, 2), (S, 8), (S, 9), (S, 10), (S, 11), (S, 20), (S, 126), (S, 127)},
            set(),
        ),
        (
            words("buffer_load_ushort", vdata=1, srsrc=2, soffset=128),
            {(S, 8), (S, 9), (S, 10), (S, 11), (S, 126), (S, 127)},
            {(V, 1)},
        ),
        (
            words("ds_write2_b32", addr=1, data0=2, data1=3),
            {(V, 1), (V, 2), (V, 3), (S, 124), (S, 126), (S, 127)},
            set(),
        ),
        (
            words("ds_bpermute_b32", vdst=4, addr=1, data0=2),
            {(V, 1), (V, 2), (S, 126), (S, 127)},
            {(V, 4)},
        ),
        (
            words("ds_read2_b64", vdst=4, addr=1),
            {(V, 1), (S, 124), (S, 126), (S, 127)},
            {(V, 4), (V, 5), (V, 6), (V, 7)},
        ),
    ],
)
def test_memory_and_branches(
    instruction: tuple[int, ...], reads: Registers, writes: Registers
) -> None:
    decoded = decode(instruction[0], instruction[-1])
    assert (spread(decoded.reads), spread(decoded.writes)) == (reads, writes)
