// s4 = 0: stores 42 to the data at s[0:1], waits, stores 1 to the flag at s[2:3].
// s4 = 1: waits for the flag, drops what the cache holds, loads the data, stores it behind the flag.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, s2
v_mov_b32 v5, s3
s_mov_b64 exec, 1
s_cmp_eq_u32 s4, 1
s_cbranch_scc1 reader
v_mov_b32 v6, 42
v_mov_b32 v7, 1
flat_store_dword v[2:3], v6
s_waitcnt vmcnt(0)
flat_store_dword v[4:5], v7
s_endpgm
reader:
flat_load_dword v8, v[4:5] glc
s_waitcnt vmcnt(0)
buffer_wbinvl1_vol
v_cmp_eq_u32 vcc, 0, v8
s_cbranch_vccnz reader
flat_load_dword v9, v[2:3]
v_add_u32 v4, vcc, 4, v4
s_waitcnt vmcnt(0)
flat_store_dword v[4:5], v9
s_endpgm
// bytes: 0002047e0102067e0202087e03020a7e8101febe048106bf080085bfaa020c7e
// bytes: 81020e7e000070dc02060000700f8cbf000070dc04070000000081bf000051dc
// bytes: 04000008700f8cbf0000fce0000000008010947df9ff87bf000050dc02000009
// bytes: 84080832700f8cbf000070dc04090000000081bf
