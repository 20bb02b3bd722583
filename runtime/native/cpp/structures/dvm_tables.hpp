// Tables of a node that distributes operations on translations to all processors.
//
// Invariant: what is chosen depends on the records and their addresses alone.

#pragma once

#include "structures/tbe_table.hpp"

// States of the protocol that the choice depends on: of NonSync operations, then of Syncs.
struct DistributorStates {
    i32 ready[2];
    i32 distributing[2];
    i32 waiting[2];
};

inline constexpr u32 MAX_WAITING = 4;  // operations that wait for answers

template <class T, class F>
inline void each_record(Context& x, u32 table, F f) {
    const Pool& pool = x.s->records.at(x, tbe_table(x, table).machine);
    for (u32 i = 0; i < pool.used; i++) {
        TbeHeader& record = pool_slot<TbeHeader>(x, pool, i);
        if (record.live && record.used && record.table == table) f(static_cast<T&>(record));
    }
}

// Whether a Sync comes after a NonSync of its requestor that is not complete.
template <class T>
inline bool distributor_depends(Context& x, u32 table, const T& sync,
                                const DistributorStates& states) {
    bool depends = false;
    each_record<T>(x, table, [&](const T& other) {
        const bool unfinished = other.state == states.ready[0] || other.state == states.waiting[0];
        if (unfinished && sync.timestamp > other.timestamp && sync.requestor == other.requestor)
            depends = true;
    });
    return depends;
}

// The operation to distribute next, or null.
template <class T>
inline T* MN_TBETable_chooseNewDistributor(Context& x, u32 table, const DistributorStates& states) {
    unexplored(x, Unexplored::DISTRIBUTION);  // it compares times
    T* distributing = nullptr;
    u32 waiting = 0;
    bool blocked = false;
    each_record<T>(x, table, [&](T& record) {
        const i32 state = record.state;
        if (state == states.distributing[0] || state == states.distributing[1]) {
            if (!distributing || record.address < distributing->address) distributing = &record;
        }
        waiting += state == states.waiting[0] || state == states.waiting[1];
        blocked |= state == states.waiting[1];
    });
    if (distributing) return distributing;
    if (UNLIKELY(waiting > MAX_WAITING)) fail(x, ErrorKind::ASSERTION);
    if (waiting >= MAX_WAITING) return nullptr;
    T* chosen = nullptr;
    each_record<T>(x, table, [&](T& record) {
        if (record.state == states.ready[1]) {
            if (blocked || distributor_depends(x, table, record, states)) return;
        } else if (record.state != states.ready[0]) {
            return;
        }
        const bool older =
            !chosen || record.timestamp < chosen->timestamp ||
            (record.timestamp == chosen->timestamp && record.address < chosen->address);
        if (older) chosen = &record;
    });
    return chosen;
}
