// Loads the word at s[0:1] into v6, which M0 makes of v4, and looks at it before the wait.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, 7
s_mov_b32 m0, 2
flat_load_dword v6, v[2:3]
v_movreld_b32 v5, v4
v_movrels_b32 v8, v4
s_waitcnt vmcnt(0)
v_movrels_b32 v9, v4
s_endpgm
// bytes: 0002047e0102067e8702087e8200fcbe000050dc02000006046d0a7e046f107e
// bytes: 700f8cbf046f127e000081bf
