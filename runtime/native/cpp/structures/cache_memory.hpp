// A set-associative cache of entries that the protocol defines.
//
// Invariant: the table by line has exactly those entries that are in a way and not NotPresent;
// an entry knows its cache and way, so that changing its permission keeps the table right.

#pragma once

#include "statistics/counters.hpp"
#include "structures/banked_array.hpp"
#include "types/enumerations.hpp"
#include "block/line_map.hpp"
#include "block/pools.hpp"
#include "structures/replacement_policy.hpp"

inline CacheMemory& cache_memory(const Context& x, u32 cache) {
    INVARIANT(cache < x.s->caches);
    return x.caches[cache];
}

// ---------------------------------------------------------------- entries

// An entry of nowhere, from the pool of a machine. Only its header is set.
inline AbstractCacheEntry* new_entry(Context& x, u32 machine) {
    AbstractCacheEntry& entry = pool_take<AbstractCacheEntry>(x, x.s->entries.at(x, machine));
    entry.self = handle_of(x, entry);
    entry.address = 0;
    entry.permission = AccessPermission::NotPresent;
    entry.locked_by = -1;
    entry.cache = NIL;
    entry.set = 0;
    entry.way = 0;
    entry.machine = static_cast<u16>(machine);
    entry.read_set = false;
    entry.write_set = false;
    entry.live = 1;
    entry.limbo = 1;
    entry.next = x.s->limbo.entries;
    x.s->limbo.entries = entry.self;
    return &entry;
}

// It is nowhere now; the running wake-up may still look at it.
inline void detach_entry(Context& x, AbstractCacheEntry& entry) {
    INVARIANT(entry.live);
    entry.cache = NIL;
    if (entry.limbo) return;
    entry.limbo = 1;
    entry.next = x.s->limbo.entries;
    x.s->limbo.entries = entry.self;
}

// An entry became visible or NotPresent.
inline COLD void CacheMemory_show(Context& x, AbstractCacheEntry& entry, bool visible) {
    CacheMemory& c = cache_memory(x, entry.cache);
    u32& shown = line_places(x, entry.address)[c.visible];
    u32& free = in_block<u32>(x, c.free)[entry.set];
    INVARIANT(visible ? free > 0 && c.hidden > 0 : free < c.ways);
    shown = visible ? entry.self : 0;
    free += visible ? -1u : 1u;
    c.hidden += visible ? -1u : 1u;
}

// Store the permission; without one (Invalid, NotPresent) the reservation is lost.
inline void AbstractCacheEntry_changePermission(Context& x, AbstractCacheEntry& entry,
                                                i32 permission) {
    if (permission == entry.permission) return;
    const bool hides = permission == AccessPermission::NotPresent;
    if (hides || permission == AccessPermission::Invalid) entry.locked_by = -1;
    const bool hidden = entry.permission == AccessPermission::NotPresent;
    entry.permission = permission;
    if (UNLIKELY(hidden != hides) && entry.cache < DIRECTORY_CACHE)
        CacheMemory_show(x, entry, hidden);
}

inline bool AbstractCacheEntry_getInHtmReadSet(Context&, const AbstractCacheEntry& e) {
    return e.read_set;
}
inline bool AbstractCacheEntry_getInHtmWriteSet(Context&, const AbstractCacheEntry& e) {
    return e.write_set;
}
inline void AbstractCacheEntry_setInHtmReadSet(Context&, AbstractCacheEntry& e, bool v) {
    e.read_set = v;
}
inline void AbstractCacheEntry_setInHtmWriteSet(Context&, AbstractCacheEntry& e, bool v) {
    e.write_set = v;
}

// ---------------------------------------------------------------- lines

inline u64 cache_set(const CacheMemory& c, u64 address) {
    const u64 number = address >> c.start_index_bit;
    return LIKELY(c.set_mask || c.sets == 1) ? number & c.set_mask : number % c.sets;
}

inline u32& cache_frame(const Context& x, const CacheMemory& c, u64 set, u32 way) {
    INVARIANT(set < c.sets && way < c.ways);
    return in_block<u32>(x, c.frames)[set * c.ways + way];
}

// The entry of a line without questions asked, or null.
inline AbstractCacheEntry* cache_entry(Context& x, const CacheMemory& c, u64 address) {
    return or_null<AbstractCacheEntry>(x, line_places(x, address)[c.visible]);
}

inline bool cache_aligned(Context& x, u64 address) {
    if (LIKELY(!(address & LINE_MASK))) return true;
    fail(x, ErrorKind::MISALIGNED);
    return false;
}

inline AbstractCacheEntry* CacheMemory_lookup(Context& x, u32 cache, u64 address) {
    if (UNLIKELY(!cache_aligned(x, address))) return nullptr;
    other_line_index(x, address);
    return cache_entry(x, cache_memory(x, cache), address);
}

inline bool CacheMemory_isTagPresent(Context& x, u32 cache, u64 address) {
    return !(address & LINE_MASK) && cache_entry(x, cache_memory(x, cache), address);
}

// Whether the line has a way, or its set has one to give.
inline bool CacheMemory_cacheAvail(Context& x, u32 cache, u64 address) {
    const CacheMemory& c = cache_memory(x, cache);
    if (!cache_aligned(x, address)) return false;
    return in_block<u32>(x, c.free)[cache_set(c, address)] || cache_entry(x, c, address);
}

// The line that has to leave before this one can enter.
inline u64 CacheMemory_cacheProbe(Context& x, u32 cache, u64 address) {
    const CacheMemory& c = cache_memory(x, cache);
    if (!cache_aligned(x, address)) return 0;
    const u64 set = cache_set(c, address);
    if (UNLIKELY(in_block<u32>(x, c.free)[set] || cache_entry(x, c, address))) {
        fail(x, ErrorKind::ASSERTION);
        return 0;
    }
    const u32 victim = cache_frame(x, c, set, replacement_victim(x, c, set));
    INVARIANT(victim != 0);
    const u64 leaving = of_handle<AbstractCacheEntry>(x, victim).address;
    count_victim(cache, leaving);
    return leaving;
}

// Put a new entry into the first free way, with permission Invalid.
inline AbstractCacheEntry* CacheMemory_allocate(Context& x, u32 cache, u64 address,
                                                AbstractCacheEntry* entry) {
    CacheMemory& c = cache_memory(x, cache);
    if (!cache_aligned(x, address)) return entry;
    if (UNLIKELY(!entry)) {
        fail(x, ErrorKind::NULL_DEREFERENCE);
        return entry;
    }
    u32& visible = line_places(x, address)[c.visible];
    if (UNLIKELY(visible)) {
        fail(x, ErrorKind::ALREADY_ALLOCATED);
        return entry;
    }
    const u64 set = cache_set(c, address);
    u32* frames = &cache_frame(x, c, set, 0);
    u32 way = 0;
    for (;; way++) {
        if (UNLIKELY(way == c.ways)) {
            fail(x, ErrorKind::TABLE_FULL);
            return entry;
        }
        if (!frames[way]) break;
        if (LIKELY(!c.hidden)) continue;
        AbstractCacheEntry& old = of_handle<AbstractCacheEntry>(x, frames[way]);
        if (old.permission != AccessPermission::NotPresent) continue;
        detach_entry(x, old);
        INVARIANT(c.hidden > 0);
        c.hidden--;
        break;
    }
    frames[way] = entry->self;
    INVARIANT(in_block<u32>(x, c.free)[set] > 0);
    in_block<u32>(x, c.free)[set]--;
    entry->address = address;
    entry->permission = AccessPermission::Invalid;
    entry->locked_by = -1;
    entry->cache = cache;
    entry->set = static_cast<u32>(set);
    entry->way = way;
    visible = entry->self;
    replacement_touch(x, c, set, way);
    count_fill(cache);
    return entry;
}

inline void CacheMemory_allocateVoid(Context& x, u32 cache, u64 address,
                                     AbstractCacheEntry* entry) {
    CacheMemory_allocate(x, cache, address, entry);
}

// Remove the entry and free its way.
inline void CacheMemory_deallocate(Context& x, u32 cache, u64 address) {
    CacheMemory& c = cache_memory(x, cache);
    u32& visible = line_places(x, address)[c.visible];
    if (UNLIKELY(!visible)) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    count_given_up(cache, address);
    AbstractCacheEntry& entry = of_handle<AbstractCacheEntry>(x, visible);
    INVARIANT(entry.cache == cache && entry.address == address);
    INVARIANT(cache_frame(x, c, entry.set, entry.way) == entry.self);
    INVARIANT(in_block<u32>(x, c.free)[entry.set] < c.ways);
    visible = 0;
    cache_frame(x, c, entry.set, entry.way) = 0;
    in_block<u32>(x, c.free)[entry.set]++;
    replacement_invalidate(x, c, entry.set, entry.way);
    detach_entry(x, entry);
}

inline AbstractCacheEntry* CacheMemory_getNullEntry(Context&, u32) { return nullptr; }

// Touch a line if it is present. No policy weighs the occupancy.
inline void CacheMemory_setMRU(Context& x, u32 cache, u64 address, i64 = 0) {
    CacheMemory& c = cache_memory(x, cache);
    const AbstractCacheEntry* entry = cache_entry(x, c, line_of(x, address));
    if (entry) replacement_touch(x, c, entry->set, entry->way);
}

inline void CacheMemory_setMRU_entry(Context& x, u32 cache, const AbstractCacheEntry* entry) {
    if (UNLIKELY(!entry)) {
        fail(x, ErrorKind::NULL_DEREFERENCE);
        return;
    }
    if (entry->cache == cache) replacement_touch(x, cache_memory(x, cache), entry->set, entry->way);
}

// Call `f(entry)` for all visible entries by set and way.
template <class F>
inline void cache_each(const Context& x, const CacheMemory& c, F f) {
    for (u64 set = 0; set < c.sets; set++) {
        if (in_block<u32>(x, c.free)[set] == c.ways) continue;
        for (u32 way = 0; way < c.ways; way++) {
            const u32 handle = cache_frame(x, c, set, way);
            if (!handle) continue;
            AbstractCacheEntry& entry = of_handle<AbstractCacheEntry>(x, handle);
            if (entry.permission != AccessPermission::NotPresent) f(entry);
        }
    }
}

// The lines held in any state, ascending; at most `room` of them. Returns how many.
inline u32 CacheMemory_visible_lines(Context& x, u32 cache, u64* lines, u64 room) {
    u32 count = 0;
    cache_each(x, cache_memory(x, cache), [&](const AbstractCacheEntry& entry) {
        if (count < room) lines[count++] = entry.address;
    });
    heap_sort(lines, count);
    return count;
}

inline i32 CacheMemory_getCacheSize(Context& x, u32 cache) {
    const CacheMemory& c = cache_memory(x, cache);
    return static_cast<i32>((c.sets * c.ways) << LINE_BITS);
}

inline i32 CacheMemory_getNumBlocks(Context& x, u32 cache) {
    const CacheMemory& c = cache_memory(x, cache);
    return static_cast<i32>(c.sets * c.ways);
}

// The line in a frame, counting ways within sets; 0 when it holds nothing valid.
inline u64 CacheMemory_getAddressAtIdx(Context& x, u32 cache, i64 position) {
    const CacheMemory& c = cache_memory(x, cache);
    if (position < 0 || static_cast<u64>(position) >= c.sets * c.ways) {
        fail(x, ErrorKind::INDEX_RANGE);
        return 0;
    }
    const u32 handle = in_block<u32>(x, c.frames)[position];
    if (!handle) return 0;
    const AbstractCacheEntry& entry = of_handle<AbstractCacheEntry>(x, handle);
    const bool valid = entry.permission != AccessPermission::Invalid &&
                       entry.permission != AccessPermission::NotPresent;
    return valid ? entry.address : 0;
}

// ---------------------------------------------------------------- array accesses

// Count an access to an array, and occupy it if the cache models that.
inline void CacheMemory_recordRequestType(Context& x, u32 cache, i32 kind, u64 address) {
    CacheMemory& c = cache_memory(x, cache);
    if (static_cast<u32>(kind) < CacheRequestType::NUM) c.counts[kind]++;
    if (!c.resource_stalls) return;
    if (kind == CacheRequestType::DataArrayRead || kind == CacheRequestType::DataArrayWrite) {
        BankedArray_reserve(x, c.data, cache_set(c, address));
    } else if (kind == CacheRequestType::TagArrayRead || kind == CacheRequestType::TagArrayWrite) {
        BankedArray_reserve(x, c.tags, cache_set(c, address));
    } else {
        Alu_reserve(x, c, line_of(x, address));
    }
}

// Whether an array can be accessed in this cycle.
inline bool CacheMemory_checkResourceAvailable(Context& x, u32 cache, i32 kind, u64 address) {
    CacheMemory& c = cache_memory(x, cache);
    if (!c.resource_stalls) return true;
    if (kind == CacheResourceType::DataArray)
        return BankedArray_is_free(x, c.data, cache_set(c, address));
    if (kind == CacheResourceType::TagArray)
        return BankedArray_is_free(x, c.tags, cache_set(c, address));
    return Alu_is_free(x, c, line_of(x, address));
}

inline u64 CacheMemory_getTagLatency(Context& x, u32 cache) {
    return cache_memory(x, cache).tag_latency;
}
inline u64 CacheMemory_getDataLatency(Context& x, u32 cache) {
    return cache_memory(x, cache).data_latency;
}

// ---------------------------------------------------------------- statistics and locks

inline void CacheMemory_profileDemandHit(Context&, u32) {}
inline void CacheMemory_profileDemandMiss(Context&, u32) {}
inline void CacheMemory_profilePrefetchHit(Context&, u32) {}
inline void CacheMemory_profilePrefetchMiss(Context&, u32) {}

// What the protocol does to an entry whose transaction is aborted. Generated.
inline void entry_invalidate(Context& x, u32 machine, AbstractCacheEntry& entry);

inline void entry_forget(AbstractCacheEntry& entry) {
    entry.read_set = false;
    entry.write_set = false;
    entry.locked_by = -1;
}

// Forget read and write sets and reservations.
inline void CacheMemory_htmCommitTransaction(Context& x, u32 cache) {
    cache_each(x, cache_memory(x, cache), [](AbstractCacheEntry& entry) { entry_forget(entry); });
}

// Invalidate what the transaction wrote, then forget it.
inline void CacheMemory_htmAbortTransaction(Context& x, u32 cache) {
    const CacheMemory& c = cache_memory(x, cache);
    cache_each(x, c, [&](AbstractCacheEntry& entry) {
        if (entry.write_set) entry_invalidate(x, c.machine, entry);
        entry_forget(entry);
    });
}

// ---------------------------------------------------------------- tables without limit
//
// Invariant: an entry stands in one table until it is deallocated or replaced; its slot stays
// readable until the wake-up is over.

inline PerfectCacheMemory& perfect_cache(const Context& x, u32 table) {
    INVARIANT(table < x.s->library.perfect_used);
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
