// s_trap 1 and 3 do nothing here; then s0 says which: 2, 7, an instruction that does not exist for
// this GPU, or one that is not carried out.
s_trap 1
s_trap 3
s_cmp_eq_u32 s0, 2
s_cbranch_scc1 two
s_cmp_eq_u32 s0, 7
s_cbranch_scc1 seven
s_cmp_eq_u32 s0, 1
s_cbranch_scc1 image
.long 0xcccccccc
two:
s_trap 2
seven:
s_trap 7
image:
image_load v1, v2, s[8:15] dmask:0x1
s_endpgm
// bytes: 010092bf030092bf008206bf050085bf008706bf040085bf008106bf030085bf
// bytes: cccccccc020092bf070092bf000100f002010200000081bf
