"""Bugs planted into GPU_VIPER: vector cache, instruction cache, shared cache, directory.

Invariant: none of them is an equivalent mutant; each can be seen at a port, in final memory, or as
something left behind, by programs that are free of races.
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

_TCP: Final = "GPU_VIPER-TCP.sm"
_SQC: Final = "GPU_VIPER-SQC.sm"
_TCC: Final = "GPU_VIPER-TCC.sm"
_DIR: Final = "MOESI_AMD_Base-dir.sm"

TCP_BUGS: Final = (
    Bug(
        "tcp-acquire-keeps-the-line",
        BugClass.STALE_L1,
        _TCP,
        "An acquire is answered for a valid line, which stays.",
        (
            Edit("transition(V, Evict, I)", "transition(V, Evict)"),
            Edit("d_freeFrame;", "", "transition(V, Evict)"),
        ),
        VALUE,
    ),
    Bug(
        "tcp-atomic-keeps-the-line",
        BugClass.STALE_L1,
        _TCP,
        "Atomic operations on a valid line pass it by, and it stays as it was.",
        (
            Edit("d_freeFrame;", "", "transition(V, Atomic, A)"),
            Edit("transition(A, TCC_AckAtomic, I)", "transition(A, TCC_AckAtomic, V)"),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcp-fill-survives-acquire",
        BugClass.STALE_L1,
        _TCP,
        "A fill under way when an acquire comes is kept, although it may be older.",
        (
            Edit("transition(IV, Evict, L)", "transition(IV, Evict)"),
            Edit("d_freeFrame;", "", "transition(IV, Evict)"),
            Edit("v_allocateTBE;", "", "transition(IV, Evict)"),
        ),
        VALUE,
        episodes=5000,
    ),
    Bug(
        "sqc-fill-survives-acquire",
        BugClass.STALE_L1,
        _SQC,
        "An instruction fetch under way when an acquire comes is kept and not repeated.",
        (Edit("transition({IV, IX}, Evict, IX)", "transition({IV, IX}, Evict, IV)"),),
        VALUE,
    ),
    Bug(
        "sqc-takes-no-loads",
        BugClass.UNDEFINED_PAIR,
        _SQC,
        "A cache for scalar loads knows nothing but instruction fetches.",
        (Edit("IFETCH || in_msg.Type == RubyRequestType:LD) {", "IFETCH) {"),),
        REFUSED,
    ),
    Bug(
        "tcp-hit-store-not-written",
        BugClass.OWN_STORE,
        _TCP,
        "A store that hits is passed on, but not written into the line that is here.",
        (Edit("m_storeIntoFrame;", "", "transition(V, Store)"),),
        VALUE,
    ),
    Bug(
        "tcp-bypass-store-leaves-old-line",
        BugClass.OWN_STORE,
        _TCP,
        "A store of wide scope goes past a valid line and leaves it as it was.",
        (
            Edit("transition(V, StoreBypass, I)", "transition(V, StoreBypass)"),
            Edit("d_freeFrame;", "", "transition(V, StoreBypass)"),
        ),
        VALUE,
    ),
    Bug(
        "tcp-store-without-mask",
        BugClass.OUTSIDE_MASK,
        _TCP,
        "A store that hits replaces the whole line, not only the bytes of its mask.",
        (
            Edit(
                "cache_entry.DataBlk.copyPartial(in_msg.WTData, in_msg.writeMask);",
                "cache_entry.DataBlk := in_msg.WTData;",
                "action(m_storeIntoFrame,",
            ),
        ),
        VALUE,
    ),
    Bug(
        "tcp-leaves-a-transaction",
        BugClass.LEAK,
        _TCP,
        "A load that an acquire overtook is answered, but its TBE stays.",
        (
            Edit("w_freeTBE;", "", "transition(L, TCC_Ack, I)"),
            Edit("transition(L, TCC_Ack, I)", "transition(L, TCC_Ack)"),
        ),
        LEAK | HANG | REFUSED,
    ),
    Bug(
        "tcp-forgets-a-late-completion",
        BugClass.UNDEFINED_PAIR,
        _TCP,
        "A store's completion is not expected while atomic operations are under way.",
        (
            Edit(
                "transition({I, V, IV, L, A, F}, TCC_AckWB)",
                "transition({I, V, IV, L, F}, TCC_AckWB)",
            ),
        ),
        UNDEFINED,
    ),
)

TCC_BUGS: Final = (
    Bug(
        "tcc-written-through-store-not-here",
        BugClass.STALE_L2,
        _TCC,
        "A store written through leaves the valid line here as it was.",
        (Edit("sw_store;", "", "transition(V, WrVicBlk)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-fill-overwrites-passing-store",
        BugClass.STALE_L2,
        _TCC,
        "A store that passes while the line is under way is not protected from the older fill.",
        (Edit("sm_storeMarked;", "sw_store;", "transition({IV, IVS, IA, IAS}, WrVicBlk)"),),
        VALUE,
    ),
    Bug(
        "tcc-acknowledges-before-the-directory",
        BugClass.EARLY_COMPLETION,
        _TCC,
        "A store written through is complete when it is sent, not when the directory has it.",
        (
            Edit(
                "wt_writeThrough;", "wt_writeThrough;\n    wb_storeHere;", "transition(I, WrVicBlk)"
            ),
            Edit(
                "wt_writeThrough;", "wt_writeThrough;\n    wb_storeHere;", "transition(V, WrVicBlk)"
            ),
            Edit(
                "wt_writeThrough;",
                "wt_writeThrough;\n    wb_storeHere;",
                "transition({IV, IVS, IA, IAS}, WrVicBlk)",
            ),
            Edit("wc_storeComplete;", "", "transition({I, V, IV, IVS, IA, IAS, IB, A, F}, WBAck)"),
        ),
        VALUE,
    ),
    Bug(
        "tcc-store-loses-its-upper-half",
        BugClass.UPPER_BYTES,
        _TCC,
        "Of a store that begins at its line's first byte only the lower half is marked dirty.",
        (
            Edit(
                "cache_entry.writeMask.orMask(in_msg.writeMask);",
                "if (in_msg.writeMask.firstBitSet(true) == 0 && isOneWord(in_msg.writeMask)) {\n"
                "        cache_entry.writeMask.setMask(0, in_msg.writeMask.count() / 2);\n"
                "      } else {\n"
                "        cache_entry.writeMask.orMask(in_msg.writeMask);\n"
                "      }",
                "action(sm_storeMarked,",
            ),
            Edit(
                "  // --- ports: responses,",
                "  bool isOneWord(WriteMask mask) {\n"
                "    return mask.count() > 1 && mask.count() < 9;\n"
                "  }\n\n  // --- ports: responses,",
            ),
        ),
        VALUE,
    ),
    Bug(
        "tcc-serves-dirty-bytes-as-a-line",
        BugClass.PARTIAL_LINE,
        _TCC,
        "A line of which only dirty bytes are here answers reads.",
        (
            Edit("transition(W, RdBlk, IV)", "transition(W, RdBlk)"),
            Edit("i_rememberReader;", "h_sendLine;", "transition(W, RdBlk)"),
            Edit("rd_askForLine;", "", "transition(W, RdBlk)"),
        ),
        VALUE,
    ),
    Bug(
        "tcc-fill-buries-dirty-bytes",
        BugClass.LOST_DIRTY,
        _TCC,
        "The line that comes replaces the dirty bytes that were here first.",
        (
            Edit(
                "line.copyPartial(cache_entry.DataBlk, cache_entry.writeMask);",
                "",
                "action(u_fill,",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-merges-the-wrong-way",
        BugClass.OUTSIDE_MASK,
        _TCC,
        "A fill replaces the dirty bytes and only those: the mask is used the wrong way round.",
        (
            Edit(
                "line.copyPartial(cache_entry.DataBlk, cache_entry.writeMask);",
                "cache_entry.DataBlk.copyPartial(line, cache_entry.writeMask);",
                "action(u_fill,",
            ),
            Edit("cache_entry.DataBlk := line;", "", "action(u_fill,"),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-victim-without-mask",
        BugClass.LOST_DIRTY,
        _TCC,
        "The dirty bytes of a victim are kept, but not which ones they are.",
        (Edit("tbe.writeMask := cache_entry.writeMask;", "", "action(tv_allocateVictimTBE,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-second-store-stays-clean",
        BugClass.LOST_DIRTY,
        _TCC,
        "A store into a line that has dirty bytes does not mark its own.",
        (Edit("sm_storeMarked;", "sw_store;", "transition({M, W}, WrVicBlkBack)"),),
        VALUE,
    ),
    Bug(
        "tcc-probe-takes-nothing",
        BugClass.LOST_DIRTY,
        _TCC,
        "A probe for a DMA write drops the line without its dirty bytes.",
        (Edit("pf_probeFrame;", "pn_probeNothing;", "transition({M, W}, PrbInv, I)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-probed-victim-is-written-again",
        BugClass.LOST_WRITE,
        _TCC,
        "Dirty bytes that a DMA write took from a waiting victim are written back all the same.",
        (Edit("tc_clearTBEMask;", "", "transition(WI, PrbInv)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "tcc-victim-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _TCC,
        "Requests that waited for a line to be written back are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(WI, VicGrant, I)"),),
        HANG | LEAK | VALUE,
    ),
    Bug(
        "tcc-bypass-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _TCC,
        "Requests that waited for a read past this cache are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(IB, Data, I)"),),
        HANG | LEAK | VALUE,
    ),
    Bug(
        "tcc-clean-line-completes-no-store",
        BugClass.LOST_COMPLETION,
        _TCC,
        "A store that makes a clean line dirty is never reported complete.",
        (Edit("wb_storeHere;", "", "transition(V, WrVicBlkBack, M)"),),
        HANG,
    ),
    Bug(
        "tcc-system-store-completes-nothing",
        BugClass.LOST_COMPLETION,
        _TCC,
        "A single store written through by a cache that writes back is never reported complete.",
        (Edit("wc_storeComplete;", "", "transition(T, WBAck, I)"),),
        HANG,
    ),
    Bug(
        "tcc-drops-a-waiting-request",
        BugClass.LOST_COMPLETION,
        _TCC,
        "Fetch-adds that meet a line under way are taken from the queue and forgotten.",
        (
            Edit(
                "z_wait;",
                "p_popRequest;",
                "transition({IV, IVS, IA, IAS, IB, A, F}, Atomic)",
            ),
        ),
        HANG,
    ),
    Bug(
        "tcc-leaves-the-transaction-of-an-atomic",
        BugClass.LEAK,
        _TCC,
        "The TBE of fetch-adds that the directory performed stays.",
        (Edit("w_freeTBE;", "", "transition(A, AtomicDone, I)"),),
        LEAK | HANG | REFUSED,
    ),
    Bug(
        "tcc-atomic-result-not-sent-on",
        BugClass.REPEATED_ATOMIC,
        _TCC,
        "Fetch-adds performed on a clean line do not make it dirty.",
        (
            Edit("transition(V, AtomicBack, M)", "transition(V, AtomicBack)"),
            Edit("am_markAtomic;", "", "transition(V, AtomicBack)"),
        ),
        ATOMIC | VALUE,
    ),
    Bug(
        "tcc-performs-before-it-passes-on",
        BugClass.SKIPPED_ATOMIC,
        _TCC,
        "Fetch-adds of system scope that find a dirty line are performed, then passed on, too.",
        (
            Edit(
                "tbe.writeMask := cache_entry.writeMask;",
                "tbe.writeMask := cache_entry.writeMask;\n"
                "    peek(coreRequestNetwork_in, CPURequestMsg) {\n"
                "      if (in_msg.addr == address && "
                "(in_msg.Type == CoherenceRequestType:AtomicReturn"
                " || in_msg.Type == CoherenceRequestType:AtomicNoReturn)) {\n"
                "        tbe.DataBlk.atomicPartial(cache_entry.DataBlk, in_msg.writeMask, true);\n"
                "        tbe.writeMask.orMask(in_msg.writeMask);\n"
                "      }\n"
                "    }",
                "action(tv_allocateVictimTBE,",
            ),
        ),
        ATOMIC | VALUE,
    ),
)
