// Slots of a node for operations on translations, some of them for operations of one kind:
// MN_TBEStorage of runtime/structures/dvm_tables.py.
//
// Invariant: a retry that fits no longer waits than it has to: the first that fits goes first.

#pragma once

#include "structures/chi_tables.hpp"

inline constexpr u32 MAX_PARTITIONS = 8;

// Partition 0 is for everything, each other one for one kind of operations and asked first.
// Retries wait in the order of their coming; the first that fits goes first.
template <class T>
struct MN_TBEStorage {
    u32 part[MAX_PARTITIONS];
    u32 parts;
    TriggerQueue<T> retries;
};

template <class T, class... Parts>
inline void MN_TBEStorage_start(MN_TBEStorage<T>& s, Parts... parts) {
    static_assert(sizeof...(parts) <= MAX_PARTITIONS);
    const u32 given[] = {parts...};
    s = {};
    for (const u32 part : given) s.part[s.parts++] = part;
}

template <class T>
inline u32 storage_part(Context& x, const MN_TBEStorage<T>& s, i64 partition) {
    if (LIKELY(partition >= 0 && partition < s.parts)) return s.part[partition];
    fail(x, ErrorKind::INDEX_RANGE);
    return s.part[0];
}

template <class T>
inline i32 MN_TBEStorage_size(Context& x, const MN_TBEStorage<T>& s) {
    i32 sum = 0;
    for (u32 i = 0; i < s.parts; i++) sum += TBEStorage_size(x, s.part[i]);
    return sum;
}
template <class T>
inline i32 MN_TBEStorage_capacity(Context& x, const MN_TBEStorage<T>& s) {
    i32 sum = 0;
    for (u32 i = 0; i < s.parts; i++) sum += TBEStorage_capacity(x, s.part[i]);
    return sum;
}
template <class T>
inline i32 MN_TBEStorage_reserved(Context& x, const MN_TBEStorage<T>& s) {
    i32 sum = 0;
    for (u32 i = 0; i < s.parts; i++) sum += TBEStorage_reserved(x, s.part[i]);
    return sum;
}

template <class T>
inline i32 MN_TBEStorage_slotsAvailable(Context& x, const MN_TBEStorage<T>& s, i32 partition) {
    const i32 free = TBEStorage_slotsAvailable(x, storage_part(x, s, partition));
    return partition ? free + TBEStorage_slotsAvailable(x, s.part[0]) : free;
}
template <class T>
inline bool MN_TBEStorage_areNSlotsAvailable(Context& x, const MN_TBEStorage<T>& s, i32 count,
                                             i32 partition) {
    return MN_TBEStorage_slotsAvailable(x, s, partition) >= count;
}

template <class T>
inline void MN_TBEStorage_incrementReserved(Context& x, MN_TBEStorage<T>& s, i32 partition) {
    const u32 part = storage_part(x, s, partition);
    TBEStorage_incrementReserved(
        x, partition && TBEStorage_areNSlotsAvailable(x, part, 1) ? part : s.part[0]);
}
template <class T>
inline void MN_TBEStorage_decrementReserved(Context& x, MN_TBEStorage<T>& s, i32 partition) {
    const u32 part = storage_part(x, s, partition);
    TBEStorage_decrementReserved(x, partition && TBEStorage_reserved(x, part) ? part : s.part[0]);
}

// Take a slot. Numbers of the partition for everything follow those of the other.
template <class T>
inline i32 MN_TBEStorage_addEntryToNewSlot(Context& x, MN_TBEStorage<T>& s, i32 partition) {
    const u32 part = storage_part(x, s, partition);
    if (partition && TBEStorage_areNSlotsAvailable(x, part, 1))
        return TBEStorage_addEntryToNewSlot(x, part);
    return TBEStorage_capacity(x, part) + TBEStorage_addEntryToNewSlot(x, s.part[0]);
}
template <class T>
inline void MN_TBEStorage_removeEntryFromSlot(Context& x, MN_TBEStorage<T>& s, i32 slot,
                                              i32 partition) {
    const u32 part = storage_part(x, s, partition);
    const i32 own = TBEStorage_capacity(x, part);
    TBEStorage_removeEntryFromSlot(x, slot < own ? part : s.part[0],
                                   slot < own ? slot : slot - own);
}

// The retry for which there is a slot; `before` is the one in front of it. 0: there is none.
template <class T>
inline u32 storage_retry(Context& x, const MN_TBEStorage<T>& s, u32& before) {
    before = 0;
    for (u32 h = s.retries.head; h; before = h, h = trigger_item<T>(x, h).next) {
        if (MN_TBEStorage_areNSlotsAvailable(x, s, 1, trigger_item<T>(x, h).value.isNonSync))
            return h;
    }
    return 0;
}

template <class T>
inline void MN_TBEStorage_emplaceRetryEntry(Context& x, MN_TBEStorage<T>& s,
                                            const typename Identity<T>::type& entry) {
    TriggerQueue_push(x, s.retries, entry);
}
template <class T>
inline bool MN_TBEStorage_hasPossibleRetry(Context& x, const MN_TBEStorage<T>& s) {
    u32 before;
    return storage_retry(x, s, before) != 0;
}
template <class T>
inline T MN_TBEStorage_popNextRetryEntry(Context& x, MN_TBEStorage<T>& s) {
    u32 before;
    const u32 found = storage_retry(x, s, before);
    if (UNLIKELY(!found)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return scratch<T>(x);
    }
    const T entry = trigger_item<T>(x, found).value;
    trigger_remove(x, s.retries, before);
    return entry;
}

template <class T>
inline void mark_value(Context& x, Marker& marker, const MN_TBEStorage<T>& s) {
    mark_value(x, marker, s.retries);
}
