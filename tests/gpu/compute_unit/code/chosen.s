// An array in registers, looked up by a lane's number: v_cndmask takes one of its sources, and what
// it makes of an unwritten one is as undefined as that, until a later choice drops it.
  v_and_b32_e32 v1, 1, v0
  v_mov_b32_e32 v2, 5
  v_cmp_eq_u32_e32 vcc, 0, v1
  v_cndmask_b32_e32 v4, v3, v2, vcc
  v_cmp_eq_u32_e64 s[4:5], 1, v1
  v_cndmask_b32_e64 v5, v4, v2, s[4:5]
  v_add_u32_e32 v6, vcc, v5, v5
  v_cndmask_b32_e64 v7, 1, v4, s[4:5]
  v_add_u32_e32 v8, vcc, v7, v7
  s_endpgm
// bytes: 810002268502047e8002947d030508000400cad081020200050000d104051200
// bytes: 050b0c32070000d181081200070f1032000081bf
