// Who has asked persistently for a line, in token protocols.
//
// Invariant: a line has a row exactly as long as a requester starves for it; marked and writing
// requesters are among the starving ones. The smallest node number has priority.

#pragma once

#include "types/enumerations.hpp"
#include "block/line_map.hpp"
#include "types/net_dest.hpp"

// The next table; called once for each when the system is built.
inline u32 PersistentTable_create(Context& x) {
    LibraryTables& library = x.s->library;
    const u32 table = static_cast<u32>(library.persistent_used++);
    library.persistent.in(x)[table].rows =
        library.rows.offset + u64{table} * x.s->lines.capacity * sizeof(PersistentRow);
    return table;
}

inline PersistentRow& persistent_row(Context& x, u32 table, u64 address) {
    const PersistentTable& t = x.s->library.persistent.in(x)[table];
    INVARIANT(table < x.s->library.persistent_used);
    return in_block<PersistentRow>(x, t.rows)[line_index(x, address)];
}

// The smallest node that starves; -1 and a verdict if none does.
inline i32 persistent_smallest(Context& x, const PersistentRow& row) {
    for (u32 i = 0; i < NODE_WORDS; i++) {
        if (row.starving.w[i])
            return static_cast<i32>(64 * i + static_cast<u32>(__builtin_ctzll(row.starving.w[i])));
    }
    fail(x, ErrorKind::NOT_ALLOCATED);
    return -1;
}

// A requester starves.
inline void PersistentTable_persistentRequestLock(Context& x, u32 table, u64 address,
                                                  MachineID locker, i32 kind) {
    PersistentRow& row = persistent_row(x, table, address);
    if (UNLIKELY(node_of(x, locker) < 0)) {
        fail(x, ErrorKind::INDEX_RANGE);
        return;
    }
    if (UNLIKELY(NetDest_isElement(x, row.starving, locker))) {
        fail(x, ErrorKind::ALREADY_ALLOCATED);
        return;
    }
    NetDest_add(x, row.starving, locker);
    if (kind == AccessType::Write) NetDest_add(x, row.writing, locker);
    INVARIANT(NetDest_isSuperset(x, row.starving, row.writing));
}

// A requester is satisfied.
inline void PersistentTable_persistentRequestUnlock(Context& x, u32 table, u64 address,
                                                    MachineID unlocker) {
    PersistentRow& row = persistent_row(x, table, address);
    if (UNLIKELY(!NetDest_isElement(x, row.starving, unlocker))) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    NetDest_remove(x, row.starving, unlocker);
    NetDest_remove(x, row.marked, unlocker);
    NetDest_remove(x, row.writing, unlocker);
    INVARIANT(NetDest_isSuperset(x, row.starving, row.marked));
}

// Whether a requester may start to starve: nothing is marked, and it does not yet.
inline bool PersistentTable_okToIssueStarving(Context& x, u32 table, u64 address,
                                              MachineID machine) {
    const PersistentRow& row = persistent_row(x, table, address);
    return !NetDest_isElement(x, row.starving, machine) && NetDest_isEmpty(x, row.marked);
}

inline MachineID PersistentTable_findSmallest(Context& x, u32 table, u64 address) {
    const i32 node = persistent_smallest(x, persistent_row(x, table, address));
    return node < 0 ? INVALID_MACHINE : machine_of_node(x, static_cast<u32>(node));
}

inline i32 PersistentTable_typeOfSmallest(Context& x, u32 table, u64 address) {
    const PersistentRow& row = persistent_row(x, table, address);
    const i32 node = persistent_smallest(x, row);
    const bool writes = node >= 0 && (row.writing.w[node / 64] >> (node & 63) & 1);
    return writes ? AccessType::Write : AccessType::Read;
}

// Mark all who starve now: no other may join until they are satisfied.
inline void PersistentTable_markEntries(Context& x, u32 table, u64 address) {
    PersistentRow& row = persistent_row(x, table, address);
    if (UNLIKELY(!NetDest_isEmpty(x, row.marked))) {
        fail(x, ErrorKind::ASSERTION);
        return;
    }
    row.marked = row.starving;
}

inline bool PersistentTable_isLocked(Context& x, u32 table, u64 address) {
    return !NetDest_isEmpty(x, persistent_row(x, table, address).starving);
}

inline i32 PersistentTable_countStarvingForAddress(Context& x, u32 table, u64 address) {
    return NetDest_count(x, persistent_row(x, table, address).starving);
}

inline i32 PersistentTable_countReadStarvingForAddress(Context& x, u32 table, u64 address) {
    const PersistentRow& row = persistent_row(x, table, address);
    return NetDest_count(x, row.starving) - NetDest_count(x, row.writing);
}
