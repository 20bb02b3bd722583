// Memory instructions of every kind without an active lane, then a wait for all, then s[0:1] = 1.
s_mov_b32 m0, -1
s_mov_b64 exec, 0
flat_load_dword v4, v[2:3]
flat_store_dword v[2:3], v4
flat_atomic_add v4, v[2:3], v5 glc
ds_read_b32 v6, v7
ds_write_b32 v7, v6
buffer_load_dword v6, v7, s[4:7], 0 offen
s_waitcnt vmcnt(0) lgkmcnt(0)
s_mov_b64 exec, 1
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, 1
flat_store_dword v[2:3], v4
s_endpgm
// bytes: c100fcbe8001febe000050dc02000004000070dc02040000000009dd02050004
// bytes: 00006cd80700000600001ad807060000001050e00706018070008cbf8101febe
// bytes: 0002047e0102067e8102087e000070dc02040000000081bf
