// Waits for a word at s[0:1] to become 1, and counts the rounds in s8.
wait:
s_load_dword s4, s[0:1], 0x0
s_add_u32 s8, s8, 1
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s4, 1
s_cbranch_scc0 wait
s_endpgm
// bytes: 000102c000000000088108807f008cbf048106bffaff84bf000081bf
