// What compilers read undefined on purpose: a mask that EXEC cuts, a register that a callee saves.
// s[4:7]: a V# for scratch. Then a real mistake: the mask itself.
s_andn2_b64 s[8:9], s[8:9], exec
s_or_b64 s[8:9], s[8:9], exec
buffer_store_dword v9, off, s[4:7], 0
s_waitcnt vmcnt(0)
s_not_b64 s[12:13], s[10:11]
s_endpgm
// bytes: 087e8889087e8887000070e000090180700f8cbf0a058cbe000081bf
