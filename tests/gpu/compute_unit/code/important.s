// Waves 4 and up raise their priority. Each then does 40 additions and stores the clock to s[0:1].
v_readfirstlane_b32 s4, v0
s_lshr_b32 s4, s4, 6
s_cmp_lt_u32 s4, 4
s_cbranch_scc1 work
s_setprio 3
work:
.rept 40
v_add_u32 v5, vcc, 1, v5
.endr
s_memtime s[6:7]
s_lshl_b32 s5, s4, 2
v_mov_b32 v1, s5
v_add_u32 v2, vcc, s0, v1
v_mov_b32 v3, s1
s_waitcnt lgkmcnt(0)
v_mov_b32 v4, s6
s_mov_b64 exec, 1
flat_store_dword v[2:3], v4
s_endpgm
// bytes: 0005087e0486048f04840abf010085bf03008fbf810a0a32810a0a32810a0a32
// bytes: 810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32
// bytes: 810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32
// bytes: 810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32
// bytes: 810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32810a0a32
// bytes: 810a0a32810a0a32810a0a32810a0a32810a0a32800190c0000000000482058e
// bytes: 0502027e000204320102067e7f008cbf0602087e8101febe000070dc02040000
// bytes: 000081bf
