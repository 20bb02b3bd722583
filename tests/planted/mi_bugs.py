"""Bugs planted into MI: cache and directory.

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

_CACHE: Final = "MI-cache.sm"
_DIR: Final = "MI-dir.sm"

MI_BUGS: Final = (
    Bug(
        "mi-two-owners",
        BugClass.STALE_L1,
        _CACHE,
        "A cache that hands its line on keeps it.",
        (
            Edit("transition(M, Fwd_GETX, I)", "transition(M, Fwd_GETX)"),
            Edit("j_freeFrame;", "", "transition(M, Fwd_GETX)"),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "mi-hands-on-what-it-has-not",
        BugClass.PARTIAL_LINE,
        _CACHE,
        "A cache that is to forward a line that it still waits for sends its empty frame.",
        (
            Edit(
                "z_waitForward;",
                "d_sendDataFromCache;\n    o_popForward;",
                "transition({IS, IM}, Fwd_GETX)",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "mi-victim-without-data",
        BugClass.LOST_DIRTY,
        _CACHE,
        "An evicted line is offered back without its data.",
        (Edit("out_msg.DataBlk := cache_entry.DataBlk;", "", "action(b_issuePutx,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mi-evicted-line-is-handed-on-empty",
        BugClass.LOST_DIRTY,
        _CACHE,
        "The TBE of an eviction does not keep the line, which it may have to hand on.",
        (Edit("tbe.DataBlk := cache_entry.DataBlk;", "", "action(v_allocateTBE,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "mi-late-refusal-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _CACHE,
        "A request that waits for an eviction is not woken if the refusal comes last.",
        (Edit("k_wakeWaiting;", "", "transition(II, Writeback_Nack, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "mi-late-order-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _CACHE,
        "A request that waits for an eviction is not woken if the order to hand on comes last.",
        (Edit("k_wakeWaiting;", "", "transition(MII, Fwd_GETX, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "mi-does-not-wait-for-the-refusal",
        BugClass.UNDEFINED_PAIR,
        _CACHE,
        "An evicted line that was handed on is forgotten before the refusal of its PUTX has come.",
        (
            Edit("transition(MI, Fwd_GETX, II)", "transition(MI, Fwd_GETX, I)"),
            Edit(
                "e_sendDataFromTBE;",
                "e_sendDataFromTBE;\n    w_freeTBE;",
                "transition(MI, Fwd_GETX, I)",
            ),
            Edit(
                "o_popForward;", "o_popForward;\n    k_wakeWaiting;", "transition(MI, Fwd_GETX, I)"
            ),
        ),
        UNDEFINED,
    ),
    Bug(
        "mi-eviction-leaves-a-transaction",
        BugClass.LEAK,
        _CACHE,
        "An eviction that the directory accepts leaves its TBE.",
        (Edit("w_freeTBE;", "", "transition(MI, Writeback_Ack, I)"),),
        LEAK | HANG | REFUSED,
    ),
    Bug(
        "mi-memory-is-read-too-early",
        BugClass.EARLY_COMPLETION,
        _DIR,
        "A line taken back can be asked for again before memory has it.",
        (
            Edit("transition(M, PUTX, MI)", "transition(M, PUTX, I)"),
            Edit(
                "  transition(MI, Memory_Ack, I) {",
                "  transition({I, M, IM}, Memory_Ack) {\n    l_popMemQueue;\n  }\n\n"
                "  transition(MI, Memory_Ack, I) {",
            ),
        ),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "mi-owner-not-changed",
        BugClass.UNDEFINED_PAIR,
        _DIR,
        "A line promised to another cache is still written down as the old owner's.",
        (Edit("e_ownerIsRequestor;", "", "transition(M, GETX)"),),
        UNDEFINED | HANG | VALUE | ATOMIC,
    ),
    Bug(
        "mi-late-putx-not-expected",
        BugClass.UNDEFINED_PAIR,
        _DIR,
        "A late PUTX is not expected while memory is written.",
        (
            Edit(
                "transition({I, M, IM, MI, ID, ID_W, M_DRD, M_DWR}, PUTX_NotOwner)",
                "transition({I, M, IM, ID, ID_W, M_DRD, M_DWR}, PUTX_NotOwner)",
            ),
        ),
        UNDEFINED,
    ),
    Bug(
        "mi-late-putx-is-taken",
        BugClass.LOST_WRITE,
        _DIR,
        "The line of a late PUTX is written to memory although it was promised to another cache.",
        (
            Edit(
                "b_sendWritebackNack;",
                "b_sendWritebackNack;\n    qw_writeMemoryFromRequest;",
                "transition({I, M, IM, MI, ID, ID_W, M_DRD, M_DWR}, PUTX_NotOwner)",
            ),
            Edit(
                "  transition(MI, Memory_Ack, I) {",
                "  transition({I, M, IM, ID, M_DRD, M_DWR}, Memory_Ack) {\n"
                "    l_popMemQueue;\n  }\n\n"
                "  transition(MI, Memory_Ack, I) {",
            ),
        ),
        VALUE | ATOMIC | HANG | REFUSED,
    ),
    Bug(
        "mi-fill-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _DIR,
        "Requests that waited for memory to be read for a cache are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(IM, Memory_Data, M)"),),
        HANG | LEAK,
    ),
    Bug(
        "mi-dma-write-not-merged",
        BugClass.LOST_WRITE,
        _DIR,
        "A DMA write into a line that a cache had writes the line back without the DMA bytes.",
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
        "mi-dma-writes-the-whole-line",
        BugClass.OUTSIDE_MASK,
        _DIR,
        "A DMA write into memory writes the whole line, mostly zeros.",
        (
            Edit("out_msg.addr := tbe.PhysicalAddress;", "out_msg.addr := address;"),
            Edit("out_msg.Len := tbe.Len;", "out_msg.Len := 0;"),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "mi-dma-long-write-is-cut",
        BugClass.UPPER_BYTES,
        _DIR,
        "A DMA write of more than 16 bytes into a line that a cache had brings only the first.",
        (
            Edit(
                "out_msg.DataBlk.copyPartial(tbe.DataBlk, getOffset(tbe.PhysicalAddress)"
                ", tbe.Len);",
                "out_msg.DataBlk.copyPartial(tbe.DataBlk, getOffset(tbe.PhysicalAddress), 1);\n"
                "        if (tbe.Len <= 16) {\n"
                "          out_msg.DataBlk.copyPartial(tbe.DataBlk, getOffset(tbe.PhysicalAddress)"
                ", tbe.Len);\n"
                "        }",
            ),
        ),
        VALUE,
    ),
    Bug(
        "mi-dma-write-not-acknowledged",
        BugClass.LOST_COMPLETION,
        _DIR,
        "A DMA write is never acknowledged.",
        (Edit("da_sendAckToDMA;", "", "transition(ID_W, Memory_Ack, I)"),),
        HANG,
    ),
    Bug(
        "mi-dma-read-leaves-a-transaction",
        BugClass.LEAK,
        _DIR,
        "The TBE of a DMA read from a cache stays.",
        (Edit("w_freeTBE;", "", "transition(M_DRD, Data, MI)"),),
        LEAK | HANG | REFUSED,
    ),
)
