"""Instructions that only graphics uses: images (MIMG), interpolation (VINTRP), export (EXP). Never
executed.

Source: the public GCN3 instruction set architecture manual.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.isa.instruction import Opcode, OperandAccess, OperandRow, Unit
from gpu.isa.tables.memory import ATOMICS
from gpu.isa.tables.rows import rows

_MOVES: Final = {
    0: "load", 1: "load_mip", 2: "load_pck", 3: "load_pck_sgn",
    4: "load_mip_pck", 5: "load_mip_pck_sgn",
    8: "store", 9: "store_mip", 10: "store_pck", 11: "store_mip_pck",
    14: "get_resinfo",
}  # fmt: skip
_SAMPLES: Final = {0: "", 1: "_cl", 2: "_d", 3: "_d_cl", 4: "_l", 5: "_b", 6: "_b_cl", 7: "_lz"}
_GATHERS: Final = {0: "", 1: "_cl", 4: "_l", 5: "_b", 6: "_b_cl", 7: "_lz"}
_VARIANTS: Final = {0: ("", ""), 8: ("_c", ""), 16: ("", "_o"), 24: ("_c", "_o")}
_SAMPLES_CD: Final = {0: ("", ""), 2: ("_c", ""), 4: ("", "_o"), 6: ("_c", "_o")}

ADDRESSES: Final = {"c": 1, "d": 1, "cd": 1, "b": 1, "o": 1}
"""By how many registers a part of a name lengthens the shortest address the assembler knows."""


def _image(number: int, name: str, access: OperandAccess, data: str = "b32") -> Opcode:
    words = 1 + sum(ADDRESSES.get(part, 0) for part in name.split("_"))
    sampler = (OperandRow("ssamp", "b128"),) if number >= 32 else ()
    operands = (
        OperandRow("vdata", "b128" if name.startswith("gather4") else data, access),
        OperandRow("vaddr", {1: "b32", 2: "b64", 3: "b96", 4: "b128"}[words]),
        OperandRow("srsrc", "b256"),
        *sampler,
    )
    return Opcode(f"image_{name}", "MIMG", number, Unit.VECTOR_MEMORY, operands, tier=4)


def _images() -> Iterator[Opcode]:
    for number, name in _MOVES.items():
        access = OperandAccess.READ if name.startswith("store") else OperandAccess.WRITE
        yield _image(number, name, access)
    for place, name in enumerate(ATOMICS):
        data = "b64" if name == "cmpswap" else "b32"
        yield _image(16 + place, f"atomic_{name}", OperandAccess.BOTH, data)
    for more, (before, behind) in _VARIANTS.items():
        for place, name in _SAMPLES.items():
            yield _image(32 + more + place, f"sample{before}{name}{behind}", OperandAccess.WRITE)
        for place, name in _GATHERS.items():
            yield _image(64 + more + place, f"gather4{before}{name}{behind}", OperandAccess.WRITE)
    yield _image(96, "get_lod", OperandAccess.WRITE)
    for more, (before, behind) in _SAMPLES_CD.items():
        for place, name in enumerate(("_cd", "_cd_cl")):
            yield _image(104 + more + place, f"sample{before}{name}{behind}", OperandAccess.WRITE)


MIMG: Final = tuple(_images())

VINTRP: Final = rows("VINTRP", Unit.EXPORT, "vdst vsrc attr", """
    0  v_interp_p1_f32    f32 f32 imm
    1  v_interp_p2_f32    f32 f32 imm
    2  v_interp_mov_f32   f32 imm imm
""", tier=4)  # fmt: skip

EXP: Final = rows("EXP", Unit.EXPORT, "tgt vsrc0 vsrc1 vsrc2 vsrc3", """
    0  exp   imm b32 b32 b32 b32
""", tier=4)  # fmt: skip
