// Each wave adds 3 to the word at s[0:1] with a loop of compare-and-swap that begins with a plain load,
// a scalar one unless s5 = 0. s4 says what else is done with what was loaded; s[2:3]: a place of its own.
// 0: nothing, 1: stored, 2: branched on, 3: compared with another number, 4: swapped elsewhere,
// 5: stored after a swap that may have failed, 6: nothing, and no swap, 7: an address.
v_mov_b32 v2, s0
v_mov_b32 v3, s1
v_mov_b32 v4, s2
v_mov_b32 v5, s3
s_mov_b64 exec, 1
s_cmp_eq_u32 s5, 0
s_cbranch_scc1 vector
s_load_dword s6, s[0:1], 0x0
s_waitcnt lgkmcnt(0)
v_mov_b32 v7, s6
s_branch loaded
vector:
flat_load_dword v7, v[2:3]
s_waitcnt vmcnt(0)
loaded:
s_cmp_eq_u32 s4, 1
s_cbranch_scc1 stored
s_cmp_eq_u32 s4, 2
s_cbranch_scc1 branched
s_cmp_eq_u32 s4, 3
s_cbranch_scc1 another
s_cmp_eq_u32 s4, 4
s_cbranch_scc1 elsewhere
s_cmp_eq_u32 s4, 5
s_cbranch_scc1 after
s_cmp_eq_u32 s4, 6
s_cbranch_scc1 none
s_cmp_eq_u32 s4, 7
s_cbranch_scc1 address
again:
v_add_u32 v6, vcc, 3, v7
flat_atomic_cmpswap v6, v[2:3], v[6:7] glc
s_waitcnt vmcnt(0)
v_cmp_eq_u32 vcc, v6, v7
s_or_b64 s[8:9], vcc, s[8:9]
v_mov_b32 v7, v6
s_andn2_b64 exec, exec, s[8:9]
s_cbranch_execnz again
s_endpgm
stored:
flat_store_dword v[4:5], v7
s_branch again
branched:
v_cmp_eq_u32 vcc, 0, v7
s_cbranch_vccz again
s_branch again
another:
v_add_u32 v6, vcc, 3, v7
v_mov_b32 v7, 77
flat_atomic_cmpswap v6, v[2:3], v[6:7] glc
s_waitcnt vmcnt(0)
s_endpgm
elsewhere:
v_add_u32 v6, vcc, 3, v7
flat_atomic_cmpswap v6, v[4:5], v[6:7] glc
s_waitcnt vmcnt(0)
flat_atomic_add v[2:3], v6
s_endpgm
after:
v_add_u32 v6, vcc, 3, v7
flat_atomic_cmpswap v6, v[2:3], v[6:7] glc
s_waitcnt vmcnt(0)
flat_store_dword v[4:5], v7
s_endpgm
none:
v_mov_b32 v7, 3
flat_atomic_add v[2:3], v7
s_endpgm
address:
v_and_b32 v8, 4, v7
v_add_u32 v8, vcc, v4, v8
v_mov_b32 v9, v5
flat_load_dword v10, v[8:9]
s_branch again
// bytes: 0002047e0102067e0202087e03020a7e8101febe058006bf050085bf800102c0
// bytes: 000000007f008cbf06020e7e030082bf000050dc02000007700f8cbf048106bf
// bytes: 160085bf048206bf170085bf048306bf180085bf048406bf1d0085bf048506bf
// bytes: 220085bf048606bf270085bf048706bf290085bf830e0c32000005dd02060006
// bytes: 700f8cbf060f947d6a08888706030e7e7e08fe89f7ff89bf000081bf000070dc
// bytes: 04070000f3ff82bf800e947df1ff86bff0ff82bf830e0c32ff020e7e4d000000
// bytes: 000005dd02060006700f8cbf000081bf830e0c32000005dd04060006700f8cbf
// bytes: 000008dd02060000000081bf830e0c32000005dd02060006700f8cbf000070dc
// bytes: 04070000000081bf83020e7e000008dd02070000000081bf840e102604111032
// bytes: 0503127e000050dc0800000ad1ff82bf
