// Two loads, from s[0:1] and 64 bytes behind; after vmcnt(1) the first is there. v4 v5 to s[2:3].
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_add_u32 v6, vcc, 64, v2
v_mov_b32 v7, s1
v_mov_b32 v8, s2
v_mov_b32 v9, s3
flat_load_dword v4, v[2:3]
flat_load_dword v10, v[6:7]
s_waitcnt vmcnt(1)
v_mov_b32 v5, v4
s_mov_b64 exec, 1
flat_store_dwordx2 v[8:9], v[4:5]
s_endpgm
// bytes: 0002047e0102067ec0040c3201020e7e0202107e0302127e000050dc02000004
// bytes: 000050dc0600000a710f8cbf04030a7e8101febe000074dc08040000000081bf
