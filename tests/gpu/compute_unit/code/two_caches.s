// The word at s[0:1] through both caches, around a store of 7. Stores at s[2:3] what was loaded:
// by the scalar cache behind buffer_wbinvl1_vol, by the vector cache, by the scalar cache behind
// s_dcache_inv.
s_load_dword s5, s[0:1], 0x0
v_mov_b32 v1, s0
v_mov_b32 v2, s1
v_mov_b32 v3, 7
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
flat_store_dword v[1:2], v3
s_waitcnt vmcnt(0) lgkmcnt(0)
buffer_wbinvl1_vol
s_waitcnt vmcnt(0)
s_load_dword s6, s[0:1], 0x0
flat_load_dword v5, v[1:2]
s_waitcnt vmcnt(0) lgkmcnt(0)
s_dcache_inv
s_waitcnt lgkmcnt(0)
s_load_dword s7, s[0:1], 0x0
s_waitcnt lgkmcnt(0)
v_mov_b32 v1, s2
v_mov_b32 v2, s3
v_mov_b32 v4, s6
v_mov_b32 v6, s7
flat_store_dwordx3 v[1:2], v[4:6]
s_endpgm
// bytes: 400102c0000000000002027e0102047e8702067e8101febe7f008cbf000070dc
// bytes: 0103000070008cbf0000fce000000000700f8cbf800102c000000000000050dc
// bytes: 0100000570008cbf000080c0000000007f008cbfc00102c0000000007f008cbf
// bytes: 0202027e0302047e0602087e07020c7e000078dc01040000000081bf
