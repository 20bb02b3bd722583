"""Bugs that show only where something is full, busy, whole or larger than usual.

Invariant: as in `tests.planted.viper_bugs`.
"""

from __future__ import annotations

from typing import Final

from tests.planted.bug import (
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

RESOURCE_BUGS: Final = (
    Bug(
        "tcc-data-banks-are-not-checked",
        BugClass.NO_ROOM,
        "GPU_VIPER-TCC.sm",
        "The data array is accessed although its bank is busy.",
        (
            Edit(
                "return L2cache.checkResourceAvailable(CacheResourceType:DataArray, addr);",
                "return true;",
            ),
        ),
        REFUSED,
        episodes=10_000,
    ),
    Bug(
        "dir-dma-takes-a-record-that-is-not-there",
        BugClass.NO_ROOM,
        "MOESI_AMD_Base-dir.sm",
        "A DMA request is begun although all TBEs are in use.",
        (Edit("check_allocate(TBEs);", "", "action(td_allocateDMATBE,"),),
        REFUSED,
        episodes=10_000,
    ),
    Bug(
        "mi-order-is-dropped-without-room",
        BugClass.NO_ROOM,
        "MI-cache.sm",
        "An order of the directory is thrown away while there is no room for its answer.",
        (
            Edit(
                "if (in_msg.Type == ForwardType:FWD) {",
                "if (responseFromCache.areNSlotsAvailable(1, clockEdge()) == false) {\n"
                "          forwardNetwork_in.dequeue(clockEdge());\n"
                "        } else if (in_msg.Type == ForwardType:FWD) {",
                "in_port(forwardNetwork_in,",
            ),
        ),
        HANG | LEAK | REFUSED | UNDEFINED,
        episodes=10_000,
    ),
    Bug(
        "tcc-whole-store-is-not-dirty",
        BugClass.LOST_WRITE,
        "GPU_VIPER-TCC.sm",
        "A store of a whole line over dirty bytes is not marked as dirty.",
        (Edit("sm_storeMarked;", "", "transition(W, WrVicBlkWhole, M)"),),
        VALUE,
        episodes=10_000,
    ),
    Bug(
        "msi-counts-readers-to-eight",
        BugClass.EARLY_COMPLETION,
        "MSI-dir.sm",
        "A writer is sent the number of readers in three bits.",
        (
            Edit(
                "entry.Acks := entry.Sharers.count();",
                "entry.Acks := entry.Sharers.count();\n"
                "      if (entry.Acks > 7) {\n"
                "        entry.Acks := entry.Acks - 8;\n"
                "      }",
            ),
        ),
        VALUE | RESPONSE | UNDEFINED | REFUSED | HANG,
        episodes=10_000,
    ),
)
