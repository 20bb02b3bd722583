// Raises an interrupt with message 0x2a.
s_mov_b32 m0, 0x2a
s_nop 0
s_sendmsg sendmsg(MSG_INTERRUPT)
s_waitcnt lgkmcnt(0)
s_endpgm
// bytes: aa00fcbe000080bf010090bf7f008cbf000081bf
