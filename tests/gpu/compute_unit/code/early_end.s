// Wave 0 ends at once; the others meet at a barrier twice, and add 1 to the word at s[0:1] each.
v_readfirstlane_b32 s4, v0
s_cmp_eq_u32 s4, 0
s_cbranch_scc1 end
s_barrier
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, 1
s_mov_b64 exec, 1
flat_atomic_add v[2:3], v4
s_waitcnt vmcnt(0)
s_barrier
end:
s_endpgm
// bytes: 0005087e048006bf090085bf00008abf0002047e0102067e8102087e8101febe
// bytes: 000008dd02040000700f8cbf00008abf000081bf
