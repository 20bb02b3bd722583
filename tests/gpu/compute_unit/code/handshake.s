// Each wave writes its number to LDS, meets the others, and stores its neighbour's to s[0:1].
s_mov_b32 m0, -1
v_readfirstlane_b32 s4, v0
s_lshr_b32 s4, s4, 6
s_lshl_b32 s5, s4, 2
v_mov_b32 v1, s5
v_mov_b32 v2, s4
s_mov_b64 exec, 1
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
s_barrier
v_xor_b32 v3, 4, v1
ds_read_b32 v4, v3
v_add_u32 v6, vcc, s0, v1
v_mov_b32 v7, s1
s_waitcnt lgkmcnt(0)
flat_store_dword v[6:7], v4
s_endpgm
// bytes: c100fcbe0005087e0486048f0482058e0502027e0402047e8101febe00001ad8
// bytes: 010200007f008cbf00008abf8402062a00006cd80300000400020c3201020e7e
// bytes: 7f008cbf000070dc06040000000081bf
