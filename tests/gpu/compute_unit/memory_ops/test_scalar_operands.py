"""What the scalar operand of a memory instruction may be."""

from __future__ import annotations

import pytest

from gpu.compute_unit.memory_ops.scalar_memory import scalar_source
from gpu.isa.encoding.decoder import NotAnInstruction, decode
from gpu.isa.wave_registers import Wave
from tests.gpu.isa.encoding.words import words


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (5, 1005), (106, 0), (126, 0b101), (128, 0), (192, 64), (193, 0xFFFF_FFFF),
        (208, 0xFFFF_FFF0), (240, 0x3F00_0000), (248, 0x3E22_F983), (251, 1), (252, 0), (253, 1),
    ],
)  # fmt: skip
def test_values(code: int, value: int) -> None:
    wave = Wave(4)
    wave.sgprs[5] = 1005
    wave.set_exec(0b101)
    wave.scc = 1
    assert scalar_source(code)(wave) == value


def test_every_code_that_decodes_has_a_value() -> None:
    first, second = words("buffer_load_dword", vdata=1, srsrc=1, soffset=128)
    for code in range(256):
        try:
            decode(first, second & 0x00FF_FFFF | code << 24)
        except NotAnInstruction:
            continue
        assert scalar_source(code)(Wave(4)) >= 0
