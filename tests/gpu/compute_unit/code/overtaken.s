// A load that misses, then more loads of another line, which hit, than the counter holds: they are
// answered before the first one and return behind it. Three times: at first the code is fetched.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v5, s3
s_movk_i32 s4, 3
again:
v_mov_b32 v4, s2
flat_load_dword v6, v[2:3]
s_waitcnt vmcnt(0)
flat_load_dword v6, v[4:5]
.rept 20
flat_load_dword v7, v[2:3]
.endr
s_waitcnt vmcnt(0)
s_add_u32 s2, s2, 256
s_sub_u32 s4, s4, 1
s_cmp_lg_u32 s4, 0
s_cbranch_scc1 again
s_endpgm
// bytes: 0002047e0102067e03020a7e030004b00202087e000050dc02000006700f8cbf
// bytes: 000050dc04000006000050dc02000007000050dc02000007000050dc02000007
// bytes: 000050dc02000007000050dc02000007000050dc02000007000050dc02000007
// bytes: 000050dc02000007000050dc02000007000050dc02000007000050dc02000007
// bytes: 000050dc02000007000050dc02000007000050dc02000007000050dc02000007
// bytes: 000050dc02000007000050dc02000007000050dc02000007000050dc02000007
// bytes: 000050dc02000007700f8cbf02ff02800001000004818480048007bfccff85bf
// bytes: 000081bf
