// LDS returns in order whatever else counts in lgkmcnt: of two reads behind a FLAT load, a wait for
// one leaves the second only. s[0:1]: a buffer; s2: 1 to use the second read without a wait for it.
  v_mov_b32_e32 v1, s0
  v_mov_b32_e32 v2, s1
  v_mov_b32_e32 v3, 0
  s_mov_b32 m0, -1
  ds_write2_b32 v3, v1, v2 offset1:1
  flat_load_dword v4, v[1:2]
  ds_read_b32 v5, v3
  ds_read_b32 v6, v3 offset:4
  s_waitcnt lgkmcnt(1)
  v_add_u32_e32 v7, vcc, v5, v5
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 early
  s_waitcnt lgkmcnt(0)
early:
  v_add_u32_e32 v7, vcc, v6, v6
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v7, vcc, v4, v4
  s_endpgm
// bytes: 0002027e0102047e8002067ec100fcbe00011cd803010200000050dc01000004
// bytes: 00006cd80300000504006cd8030000067f018cbf050b0e32028007bf010085bf
// bytes: 7f008cbf060d0e32700f8cbf04090e32000081bf
