// M0 chooses v6, into which a load is under way, and v9, which nothing has written.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
flat_load_dword v6, v[2:3]
s_set_gpr_idx_on 2, gpr_idx(SRC0)
v_mov_b32 v8, v4
s_waitcnt vmcnt(0)
v_mov_b32 v8, v4
s_set_gpr_idx_idx 5
v_mov_b32 v8, v4
s_set_gpr_idx_off
v_add_u32 v8, vcc, v8, v8
s_endpgm
// bytes: 0002047e0102067e000050dc02000006820111bf0403107e700f8cbf0403107e
// bytes: 853280be0403107e00009cbf08111032000081bf
