"""Every vector instruction to be executed has a meaning, and every meaning a test."""

from __future__ import annotations

import numpy as np

from gpu.isa.instruction import OperandAccess
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import SEMANTICS, Environment
from gpu.isa.semantics.saturation import SATURATING
from gpu.isa.tables.compares import VOPC
from gpu.isa.tables.vector import VOP1, VOP2, VOP3
from tests.gpu.isa.semantics import (
    test_against_c,
    test_compares,
    test_conversions,
    test_cube_faces,
    test_integers,
)
from tests.gpu.isa.semantics.floating import (
    test_arithmetic,
    test_division,
    test_min_max_med,
    test_rounding,
    test_transcendental,
)
from tests.gpu.isa.semantics.values import KINDS

ELSEWHERE = {
    "v_nop", "v_clrexcp", "v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32",
    "v_swap_b32", "v_movreld_b32", "v_movrels_b32", "v_movrelsd_b32",
}  # fmt: skip
"""Those that are about registers, not values."""
EXECUTED = {
    opcode.meaning: opcode
    for table in (VOP1, VOP2, VOPC, VOP3)
    for opcode in table
    if opcode.tier <= 2 and opcode.name not in ELSEWHERE
}
TESTED = set().union(
    test_arithmetic.COVERED,
    test_compares.COVERED,
    test_conversions.COVERED,
    test_cube_faces.COVERED,
    test_division.COVERED,
    test_min_max_med.COVERED,
    test_integers.COVERED,
    test_rounding.COVERED,
    test_transcendental.COVERED,
)


def test_every_instruction_has_a_meaning() -> None:
    assert set(EXECUTED) == set(SEMANTICS)


def test_every_meaning_has_a_test() -> None:
    assert set(SEMANTICS) - TESTED == set()
    assert TESTED | set(test_against_c.EXPRESSIONS) == set(SEMANTICS)


def _bits(kind: str) -> int:
    return {"b128": 128, "mask": 64}.get(kind) or 8 * np.dtype(KINDS[kind]).itemsize


def test_tables_and_meanings_agree_on_operands() -> None:
    """Widths, and which are floating point: inline constants depend on these."""
    for name, entry in SEMANTICS.items():
        opcode = EXECUTED[name]
        sources = [row.type for row in opcode.operands if row.access is OperandAccess.READ]
        sources += [row.type for row in opcode.operands if row.access is OperandAccess.BOTH]
        sources += ["mask"] * ("vcc" in opcode.reads)
        assert len(sources) == len(entry.operands), name
        for declared, table in zip(entry.operands, sources):
            assert _bits(declared) == TYPES[table].bits, name
            assert (declared[0] == "f") == (table[0] == "f"), name
        written = [row.type for row in opcode.operands if row.access is not OperandAccess.READ]
        results = [entry.result, *["mask"] * entry.gives_mask]
        assert [_bits(kind) for kind in results] == [TYPES[kind].bits for kind in written], name


def test_clamping_is_for_the_integer_instructions_that_have_it() -> None:
    assert {name for name, opcode in EXECUTED.items() if "clamp" in opcode.flags} == set(SATURATING)


def test_floating_point_declares_its_environment() -> None:
    """Only moving bits, classes, and exact conversions need none."""
    careless = {
        name
        for name, entry in SEMANTICS.items()
        if entry.environment is Environment.ANY
        and any(kind[0] == "f" for kind in (*entry.operands, entry.result))
    }
    exact = {"v_cvt_off_f32_i4", "v_cvt_f64_i32", "v_cvt_f64_u32"}
    exact |= {f"v_cvt_f32_ubyte{place}" for place in range(4)}
    exact |= {name for name in SEMANTICS if name.startswith(("v_cmp_class", "v_cmpx_class"))}
    assert careless == exact
