// Counts s2 down to 0 and up in v4, then stores v4 at s[0:1].
v_mov_b32 v4, 0
again:
v_add_u32 v4, vcc, 1, v4
s_sub_u32 s2, s2, 1
s_cmp_lg_u32 s2, 0
s_cbranch_scc1 again
v_mov_b32 v2, s0
v_mov_b32 v3, s1
s_mov_b64 exec, 1
flat_store_dword v[2:3], v4
s_endpgm
// bytes: 8002087e8108083202818280028007bffcff85bf0002047e0102067e8101febe
// bytes: 000070dc02040000000081bf
