"""Every row that is carried out has a meaning, of the row's types."""

from __future__ import annotations

import random
from itertools import product

import pytest

from gpu.generation import Generation
from gpu.isa.execution.binder import bind
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.execution.scalar_binder import BRANCHES
from gpu.isa.execution.scalar_functions import SAVE_EXEC, SCALAR, WRITE_EXEC
from gpu.isa.execution.vector_special import SPECIAL
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.instruction import OperandAccess, Unit
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import SEMANTICS
from gpu.isa.tables import OPCODES, ROWS, every_opcode
from gpu.isa.wave_registers import ALL
from tests.gpu.isa.encoding.random_words import an_instruction, every_form
from tests.gpu.isa.execution.waves import a_wave, for_executor
from tests.sampling import sampled

VECTOR = [
    opcode
    for table in ROWS.values()
    for opcode in table
    if opcode.unit is Unit.VECTOR_ALU and opcode.meaning in SEMANTICS and opcode.format != "VOP3P"
]


def test_vector_rows_have_meanings() -> None:
    rows = {
        opcode.meaning
        for generation in Generation
        for opcode in every_opcode(generation)
        if opcode.unit is Unit.VECTOR_ALU and opcode.tier == 1
    }
    assert rows == set(SEMANTICS) | set(SPECIAL)


def test_meanings_take_what_rows_name() -> None:
    """As many operands of as many bits; what counts as signed is the meaning's affair."""
    for opcode in VECTOR:
        sources = [op for op in opcode.operands if op.access is OperandAccess.READ]
        named = [op.type for op in sources if op.type != "mask"]
        named += [op.type for op in opcode.operands if op.access is OperandAccess.BOTH]
        named += ["mask" for op in sources if op.type == "mask"]
        named += ["mask" for name in opcode.reads if name == "vcc"]
        given = SEMANTICS[opcode.meaning]
        assert [TYPES[t].bits for t in named] == [TYPES[t].bits for t in given.operands], opcode
        assert [t == "mask" for t in named] == [t == "mask" for t in given.operands], opcode
        results = [op for op in opcode.operands if op.access is not OperandAccess.READ]
        assert TYPES[results[0].type].bits == TYPES[given.result].bits, opcode.name
        assert given.gives_mask == (len(results) == 2), opcode.name


def test_packed_rows_do_an_operation_on_halves() -> None:
    for opcode in OPCODES[Generation.GFX9]["VOP3P"].values():
        meaning = SEMANTICS[opcode.meaning]
        bits = 32 if "_mix" in opcode.name else 16
        assert {TYPES[type].bits for type in (*meaning.operands, meaning.result)} == {bits}
        sources = [op for op in opcode.operands if op.access is OperandAccess.READ]
        assert len(sources) == len(meaning.operands), opcode.name


def test_scalar_rows_have_meanings() -> None:
    special = (
        "s_getpc", "s_setpc", "s_swappc", "s_call", "s_movrel", "s_getreg", "s_setreg",
        "s_set_gpr_idx",
    )  # fmt: skip
    functions = SCALAR.keys() | SAVE_EXEC.keys() | WRITE_EXEC.keys() | BRANCHES.keys()
    for opcode in (opcode for table in ROWS.values() for opcode in table):
        if opcode.tier == 1 and opcode.unit in (Unit.SCALAR_ALU, Unit.BRANCH):
            assert opcode.name in functions or opcode.name.startswith(special), opcode.name


@pytest.mark.parametrize(
    ("exec", "generation"), sampled(product([0x8000_0000_0000_0001, ALL, 0], Generation), 5)
)
def test_every_form_runs_or_stops_with_its_text(exec: int, generation: Generation) -> None:
    prng = random.Random(3)
    stopped = set()
    for opcode, form in every_form(generation):
        _, instruction = an_instruction(prng, opcode, form, generation)
        if for_executor(instruction) or "movrel" in opcode.name:
            continue
        wave = a_wave(vgprs=256, exec=exec)
        try:
            with plain_afterwards():
                bind(instruction)(wave)
        except NotImplementedInstruction:
            stopped.add(opcode.name)
    assert stopped == {opcode.name for opcode in every_opcode(generation) if opcode.tier > 1}
