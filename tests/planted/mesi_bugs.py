"""Bugs planted into MESI_Two_Level: first level, second level, directory.

Invariant: as in `tests.planted.viper_bugs`.
"""

from __future__ import annotations

from typing import Final

from tests.planted.bug import (
    ATOMIC,
    HANG,
    LEAK,
    REFUSED,
    UNDEFINED,
    VALUE,
    Bug,
    BugClass,
    Edit,
)

_L1: Final = "MESI_Two_Level-L1cache.sm"
_L2: Final = "MESI_Two_Level-L2cache.sm"
_DIR: Final = "MESI_Two_Level-dir.sm"

_L1_BUGS: Final = (
    Bug(
        "mesi-reader-keeps-the-line",
        BugClass.STALE_L1,
        _L1,
        "An L1 reports that it has evicted a line, and keeps it.",
        (
            Edit("transition({S, E}, Inv, I)", "transition({S, E}, Inv, S)"),
            Edit("ff_freeFrame;", "", "transition({S, E}, Inv, S)"),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "mesi-owner-goes-on-writing",
        BugClass.LOST_WRITE,
        _L1,
        "An L1 that lets another one read its line does not stop to write it.",
        (Edit("transition({E, M}, Fwd_GETS, S)", "transition({E, M}, Fwd_GETS)"),),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "mesi-first-store-stays-clean",
        BugClass.LOST_DIRTY,
        _L1,
        "A store into a line that is here alone does not make it differ from the L2's.",
        (Edit("cache_entry.Dirty := true;", "", "action(hs_storeHit,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mesi-victim-without-data",
        BugClass.LOST_DIRTY,
        _L1,
        "A line that is evicted is sent without its data.",
        (Edit("out_msg.DataBlk := tbe.DataBlk;", "", "action(g_sendPUTX,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mesi-early-answer-is-not-counted",
        BugClass.LOST_COMPLETION,
        _L1,
        "A reader's answer that comes before the line is popped and not counted.",
        (
            Edit(
                "transition({IM, SM}, Ack) {",
                "transition(IM, Ack) {\n    m_popResponse;\n  }\n\n  transition(SM, Ack) {",
            ),
        ),
        HANG,
    ),
    Bug(
        "mesi-writer-does-not-wait-for-readers",
        BugClass.EARLY_COMPLETION,
        _L1,
        "A writer writes when it has the line, and counts answers afterwards.",
        (
            Edit(
                "} else if (cache_entry.pendingAcks + in_msg.AckCount == 0) {\n"
                "            trigger(Event:Data_all_Acks,",
                "} else if (cache_entry.pendingAcks + in_msg.AckCount >= 0) {\n"
                "            trigger(Event:Data_all_Acks,",
            ),
            Edit("transition({IM, SM}, Ack)", "transition({IM, SM, M, S}, Ack)"),
            Edit(
                "  transition(SM, Ack_all, M) {",
                "  transition({M, S}, Ack_all) {\n    q_countAcks;\n    m_popResponse;\n  }\n\n"
                "  transition(SM, Ack_all, M) {",
            ),
        ),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "mesi-lost-upgrade-is-not-noticed",
        BugClass.UNDEFINED_PAIR,
        _L1,
        "An L1 that waits to write forgets that the line was taken from it meanwhile.",
        (Edit("transition(SM, Inv, IM)", "transition(SM, Inv)"),),
        UNDEFINED,
    ),
    Bug(
        "mesi-eviction-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _L1,
        "Requests for a line that was evicted are not looked at again.",
        (Edit("kd_wakeWaiting;", "", "transition({M_I, SINK_WB_ACK}, WB_Ack, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "mesi-giving-up-leaves-a-transaction",
        BugClass.LEAK,
        _L1,
        "The TBE of a line that was invalidated while it was evicted stays.",
        (
            Edit(
                "transition({M_I, SINK_WB_ACK}, WB_Ack, I) {",
                "transition(SINK_WB_ACK, WB_Ack, I) {\n    m_popResponse;\n    kd_wakeWaiting;\n"
                "  }\n\n  transition(M_I, WB_Ack, I) {",
            ),
        ),
        LEAK | HANG | REFUSED | VALUE | ATOMIC,
    ),
    Bug(
        "mesi-reservation-outlives-lost-race",
        BugClass.REPEATED_ATOMIC,
        _L1,
        "A processor that asks to store is not told that another store went first.",
        (Edit("lc_loseCopy;", "", "transition(SM, Inv, IM)"),),
        ATOMIC | VALUE,
    ),
)

_L2_BUGS: Final = (
    Bug(
        "mesi-upgrade-of-a-line-that-is-gone",
        BugClass.UNDEFINED_PAIR,
        _L2,
        "An L1 that lost the line while it asked to write it is sent leave, but no line.",
        (Edit(" && cache_entry.Sharers.isElement(requestor)) {", ") {"),),
        UNDEFINED,
    ),
    Bug(
        "mesi-late-victim-is-taken",
        BugClass.LOST_WRITE,
        _L2,
        "A line is taken from an L1 that had to hand it to another one.",
        (Edit("state == State:MT && cache_entry.Exclusive != requestor", "false"),),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "mesi-readers-survive-a-replacement",
        BugClass.STALE_L1,
        _L2,
        "A line is evicted here and stays in the L1s.",
        (
            Edit("transition(SS, L2_Replacement, S_I)", "transition(SS, L2_Replacement, M_I)"),
            Edit("fs_invalidateSharers;", "c_sendPUTX;", "transition(SS, L2_Replacement, M_I)"),
        ),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "mesi-written-victim-is-dropped",
        BugClass.LOST_DIRTY,
        _L2,
        "A line that memory does not have yet is evicted as if it had.",
        (Edit("out_msg.Dirty := cache_entry.Dirty;", "", "action(c_sendPUTX,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mesi-shared-line-stays-old",
        BugClass.STALE_L2,
        _L2,
        "The line that its last owner shares is not written here if it comes after the unblocking.",
        (Edit("mo_writeReturned;", "", "transition(MT_IB, WB_Data, SS)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mesi-last-owner-is-no-reader",
        BugClass.STALE_L1,
        _L2,
        "The last owner of a line that it shares is not notified when the line is written.",
        (Edit("ns_ownerIsSharer;", "", "transition(MT_IIB, WB_Data, MT_SB)"),),
        VALUE | ATOMIC | UNDEFINED,
    ),
    Bug(
        "mesi-does-not-wait-for-the-line",
        BugClass.UNDEFINED_PAIR,
        _L2,
        "A shared line is unblocked when the reader has it, whether it is here or not.",
        (Edit("transition(MT_IIB, Unblock, MT_IB)", "transition(MT_IIB, Unblock, SS)"),),
        UNDEFINED | VALUE | ATOMIC,
    ),
    Bug(
        "mesi-unblocking-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _L2,
        "Requests that waited for a reader to get the line are not looked at again.",
        (Edit("kd_wakeWaiting;", "", "transition(SS_SB, Unblock, SS)"),),
        HANG | LEAK,
    ),
)

_DIR_BUGS: Final = (
    Bug(
        "mesi-late-victim-is-never-answered",
        BugClass.LOST_COMPLETION,
        _DIR,
        "An L2 that gives up what a DMA write takes back waits for its answer for ever.",
        (Edit("ar_answerLatePUTX;", "", "transition(M_DWR, Returned, ID_W)"),),
        HANG | LEAK,
    ),
    Bug(
        "mesi-dma-write-not-merged",
        BugClass.LOST_WRITE,
        _DIR,
        "A DMA write into a line that an L2 had writes the line back without the DMA bytes.",
        (
            Edit(
                "out_msg.DataBlk.copyPartial(tbe.DataBlk, getOffset(tbe.PhysicalAddress)"
                ", tbe.Len);",
                "",
            ),
        ),
        VALUE,
    ),
    Bug(
        "mesi-dma-writes-the-whole-line",
        BugClass.OUTSIDE_MASK,
        _DIR,
        "A DMA write into memory writes the whole line, mostly zeros.",
        (
            Edit("out_msg.addr := tbe.PhysicalAddress;", "out_msg.addr := address;"),
            Edit("out_msg.Len := tbe.Len;", ""),
        ),
        VALUE | ATOMIC,
    ),
)

MESI_BUGS: Final = (*_L1_BUGS, *_L2_BUGS, *_DIR_BUGS)
