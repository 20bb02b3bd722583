"""Scalar arithmetic and program control: SOP2, SOPK, SOP1, SOPC, SOPP.

Source: the public GCN3 instruction set architecture manual, chapter "Scalar ALU instructions".
"""

from __future__ import annotations

from typing import Final

from gpu.isa.instruction import Unit
from gpu.isa.tables.rows import rows

SOP2: Final = rows("SOP2", Unit.SCALAR_ALU, "sdst ssrc0 ssrc1", """
     0  s_add_u32          u32 u32 u32   writes=scc
     1  s_sub_u32          u32 u32 u32   writes=scc
     2  s_add_i32          i32 i32 i32   writes=scc
     3  s_sub_i32          i32 i32 i32   writes=scc
     4  s_addc_u32         u32 u32 u32   writes=scc reads=scc
     5  s_subb_u32         u32 u32 u32   writes=scc reads=scc
     6  s_min_i32          i32 i32 i32   writes=scc
     7  s_min_u32          u32 u32 u32   writes=scc
     8  s_max_i32          i32 i32 i32   writes=scc
     9  s_max_u32          u32 u32 u32   writes=scc
    10  s_cselect_b32      b32 b32 b32   reads=scc
    11  s_cselect_b64      b64 b64 b64   reads=scc
    12  s_and_b32          b32 b32 b32   writes=scc
    13  s_and_b64          b64 b64 b64   writes=scc
    14  s_or_b32           b32 b32 b32   writes=scc
    15  s_or_b64           b64 b64 b64   writes=scc
    16  s_xor_b32          b32 b32 b32   writes=scc
    17  s_xor_b64          b64 b64 b64   writes=scc
    18  s_andn2_b32        b32 b32 b32   writes=scc
    19  s_andn2_b64        b64 b64 b64   writes=scc
    20  s_orn2_b32         b32 b32 b32   writes=scc
    21  s_orn2_b64         b64 b64 b64   writes=scc
    22  s_nand_b32         b32 b32 b32   writes=scc
    23  s_nand_b64         b64 b64 b64   writes=scc
    24  s_nor_b32          b32 b32 b32   writes=scc
    25  s_nor_b64          b64 b64 b64   writes=scc
    26  s_xnor_b32         b32 b32 b32   writes=scc
    27  s_xnor_b64         b64 b64 b64   writes=scc
    28  s_lshl_b32         b32 b32 u32   writes=scc
    29  s_lshl_b64         b64 b64 u32   writes=scc
    30  s_lshr_b32         b32 b32 u32   writes=scc
    31  s_lshr_b64         b64 b64 u32   writes=scc
    32  s_ashr_i32         i32 i32 u32   writes=scc
    33  s_ashr_i64         i64 i64 u32   writes=scc
    34  s_bfm_b32          b32 u32 u32
    35  s_bfm_b64          b64 u32 u32
    36  s_mul_i32          i32 i32 i32
    37  s_bfe_u32          u32 u32 u32   writes=scc
    38  s_bfe_i32          i32 i32 u32   writes=scc
    39  s_bfe_u64          u64 u64 u32   writes=scc
    40  s_bfe_i64          i64 i64 u32   writes=scc
    41  s_cbranch_g_fork   ssrc0:b64 ssrc1:b64   tier3 unit=branch
    42  s_absdiff_i32      i32 i32 i32   writes=scc
    43  s_rfe_restore_b64  ssrc0:b64 ssrc1:b32   tier3 unit=branch
    44  s_mul_hi_u32       u32 u32 u32   gfx9
    45  s_mul_hi_i32       i32 i32 i32   gfx9
    46  s_lshl1_add_u32    u32 u32 u32   writes=scc gfx9
    47  s_lshl2_add_u32    u32 u32 u32   writes=scc gfx9
    48  s_lshl3_add_u32    u32 u32 u32   writes=scc gfx9
    49  s_lshl4_add_u32    u32 u32 u32   writes=scc gfx9
    50  s_pack_ll_b32_b16  b32 b32 b32   gfx9
    51  s_pack_lh_b32_b16  b32 b32 b32   gfx9
    52  s_pack_hh_b32_b16  b32 b32 b32   gfx9
""")  # fmt: skip

SOPK: Final = rows("SOPK", Unit.SCALAR_ALU, "sdst simm16", """
     0  s_movk_i32         i32 imm
     1  s_cmovk_i32        i32+ imm   reads=scc
     2  s_cmpk_eq_i32      i32- imm    writes=scc
     3  s_cmpk_lg_i32      i32- imm    writes=scc
     4  s_cmpk_gt_i32      i32- imm    writes=scc
     5  s_cmpk_ge_i32      i32- imm    writes=scc
     6  s_cmpk_lt_i32      i32- imm    writes=scc
     7  s_cmpk_le_i32      i32- imm    writes=scc
     8  s_cmpk_eq_u32      u32- imm    writes=scc
     9  s_cmpk_lg_u32      u32- imm    writes=scc
    10  s_cmpk_gt_u32      u32- imm    writes=scc
    11  s_cmpk_ge_u32      u32- imm    writes=scc
    12  s_cmpk_lt_u32      u32- imm    writes=scc
    13  s_cmpk_le_u32      u32- imm    writes=scc
    14  s_addk_i32         i32+ imm   writes=scc
    15  s_mulk_i32         i32+ imm
    16  s_cbranch_i_fork   b64- imm   tier3 unit=branch scalar_target
    17  s_getreg_b32       b32 imm
    18  s_setreg_b32       simm16:imm sdst:b32-
    20  s_setreg_imm32_b32 simm16:imm literal:b32
    21  s_call_b64         b64 imm   unit=branch scalar_target gfx9
""")  # fmt: skip

SOP1: Final = rows("SOP1", Unit.SCALAR_ALU, "sdst ssrc0", """
     0  s_mov_b32             b32 b32
     1  s_mov_b64             b64 b64
     2  s_cmov_b32            b32+ b32  reads=scc
     3  s_cmov_b64            b64+ b64  reads=scc
     4  s_not_b32             b32 b32   writes=scc
     5  s_not_b64             b64 b64   writes=scc
     6  s_wqm_b32             b32 b32   writes=scc
     7  s_wqm_b64             b64 b64   writes=scc
     8  s_brev_b32            b32 b32
     9  s_brev_b64            b64 b64
    10  s_bcnt0_i32_b32       i32 b32   writes=scc
    11  s_bcnt0_i32_b64       i32 b64   writes=scc
    12  s_bcnt1_i32_b32       i32 b32   writes=scc
    13  s_bcnt1_i32_b64       i32 b64   writes=scc
    14  s_ff0_i32_b32         i32 b32
    15  s_ff0_i32_b64         i32 b64
    16  s_ff1_i32_b32         i32 b32
    17  s_ff1_i32_b64         i32 b64
    18  s_flbit_i32_b32       i32 b32
    19  s_flbit_i32_b64       i32 b64
    20  s_flbit_i32           i32 i32
    21  s_flbit_i32_i64       i32 i64
    22  s_sext_i32_i8         i32 i32
    23  s_sext_i32_i16        i32 i32
    24  s_bitset0_b32         b32+ u32
    25  s_bitset0_b64         b64+ u32
    26  s_bitset1_b32         b32+ u32
    27  s_bitset1_b64         b64+ u32
    28  s_getpc_b64           b64
    29  s_setpc_b64           ssrc0:b64/r unit=branch
    30  s_swappc_b64          b64 b64/r   unit=branch
    31  s_rfe_b64             ssrc0:b64/r   tier3 unit=branch
    32  s_and_saveexec_b64    b64 b64   reads=exec writes=exec,scc
    33  s_or_saveexec_b64     b64 b64   reads=exec writes=exec,scc
    34  s_xor_saveexec_b64    b64 b64   reads=exec writes=exec,scc
    35  s_andn2_saveexec_b64  b64 b64   reads=exec writes=exec,scc
    36  s_orn2_saveexec_b64   b64 b64   reads=exec writes=exec,scc
    37  s_nand_saveexec_b64   b64 b64   reads=exec writes=exec,scc
    38  s_nor_saveexec_b64    b64 b64   reads=exec writes=exec,scc
    39  s_xnor_saveexec_b64   b64 b64   reads=exec writes=exec,scc
    40  s_quadmask_b32        b32 b32   writes=scc
    41  s_quadmask_b64        b64 b64   writes=scc
    42  s_movrels_b32         b32 b32/r reads=m0
    43  s_movrels_b64         b64 b64/r reads=m0
    44  s_movreld_b32         b32 b32   reads=m0
    45  s_movreld_b64         b64 b64   reads=m0
    46  s_cbranch_join        ssrc0:b32/r   tier3 unit=branch
    48  s_abs_i32             i32 i32   writes=scc
    50  s_set_gpr_idx_idx     ssrc0:b32   reads=m0 writes=m0
    51  s_andn1_saveexec_b64  b64 b64   reads=exec writes=exec,scc gfx9
    52  s_orn1_saveexec_b64   b64 b64   reads=exec writes=exec,scc gfx9
    53  s_andn1_wrexec_b64    b64 b64   reads=exec writes=exec,scc gfx9
    54  s_andn2_wrexec_b64    b64 b64   reads=exec writes=exec,scc gfx9
    55  s_bitreplicate_b64_b32  b64 b32   gfx9
""")  # fmt: skip

SOPC: Final = rows("SOPC", Unit.SCALAR_ALU, "ssrc0 ssrc1", """
     0  s_cmp_eq_i32       i32 i32   writes=scc
     1  s_cmp_lg_i32       i32 i32   writes=scc
     2  s_cmp_gt_i32       i32 i32   writes=scc
     3  s_cmp_ge_i32       i32 i32   writes=scc
     4  s_cmp_lt_i32       i32 i32   writes=scc
     5  s_cmp_le_i32       i32 i32   writes=scc
     6  s_cmp_eq_u32       u32 u32   writes=scc
     7  s_cmp_lg_u32       u32 u32   writes=scc
     8  s_cmp_gt_u32       u32 u32   writes=scc
     9  s_cmp_ge_u32       u32 u32   writes=scc
    10  s_cmp_lt_u32       u32 u32   writes=scc
    11  s_cmp_le_u32       u32 u32   writes=scc
    12  s_bitcmp0_b32      b32 u32   writes=scc
    13  s_bitcmp1_b32      b32 u32   writes=scc
    14  s_bitcmp0_b64      b64 u32   writes=scc
    15  s_bitcmp1_b64      b64 u32   writes=scc
    16  s_setvskip         b32 u32   tier3
    17  s_set_gpr_idx_on   ssrc0:b32 ssrc1:imm   reads=m0 writes=m0
    18  s_cmp_eq_u64       u64 u64   writes=scc
    19  s_cmp_lg_u64       u64 u64   writes=scc
""")  # fmt: skip

SOPP: Final = rows("SOPP", Unit.INTERNAL, "simm16", """
     0  s_nop                       imm
     1  s_endpgm                    imm
     2  s_branch                    imm   unit=branch scalar_target
     3  s_wakeup
     4  s_cbranch_scc0              imm   unit=branch scalar_target reads=scc
     5  s_cbranch_scc1              imm   unit=branch scalar_target reads=scc
     6  s_cbranch_vccz              imm   unit=branch scalar_target reads=vcc
     7  s_cbranch_vccnz             imm   unit=branch scalar_target reads=vcc
     8  s_cbranch_execz             imm   unit=branch scalar_target reads=exec
     9  s_cbranch_execnz            imm   unit=branch scalar_target reads=exec
    10  s_barrier
    11  s_setkill                   imm   tier3
    12  s_waitcnt                   imm
    13  s_sethalt                   imm   tier3
    14  s_sleep                     imm
    15  s_setprio                   imm
    16  s_sendmsg                   imm   unit=message reads=m0
    17  s_sendmsghalt               imm   unit=message reads=m0 tier3
    18  s_trap                      imm
    19  s_icache_inv                      unit=message
    20  s_incperflevel              imm   tier3
    21  s_decperflevel              imm   tier3
    22  s_ttracedata                      tier3 reads=m0
    23  s_cbranch_cdbgsys           imm   tier3 unit=branch scalar_target
    24  s_cbranch_cdbguser          imm   tier3 unit=branch scalar_target
    25  s_cbranch_cdbgsys_or_user   imm   tier3 unit=branch scalar_target
    26  s_cbranch_cdbgsys_and_user  imm   tier3 unit=branch scalar_target
    27  s_endpgm_saved                    tier3
    28  s_set_gpr_idx_off                 unit=scalar_alu
    29  s_set_gpr_idx_mode          imm   unit=scalar_alu reads=m0 writes=m0
    30  s_endpgm_ordered_ps_done          tier3 gfx9
""")  # fmt: skip
