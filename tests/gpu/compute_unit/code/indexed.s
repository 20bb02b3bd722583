// An array v2, v3, v4 of which M0 chooses: v3 is written by its number, v4 never.
  s_mov_b32 m0, 1
  v_mov_b32_e32 v9, 7
  v_movreld_b32_e32 v2, v9
  v_movrels_b32_e32 v5, v2
  v_add_u32_e32 v6, vcc, v5, v5
  v_add_u32_e32 v6, vcc, v3, v3
  s_mov_b32 m0, 2
  v_movrels_b32_e32 v7, v2
  v_add_u32_e32 v8, vcc, v7, v7
  v_add_u32_e32 v8, vcc, v2, v2
  s_endpgm
// bytes: 8100fcbe8702127e096d047e026f0a7e050b0c3203070c328200fcbe026f0e7e
// bytes: 070f103202051032000081bf
