// Tables of transaction records.
//
// Invariant: a table never holds more records than its capacity. A record that was deallocated
// is removed from its table at once; its slot stays readable until the wake-up is over.

#pragma once

#include "block/line_map.hpp"
#include "block/pools.hpp"
#include "structures/replacement_policy.hpp"

inline TBETable& tbe_table(const Context& x, u32 table) {
    INVARIANT(table < x.s->tables_used);
    return x.tables[table];
}

// The next table of a machine; called once for each when the system is built.
inline u32 TBETable_create(Context& x, u32 machine, u64 capacity) {
    const u32 table = static_cast<u32>(x.s->tables_used++);
    TBETable& t = tbe_table(x, table);
    t.machine = machine;
    t.capacity = static_cast<u32>(capacity);
    return table;
}

inline u32& tbe_place(Context& x, const TBETable& t, u64 address) {
    return line_places(x, address)[t.records];
}

inline TbeHeader* TBETable_lookup(Context& x, u32 table, u64 address) {
    return or_null<TbeHeader>(x, tbe_place(x, tbe_table(x, table), address));
}

inline bool TBETable_isPresent(Context& x, u32 table, u64 address) {
    return tbe_place(x, tbe_table(x, table), address) != 0;
}

// Make a record; only its header is set. After a verdict, one that stands in no table.
inline TbeHeader* TBETable_allocate(Context& x, u32 table, u64 address) {
    TBETable& t = tbe_table(x, table);
    u32& place = tbe_place(x, t, address);
    const bool present = place != 0;
    const bool full = t.count >= t.capacity;
    TbeHeader& record = pool_take<TbeHeader>(x, x.s->records.at(x, t.machine));
    record.self = handle_of(x, record);
    record.address = address;
    record.machine = static_cast<u16>(t.machine);
    record.table = table;
    record.used = true;
    record.live = 1;
    if (UNLIKELY(present || full)) {
        fail(x, present ? ErrorKind::ALREADY_ALLOCATED : ErrorKind::TABLE_FULL);
        return &record;
    }
    t.count++;
    INVARIANT(t.count <= t.capacity);
    place = record.self;
    return &record;
}

inline void TBETable_deallocate(Context& x, u32 table, u64 address) {
    TBETable& t = tbe_table(x, table);
    u32& place = tbe_place(x, t, address);
    if (UNLIKELY(!place)) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    TbeHeader& record = of_handle<TbeHeader>(x, place);
    INVARIANT(record.used && record.live && record.table == table);
    INVARIANT(record.address == address && record.self == place);
    place = 0;
    INVARIANT(t.count > 0);
    t.count--;
    record.used = false;
    record.next = x.s->limbo.records;
    x.s->limbo.records = record.self;
}

// Verdict if a record that a transaction uses was deallocated.
inline void TBETable_stillHas(Context& x, u32, const TbeHeader* record) {
    if (UNLIKELY(!record->used)) fail(x, ErrorKind::NOT_ALLOCATED);
}

inline bool TBETable_areNSlotsAvailable(const Context& x, u32 table, i64 count) {
    const TBETable& t = tbe_table(x, table);
    return i64{t.count} + count <= i64{t.capacity};
}

inline TbeHeader* TBETable_getNullEntry(Context&, u32) { return nullptr; }
