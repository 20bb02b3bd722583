// Two scalar loads, the second answered first; the first is used after lgkmcnt(1), which is not
// enough, and after lgkmcnt(0). Both to s[2:3].
s_mov_b32 s8, 7
s_load_dword s8, s[0:1], 0x0
s_load_dword s9, s[0:1], 0x40
s_waitcnt lgkmcnt(1)
v_mov_b32 v5, s8
s_waitcnt lgkmcnt(0)
v_mov_b32 v6, s8
v_mov_b32 v8, s2
v_mov_b32 v9, s3
s_mov_b64 exec, 1
flat_store_dwordx2 v[8:9], v[5:6]
s_endpgm
// bytes: 870088be000202c000000000400202c0400000007f018cbf08020a7e7f008cbf
// bytes: 08020c7e0202107e0302127e8101febe000074dc08050000000081bf
