// Writes v4 while the load into it is under way: the load comes later. v4 to s[2:3].
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v8, s2
v_mov_b32 v9, s3
flat_load_dword v4, v[2:3]
v_mov_b32 v4, 7
s_waitcnt vmcnt(0)
s_mov_b64 exec, 1
flat_store_dword v[8:9], v4
s_endpgm
// bytes: 0002047e0102067e0202107e0302127e000050dc020000048702087e700f8cbf
// bytes: 8101febe000070dc08040000000081bf
