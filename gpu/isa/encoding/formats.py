"""The encodings: which bits distinguish them and where their fields are.

Invariant: exactly one format of a generation fits a first word (`format_of`), or none. Bit numbers
count from the lowest bit of the first word; bits 32 to 63 are the second word.

Source: the public instruction set architecture manuals of GCN3 and Vega, chapter "Microcode
formats".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from gpu.generation import Generation
from slicc.text.lazy_dataclass import dataclass


class Field(NamedTuple):
    """``bits`` bits from bit ``low`` on."""

    low: int
    bits: int

    def of(self, word: int) -> int:
        return word >> self.low & ((1 << self.bits) - 1)


_SEGMENT: Final = Field(14, 2)


@dataclass(frozen=True, slots=True)
class Format:
    """``prefix``: the leading bits of the first word, as text. ``words``: without a literal.
    ``segment``: what bits 15:14 have to be, if they tell formats apart."""

    name: str
    prefix: str
    words: int
    opcode: Field
    fields: dict[str, Field]
    segment: int | None = None

    def matches(self, word: int) -> bool:
        return word >> (32 - len(self.prefix)) == int(self.prefix, 2)

    @property
    def fixed(self) -> int:
        """The bits of a first word that make it one of this format."""
        return int(self.prefix, 2) << (32 - len(self.prefix)) | (self.segment or 0) << _SEGMENT.low

    def unused(self) -> int:
        """The bits that belong to no field: they must be zero."""
        used = ((1 << len(self.prefix)) - 1) << (32 - len(self.prefix))
        segment = () if self.segment is None else (_SEGMENT,)
        for field in (self.opcode, *segment, *self.fields.values()):
            used |= ((1 << field.bits) - 1) << field.low
        return ((1 << 32 * self.words) - 1) & ~used


def _format(
    name: str, prefix: str, op: tuple[int, int], words: int = 1, **fields: tuple[int, int]
) -> Format:
    placed = {field: Field(*place) for field, place in fields.items()}
    return Format(name, prefix, words, Field(*op), placed)


_BUFFER: Final = {
    "offset": (0, 12),
    "offen": (12, 1),
    "idxen": (13, 1),
    "glc": (14, 1),
    "vaddr": (32, 8),
    "vdata": (40, 8),
    "srsrc": (48, 5),
    "tfe": (55, 1),
    "soffset": (56, 8),
}
_IMAGE: Final = {
    "dmask": (8, 4),
    "unorm": (12, 1),
    "glc": (13, 1),
    "da": (14, 1),
    "r128": (15, 1),
    "tfe": (16, 1),
    "lwe": (17, 1),
    "slc": (25, 1),
    "vaddr": (32, 8),
    "vdata": (40, 8),
    "srsrc": (48, 5),
    "ssamp": (53, 5),
    "d16": (63, 1),
}

_GFX8: Final = (
    _format("SOP1", "101111101", (8, 8), sdst=(16, 7), ssrc0=(0, 8)),
    _format("SOPC", "101111110", (16, 7), ssrc1=(8, 8), ssrc0=(0, 8)),
    _format("SOPP", "101111111", (16, 7), simm16=(0, 16)),
    _format("SOPK", "1011", (23, 5), sdst=(16, 7), simm16=(0, 16)),
    _format("SOP2", "10", (23, 7), sdst=(16, 7), ssrc1=(8, 8), ssrc0=(0, 8)),
    _format("VOP1", "0111111", (9, 8), vdst=(17, 8), src0=(0, 9)),
    _format("VOPC", "0111110", (17, 8), vsrc1=(9, 8), src0=(0, 9)),
    _format("VOP2", "0", (25, 6), vdst=(17, 8), vsrc1=(9, 8), src0=(0, 9)),
    _format(
        "SMEM", "110000", (18, 8), 2,
        sbase=(0, 6), sdata=(6, 7), glc=(16, 1), imm=(17, 1), offset=(32, 20),
    ),
    _format(
        "VOP3", "110100", (16, 10), 2,
        vdst=(0, 8), abs=(8, 3), clamp=(15, 1),
        src0=(32, 9), src1=(41, 9), src2=(50, 9), omod=(59, 2), neg=(61, 3),
    ),
    _format("VINTRP", "110101", (16, 2), vsrc=(0, 8), attrchan=(8, 2), attr=(10, 6), vdst=(18, 8)),
    _format(
        "DS", "110110", (17, 8), 2,
        offset0=(0, 8), offset1=(8, 8), gds=(16, 1),
        addr=(32, 8), data0=(40, 8), data1=(48, 8), vdst=(56, 8),
    ),
    _format(
        "FLAT", "110111", (18, 7), 2,
        glc=(16, 1), slc=(17, 1), addr=(32, 8), data=(40, 8), tfe=(55, 1), vdst=(56, 8),
    ),
    _format("MUBUF", "111000", (18, 7), 2, lds=(16, 1), slc=(17, 1), **_BUFFER),
    _format(
        "MTBUF", "111010", (15, 4), 2, dfmt=(19, 4), nfmt=(23, 3), slc=(54, 1), **_BUFFER
    ),
    _format("MIMG", "111100", (18, 7), 2, **_IMAGE),
    _format(
        "EXP", "110001", (0, 0), 2,
        en=(0, 4), tgt=(4, 6), compr=(10, 1), done=(11, 1), vm=(12, 1),
        vsrc0=(32, 8), vsrc1=(40, 8), vsrc2=(48, 8), vsrc3=(56, 8),
    ),
)  # fmt: skip
_MEMORY: Final = {
    "glc": (16, 1), "slc": (17, 1), "addr": (32, 8), "data": (40, 8), "nv": (55, 1),
    "vdst": (56, 8),
}  # fmt: skip
_SEGMENTS: Final = ("FLAT", "SCRATCH", "GLOBAL")


def _segments() -> Iterator[Format]:
    """FLAT of GFX9: an offset, and two segments of known memory, which may have a scalar base."""
    for segment, name in enumerate(_SEGMENTS):
        if name == "FLAT":
            more = {"offset": (0, 12)}
        else:
            more = {"offset": (0, 13), "lds": (13, 1), "saddr": (48, 7)}
        yield replace(_format(name, "110111", (18, 7), 2, **more, **_MEMORY), segment=segment)


_GFX9: Final = (
    _format(
        "SMEM", "110000", (18, 8), 2,
        sbase=(0, 6), sdata=(6, 7), soffset_en=(14, 1), nv=(15, 1), glc=(16, 1), imm=(17, 1),
        offset=(32, 21), soffset=(57, 7),
    ),
    _format(
        "VOP3P", "110100111", (16, 7), 2,
        vdst=(0, 8), neg_hi=(8, 3), op_sel=(11, 3), op_sel_hi_2=(14, 1), clamp=(15, 1),
        src0=(32, 9), src1=(41, 9), src2=(50, 9), op_sel_hi=(59, 2), neg=(61, 3),
    ),
    _format(
        "VOP3", "110100", (16, 10), 2,
        vdst=(0, 8), abs=(8, 3), op_sel=(11, 4), clamp=(15, 1),
        src0=(32, 9), src1=(41, 9), src2=(50, 9), omod=(59, 2), neg=(61, 3),
    ),
    *_segments(),
)  # fmt: skip

FORMATS: Final = {
    Generation.GFX8: _GFX8,
    Generation.GFX9: (
        *_GFX9,
        *(each for each in _GFX8 if each.name not in {later.name for later in _GFX9}),
    ),
}
"""Longer prefixes before shorter ones with the same bits, so that the first that matches is the
one."""

BY_NAME: Final = {
    generation: {format.name: format for format in formats}
    for generation, formats in FORMATS.items()
}

_SDWA_GFX8: Final = {
    "src0": Field(0, 8),
    "dst_sel": Field(8, 3),
    "dst_unused": Field(11, 2),
    "clamp": Field(13, 1),
    "src0_sel": Field(16, 3),
    "src0_sext": Field(19, 1),
    "src0_neg": Field(20, 1),
    "src0_abs": Field(21, 1),
    "src1_sel": Field(24, 3),
    "src1_sext": Field(27, 1),
    "src1_neg": Field(28, 1),
    "src1_abs": Field(29, 1),
}
_SDWA_GFX9: Final = _SDWA_GFX8 | {
    "omod": Field(14, 2),
    "src0_scalar": Field(23, 1),
    "src1_scalar": Field(31, 1),
}
_SDWA_COMPARE_GFX9: Final = {
    name: field
    for name, field in _SDWA_GFX9.items()
    if name not in ("dst_sel", "dst_unused", "clamp", "omod")
} | {"sdst": Field(8, 7), "names_sdst": Field(15, 1)}


def sdwa_fields(generation: Generation, compare: bool) -> dict[str, Field]:
    """The word behind a vector instruction whose src0 is 249: parts of registers as operands."""
    if generation is Generation.GFX8:
        return _SDWA_GFX8
    return _SDWA_COMPARE_GFX9 if compare else _SDWA_GFX9


DPP: Final = {
    "src0": Field(0, 8),
    "dpp_ctrl": Field(8, 9),
    "bound_ctrl": Field(19, 1),
    "src0_neg": Field(20, 1),
    "src0_abs": Field(21, 1),
    "src1_neg": Field(22, 1),
    "src1_abs": Field(23, 1),
    "bank_mask": Field(24, 4),
    "row_mask": Field(28, 4),
}
"""The word behind a vector instruction whose src0 is 250: operand 0 taken from other lanes."""

SRC_SDWA: Final = 249
SRC_DPP: Final = 250
SRC_LDS_DIRECT: Final = 254
SRC_LITERAL: Final = 255
VGPR: Final = 256
"""Operand code of v0 in nine-bit fields."""


_LONGEST_PREFIX: Final = 9
_BY_PREFIX: Final = {
    generation: tuple(
        tuple(format for format in formats if format.matches(bits << 32 - _LONGEST_PREFIX))
        for bits in range(1 << _LONGEST_PREFIX)
    )
    for generation, formats in FORMATS.items()
}


def format_of(word: int, generation: Generation) -> Format | None:
    """The format whose leading bits this first word has."""
    for format in _BY_PREFIX[generation][word >> 32 - _LONGEST_PREFIX]:
        if format.segment is None or format.segment == _SEGMENT.of(word):
            return format
    return None
