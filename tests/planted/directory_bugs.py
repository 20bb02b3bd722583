"""Bugs planted into the directory of GPU_VIPER, with its memory-side cache.

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

_DIR: Final = "MOESI_AMD_Base-dir.sm"

DIRECTORY_BUGS: Final = (
    Bug(
        "dir-long-runs-are-cut",
        BugClass.UPPER_BYTES,
        _DIR,
        "Of a run of more than four bytes only the first four are written to memory.",
        (
            Edit(
                "out_msg.Len := in_msg.writeMask.count();",
                "out_msg.Len := in_msg.writeMask.count();\n"
                "        if (in_msg.writeMask.count() > 4) {\n"
                "          out_msg.Len := 4;\n"
                "        }",
            ),
        ),
        VALUE,
    ),
    Bug(
        "dir-writes-past-the-gap",
        BugClass.OUTSIDE_MASK,
        _DIR,
        "Stored bytes with gaps between them are written as if there were none.",
        (
            Edit(
                "return mask.getMask(mask.firstBitSet(true), mask.count());",
                "return mask.isEmpty() == false;",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-victim-read-before-it-is-merged",
        BugClass.LOST_DIRTY,
        _DIR,
        "A victim's dirty bytes are not put into the line that memory delivers.",
        (
            Edit("mm_mergeBytes;", "mk_keepMemory;", "transition(BM_W, MemData, U)"),
            Edit(
                "  action(mx_performAtomic,",
                '  action(mk_keepMemory, "mk", desc="Put only stored bytes into the line") {\n'
                "    peek(memQueue_in, MemoryMsg) {\n"
                "      DataBlock line := in_msg.DataBlk;\n"
                "      if (tbe.Type != CoherenceRequestType:VicDirty) {\n"
                "        line.copyPartial(tbe.DataBlk, tbe.writeMask);\n"
                "      }\n"
                "      tbe.DataBlk := line;\n"
                "    }\n"
                "  }\n\n"
                "  action(mx_performAtomic,",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-partial-victim-fills-the-l3",
        BugClass.PARTIAL_LINE,
        _DIR,
        "A victim with some dirty bytes becomes a line of the L3 without the other bytes.",
        (
            Edit(
                "} else if (in_msg.writeMask.isFull() == false) {\n"
                "          trigger(Event:CPUData,",
                "} else if (false) {\n          trigger(Event:CPUData,",
            ),
        ),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-l3-victim-is-dropped",
        BugClass.LOST_DIRTY,
        _DIR,
        "A line of the L3 that memory does not have yet makes room without being written.",
        (Edit("mv_writeMemoryFromL3;", "", "transition({U, BL, BP_R, BP_W, BF}, L3_Repl)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-l3-merge-stays-clean",
        BugClass.LOST_WRITE,
        _DIR,
        "Stored bytes put into the L3's line do not make it differ from memory.",
        (Edit("cache_entry.Dirty := true;", "", "action(l_writeL3FromRequest,"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-merged-store-is-forgotten",
        BugClass.LOST_WRITE,
        _DIR,
        "Stored bytes with gaps are acknowledged, but the line they are put into is thrown away.",
        (Edit("ms_storeLine;", "", "transition(BM_W, MemData, U)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-delayed-store-loses-its-number",
        BugClass.LOST_COMPLETION,
        _DIR,
        "A store that has to wait for memory is acknowledged without its instruction's number.",
        (Edit("tbe.instSeqNum := in_msg.instSeqNum;", "", "action(t_allocateTBE,"),),
        HANG | RESPONSE | REFUSED,
    ),
    Bug(
        "dir-merge-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _DIR,
        "Requests that waited for bytes to be put into a line are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(BM_W, MemData, U)"),),
        HANG | LEAK,
    ),
    Bug(
        "dir-empty-victim-wakes-nothing",
        BugClass.LOST_WAKE_UP,
        _DIR,
        "Requests that waited for a victim which the L3 takes are not looked at again.",
        (Edit("k_wakeWaiting;", "", "transition(BL, CPUDataL3, U)"),),
        HANG | LEAK,
    ),
    Bug(
        "dir-forgets-a-fill-during-a-probe",
        BugClass.UNDEFINED_PAIR,
        _DIR,
        "Memory's answer to a TCC is not expected while the TCC is probed for a DMA write.",
        (
            Edit(
                "transition({U, BM_W, BP_R, BP_W, BD_R, BD_W}, FillData)",
                "transition({U, BM_W, BP_R, BD_R, BD_W}, FillData)",
            ),
        ),
        UNDEFINED,
    ),
    Bug(
        "dir-performs-and-forgets",
        BugClass.REPEATED_ATOMIC,
        _DIR,
        "Atomic operations on a line from memory are answered, but their result is thrown away.",
        (Edit("ms_storeLine;", "", "transition(BM_A, MemData, U)"),),
        ATOMIC | VALUE,
    ),
    Bug(
        "dir-performs-twice-in-the-l3",
        BugClass.SKIPPED_ATOMIC,
        _DIR,
        "Atomic operations that ask for no old values are performed twice on a line of the L3.",
        (
            Edit(
                "    cache_entry.DataBlk.clearAtomicLogEntries();",
                "    peek(requestNetwork_in, CPURequestMsg) {\n"
                "      if (in_msg.Type == CoherenceRequestType:AtomicNoReturn) {\n"
                "        cache_entry.DataBlk.atomicPartial("
                "cache_entry.DataBlk, in_msg.writeMask, true);\n"
                "      }\n"
                "    }\n"
                "    cache_entry.DataBlk.clearAtomicLogEntries();",
                "action(x_performAtomicL3,",
            ),
        ),
        ATOMIC | VALUE,
    ),
    Bug(
        "dir-dma-reads-past-dirty-bytes",
        BugClass.STALE_L2,
        _DIR,
        "A DMA engine that reads a dirty line is sent what memory has.",
        (Edit("tp_overlayProbe;", "", "transition(BP_R, PrbResp, BD_R)"),),
        VALUE | ATOMIC,
    ),
    Bug(
        "dir-dma-bytes-below-dirty-ones",
        BugClass.LOST_WRITE,
        _DIR,
        "Dirty bytes that a probe brings are laid over those of the DMA write, not under them.",
        (
            Edit(
                "merged.copyPartial(tbe.DataBlk, tbe.writeMask);",
                "merged := tbe.DataBlk;\n"
                "      merged.copyPartial(in_msg.DataBlk, in_msg.writeMask);",
            ),
        ),
        VALUE,
    ),
    Bug(
        "dir-dma-write-not-acknowledged",
        BugClass.LOST_COMPLETION,
        _DIR,
        "A DMA write into a line of the L3 is never acknowledged.",
        (Edit("da_ackDMA;", "", "transition(BP_W, PrbRespL3, U)"),),
        HANG,
    ),
)
