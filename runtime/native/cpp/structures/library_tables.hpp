// What tables that only some protocols have consist of: alarms, persistent requests, directories
// without limit, slots, prefetchers. What they do is in the headers beside this one.
//
// Invariant: plain structs of numbers. Whatever they hold by line has room for every line that
// the system has room for, so that none of them can run out before the lines do.

#pragma once

#include "block/layout.hpp"
#include "types/values.hpp"

struct Alarm {
    u64 tick;
    u64 address;
};

struct TimerTable {
    u64 places;  // its place in the rows of lines: where the line's alarm stands + 1, 0: none
    u64 alarms;  // offset of a heap of Alarm, the earliest first
    u32 count;
    u32 consumer;
};

// The requesters that starve for a line; it has a row as long as there are any.
struct PersistentRow {
    NetDest starving;
    NetDest marked;
    NetDest writing;
};

struct PersistentTable {
    u64 rows;  // offset of PersistentRow, by line
};

struct PerfectCacheMemory {
    u64 records;  // its place in the rows of lines
    u32 machine;
};

// Slots apart from the records themselves, some of them promised.
struct TBEStorage {
    u64 slots;  // offset: numbers of free slots, a stack; then users by slot
    u32 capacity;
    u32 available;
    i32 reserved;
};

inline constexpr u32 PREFETCH_STREAMS = 4;
inline constexpr u32 PREFETCH_FILTERS = 8;
inline constexpr u32 PREFETCH_TRAINING = 4;  // hits of a filter that begin a stream
inline constexpr u32 PREFETCH_PAGE_BITS = 12;

// Lines that are fetched ahead; `address` is the last one that was asked for.
struct PrefetchStream {
    u64 address;
    i64 stride;  // lines
    u64 used;
    i32 kind;
    bool valid;
};

// A line that is expected next, or the last one seen of a page and the distance before it.
struct PrefetchFilter {
    u64 address;
    i64 stride;  // bytes
    u32 hits;
};

struct PrefetchRing {
    PrefetchFilter filters[PREFETCH_FILTERS];
    u32 first;
    u32 count;
};

struct RubyPrefetcher {
    PrefetchStream streams[PREFETCH_STREAMS];
    PrefetchRing ahead;
    PrefetchRing back;
    PrefetchRing pages;
    u32 controller;
};

// Asks for evicted lines through a queue of its machine.
struct PrefetcherProxy {
    u64 evicted;
    u64 asked;
    u32 queue;
    bool has_evicted;
    bool has_asked;
};

// How many of each the machines of a system have.
struct LibraryTotals {
    u64 timers, persistent, perfect, storages, slots, prefetchers, proxies;
};

struct LibraryTables {
    Array<TimerTable> timers;
    Array<PersistentTable> persistent;
    Array<PerfectCacheMemory> perfect;
    Array<TBEStorage> storages;
    Array<u32> slots;
    Array<RubyPrefetcher> prefetchers;
    Array<PrefetcherProxy> proxies;
    Array<Alarm> alarms;
    Array<PersistentRow> rows;
    u64 timers_used;
    u64 persistent_used;
    u64 perfect_used;
    u64 storages_used;
    u64 slots_used;
    u64 prefetchers_used;
    u64 proxies_used;

    void layout(Layout& layout, const LibraryTotals& totals, u64 lines) {
        layout.reserve(timers, totals.timers);
        layout.reserve(persistent, totals.persistent);
        layout.reserve(perfect, totals.perfect);
        layout.reserve(storages, totals.storages);
        layout.reserve(slots, totals.slots);
        layout.reserve(prefetchers, totals.prefetchers);
        layout.reserve(proxies, totals.proxies);
        layout.reserve(alarms, totals.timers * lines);
        layout.reserve(rows, totals.persistent * lines);
    }
};
