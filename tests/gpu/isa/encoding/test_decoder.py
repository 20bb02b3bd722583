"""Words that are instructions, and words that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.isa.encoding.decoder import NotAnInstruction, decode, decode_at
from gpu.isa.encoding.printer import text
from gpu.isa.instruction import RegisterRange

WORDS = st.integers(0, 0xFFFF_FFFF)
VCC = RegisterRange("s", 106, 2)
EXEC = RegisterRange("s", 126, 2)


@pytest.mark.parametrize(
    "words, line",
    [
        ((0x7E020280,), "v_mov_b32_e32 v1, 0"),
        ((0x8606FF09, 0x0000FFFF), "s_and_b32 s6, s9, 0xffff"),
        ((0xC0020242, 0x00000004), "s_load_dword s9, s[4:5], 0x4"),
        ((0xDC500000, 0x04000002), "flat_load_dword v4, v[2:3]"),
        ((0xBF8C0F70,), "s_waitcnt vmcnt(0)"),
        ((0x38060303,), "v_addc_u32_e32 v3, vcc, v3, v1, vcc"),
        ((0xD1C18702, 0xEC220D04), "v_mad_f32 v2, -|v4|, -|v6|, -|v8| clamp mul:2"),
    ],
)
def test_decodes_and_prints(words: tuple[int, ...], line: str) -> None:
    instruction = decode(words[0], words[1] if len(words) > 1 else None)
    assert text(instruction) == line
    assert instruction.size == 4 * len(words)


@pytest.mark.parametrize(
    "words, reason",
    [
        ((0xFFFFFFFF,), "no encoding"),
        ((0x9A000000,), "no opcode"),
        ((0x8602FF09,), "second word is missing"),
        ((0xD1C10802, 0x04220D04), "must be zero"),
        ((0xD1C10002, 0x00180A04), "more than one scalar value"),
        ((0xD1C10002, 0x04220CFF), "no literal"),
        ((0xD1C20702, 0x04220D04), "no sign"),
        ((0x86810401,), "not aligned"),
        ((0x800204D1,), "no meaning"),
        ((0x7E0402FA, 0xFF010004), "no lane pattern"),
        ((0xDC5C0000, 0xFF000004), "beyond v255"),
        ((0x2E0000F9, 0x06060600), "v_madmk_f32 has no SDWA form"),
        ((0x4A0000FA, 0xFF00E400), "v_madak_f16 has no DPP form"),
    ],
)
def test_refuses_with_words_and_reason(words: tuple[int, ...], reason: str) -> None:
    with pytest.raises(NotAnInstruction, match=reason) as refusal:
        decode(words[0], words[1] if len(words) > 1 else None, 0x1200)
    assert "0x1200" in str(refusal.value)
    assert f"{words[0]:08X}" in str(refusal.value)


def test_bytes_may_end_anywhere() -> None:
    code = bytes.fromhex("80020c7e09ff06")
    assert decode_at(code, 0).size == 4
    with pytest.raises(NotAnInstruction, match="3 bytes left"):
        decode_at(code, 4)


def test_registers_read_and_written() -> None:
    addc = decode(0x38060303)
    assert VCC in addc.reads and VCC in addc.writes and EXEC in addc.reads
    assert RegisterRange("v", 3, 1) in addc.writes
    atomic = decode(0xDD090000, 0x14000604)  # flat_atomic_add v20, v[4:5], v6 glc
    assert RegisterRange("v", 20, 1) in atomic.writes
    assert RegisterRange("v", 4, 2) in atomic.reads
    silent = decode(0xDD080000, 0x00000604)
    assert not silent.writes


def test_branches_know_their_target() -> None:
    assert decode(0xBF82FFFF, address=0x100).target == 0x100
    assert decode(0xBF840003, address=0x100).target == 0x110
    assert decode(0xBF810000).target is None


@given(WORDS, st.none() | WORDS)
def test_any_words_are_an_instruction_or_refused(first: int, second: int | None) -> None:
    try:
        instruction = decode(first, second)
    except NotAnInstruction:
        return
    assert text(instruction)


@pytest.mark.parametrize("second", [None, 0, 0x0606_0600, 0xFF00_E400, 0x3AF0_CF74, 0xFFFF_FFFF])
def test_every_escape_of_every_vector_opcode(second: int | None) -> None:
    """What drawn words seldom meet: a source that says that a second word follows."""
    for leading in range(0, 0x8000_0000, 1 << 25):
        for source in (249, 250, 254, 255, 256):
            for number in range(0, 1 << 17, 1 << 9) if leading >= 0x7C00_0000 else (0, 0x200):
                try:
                    assert text(decode(leading | number | source, second))
                except NotAnInstruction:
                    continue
