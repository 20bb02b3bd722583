"""Vector arithmetic: VOP1, VOP2, VOP3's own opcodes, packed ones (VOP3P). Compares are in
`compares`.

Every row of VOP1, VOP2 and VOPC has a VOP3 form as well (`VOP3_BASE`), whose operands, and so
whose row, are the same: only more kinds of registers may be named.

Source: the public instruction set architecture manuals of GCN3 and Vega, chapter "Vector ALU
operations".
"""

from __future__ import annotations

from typing import Final

from gpu.isa.instruction import Unit
from gpu.isa.tables.rows import rows

VOP3_BASE: Final = {"VOPC": 0, "VOP2": 256, "VOP1": 320, "VOP3": 0}
"""What is added to an opcode's number in its VOP3 form."""
VOP3_OWN: Final = 448
"""From here on VOP3 opcodes are no other format's."""

VOP1: Final = rows("VOP1", Unit.VECTOR_ALU, "vdst src0", """
     0  v_nop                              nosuffix nosdwa
     1  v_mov_b32                b32 b32
     2  v_readfirstlane_b32      sdst:b32 src0:b32/v   nosuffix nosdwa
     3  v_cvt_i32_f64            i32 f64
     4  v_cvt_f64_i32            f64 i32
     5  v_cvt_f32_i32            f32 i32
     6  v_cvt_f32_u32            f32 u32
     7  v_cvt_u32_f32            u32 f32
     8  v_cvt_i32_f32            i32 f32
    10  v_cvt_f16_f32            f16 f32
    11  v_cvt_f32_f16            f32 f16
    12  v_cvt_rpi_i32_f32        i32 f32   noomod
    13  v_cvt_flr_i32_f32        i32 f32   noomod
    14  v_cvt_off_f32_i4         f32 i32
    15  v_cvt_f32_f64            f32 f64
    16  v_cvt_f64_f32            f64 f32
    17  v_cvt_f32_ubyte0         f32 u32
    18  v_cvt_f32_ubyte1         f32 u32
    19  v_cvt_f32_ubyte2         f32 u32
    20  v_cvt_f32_ubyte3         f32 u32
    21  v_cvt_u32_f64            u32 f64
    22  v_cvt_f64_u32            f64 u32
    23  v_trunc_f64              f64 f64
    24  v_ceil_f64               f64 f64
    25  v_rndne_f64              f64 f64
    26  v_floor_f64              f64 f64
    27  v_fract_f32              f32 f32
    28  v_trunc_f32              f32 f32
    29  v_ceil_f32               f32 f32
    30  v_rndne_f32              f32 f32
    31  v_floor_f32              f32 f32
    32  v_exp_f32                f32 f32
    33  v_log_f32                f32 f32
    34  v_rcp_f32                f32 f32
    35  v_rcp_iflag_f32          f32 f32
    36  v_rsq_f32                f32 f32
    37  v_rcp_f64                f64 f64
    38  v_rsq_f64                f64 f64
    39  v_sqrt_f32               f32 f32
    40  v_sqrt_f64               f64 f64
    41  v_sin_f32                f32 f32
    42  v_cos_f32                f32 f32
    43  v_not_b32                b32 b32
    44  v_bfrev_b32              b32 b32
    45  v_ffbh_u32               u32 u32
    46  v_ffbl_b32               u32 b32
    47  v_ffbh_i32               i32 i32
    48  v_frexp_exp_i32_f64      i32 f64
    49  v_frexp_mant_f64         f64 f64
    50  v_fract_f64              f64 f64
    51  v_frexp_exp_i32_f32      i32 f32   noomod
    52  v_frexp_mant_f32         f32 f32
    53  v_clrexcp                          nosuffix nosdwa
    54  v_movreld_b32            b32 b32   reads=m0 nosdwa gfx8
    55  v_movrels_b32            b32 b32/v reads=m0 nosdwa gfx8
    56  v_movrelsd_b32           b32 b32/v reads=m0 nosdwa gfx8
    55  v_screen_partition_4se_b32 b32 b32   tier4 gfx9
    57  v_cvt_f16_u16            f16 u16
    58  v_cvt_f16_i16            f16 i16
    59  v_cvt_u16_f16            u16 f16
    60  v_cvt_i16_f16            i16 f16
    61  v_rcp_f16                f16 f16
    62  v_sqrt_f16               f16 f16
    63  v_rsq_f16                f16 f16
    64  v_log_f16                f16 f16
    65  v_exp_f16                f16 f16
    66  v_frexp_mant_f16         f16 f16
    67  v_frexp_exp_i16_f16      i16 f16
    68  v_floor_f16              f16 f16
    69  v_ceil_f16               f16 f16
    70  v_trunc_f16              f16 f16
    71  v_rndne_f16              f16 f16
    72  v_fract_f16              f16 f16
    73  v_sin_f16                f16 f16
    74  v_cos_f16                f16 f16
    75  v_exp_legacy_f32         f32 f32
    76  v_log_legacy_f32         f32 f32
    77  v_cvt_norm_i16_f16       i16 f16   noomod gfx9
    78  v_cvt_norm_u16_f16       u16 f16   noomod gfx9
    79  v_sat_pk_u8_i16          b32 b32   gfx9
    81  v_swap_b32               b32+ b32+/v nosuffix nosdwa gfx9
""")  # fmt: skip

VOP2: Final = rows("VOP2", Unit.VECTOR_ALU, "vdst src0 src1", """
     0  v_cndmask_b32            b32 b32 b32 src2:mask   mods
     1  v_add_f32                f32 f32 f32
     2  v_sub_f32                f32 f32 f32
     3  v_subrev_f32             f32 f32 f32
     4  v_mul_legacy_f32         f32 f32 f32
     5  v_mul_f32                f32 f32 f32
     6  v_mul_i32_i24            i32 i32 i32   clamp
     7  v_mul_hi_i32_i24         i32 i32 i32
     8  v_mul_u32_u24            u32 u32 u32   clamp
     9  v_mul_hi_u32_u24         u32 u32 u32
    10  v_min_f32                f32 f32 f32   gfx8
    10  v_min_f32                f32 f32 f32   gfx9 meaning=v_min_mode_f32
    11  v_max_f32                f32 f32 f32   gfx8
    11  v_max_f32                f32 f32 f32   gfx9 meaning=v_max_mode_f32
    12  v_min_i32                i32 i32 i32
    13  v_max_i32                i32 i32 i32
    14  v_min_u32                u32 u32 u32
    15  v_max_u32                u32 u32 u32
    16  v_lshrrev_b32            b32 u32 b32
    17  v_ashrrev_i32            i32 u32 i32
    18  v_lshlrev_b32            b32 u32 b32
    19  v_and_b32                b32 b32 b32
    20  v_or_b32                 b32 b32 b32
    21  v_xor_b32                b32 b32 b32
    22  v_mac_f32                f32+ f32 f32
    23  v_madmk_f32              f32 f32 literal:f32 f32   nosuffix nosdwa
    24  v_madak_f32              f32 f32 f32 literal:f32   nosuffix nosdwa
    25  v_add_u32                u32 sdst:mask u32 u32 clamp gfx8 meaning=v_add_co_u32
    25  v_add_co_u32             u32 sdst:mask u32 u32 clamp gfx9
    26  v_sub_u32                u32 sdst:mask u32 u32 clamp gfx8 meaning=v_sub_co_u32
    26  v_sub_co_u32             u32 sdst:mask u32 u32 clamp gfx9
    27  v_subrev_u32             u32 sdst:mask u32 u32 clamp gfx8 meaning=v_subrev_co_u32
    27  v_subrev_co_u32          u32 sdst:mask u32 u32 clamp gfx9
    28  v_addc_u32               u32 sdst:mask u32 u32 src2:mask clamp gfx8 meaning=v_addc_co_u32
    28  v_addc_co_u32            u32 sdst:mask u32 u32 src2:mask clamp gfx9
    29  v_subb_u32               u32 sdst:mask u32 u32 src2:mask clamp gfx8 meaning=v_subb_co_u32
    29  v_subb_co_u32            u32 sdst:mask u32 u32 src2:mask clamp gfx9
    30  v_subbrev_u32            u32 sdst:mask u32 u32 src2:mask clamp gfx8 meaning=v_subbrev_co_u32
    30  v_subbrev_co_u32         u32 sdst:mask u32 u32 src2:mask clamp gfx9
    31  v_add_f16                f16 f16 f16
    32  v_sub_f16                f16 f16 f16
    33  v_subrev_f16             f16 f16 f16
    34  v_mul_f16                f16 f16 f16
    35  v_mac_f16                f16+ f16 f16
    36  v_madmk_f16              f16 f16 literal:f16 f16   nosuffix nosdwa
    37  v_madak_f16              f16 f16 f16 literal:f16   nosuffix nosdwa
    38  v_add_u16                u16 u16 u16   clamp
    39  v_sub_u16                u16 u16 u16   clamp
    40  v_subrev_u16             u16 u16 u16   clamp
    41  v_mul_lo_u16             u16 u16 u16
    42  v_lshlrev_b16            b16 u16 b16
    43  v_lshrrev_b16            b16 u16 b16
    44  v_ashrrev_i16            i16 u16 i16
    45  v_max_f16                f16 f16 f16   gfx8
    45  v_max_f16                f16 f16 f16   gfx9 meaning=v_max_mode_f16
    46  v_min_f16                f16 f16 f16   gfx8
    46  v_min_f16                f16 f16 f16   gfx9 meaning=v_min_mode_f16
    47  v_max_u16                u16 u16 u16
    48  v_max_i16                i16 i16 i16
    49  v_min_u16                u16 u16 u16
    50  v_min_i16                i16 i16 i16
    51  v_ldexp_f16              f16 f16 i16
    52  v_add_u32                u32 u32 u32   clamp gfx9
    53  v_sub_u32                u32 u32 u32   clamp gfx9
    54  v_subrev_u32             u32 u32 u32   clamp gfx9
""")  # fmt: skip

VOP3: Final = rows("VOP3", Unit.VECTOR_ALU, "vdst src0 src1 src2", """
   448  v_mad_legacy_f32         f32 f32 f32 f32
   449  v_mad_f32                f32 f32 f32 f32
   450  v_mad_i32_i24            i32 i32 i32 i32   clamp
   451  v_mad_u32_u24            u32 u32 u32 u32   clamp
   452  v_cubeid_f32             f32 f32 f32 f32
   453  v_cubesc_f32             f32 f32 f32 f32
   454  v_cubetc_f32             f32 f32 f32 f32
   455  v_cubema_f32             f32 f32 f32 f32
   456  v_bfe_u32                u32 u32 u32 u32
   457  v_bfe_i32                i32 i32 u32 u32
   458  v_bfi_b32                b32 b32 b32 b32
   459  v_fma_f32                f32 f32 f32 f32
   460  v_fma_f64                f64 f64 f64 f64
   461  v_lerp_u8                b32 b32 b32 b32
   462  v_alignbit_b32           b32 b32 b32 u32
   463  v_alignbyte_b32          b32 b32 b32 u32
   464  v_min3_f32               f32 f32 f32 f32   gfx8
   464  v_min3_f32               f32 f32 f32 f32   gfx9 meaning=v_min3_mode_f32
   465  v_min3_i32               i32 i32 i32 i32
   466  v_min3_u32               u32 u32 u32 u32
   467  v_max3_f32               f32 f32 f32 f32   gfx8
   467  v_max3_f32               f32 f32 f32 f32   gfx9 meaning=v_max3_mode_f32
   468  v_max3_i32               i32 i32 i32 i32
   469  v_max3_u32               u32 u32 u32 u32
   470  v_med3_f32               f32 f32 f32 f32   gfx8
   470  v_med3_f32               f32 f32 f32 f32   gfx9 meaning=v_med3_mode_f32
   471  v_med3_i32               i32 i32 i32 i32
   472  v_med3_u32               u32 u32 u32 u32
   473  v_sad_u8                 u32 b32 b32 u32   clamp
   474  v_sad_hi_u8              u32 b32 b32 u32   clamp
   475  v_sad_u16                u32 b32 b32 u32   clamp
   476  v_sad_u32                u32 u32 u32 u32   clamp
   477  v_cvt_pk_u8_f32          b32 f32 u32 b32   noomod
   478  v_div_fixup_f32          f32 f32 f32 f32
   479  v_div_fixup_f64          f64 f64 f64 f64
   480  v_div_scale_f32          f32 sdst:mask f32 f32 f32
   481  v_div_scale_f64          f64 sdst:mask f64 f64 f64
   482  v_div_fmas_f32           f32 f32 f32 f32   reads=vcc
   483  v_div_fmas_f64           f64 f64 f64 f64   reads=vcc
   484  v_msad_u8                u32 b32 b32 u32   clamp
   485  v_qsad_pk_u16_u8         b64 b64 b32 b64   clamp
   486  v_mqsad_pk_u16_u8        b64 b64 b32 b64   clamp
   487  v_mqsad_u32_u8           b128 b64 b32 b128/v clamp
   488  v_mad_u64_u32            u64 sdst:mask u32 u32 u64   clamp
   489  v_mad_i64_i32            i64 sdst:mask i32 i32 i64   clamp
   490  v_mad_f16                f16 f16 f16 f16   gfx8
   490  v_mad_legacy_f16         f16 f16 f16 f16   gfx9 meaning=v_mad_f16
   491  v_mad_u16                u16 u16 u16 u16   clamp   gfx8
   491  v_mad_legacy_u16         u16 u16 u16 u16   clamp   gfx9 meaning=v_mad_u16
   492  v_mad_i16                i16 i16 i16 i16   clamp   gfx8
   492  v_mad_legacy_i16         i16 i16 i16 i16   clamp   gfx9 meaning=v_mad_i16
   493  v_perm_b32               b32 b32 b32 b32
   494  v_fma_f16                f16 f16 f16 f16   gfx8
   494  v_fma_legacy_f16         f16 f16 f16 f16   gfx9 meaning=v_fma_f16
   495  v_div_fixup_f16          f16 f16 f16 f16   gfx8
   495  v_div_fixup_legacy_f16   f16 f16 f16 f16   gfx9 meaning=v_div_fixup_f16
   496  v_cvt_pkaccum_u8_f32     b32+ f32 u32      noomod
   497  v_mad_u32_u16            u32 u16 u16 u32   clamp opsel gfx9
   498  v_mad_i32_i16            i32 i16 i16 i32   clamp opsel gfx9
   499  v_xad_u32                u32 u32 u32 u32   gfx9
   500  v_min3_f16               f16 f16 f16 f16   opsel gfx9
   501  v_min3_i16               i16 i16 i16 i16   opsel gfx9
   502  v_min3_u16               u16 u16 u16 u16   opsel gfx9
   503  v_max3_f16               f16 f16 f16 f16   opsel gfx9
   504  v_max3_i16               i16 i16 i16 i16   opsel gfx9
   505  v_max3_u16               u16 u16 u16 u16   opsel gfx9
   506  v_med3_f16               f16 f16 f16 f16   opsel gfx9
   507  v_med3_i16               i16 i16 i16 i16   opsel gfx9
   508  v_med3_u16               u16 u16 u16 u16   opsel gfx9
   509  v_lshl_add_u32           u32 u32 u32 u32   gfx9
   510  v_add_lshl_u32           u32 u32 u32 u32   gfx9
   511  v_add3_u32               u32 u32 u32 u32   gfx9
   512  v_lshl_or_b32            b32 b32 u32 b32   gfx9
   513  v_and_or_b32             b32 b32 b32 b32   gfx9
   514  v_or3_b32                b32 b32 b32 b32   gfx9
   515  v_mad_f16                f16 f16 f16 f16   opsel gfx9
   516  v_mad_u16                u16 u16 u16 u16   opsel clamp gfx9
   517  v_mad_i16                i16 i16 i16 i16   opsel clamp gfx9
   518  v_fma_f16                f16 f16 f16 f16   opsel gfx9
   519  v_div_fixup_f16          f16 f16 f16 f16   opsel gfx9
   624  v_interp_p1_f32          f32 src1:f32/v src0:imm              tier4
   625  v_interp_p2_f32          f32 src1:f32/v src0:imm              tier4
   626  v_interp_mov_f32         f32 src1:imm src0:imm                tier4
   628  v_interp_p1ll_f16        f32 src1:f32/v src0:imm              tier4
   629  v_interp_p1lv_f16        f32 src1:f32/v src0:imm src2:f16/v tier4
   630  v_interp_p2_f16          f16 src1:f32/v src0:imm src2:f32/v noomod tier4 gfx8
   630  v_interp_p2_legacy_f16   f16 src1:f32/v src0:imm src2:f32/v noomod tier4 gfx9
   631  v_interp_p2_f16          f16 src1:f32/v src0:imm src2:f32/v noomod tier4 gfx9
   640  v_add_f64                f64 f64 f64
   641  v_mul_f64                f64 f64 f64
   642  v_min_f64                f64 f64 f64   gfx8
   642  v_min_f64                f64 f64 f64   gfx9 meaning=v_min_mode_f64
   643  v_max_f64                f64 f64 f64   gfx8
   643  v_max_f64                f64 f64 f64   gfx9 meaning=v_max_mode_f64
   644  v_ldexp_f64              f64 f64 i32
   645  v_mul_lo_u32             u32 u32 u32
   646  v_mul_hi_u32             u32 u32 u32
   647  v_mul_hi_i32             i32 i32 i32
   648  v_ldexp_f32              f32 f32 i32
   649  v_readlane_b32           sdst:b32 src0:b32/v src1:b32/s
   650  v_writelane_b32          b32+ b32/s b32/s
   651  v_bcnt_u32_b32           u32 b32 u32
   652  v_mbcnt_lo_u32_b32       u32 b32 u32
   653  v_mbcnt_hi_u32_b32       u32 b32 u32
   655  v_lshlrev_b64            b64 u32 b64
   656  v_lshrrev_b64            b64 u32 b64
   657  v_ashrrev_i64            i64 u32 i64
   658  v_trig_preop_f64         f64 f64 u32
   659  v_bfm_b32                b32 u32 u32
   660  v_cvt_pknorm_i16_f32     b32 f32 f32   noomod
   661  v_cvt_pknorm_u16_f32     b32 f32 f32   noomod
   662  v_cvt_pkrtz_f16_f32      b32 f32 f32
   663  v_cvt_pk_u16_u32         b32 u32 u32
   664  v_cvt_pk_i16_i32         b32 i32 i32
   665  v_cvt_pknorm_i16_f16     b32 f16 f16   noomod noclamp opsel gfx9
   666  v_cvt_pknorm_u16_f16     b32 f16 f16   noomod noclamp opsel gfx9
   668  v_add_i32                i32 i32 i32   clamp gfx9
   669  v_sub_i32                i32 i32 i32   clamp gfx9
   670  v_add_i16                i16 i16 i16   opsel clamp gfx9
   671  v_sub_i16                i16 i16 i16   opsel clamp gfx9
   672  v_pack_b32_f16           b32 f16 f16   noomod noclamp opsel gfx9
""")  # fmt: skip

VOP3P: Final = rows("VOP3P", Unit.VECTOR_ALU, "vdst src0 src1 src2", """
     0  v_pk_mad_i16             i16x2 i16x2 i16x2 i16x2   clamp meaning=v_mad_i16 gfx9
     1  v_pk_mul_lo_u16          u16x2 u16x2 u16x2         meaning=v_mul_lo_u16 gfx9
     2  v_pk_add_i16             i16x2 i16x2 i16x2         clamp meaning=v_add_i16 gfx9
     3  v_pk_sub_i16             i16x2 i16x2 i16x2         clamp meaning=v_sub_i16 gfx9
     4  v_pk_lshlrev_b16         b16x2 u16x2 b16x2         meaning=v_lshlrev_b16 gfx9
     5  v_pk_lshrrev_b16         b16x2 u16x2 b16x2         meaning=v_lshrrev_b16 gfx9
     6  v_pk_ashrrev_i16         i16x2 u16x2 i16x2         meaning=v_ashrrev_i16 gfx9
     7  v_pk_max_i16             i16x2 i16x2 i16x2         meaning=v_max_i16 gfx9
     8  v_pk_min_i16             i16x2 i16x2 i16x2         meaning=v_min_i16 gfx9
     9  v_pk_mad_u16             u16x2 u16x2 u16x2 u16x2   clamp meaning=v_mad_u16 gfx9
    10  v_pk_add_u16             u16x2 u16x2 u16x2         clamp meaning=v_add_u16 gfx9
    11  v_pk_sub_u16             u16x2 u16x2 u16x2         clamp meaning=v_sub_u16 gfx9
    12  v_pk_max_u16             u16x2 u16x2 u16x2         meaning=v_max_u16 gfx9
    13  v_pk_min_u16             u16x2 u16x2 u16x2         meaning=v_min_u16 gfx9
    14  v_pk_fma_f16             f16x2 f16x2 f16x2 f16x2   noomod meaning=v_fma_f16 gfx9
    15  v_pk_add_f16             f16x2 f16x2 f16x2         noomod meaning=v_add_f16 gfx9
    16  v_pk_mul_f16             f16x2 f16x2 f16x2         noomod meaning=v_mul_f16 gfx9
    17  v_pk_min_f16             f16x2 f16x2 f16x2         noomod meaning=v_min_mode_f16 gfx9
    18  v_pk_max_f16             f16x2 f16x2 f16x2         noomod meaning=v_max_mode_f16 gfx9
    32  v_mad_mix_f32            f32 f32 f32 f32           noomod meaning=v_mad_f32 gfx9
    33  v_mad_mixlo_f16          b32+ f32 f32 f32          noomod meaning=v_mad_f32 gfx9
    34  v_mad_mixhi_f16          b32+ f32 f32 f32          noomod meaning=v_mad_f32 gfx9
""")  # fmt: skip
"""Two 16-bit operations on the halves of 32-bit registers, and sums whose terms are numbers of 32
or 16 bits, as each says. Their meanings are those of one half."""
