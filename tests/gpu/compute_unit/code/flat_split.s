// s[0:1] global buffer, s[2:3] result, s[4:5] hidden private base / 256 in s4.
// Lanes 0-15 read and write global memory, 16-31 LDS, 32-47 scratch, 48-63 global memory, all
// through flat addresses of eight bytes.
s_mov_b32 flat_scratch_hi, s4
s_movk_i32 flat_scratch_lo, 0x40
s_mov_b32 m0, -1
v_lshlrev_b32 v1, 3, v0
v_add_u32 v2, vcc, s0, v1
v_mov_b32 v3, s1
s_mov_b64 exec, 0xffff0000
v_mov_b32 v2, v1
v_mov_b32 v3, 0x10000
s_mov_b32 exec_lo, 0
s_mov_b32 exec_hi, 0x0000ffff
v_and_b32 v2, 7, v0
v_lshlrev_b32 v2, 3, v2
v_mov_b32 v3, 0x20000
s_mov_b64 exec, -1
v_mov_b32 v4, v0
v_lshlrev_b32 v5, 8, v0
flat_store_dwordx2 v[2:3], v[4:5]
s_waitcnt vmcnt(0) lgkmcnt(0)
flat_load_dwordx2 v[6:7], v[2:3]
s_waitcnt vmcnt(0) lgkmcnt(0)
v_add_u32 v8, vcc, s2, v1
v_mov_b32 v9, s3
flat_store_dwordx2 v[8:9], v[6:7]
s_endpgm
// bytes: 0400e7be400066b0c100fcbe83000224000204320102067eff01febe0000ffff
// bytes: 0103047eff02067e000001008000febeff00ffbeffff00008700042683040424
// bytes: ff02067e00000200c101febe0003087e88000a24000074dc0204000070008cbf
// bytes: 000054dc0200000670008cbf020210320302127e000074dc08060000000081bf
