"""Every row that is carried out has a meaning, of the row's types."""

from __future__ import annotations

import random

import pytest

from gpu.isa.execution.binder import bind
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.execution.scalar_binder import BRANCHES
from gpu.isa.execution.scalar_functions import SAVE_EXEC, SCALAR
from gpu.isa.execution.vector_special import SPECIAL
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.instruction import OperandAccess, Unit
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import SEMANTICS
from gpu.isa.tables import every_opcode
from gpu.isa.wave_registers import ALL
from tests.gpu.isa.encoding.random_words import an_instruction, every_form
from tests.gpu.isa.execution.waves import a_wave, for_executor

VECTOR = [opcode for opcode in every_opcode() if opcode.name in SEMANTICS]


def test_vector_rows_have_meanings() -> None:
    rows = {o.name for o in every_opcode() if o.unit is Unit.VECTOR_ALU and o.tier == 1}
    assert rows == set(SEMANTICS) | set(SPECIAL)


def test_meanings_take_what_rows_name() -> None:
    """As many operands of as many bits; what counts as signed is the meaning's affair."""
    for opcode in VECTOR:
        sources = [op for op in opcode.operands if op.access is OperandAccess.READ]
        named = [op.type for op in sources if op.type != "mask"]
        named += [op.type for op in opcode.operands if op.access is OperandAccess.BOTH]
        named += ["mask" for op in sources if op.type == "mask"]
        named += ["mask" for name in opcode.reads if name == "vcc"]
        taken = SEMANTICS[opcode.name].operands
        assert [TYPES[t].bits for t in named] == [TYPES[t].bits for t in taken], opcode.name
        assert [t == "mask" for t in named] == [t == "mask" for t in taken], opcode.name
        results = [op for op in opcode.operands if op.access is not OperandAccess.READ]
        given = SEMANTICS[opcode.name]
        assert TYPES[results[0].type].bits == TYPES[given.result].bits, opcode.name
        assert given.gives_mask == (len(results) == 2), opcode.name


def test_scalar_rows_have_meanings() -> None:
    special = ("s_getpc", "s_setpc", "s_swappc", "s_movrel", "s_getreg", "s_setreg")
    for opcode in every_opcode():
        if opcode.tier == 1 and opcode.unit in (Unit.SCALAR_ALU, Unit.BRANCH):
            known = opcode.name in SCALAR.keys() | SAVE_EXEC.keys() | BRANCHES.keys()
            assert known or opcode.name.startswith(special), opcode.name


@pytest.mark.parametrize("exec", [ALL, 0x8000_0000_0000_0001, 0])
def test_every_form_runs_or_stops_with_its_text(exec: int) -> None:
    prng = random.Random(3)
    stopped = set()
    for opcode, form in every_form():
        _, instruction = an_instruction(prng, opcode, form)
        if for_executor(instruction) or "movrel" in opcode.name:
            continue
        wave = a_wave(vgprs=256, exec=exec)
        try:
            with plain_afterwards():
                bind(instruction)(wave)
        except NotImplementedInstruction:
            stopped.add(opcode.name)
    assert stopped == {opcode.name for opcode in every_opcode() if opcode.tier > 1}
