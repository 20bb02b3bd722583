"""LDS and GDS instructions (DS): operations times width times "return the old value".

Source: the public GCN3 instruction set architecture manual, chapter "Data share operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.isa.instruction import Opcode, OperandAccess, OperandRow, Unit
from gpu.isa.tables.rows import rows

ARITHMETIC: Final = {
    0: "add_u", 1: "sub_u", 2: "rsub_u", 3: "inc_u", 4: "dec_u",
    5: "min_i", 6: "max_i", 7: "min_u", 8: "max_u",
    9: "and_b", 10: "or_b", 11: "xor_b",
    18: "min_f", 19: "max_f", 21: "add_f",
}  # fmt: skip
"""Read, modify, write with one operand. Place in the groups of `GROUPS`; the width follows."""
ARITHMETIC_ONLY_32: Final = frozenset({21})

TWO_OPERANDS: Final = {12: "mskor_b", 16: "cmpst_b", 17: "cmpst_f"}

GROUPS: Final = {
    (32, ""): 0, (32, "_rtn"): 32, (32, "_src2"): 128,
    (64, ""): 64, (64, "_rtn"): 96, (64, "_src2"): 192,
}  # fmt: skip
"""First number by width and kind: nothing returned, old value returned, second operand from LDS."""

_SINGLE: Final = rows("DS", Unit.LDS, "vdst addr data0 data1", """
    13  ds_write_b32                addr:b32 data0:b32
    14  ds_write2_b32               addr:b32 data0:b32 data1:b32
    15  ds_write2st64_b32           addr:b32 data0:b32 data1:b32
    20  ds_nop
    29  ds_write_addtid_b32         data0:b32  reads=m0 gfx9
    30  ds_write_b8                 addr:b32 data0:b32
    31  ds_write_b16                addr:b32 data0:b32
    45  ds_wrxchg_rtn_b32           b32 b32 b32
    46  ds_wrxchg2_rtn_b32          b64 b32 b32 b32
    47  ds_wrxchg2st64_rtn_b32      b64 b32 b32 b32
    52  ds_wrap_rtn_b32             b32 b32 b32 b32
    54  ds_read_b32                 b32 b32
    55  ds_read2_b32                b64 b32
    56  ds_read2st64_b32            b64 b32
    57  ds_read_i8                  b32 b32
    58  ds_read_u8                  b32 b32
    59  ds_read_i16                 b32 b32
    60  ds_read_u16                 b32 b32
    61  ds_swizzle_b32              b32 b32
    62  ds_permute_b32              b32 b32 b32
    63  ds_bpermute_b32             b32 b32 b32
    77  ds_write_b64                addr:b32 data0:b64
    78  ds_write2_b64               addr:b32 data0:b64 data1:b64
    79  ds_write2st64_b64           addr:b32 data0:b64 data1:b64
    84  ds_write_b8_d16_hi          addr:b32 data0:b32  gfx9
    85  ds_write_b16_d16_hi         addr:b32 data0:b32  gfx9
    86  ds_read_u8_d16              b32+ b32  gfx9
    87  ds_read_u8_d16_hi           b32+ b32  gfx9
    88  ds_read_i8_d16              b32+ b32  gfx9
    89  ds_read_i8_d16_hi           b32+ b32  gfx9
    90  ds_read_u16_d16             b32+ b32  gfx9
    91  ds_read_u16_d16_hi          b32+ b32  gfx9
   109  ds_wrxchg_rtn_b64           b64 b32 b64
   110  ds_wrxchg2_rtn_b64          b128 b32 b64 b64
   111  ds_wrxchg2st64_rtn_b64      b128 b32 b64 b64
   118  ds_read_b64                 b64 b32
   119  ds_read2_b64                b128 b32
   120  ds_read2st64_b64            b128 b32
   126  ds_condxchg32_rtn_b64       b64 b32 b64
   141  ds_write_src2_b32           addr:b32
   152  ds_gws_sema_release_all               gds tier3
   153  ds_gws_init                 addr:b32  gds tier3
   154  ds_gws_sema_v                         gds tier3
   155  ds_gws_sema_br              addr:b32  gds tier3
   156  ds_gws_sema_p                         gds tier3
   157  ds_gws_barrier              addr:b32  gds tier3
   182  ds_read_addtid_b32          b32  reads=m0 gfx9
   189  ds_consume                  b32
   190  ds_append                   b32
   191  ds_ordered_count            b32 b32   gds tier3
   205  ds_write_src2_b64           addr:b32
   222  ds_write_b96                addr:b32 data0:b96
   223  ds_write_b128               addr:b32 data0:b128
   254  ds_read_b96                 b96 b32
   255  ds_read_b128                b128 b32
""")  # fmt: skip


def _operands(type: str, kind: str, sources: int) -> Iterator[OperandRow]:
    if kind == "_rtn":
        yield OperandRow("vdst", type, OperandAccess.WRITE)
    yield OperandRow("addr", "b32")
    if kind != "_src2":
        for place in range(sources):
            yield OperandRow(f"data{place}", type)


def _atomics() -> Iterator[Opcode]:
    for (width, kind), first in GROUPS.items():
        for operations, sources in ((ARITHMETIC, 1), (TWO_OPERANDS, 2)):
            for place, name in operations.items():
                if place in ARITHMETIC_ONLY_32 and width == 64:
                    continue
                if sources == 2 and kind == "_src2":
                    continue
                operation, _, letter = name.rpartition("_")
                full = f"ds_{operation}{kind}_{letter}{width}"
                operands = tuple(_operands(f"b{width}", kind, sources))
                yield Opcode(full, "DS", first + place, Unit.LDS, operands)


DS: Final = (*_SINGLE, *_atomics())
