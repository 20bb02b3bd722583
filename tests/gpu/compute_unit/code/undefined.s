// Reads v7, s9, SCC and LDS, which were never written, and v8 in lanes where it was not written.
s_mov_b32 m0, -1
v_not_b32 v1, v7
v_not_b32 v2, s9
s_cbranch_scc1 next
next:
v_mov_b32 v4, 8
ds_read_b32 v5, v4
s_mov_b64 exec, 0xff
v_mov_b32 v8, 1
s_mov_b64 exec, 0xfff
s_waitcnt lgkmcnt(0)
v_not_b32 v9, v8
s_endpgm
// bytes: c100fcbe0757027e0956047e000085bf8802087e00006cd804000005ff01febe
// bytes: ff0000008102107eff01febeff0f00007f008cbf0857127e000081bf
