// An array in registers, copied and looked up by a lane's number: v_mov and v_cndmask take a source
// as it is, and what they make of an unwritten one is undefined, until a later choice drops it.
  v_and_b32_e32 v1, 1, v0
  v_mov_b32_e32 v2, 5
  v_cmp_eq_u32_e32 vcc, 0, v1
  v_mov_b32_e32 v9, v3
  v_cndmask_b32_e32 v4, v9, v2, vcc
  v_cmp_eq_u32_e64 s[4:5], 1, v1
  v_cndmask_b32_e64 v5, v4, v2, s[4:5]
  v_add_u32_e32 v6, vcc, v5, v5
  v_cndmask_b32_e64 v7, 1, v4, s[4:5]
  v_add_u32_e32 v8, vcc, v7, v7
  s_mov_b64 s[8:9], s[6:7]
  s_mov_b32 s6, 1
  s_mov_b32 s8, s6
  s_add_u32 s10, s8, s8
  v_mov_b32_e32 v10, s9
  v_mov_b32_e32 v10, s8
  v_add_u32_e32 v10, vcc, v10, v10
  v_readlane_b32 s11, v3, 2
  v_readlane_b32 s12, v2, 2
  s_not_b32 s12, s12
  s_mov_b64 vcc, s[8:9]
  s_endpgm
// bytes: 810002268502047e8002947d0303127e090508000400cad081020200050000d1
// bytes: 04051200050b0c32070000d181081200070f1032060188be810086be060088be
// bytes: 08080a800902147e0802147e0a1514320b0089d2030501000c0089d202050100
// bytes: 0c048cbe0801eabe000081bf
