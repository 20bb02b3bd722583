// Loads the word at s[0:1] over 7 in v4, and looks at it before and after the wait; both to s[2:3].
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v8, s2
v_mov_b32 v9, s3
v_mov_b32 v4, 7
flat_load_dword v4, v[2:3]
v_mov_b32 v5, v4
s_waitcnt vmcnt(0)
v_mov_b32 v6, v4
s_mov_b64 exec, 1
flat_store_dwordx2 v[8:9], v[5:6]
s_endpgm
// bytes: 0002047e0102067e0202107e0302127e8702087e000050dc0200000404030a7e
// bytes: 700f8cbf04030c7e8101febe000074dc08050000000081bf
