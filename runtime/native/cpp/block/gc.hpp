// Freeing the nodes of logs, of atomic operations and of queues that are no longer referenced.
//
// Invariant: runs between ticks only, when every holder is a live message, entry or record, a
// value of a controller, or something of a requester. What survives does not move.

#pragma once

#include "controller/controller_state.hpp"
#include "block/gc_marking.hpp"
#include "structures/chi_tables.hpp"

// Generated.
inline void message_mark(Context& x, Marker& marker, const Message& message);
inline void entry_mark(Context& x, Marker& marker, u32 machine, const AbstractCacheEntry& entry);
inline void record_mark(Context& x, Marker& marker, u32 machine, const TbeHeader& record);
inline void machine_mark(Context& x, Controller& c, Marker& marker);
// Of requesters and agents.
inline void requesters_mark(Context& x, Marker& marker);

inline Controller& controller(const Context& x, u32 id);

// Free what is not marked; the rest counts as taken again. Lower slots are then taken first.
template <class T>
inline void pool_sweep(Context& x, Pool& pool) {
    pool.free = 0;
    pool.live = 0;
    for (u32 i = pool.used; i--;) {
        T& node = pool_slot<T>(x, pool, i);
        if (node.live == 2) {
            node.live = 1;
            pool.live++;
        } else {
            node.live = 0;
            node.next = pool.free;
            pool.free = handle_of(x, node);
        }
    }
}

inline COLD void collect_garbage(Context& x) {
    System& s = *x.s;
    Marker marker = {};
    for (u32 i = 0; i < s.messages.used; i++) {
        const Message& message = pool_slot<Message>(x, s.messages, i);
        if (message.type) message_mark(x, marker, message);
    }
    for (u32 machine = 0; machine < s.entries.count; machine++) {
        const Pool& entries = s.entries.at(x, machine);
        for (u32 i = 0; i < entries.used; i++) {
            const AbstractCacheEntry& entry = pool_slot<AbstractCacheEntry>(x, entries, i);
            if (entry.live) entry_mark(x, marker, machine, entry);
        }
        const Pool& records = s.records.at(x, machine);
        for (u32 i = 0; i < records.used; i++) {
            const TbeHeader& record = pool_slot<TbeHeader>(x, records, i);
            if (record.live) record_mark(x, marker, machine, record);
        }
    }
    for (u32 id = 0; id < s.controllers; id++) machine_mark(x, controller(x, id), marker);
    requesters_mark(x, marker);
    pool_sweep<LogNode>(x, s.logs);
    pool_sweep<AtomicNode>(x, s.atomics);
    pool_sweep<TriggerNode>(x, s.triggers);
    // Not again before half of what is free now was taken.
    s.logs_limit = s.logs.live + (s.logs.capacity - s.logs.live) / 2;
    s.atomics_limit = s.atomics.live + (s.atomics.capacity - s.atomics.live) / 2;
    s.triggers_limit = s.triggers.live + (s.triggers.capacity - s.triggers.live) / 2;
}
