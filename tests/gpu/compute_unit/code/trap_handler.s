// Stores the number of the trap to where TMA points. Trap 2: reports error 9 of the queue in s[0:1].
// Others: continues behind the trap, with the carry it had.
s_getreg_b32 ttmp3, hwreg(HW_REG_STATUS, 0, 1)
s_bfe_u32 ttmp2, ttmp1, 0x80010
s_mov_b64 ttmp[4:5], tma
s_store_dword ttmp2, ttmp[4:5], 0x0
s_cmp_eq_u32 ttmp2, 2
s_cbranch_scc1 fatal
s_add_u32 ttmp0, ttmp0, 4
s_addc_u32 ttmp1, ttmp1, 0
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 ttmp3, 1
s_rfe_b64 ttmp[0:1]
fatal:
s_load_dwordx2 ttmp[4:5], s[0:1], 0xc0
s_mov_b32 ttmp6, 9
s_mov_b32 ttmp7, 0
s_waitcnt lgkmcnt(0)
s_store_dwordx2 ttmp[6:7], ttmp[4:5], 0x8
s_dcache_wb
s_waitcnt lgkmcnt(0)
s_mov_b32 m0, 1
s_sendmsg sendmsg(MSG_INTERRUPT)
halt:
s_sleep 8
s_branch halt
// bytes: 0200f3b871fff292100008006e01f4beba1c42c000000000728206bf050085bf
// bytes: 70847080718071827f008cbf738106bf701f80be001d06c0c00000008900f6be
// bytes: 8000f7be7f008cbfba1d46c008000000000084c0000000007f008cbf8100fcbe
// bytes: 010090bf08008ebffeff82bf
