// Wave 0 writes LDS, wave 1 reads the same word; s2 = 1: with a barrier in between.
s_mov_b32 m0, -1
v_readfirstlane_b32 s4, v0
v_mov_b32 v1, 16
v_mov_b32 v2, 5
s_cmp_eq_u32 s4, 0
s_cbranch_scc0 second
ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, 1
s_cbranch_scc0 end
s_barrier
s_branch end
second:
s_sleep 20
s_cmp_eq_u32 s2, 1
s_cbranch_scc0 read
s_barrier
read:
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
end:
s_endpgm
// bytes: c100fcbe0005087e9002027e8502047e048006bf070084bf00001ad801020000
// bytes: 7f008cbf028106bf090084bf00008abf070082bf14008ebf028106bf010084bf
// bytes: 00008abf00006cd8010000037f008cbf000081bf
