// The clock before and after s_sleep 4, to s[0:1].
s_memtime s[4:5]
s_waitcnt lgkmcnt(0)
s_sleep 4
s_memtime s[6:7]
s_waitcnt lgkmcnt(0)
s_sub_u32 s8, s6, s4
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, s8
s_mov_b64 exec, 1
flat_store_dword v[2:3], v4
s_endpgm
// bytes: 000190c0000000007f008cbf04008ebf800190c0000000007f008cbf06048880
// bytes: 0002047e0102067e0802087e8101febe000070dc02040000000081bf
