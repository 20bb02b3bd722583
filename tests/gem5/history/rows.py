"""The faults: commits of gem5 that mend one, what it was, and what it takes to see it.

Chosen from the log by reading the changes: races, missing transitions, deadlocks, wrong or lost
data, wrong responses, leaks. Not chosen: style, statistics, functional accesses, what does not
compile, performance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """One fault. ``commit`` mends it, its parent has it; ``protocol`` is the name of the driver.

    ``undetectable``: why no stream of requests can show it.
    """

    commit: str
    protocol: str
    fault: str
    takes: str
    undetectable: str = ""


CHI: Final = (
    Row(
        "628be390a0",
        "CHI",
        "a shared read of a dirty line leaves it dirty here and above; the level below drops it",
        "exclusive third level",
    ),
    Row(
        "b652ab8558", "CHI", "a prefetch made inside the cache has no transaction id", "prefetcher"
    ),
    Row(
        "0f8c60bce5",
        "CHI",
        "no transition for a prefetch of a line that is only above, clean and shared",
        "prefetcher",
    ),
    Row(
        "c5d54d4571",
        "CHI",
        "the requester is named twice as receiver of a completion",
        "any eviction",
        "receivers are a set: naming one twice changes nothing",
    ),
    Row(
        "aec1d081c8",
        "CHI",
        "the grant of a stale write-back has no transaction id",
        "stale write-back",
        "caches find the transaction of such an answer by its line and never read the id",
    ),
    Row(
        "320454b75f",
        "CHI",
        "a completion has no transaction id",
        "eviction of a clean line",
        "caches find the transaction of such an answer by its line and never read the id",
    ),
    Row(
        "a5fd6edea1",
        "CHI",
        "a snoop is answered with invalid although caches above have the line",
        "exclusive third level, snoop",
    ),
    Row(
        "49f5ec16d1",
        "CHI",
        "an upgrade meets direct transfer and stops with an assertion",
        "direct transfer below the home node",
    ),
    Row(
        "c9ff54677f",
        "CHI",
        "an eviction from above completes before the own one: a snoop in between finds nothing",
        "exclusive third level, crossing snoop",
    ),
    Row(
        "027b508a38",
        "CHI",
        "memory's controller has no transition for a whole write to a busy line",
        "line that is being read",
    ),
    Row("c6a460eff4", "CHI", "a full queue to memory blocks what frees it", "small queues"),
    Row(
        "e8ff8817e3",
        "CHI",
        "a stale write-back ends with an eviction of a line that is already gone",
        "stale write-back",
    ),
    Row(
        "eaf23bcd9f",
        "CHI",
        "after a stale clean write the requester is no longer counted as a sharer",
        "write and clean crossing a snoop",
    ),
    Row(
        "073dc853f4",
        "CHI",
        "a clean write of a shared dirty line is taken for a stale one",
        "shared dirty line evicted below its sharers",
    ),
    Row(
        "e4274cabd9",
        "CHI",
        "the last sharer's eviction needs data that an exclusive cache does not have",
        "exclusive third level",
    ),
    Row(
        "612f242359",
        "CHI",
        "a snoop clears the bytes of a partial write that is being forwarded",
        "stores of devices, exclusive third level",
    ),
    Row("1dfd319d98", "CHI", "a partial write makes valid bytes invalid", "stores of devices"),
    Row(
        "d1d6b4cb9e",
        "CHI",
        "dirty data that an upgrade brought here is dropped",
        "exclusive level, shared dirty line",
    ),
    Row(
        "183e8e2b61",
        "CHI",
        "the directory is updated for the wrong request after a clean write",
        "write and clean",
    ),
    Row(
        "ff5aafa1e9",
        "CHI",
        "a shared read gets the line as unique although others share it",
        "exclusive cache, three readers",
    ),
    Row(
        "8b648ac856",
        "CHI",
        "no transition for the answer of a snoop that a device's read caused",
        "loads of devices",
    ),
    Row(
        "eb0b4ba657",
        "CHI",
        "a partial write writes here while caches above have the line as unique",
        "stores of devices",
    ),
    Row(
        "b354e1a252",
        "CHI",
        "a stale upgrade frees the copy of the level that answers it",
        "upgrade crossing a store",
    ),
    Row(
        "8a7fcd340f",
        "CHI",
        "no transition for stale requests in one shared dirty state",
        "shared dirty line",
    ),
    Row(
        "6f1f386511",
        "CHI",
        "one allocation policy for atomic operations does what another one should",
        "far atomics by policy",
    ),
    Row(
        "00748c7901",
        "CHI",
        "the type of a request is asked of a transaction that may not exist",
        "atomic stores",
    ),
    Row(
        "99d067978f",
        "CHI",
        "an answer to a snoop that forwarded its line is not expected",
        "direct transfer",
    ),
)

GPU: Final = (
    Row(
        "f37325c434",
        "GPU_VIPER",
        "several faults of a shared cache that keeps stores, beside processors",
        "write-back, CPUs",
    ),
    Row(
        "5841d5967d",
        "GPU_VIPER",
        "data for an atomic operation wakes nothing that waits for the line",
        "write-back, atomics in the shared cache",
    ),
    Row(
        "6374697a20",
        "GPU_VIPER",
        "no transition for a store that bypasses a shared cache without the line",
        "system-level stores",
    ),
    Row(
        "9c27865203",
        "GPU_VIPER",
        "an atomic operation that waits is never counted down; none may wait for a write-back",
        "write-back, atomics in the shared cache",
    ),
    Row(
        "065ddf759f",
        "GPU_VIPER",
        "a load that should bypass the first cache fills it when it misses",
        "bypassing loads",
        "a plain load leaves the same copy, which the next acquire drops like any other",
    ),
    Row(
        "1204267fd8",
        "GPU_VIPER",
        "device-scope atomics write bytes that are not theirs, or are lost on the way back",
        "write-back, device-scope atomics",
    ),
    Row(
        "65b44e6516",
        "GPU_VIPER",
        "operations without return leave old values for the next one",
        "atomics with and without return",
    ),
    Row(
        "a030ff2745",
        "GPU_VIPER",
        "an atomic operation on a dirty line is forgotten after its write-back",
        "write-back",
    ),
    Row(
        "92d920f994",
        "GPU_VIPER",
        "a load of a dirty line that is written back is never answered",
        "write-back",
    ),
    Row("f876e60bc2", "GPU_VIPER", "the end of a write-back wakes nothing", "write-back"),
    Row(
        "24e2ef0b78",
        "GPU_VIPER",
        "a bypassing access evicts its line as if it were an acquire",
        "bypassing accesses",
    ),
    Row(
        "72ee6d1aad",
        "GPU_VIPER",
        "atomic operations and stores to one line wait for each other",
        "scarce resources",
    ),
    Row(
        "7246f70bfb",
        "GPU_VIPER",
        "two completions of one atomic operation: the second finds no transaction",
        "atomics of several units on one line",
    ),
)

AMD: Final = (
    Row(
        "55fdf4be52",
        "GPU_VIPER",
        "probes are sent to caches of a GPU that is not there",
        "processors and DMA without the GPU",
    ),
    Row(
        "90d2aac515",
        "GPU_VIPER",
        "no transitions for DMA requests in states under way; one end wakes nothing",
        "DMA",
    ),
    Row(
        "187c44fe44",
        "GPU_VIPER",
        "requests that wait for a DMA transfer are not woken; a DMA request meets a busy line",
        "DMA",
    ),
)

CMP_DIRECTORY: Final = (
    Row(
        "178db9e270",
        "MOESI_CMP_directory",
        "a write-back whose owner was asked for the line meets an unblock without transition",
        "owner change crossing a write-back",
        "the text gives a line to one second-level cache: none writes it back while another one "
        "owns it, or while its own request is open",
    ),
    Row(
        "0a5ed3076a",
        "MOESI_CMP_directory",
        "the writer waits for a wrong number of acknowledgements",
        "several second levels",
        "the text gives a line to one second-level cache: there is never another one to invalidate",
    ),
    Row(
        "264a6392be",
        "MOESI_CMP_directory",
        "the processor does not hear of an eviction from an owned line",
        "loads out of order or LL/SC",
    ),
    Row(
        "d9cb548d83",
        "MOESI_CMP_directory",
        "a second-level block is freed too late, and two wait for each other",
        "small second level",
    ),
    Row("a0130e741b", "MOESI_CMP_directory", "the directory's table overflows", "small tables"),
    Row(
        "5abac60ccf",
        "MOESI_CMP_directory",
        "DMA loads of shared lines get junk, DMA stores overwrite whole lines",
        "DMA",
    ),
    Row(
        "b85235b5da",
        "MOESI_CMP_directory",
        "no transition for a write-back with sharers at an idle directory",
        "write-back crossing",
    ),
    Row(
        "8c34a1a677",
        "MOESI_CMP_directory",
        "requests are recycled and starve",
        "many caches on one line",
    ),
    Row("091f5150a9", "MOESI_CMP_directory", "requests are taken before responses", "full queues"),
    Row(
        "a2e98f191f",
        "MOESI_CMP_directory",
        "a DMA load of an owned line is never acknowledged to the second level, and more",
        "DMA",
    ),
    Row(
        "2af2e590e1",
        "MOESI_CMP_directory",
        "a DMA load takes an owned line away from its owner",
        "DMA",
    ),
    Row(
        "cbc52ef6c5",
        "MOESI_CMP_directory",
        "a DMA request inside a line is taken for one to another line",
        "DMA inside lines",
    ),
)

MESI: Final = (
    Row(
        "159953080a",
        "MESI_Two_Level",
        "a partial DMA store is written to the start of its line",
        "DMA stores inside lines",
    ),
    Row(
        "6599dd87c8",
        "MESI_Two_Level",
        "the processor does not hear of an invalidation",
        "loads out of order",
    ),
    Row(
        "af1f3b35b0",
        "MESI_Three_Level",
        "an invalidation of a line under upgrade does not reach the cache above",
        "upgrade crossing a store",
    ),
    Row(
        "8d7933293f",
        "MESI_Three_Level",
        "an invalidation that overtakes data is never acknowledged",
        "load crossing a store",
    ),
    Row(
        "676ae57827",
        "MESI_Three_Level",
        "entries are reused with old contents, and more",
        "replacement",
    ),
    Row(
        "d71311b1cf",
        "MESI_CMP_directory",
        "a clean write-back leaves the directory with the old owner; dirty bits get lost",
        "replacement",
    ),
    Row(
        "ed234ddec6",
        "MESI_CMP_directory",
        "no transition for a prefetch of an instruction",
        "prefetcher",
    ),
    Row(
        "c636a09e83",
        "MESI_CMP_directory",
        "a store-conditional succeeds after the line was lost",
        "LL/SC",
    ),
    Row(
        "488280e48b",
        "MESI_CMP_directory",
        "a transaction is used after it was freed",
        "replacement",
    ),
    Row(
        "47ba26f6b3",
        "MESI_CMP_directory",
        "a cache that loses a line while it writes it back does not wait for the answer",
        "replacement crossing a store",
    ),
    Row(
        "d7d73680c4",
        "MESI_CMP_directory",
        "an old write-back is taken for a new one",
        "write-back crossing a store",
    ),
)

HAMMER: Final = (
    Row(
        "5838ed7290",
        "MOESI_hammer",
        "transactions are missing where flushes need them, and waiting requests are not woken",
        "flushes",
    ),
    Row(
        "f050ebe3a8",
        "MOESI_hammer",
        "a flush stops with an assertion when there is one processor",
        "one cache, flushes",
    ),
    Row(
        "70cb16ba14",
        "MOESI_hammer",
        "no transition for a flush of a line on its way between two levels",
        "flushes",
    ),
    Row(
        "8daad28a90",
        "MOESI_hammer",
        "a transfer between two levels is stalled for ever",
        "both levels of a cache",
    ),
    Row(
        "4f83390781",
        "MOESI_hammer",
        "one processor waits for others after a DMA transfer",
        "one cache, DMA",
    ),
    Row(
        "0788ea7b3b",
        "MOESI_hammer",
        "one processor and a DMA engine: a wrong transition",
        "one cache, DMA",
    ),
    Row(
        "dd9083115e",
        "MOESI_hammer",
        "the directory keeps entries of lines that no cache has",
        "full-bit directory",
    ),
    Row(
        "31d0a421a9", "MOESI_hammer", "after a DMA load the owner takes itself for a sharer", "DMA"
    ),
    Row(
        "fbebe9a642",
        "MOESI_hammer",
        "the end of an upgrade wakes nothing",
        "two caches on one line",
    ),
    Row(
        "5c2f4937b3",
        "MOESI_hammer",
        "answers without data are counted as if they had some",
        "DMA",
        "each answer without data says that it counts as one: both texts subtract one, whatever "
        "arrives",
    ),
    Row(
        "02b05bf9be",
        "MOESI_hammer",
        "one trigger waits behind another one that waits for it",
        "replacement",
    ),
    Row("20b2f0ce9f", "MOESI_hammer", "DMA loads with one processor", "one cache, DMA"),
    Row(
        "4eb3bfc31b",
        "MOESI_hammer",
        "write-backs of exclusive and of shared dirty lines are mixed up",
        "replacement",
    ),
)

OTHERS: Final = (
    Row(
        "0cb2fe33e4",
        "MI_example",
        "no transitions for two DMA events and for late write-backs in four states",
        "DMA, two engines",
    ),
    Row(
        "964e610ba0",
        "MI_example",
        "the directory takes no transaction on its way from idle to owned",
        "DMA",
        "only functional accesses read it; state, messages and data are the same without",
    ),
    Row(
        "71c27e6370",
        "MI_example",
        "no transition for a store while a write-back is refused",
        "write-back crossing a store",
    ),
    Row("15afc87f7c", "MI_example", "the directory keeps its transaction for ever", "DMA"),
    Row("2f9d8bff5b", "MI_example", "a write-back is not written to memory", "replacement"),
    Row("7ef3e3b2c2", "MI_example", "data is corrupted", "replacement"),
    Row("1437a24864", "MOESI_CMP_token", "time-outs are set in the past", "starvation"),
    Row(
        "9fb4381ddc",
        "MOESI_CMP_token",
        "DMA and persistent requests lock each other out",
        "DMA, persistent requests",
    ),
    Row("fb2e0f56ef", "MOESI_CMP_token", "several faults with DMA", "DMA"),
    Row(
        "45f6f31d7a",
        "MOESI_CMP_token",
        "owner tokens are counted wrongly",
        "many caches on one line",
    ),
    Row(
        "042d5b87a4",
        "MOESI_CMP_token",
        "a persistent request does not fetch from memory",
        "persistent requests",
    ),
)

ROWS: Final = (*CHI, *GPU, *AMD, *CMP_DIRECTORY, *MESI, *HAMMER, *OTHERS)
