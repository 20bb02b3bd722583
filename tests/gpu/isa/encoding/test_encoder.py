"""Encoding and decoding are inverse."""

from __future__ import annotations

import pytest

from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode_at
from gpu.isa.encoding.encoder import encode
from gpu.isa.encoding.kernel_code import EVERYTHING, Code
from gpu.isa.encoding.printer import text


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (encode("FLAT", "flat_load_dword", vdst=3, addr=1), "flat_load_dword v3, v[1:2]"),
        (encode("DS", "ds_write_b32", addr=1, data0=2, offset0=8), "ds_write_b32 v1, v2 offset:8"),
        (encode("MUBUF", "buffer_wbinvl1_vol"), "buffer_wbinvl1_vol"),
        (encode("SOPP", "s_waitcnt", simm16=0x0F70), "s_waitcnt vmcnt(0)"),
        (encode("SOP1", "s_mov_b32", 0x12345, sdst=4, ssrc0=255), "s_mov_b32 s4, 0x12345"),
        (encode("SMEM", "s_memtime", sdata=4), "s_memtime s[4:5]"),
    ],
)  # fmt: skip
def test_an_assembler_would_write_the_same(code: bytes, expected: str) -> None:
    decoded = decode_at(code, 0)
    assert (text(decoded), decoded.size) == (expected, len(code))


def test_code_of_gfx9() -> None:
    generation = Generation.GFX9
    code = encode("GLOBAL", "global_load_dword", None, generation, vdst=3, addr=1, saddr=127)
    assert text(decode_at(code, 0, 0, generation)) == "global_load_dword v3, v[1:2], off"


@pytest.mark.parametrize("generation", list(Generation))
@pytest.mark.parametrize("counters", [("vmcnt",), ("lgkmcnt",), EVERYTHING])
def test_waits_leave_other_counters_alone(
    generation: Generation, counters: tuple[str, ...]
) -> None:
    code = Code(generation)
    code.wait(counters)
    said = text(decode_at(code.finished(), 0, 0, generation))
    assert said == "s_waitcnt " + " ".join(f"{name}(0)" for name in counters)


def test_a_field_has_its_bits() -> None:
    with pytest.raises(ValueError, match="simm16 has 16 bits; 65536 does not fit"):
        encode("SOPP", "s_nop", simm16=1 << 16)
