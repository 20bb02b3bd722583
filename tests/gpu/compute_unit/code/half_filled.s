// gfx900
// Halves of registers that nothing has written: filled one by one, and used as a source (v8).
s_load_dword s4, s[0:1], 0x0
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v1, 0
global_load_short_d16_hi v5, v[2:3], off
ds_write_b32 v1, v0
ds_read_u16_d16 v6, v1
s_waitcnt vmcnt(0) lgkmcnt(0)
v_mad_u16 v7, v0, v0, v0
v_mov_b32_sdwa v9, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0
v_mad_mixhi_f16 v10, v0, v0, v0
v_mad_u16 v8, v8, v0, v0
s_endpgm
// bytes: 000102c0000000000002047e0102067e8002027e008094dc02007f0500001ad8
// bytes: 010000000000b4d80100000670008cbf070004d200010204f902127e00150400
// bytes: 0a00a2d300010204080004d208010204000081bf
