// An array v4 to v7 of which M0 chooses: 20 times (s4 = 0, 1, 2, 0 ...) one element is computed and
// copied to the next one; then v8 = element s4 + element s4 + 1, in two ways. s[2:3]: what is made.
  s_movk_i32 s6, 20
  s_mov_b32 s4, 0
  v_mov_b32_e32 v4, 40
  v_mov_b32_e32 v5, 50
  v_mov_b32_e32 v6, 60
  v_mov_b32_e32 v7, 64
  v_mov_b32_e32 v10, 0
again:
  s_mov_b32 m0, 0x12345678
  s_set_gpr_idx_on s4, gpr_idx(DST)
  v_add_u32_e32 v4, vcc, v0, v6
  s_mov_b32 s5, m0
  s_set_gpr_idx_mode gpr_idx(SRC0,DST)
  v_mov_b32_e32 v5, v4
  s_set_gpr_idx_off
  v_add_u32_e32 v10, vcc, s5, v10
  s_add_u32 s5, s4, 1
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_mov_b32_e32 v8, v4
  v_mov_b32_e32 v9, s4
  s_set_gpr_idx_idx s5
  v_add_u32_e64 v8, vcc, v4, v8
  s_set_gpr_idx_mode gpr_idx(SRC1)
  v_sub_u32_e64 v8, vcc, v8, v3
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 0
  v_add_u32_e32 v10, vcc, v8, v10
  s_cmp_eq_u32 s5, 3
  s_cselect_b32 s4, 0, s5
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 again
  v_mov_b32_e32 v3, s3
  v_lshlrev_b32_e32 v1, 4, v0
  v_add_u32_e32 v2, vcc, s2, v1
  v_mov_b32_e32 v8, v10
  v_mov_b32_e32 v7, v6
  v_mov_b32_e32 v6, v5
  v_mov_b32_e32 v5, v4
  flat_store_dwordx4 v[2:3], v[5:8]
  s_endpgm
// bytes: 140006b0800084bea802087eb2020a7ebc020c7ec0020e7e8002147eff00fcbe
// bytes: 78563412040811bf000d08327c0085be09009dbf04030a7e00009cbf05141432
// bytes: 04810580040111bf0403107e0402127e053280be086a19d10411020002009dbf
// bytes: 086a1ad108070200c10600ba0000000008151432058306bf8005048506818680
// bytes: 068007bfe5ff85bf0302067e84000224020204320a03107e06030e7e05030c7e
// bytes: 04030a7e00007cdc02050000000081bf
