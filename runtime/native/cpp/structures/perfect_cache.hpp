// A table of entries by line, without limit.
//
// Invariant: an entry stands in one table until it is deallocated or replaced; its slot stays
// readable until the wake-up is over.

#pragma once

#include "structures/cache_memory.hpp"

inline PerfectCacheMemory& perfect_cache(const Context& x, u32 table) {
    return x.s->library.perfect.in(x)[table];
}

// The next table of a machine; called once for each when the system is built.
inline u32 PerfectCacheMemory_create(Context& x, u32 machine) {
    const u32 table = static_cast<u32>(x.s->library.perfect_used++);
    perfect_cache(x, table).machine = machine;
    return table;
}

inline u32& perfect_place(Context& x, u32 table, u64 address) {
    return line_places(x, address)[perfect_cache(x, table).records];
}

inline bool PerfectCacheMemory_isTagPresent(Context& x, u32 table, u64 address) {
    return perfect_place(x, table, address) != 0;
}

// A new entry of class T with default fields, in place of an old one.
template <class T>
inline T* PerfectCacheMemory_allocate(Context& x, u32 table, u64 address) {
    u32& place = perfect_place(x, table, address);
    if (place) detach_entry(x, of_handle<AbstractCacheEntry>(x, place));
    T* entry = static_cast<T*>(new_entry(x, perfect_cache(x, table).machine));
    set_defaults(x, *entry);
    entry->cache = DIRECTORY_CACHE;
    place = entry->self;
    return entry;
}

// The entry of a line; one with default fields if there was none.
template <class T>
inline T* PerfectCacheMemory_lookup(Context& x, u32 table, u64 address) {
    const u32 place = perfect_place(x, table, address);
    if (LIKELY(place)) return &of_handle<T>(x, place);
    return PerfectCacheMemory_allocate<T>(x, table, address);
}

inline void PerfectCacheMemory_deallocate(Context& x, u32 table, u64 address) {
    u32& place = perfect_place(x, table, address);
    if (UNLIKELY(!place)) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    detach_entry(x, of_handle<AbstractCacheEntry>(x, place));
    place = 0;
}
