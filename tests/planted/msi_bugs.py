"""Bugs planted into MSI: cache and directory.

Invariant: as in `tests.planted.viper_bugs`.
"""

from __future__ import annotations

from typing import Final

from tester.execution.events import Verdict
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

_CACHE: Final = "MSI-cache.sm"
_DIR: Final = "MSI-dir.sm"

MSI_BUGS: Final = (
    Bug(
        "msi-reader-keeps-the-line",
        BugClass.STALE_L1,
        _CACHE,
        "A reader says that it has forgotten the line, and keeps it.",
        (
            Edit("transition(S, Inv, I)", "transition(S, Inv)"),
            Edit("ff_freeFrame;", "", "transition(S, Inv)"),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "msi-owner-goes-on-writing",
        BugClass.LOST_WRITE,
        _CACHE,
        "A cache that hands its line to a reader does not stop to write it.",
        (Edit("transition(M, FwdGetS, S)", "transition(M, FwdGetS)"),),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "msi-line-of-the-owner-is-not-kept",
        BugClass.PARTIAL_LINE,
        _CACHE,
        "A reader that gets the line from another cache answers from its empty frame.",
        (
            Edit(
                "transition(IS_D, {DataDirNoAcks, DataOwner}, S) {",
                "transition(IS_D, DataOwner, S) {\n    ld_loadDone;\n    qr_popResponse;\n"
                "    kw_wakeWaiting;\n  }\n\n  transition(IS_D, DataDirNoAcks, S) {",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "msi-upgrade-is-not-refreshed",
        BugClass.STALE_L1,
        _CACHE,
        "A reader that asks to write and is overtaken by another writer keeps what it had.",
        (
            Edit(
                "    wd_writeData;\n    sd_storeDone;",
                "    sd_storeDone;",
                "transition(IM_AD, DataOwner, M)",
            ),
        ),
        VALUE | ATOMIC | {Verdict.EARLY_WRITE},  # a zero may be a byte's next version, too
    ),
    Bug(
        "msi-overtaken-upgrade-acknowledges-nothing",
        BugClass.LOST_COMPLETION,
        _CACHE,
        "A reader that asks to write forgets the line for another writer without reporting it.",
        (Edit("ia_sendInvAck;", "", "transition(SM_AD, Inv, IM_AD)"),),
        HANG,
    ),
    Bug(
        "msi-eviction-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _CACHE,
        "Requests that waited for an eviction are not looked at again.",
        (Edit("kw_wakeWaiting;", "", "transition({MI_A, SI_A, II_A}, PutAck, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "msi-last-acknowledgement-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _CACHE,
        "Orders that waited for the last InvAck are not looked at again.",
        (Edit("kw_wakeWaiting;", "", "transition({IM_A, SM_A}, LastInvAck, M)"),),
        HANG | LEAK,
    ),
    Bug(
        "msi-order-meets-an-eviction",
        BugClass.UNDEFINED_PAIR,
        _CACHE,
        "A line that is just being evicted is not expected to be invalidated.",
        (Edit("transition(SI_A, Inv, II_A) {", "transition(SI_A, InvAck, II_A) {"),),
        UNDEFINED,
    ),
    Bug(
        "msi-writer-does-not-wait-for-readers",
        BugClass.EARLY_COMPLETION,
        _CACHE,
        "A writer writes when the line has come, and counts InvAcks afterwards.",
        (
            Edit(
                "cache_entry.AcksOutstanding + in_msg.Acks == 0",
                "cache_entry.AcksOutstanding + in_msg.Acks >= 0",
            ),
            Edit(
                "transition({IM_AD, IM_A, SM_AD, SM_A}, InvAck)",
                "transition({M, IM_AD, IM_A, SM_AD, SM_A}, {InvAck, LastInvAck})",
            ),
            Edit("transition({IM_A, SM_A}, LastInvAck, M)", "transition(S, LastInvAck, M)"),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "msi-reader-is-not-written-down",
        BugClass.STALE_L1,
        _DIR,
        "A reader that gets the line from another cache is not notified when it is written.",
        (Edit("as_addSharer;", "", "transition(M, GetS, S_D)"),),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "msi-line-asked-back-is-lost",
        BugClass.LOST_DIRTY,
        _DIR,
        "What the last writer sends back is not what memory is given.",
        (Edit("out_msg.DataBlk := in_msg.DataBlk;", "", "action(md_writeMemoryFromData,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "msi-late-eviction-is-written",
        BugClass.LOST_WRITE,
        _DIR,
        "What comes with an eviction is written to memory although the line is another's.",
        (
            Edit(
                "    pa_sendPutAck;",
                "    pa_sendPutAck;\n    mp_writeMemoryFromPut;",
                "transition({I, S, M, S_D, S_m, M_m, MI_m, SS_m}, PutMNonOwner)",
            ),
            Edit(
                "  transition(MI_m, MemAck, I) {",
                "  transition({I, S, M, S_D, S_m, M_m}, MemAck) {\n    qm_popMemQueue;\n  }\n\n"
                "  transition(MI_m, MemAck, I) {",
            ),
        ),
        VALUE | ATOMIC | HANG | REFUSED,
    ),
    Bug(
        "msi-late-eviction-not-expected",
        BugClass.UNDEFINED_PAIR,
        _DIR,
        "A line that is recalled is not expected to be evicted meanwhile.",
        (
            Edit(
                "transition({I, S, M, S_D, S_m, M_m, MI_m, SS_m}, PutMNonOwner)",
                "transition({I, S, M, S_m, M_m, MI_m, SS_m}, PutMNonOwner)",
            ),
        ),
        UNDEFINED,
    ),
    Bug(
        "msi-reservation-outlives-lost-race",
        BugClass.REPEATED_ATOMIC,
        _CACHE,
        "A processor that asks to store is not told that another store went first.",
        (Edit("lc_loseCopy;", "", "transition(SM_AD, Inv, IM_AD)"),),
        ATOMIC | VALUE,
    ),
    Bug(
        "msi-replaced-copy-is-not-reported",
        BugClass.STALE_L1,
        _CACHE,
        "A processor is not told that a line that it may have read ahead is replaced.",
        (Edit("lc_loseCopy;", "", "transition(S, Replacement, SI_A)"),),
        VALUE,
    ),
)
