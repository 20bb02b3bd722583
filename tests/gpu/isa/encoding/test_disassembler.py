"""Code as lines: labels, data, every byte once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu.isa.encoding.disassembler import assembler_lines, disassemble
from tests.gpu.isa.encoding.words import words


def machine_code(*instructions: tuple[int, ...]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for words in instructions for word in words)


LOOP = machine_code(
    words("s_movk_i32", sdst=4, simm16=3),
    words("s_addk_i32", sdst=4, simm16=0xFFFF),
    words("s_cmp_lg_u32", ssrc0=4, ssrc1=128),
    words("s_cbranch_scc1", simm16=0xFFFD),
    words("s_endpgm"),
)


def test_branches_have_labels_and_tell_where_they_go() -> None:
    lines = disassemble(LOOP, 0x1000)
    assert [line.label for line in lines] == ["", "L_1004", "", "", ""]
    assert str(lines[3]).endswith("BF85FFFD -> L_1004")
    assert str(lines[1]).startswith("s_addk_i32 s4, 0xffff ")


def test_what_is_no_instruction_is_data_with_the_reason() -> None:
    (line,) = disassemble(b"\xff\xff\xff\xff")
    assert line.text == ".long 0xffffffff" and line.instruction is None
    assert line.remark == "no encoding has these leading bits"
    assert [line.text for line in disassemble(LOOP[:6])][1] == ".byte 0xff, 0xff"


def test_literals_that_an_assembler_would_shorten_are_data() -> None:
    code = machine_code(words("s_add_u32", sdst=1, ssrc0=2, ssrc1=255, literal=5))
    (line,) = assembler_lines(code)
    assert line.text == ".long 0x8001ff02, 0x00000005"
    assert str(line).endswith("s_add_u32 s1, s2, 5")
    longer = machine_code(words("s_add_u32", sdst=1, ssrc0=2, ssrc1=255, literal=500))
    assert assembler_lines(longer)[0].text == "s_add_u32 s1, s2, 0x1f4"


@given(st.binary(max_size=64))
def test_every_byte_is_in_one_line(code: bytes) -> None:
    lines = disassemble(code, 0x40)
    assert b"".join(line.code for line in lines) == code
    assert [line.address for line in lines] == [
        0x40 + sum(len(line.code) for line in lines[:place]) for place in range(len(lines))
    ]


def test_both_encodings_of_an_opcode_have_one_row() -> None:
    (short,) = disassemble(machine_code(words("v_add_f32", vdst=1, src0=257, vsrc1=2)))
    (long,) = disassemble(machine_code(words("v_add_f32", "VOP3", vdst=1, src0=257, src1=258)))
    assert short.instruction is not None and long.instruction is not None
    assert short.instruction.opcode.key == long.instruction.opcode.key
