// Every lane waits for the dword at offset 16 of LDS.
s_mov_b32 m0, -1
v_mov_b32 v1, 16
wait:
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32 vcc, 0, v2
s_cbranch_vccnz wait
s_endpgm
// bytes: c100fcbe9002027e00006cd8010000027f008cbf8004947dfbff87bf000081bf
