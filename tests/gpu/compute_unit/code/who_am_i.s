// Stores HW_ID, GPR_ALLOC, LDS_ALLOC at 16 bytes for each wave from s[0:1] on.
s_getreg_b32 s4, hwreg(HW_REG_HW_ID)
s_getreg_b32 s5, hwreg(HW_REG_GPR_ALLOC)
s_getreg_b32 s6, hwreg(HW_REG_LDS_ALLOC)
v_lshrrev_b32 v0, 6, v0
v_lshlrev_b32 v0, 4, v0
v_add_u32 v1, vcc, s0, v0
v_mov_b32 v2, s1
v_addc_u32 v2, vcc, 0, v2, vcc
v_mov_b32 v4, s4
v_mov_b32 v5, s5
v_mov_b32 v6, s6
s_mov_b64 exec, 1
flat_store_dwordx3 v[1:2], v[4:6]
s_endpgm
// bytes: 04f884b805f885b806f886b88600002084000024000002320102047e80040438
// bytes: 0402087e05020a7e06020c7e8101febe000078dc01040000000081bf
