"""Bugs planted into MSI_Snoop: cache and memory.

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

_CACHE: Final = "MSI_Snoop-cache.sm"
_MEMORY: Final = "MSI_Snoop-mem.sm"

SNOOP_BUGS: Final = (
    Bug(
        "snoop-reader-keeps-the-line",
        BugClass.STALE_L1,
        _CACHE,
        "A reader ignores that another cache is to write the line.",
        (
            Edit("transition(S, OtherGetM, I)", "transition(S, OtherGetM)"),
            Edit("ff_freeFrame;", "", "transition(S, OtherGetM)"),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "snoop-owner-goes-on-writing",
        BugClass.LOST_WRITE,
        _CACHE,
        "A cache that hands its line to a reader does not stop to write it.",
        (Edit("transition(M, OtherGetS, S)", "transition(M, OtherGetS)"),),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
    Bug(
        "snoop-evicted-line-goes-to-the-reader-alone",
        BugClass.LOST_COMPLETION,
        _CACHE,
        "An owner that evicts the line sends it to the next reader and not to memory.",
        (
            Edit(
                "db_sendDataToBoth;",
                "dr_sendDataToRequestor;",
                "transition(MI_A, OtherGetS, II_A)",
            ),
        ),
        HANG | LEAK,
    ),
    Bug(
        "snoop-request-ahead-of-the-line-is-ignored",
        BugClass.LOST_COMPLETION,
        _CACHE,
        "An owner that has not got the line yet does not remember who wants it next.",
        (Edit("zr_waitRequest;", "qr_popRequest;", "transition(IM_D, {OtherGetS, OtherGetM})"),),
        HANG | LEAK | REFUSED,
    ),
    Bug(
        "snoop-line-for-a-writer-is-not-kept",
        BugClass.PARTIAL_LINE,
        _CACHE,
        "A cache that gets the line to write it stores into what its frame had before.",
        (
            Edit(
                "transition(IM_D, Data, M) {\n    wd_writeData;",
                "transition(IM_D, Data, M) {",
            ),
        ),
        VALUE | ATOMIC | REFUSED,
    ),
    Bug(
        "snoop-eviction-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _CACHE,
        "Requests that waited for an eviction are not looked at again.",
        (Edit("kw_wakeWaiting;", "", "transition(MI_A, OwnPutM, I)"),),
        HANG | LEAK,
    ),
    Bug(
        "snoop-late-eviction-sends-the-line",
        BugClass.UNDEFINED_PAIR,
        _CACHE,
        "A cache sends what it evicted to memory although another one owns the line.",
        (
            Edit(
                "    ff_freeFrame;",
                "    dm_sendDataToMemory;\n    ff_freeFrame;",
                "transition(II_A, OwnPutM, I)",
            ),
        ),
        UNDEFINED | VALUE | ATOMIC | HANG,
    ),
    Bug(
        "snoop-late-eviction-is-believed",
        BugClass.LOST_COMPLETION,
        _MEMORY,
        "Memory takes an eviction for the owner's although another cache owns the line.",
        (
            Edit(
                "entry.MemState == State:M && entry.Owner == in_msg.Requestor",
                "entry.MemState == State:M",
            ),
        ),
        HANG | LEAK | REFUSED | VALUE | ATOMIC,
    ),
    Bug(
        "snoop-memory-is-not-written",
        BugClass.LOST_DIRTY,
        _MEMORY,
        "What a cache gives back is not what memory is given.",
        (Edit("out_msg.DataBlk := in_msg.DataBlk;", "", "action(mw_writeMemory,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "snoop-memory-forgets-the-owner",
        BugClass.STALE_L2,
        _MEMORY,
        "Memory answers a second writer although the first one owns the line.",
        (
            Edit(
                "transition(M, GetM) {\n    so_setOwner;",
                "transition(M, GetM) {\n    so_setOwner;\n    mr_readMemory;",
            ),
        ),
        VALUE | ATOMIC | REFUSED | HANG,
    ),
)
