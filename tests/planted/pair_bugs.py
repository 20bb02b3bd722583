"""Bugs planted into cache pairs, and into the directory that they share with a GPU.

Invariant: as in `tests.planted.viper_bugs`.
"""

from __future__ import annotations

from typing import Final

from tests.planted.bug import (
    ATOMIC,
    HANG,
    LEAK,
    REFUSED,
    RESPONSE,
    UNDEFINED,
    VALUE,
    Bug,
    BugClass,
    Edit,
)

_PAIR: Final = "MOESI_AMD_Base-CorePair.sm"
_DIR: Final = "MOESI_AMD_Base-APUdir.sm"

_CORE_PAIR_BUGS: Final = (
    Bug(
        "pair-other-core-keeps-its-copy",
        BugClass.STALE_L1,
        _PAIR,
        "A store of core 0 leaves the copies that the other L1s have.",
        (Edit("k0_keepOnly0;", "", "transition({Es, Ms}, C0_Store_L1hit, M0)"),),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "pair-l1-victim-is-dropped",
        BugClass.OWN_STORE,
        _PAIR,
        "What core 0 has stored is lost when its L1 needs the frame.",
        (Edit("p0_pull0;", "", "transition(M0, L1D0_Repl, Ms)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-victim-is-old",
        BugClass.LOST_DIRTY,
        _PAIR,
        "A line that core 1 has written is evicted with its old bytes.",
        (Edit("p1_pull1;", "", "transition(M1, L2_Repl, MO_I)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-reports-old-bytes",
        BugClass.LOST_DIRTY,
        _PAIR,
        "A probe for a writer is answered with the line as it was before core 0 wrote it.",
        (Edit("p0_pull0;", "", "transition(M0, PrbInv, I)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-keeps-a-probed-line",
        BugClass.STALE_L1,
        _PAIR,
        "A clean line that another pair is to write stays.",
        (
            Edit("transition({S, Es}, PrbInv, I)", "transition({S, Es}, PrbInv, S)"),
            Edit("d2_dropLine;", "", "transition({S, Es}, PrbInv, S)"),
        ),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "pair-goes-on-writing",
        BugClass.LOST_WRITE,
        _PAIR,
        "A line that others read is still written without asking.",
        (Edit("transition(M1, PrbShrData, O)", "transition(M1, PrbShrData, Ms)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-stays-exclusive",
        BugClass.STALE_L1,
        _PAIR,
        "A clean line that others read, too, is still written without asking.",
        (Edit("transition({S, Es}, PrbShrData, S)", "transition({S, Es}, PrbShrData)"),),
        VALUE | ATOMIC,
        episodes=4000,
    ),
    Bug(
        "pair-overtaken-store-keeps-its-line",
        BugClass.LOST_WRITE,
        _PAIR,
        "A pair that waits to write forgets that another one was first.",
        (Edit("transition(S_M0, PrbInv, I_M0)", "transition(S_M0, PrbInv)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-sends-a-victim-that-was-taken",
        BugClass.LOST_WRITE,
        _PAIR,
        "A victim that a probe has taken is written back all the same.",
        (
            Edit("transition(MO_I, PrbInv, I_C)", "transition(MO_I, PrbInv)"),
            Edit("transition(I_C, NB_AckWB, I)", "transition(S, NB_AckWB, I)"),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "pair-victim-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _PAIR,
        "Requests that waited for a victim to leave are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(MO_I, NB_AckWB, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "pair-leaves-a-victim-behind",
        BugClass.LEAK,
        _PAIR,
        "The TBE of a victim that a probe has taken stays.",
        (Edit("w_freeTBE;", "", "transition(I_C, NB_AckWB, I)"),),
        LEAK | HANG | REFUSED | VALUE | ATOMIC,
    ),
    Bug(
        "pair-does-not-unblock",
        BugClass.LOST_COMPLETION,
        _PAIR,
        "A pair that gets a line exclusively to read does not report it.",
        (Edit("uu_unblock;", "", "transition(I_E1S, NB_AckE, Es)"),),
        HANG | LEAK,
    ),
    Bug(
        "pair-answers-the-wrong-core",
        BugClass.LOST_COMPLETION,
        _PAIR,
        "A fetch that waited for the line is always answered to core 0.",
        (Edit("if (cache_entry.Core == 0) {", "if (true) {"),),
        HANG | RESPONSE | REFUSED,
    ),
    Bug(
        "pair-probe-meets-a-reader",
        BugClass.UNDEFINED_PAIR,
        _PAIR,
        "A probe is not expected while an instruction fetch waits for its line.",
        (
            Edit(
                "transition({I, I_E0S, I_E1S, I_S, I_M0, I_M1, I_C}, {PrbInv, PrbShrData})",
                "transition({I, I_E0S, I_E1S, I_M0, I_M1, I_C}, {PrbInv, PrbShrData})",
            ),
        ),
        UNDEFINED,
    ),
    Bug(
        "pair-reservation-outlives-lost-race",
        BugClass.REPEATED_ATOMIC,
        _PAIR,
        "A core that asks to store is not told that another pair's store went first.",
        (
            Edit("lc_loseCopy;", "", "transition(O_M0, PrbInv, I_M0)"),
            Edit("lc_loseCopy;", "", "transition(O_M1, PrbInv, I_M1)"),
            Edit("lc_loseCopy;", "", "transition(S_M0, PrbInv, I_M0)"),
            Edit("lc_loseCopy;", "", "transition(S_M1, PrbInv, I_M1)"),
        ),
        ATOMIC | VALUE,
    ),
)

_DIRECTORY_BUGS: Final = (
    Bug(
        "apu-exclusive-beside-a-copy",
        BugClass.STALE_L1,
        _DIR,
        "A pair gets a line exclusively although another cache keeps a copy.",
        (Edit(" && tbe.Hit == false) {", ") {"),),
        VALUE | ATOMIC,
        episodes=4000,
    ),
    Bug(
        "apu-writer-misses-dirty-bytes",
        BugClass.LOST_DIRTY,
        _DIR,
        "A pair that has a line and is to write it does not learn which bytes the TCC had dirty.",
        (Edit("out_msg.writeMask := tbe.tccMask;", "", "action(sm_sendToWriter,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-line-of-a-pair-covers-dirty-bytes",
        BugClass.STALE_L2,
        _DIR,
        "The line of a pair is put over the bytes of a TCC that came first.",
        (Edit("line.copyPartial(tbe.Probed, tbe.probedMask);", "", "action(pc_collect,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-store-leaves-the-pairs-alone",
        BugClass.STALE_L1,
        _DIR,
        "Bytes that a TCC stores are written while pairs keep their copies of the line.",
        (Edit("pi_probeInv;", "ps_probeShared;", "transition(U, WriteThrough, BP_W)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-victim-leaves-the-pairs-alone",
        BugClass.STALE_L1,
        _DIR,
        "Dirty bytes of a TCC's victim are written while pairs keep their copies of the line.",
        (Edit("pi_probeInv;", "ps_probeShared;", "transition(BL, CPUDataTCC, BP_W)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-written-bytes-go-below",
        BugClass.LOST_WRITE,
        _DIR,
        "Bytes that are written into a line which was collected or found in the L3 are lost.",
        (Edit("bw_writeBytes;", "", "transition(BP_W, Line, U)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-performs-and-forgets",
        BugClass.REPEATED_ATOMIC,
        _DIR,
        "Atomic operations on a line from memory are answered, and their result is thrown away.",
        (Edit("lw_storeLine;", "", "transition(BM_A, MemData, U)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-l3-victim-is-dropped",
        BugClass.LOST_DIRTY,
        _DIR,
        "A line of the L3 that memory does not have makes room without being written.",
        (Edit("if (cache_entry.Dirty) {", "if (false) {", "action(lr_writeBackFrame,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "apu-unblocking-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _DIR,
        "Requests that waited for a pair to get its line are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(BU, CoreUnblock, U)"),),
        HANG | LEAK,
    ),
    Bug(
        "apu-does-not-wait-for-the-pair",
        BugClass.EARLY_COMPLETION,
        _DIR,
        "A line that is sent to a pair to write takes new requests before the pair has it.",
        (
            Edit("transition(BP_M, Line, BU)", "transition(BP_M, Line, U)"),
            Edit(
                "sm_sendToWriter;",
                "sm_sendToWriter;\n    w_freeTBE;\n    k_wakeWaiting;",
                "transition(BP_M, Line, U)",
            ),
            Edit(
                "  transition(BU, CoreUnblock, U) {",
                "  transition({U, BP_S, BP_M, BP_T, BP_W, BP_A, BP_R, BM_S, BM_M, BM_T, BM_W, BM_A,"
                " BM_R, BL, BF}, CoreUnblock) {\n    qu_popUnblock;\n  }\n\n"
                "  transition(BU, CoreUnblock, U) {",
            ),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "apu-old-write-meets-a-reader",
        BugClass.UNDEFINED_PAIR,
        _DIR,
        "Memory's answer to an older write is not expected while a pair is sent the line.",
        (
            Edit(
                "BM_R, BU, BL, BF}, MemAck)",
                "BM_R, BL, BF}, MemAck)",
            ),
        ),
        UNDEFINED,
    ),
)

PAIR_BUGS: Final = (*_CORE_PAIR_BUGS, *_DIRECTORY_BUGS)
