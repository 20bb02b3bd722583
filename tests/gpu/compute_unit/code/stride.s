// Loads a dword a lane, s2 bytes apart, from s[0:1] on.
v_mul_u32_u24 v1, v0, s2
v_add_u32 v2, vcc, s0, v1
v_mov_b32 v3, s1
flat_load_dword v4, v[2:3]
s_waitcnt vmcnt(0)
s_endpgm
// bytes: 010008d100050000000204320102067e000050dc02000004700f8cbf000081bf
