// Loads through s[0:1], except lane 5, which adds s2 to the address; s3 = 1: an atomic instead.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
s_mov_b64 exec, 32
v_add_u32 v2, vcc, s2, v2
s_mov_b64 exec, -1
s_cmp_eq_u32 s3, 1
s_cbranch_scc1 atomic
flat_load_dword v4, v[2:3]
s_endpgm
atomic:
flat_atomic_add v[2:3], v4
s_endpgm
// bytes: 0002047e0102067ea001febe02040432c101febe038106bf030085bf000050dc
// bytes: 02000004000081bf000008dd02040000000081bf
