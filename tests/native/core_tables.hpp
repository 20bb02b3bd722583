// What tests/native/test_core_tables.py asks of timers, persistent tables and perfect caches.

#pragma once

EXPORT u64 t_timer(void* block, u64 op, u64 index, u64 address, u64 tick) {
    Context x = context_of(block);
    const u32 timer = static_cast<u32>(index);
    switch (op) {
        case 0: TimerTable_set(x, timer, address, tick); return 0;
        case 1: TimerTable_unset(x, timer, address); return 0;
        case 2: return TimerTable_isSet(x, timer, address);
        case 3: return TimerTable_isReady(x, timer);
        case 4: return TimerTable_nextAddress(x, timer);
        case 5: return TimerTable_isEmpty(x, timer);
    }
    return 0;
}

EXPORT u64 t_persistent(void* block, u64 op, u64 table, u64 address, u64 number, u64 kind) {
    Context x = context_of(block);
    const u32 t = static_cast<u32>(table);
    const MachineID machine = {MachineType::Cache, static_cast<u32>(number)};
    switch (op) {
        case 0: PersistentTable_persistentRequestLock(x, t, address, machine, static_cast<i32>(kind)); return 0;
        case 1: PersistentTable_persistentRequestUnlock(x, t, address, machine); return 0;
        case 2: return PersistentTable_okToIssueStarving(x, t, address, machine);
        case 3: return PersistentTable_findSmallest(x, t, address).num;
        case 4: return static_cast<u64>(PersistentTable_typeOfSmallest(x, t, address));
        case 5: PersistentTable_markEntries(x, t, address); return 0;
        case 6: return PersistentTable_isLocked(x, t, address);
        case 7: return static_cast<u64>(PersistentTable_countStarvingForAddress(x, t, address));
        case 8: return static_cast<u64>(PersistentTable_countReadStarvingForAddress(x, t, address));
    }
    return 0;
}

EXPORT u64 t_perfect(void* block, u64 op, u64 table, u64 address, u64 value) {
    Context x = context_of(block);
    const u32 t = static_cast<u32>(table);
    switch (op) {
        case 0: PerfectCacheMemory_allocate<Entry>(x, t, address)->data.data[0] = value; return 0;
        case 1: PerfectCacheMemory_deallocate(x, t, address); return 0;
        case 2: return PerfectCacheMemory_isTagPresent(x, t, address);
        case 3: {
            Entry* entry = PerfectCacheMemory_lookup<Entry>(x, t, address);
            const u64 found = entry->data.data[0];
            entry->data.data[0] = value;
            return found;
        }
    }
    return 0;
}

// Slots of entries that somebody holds.
EXPORT u64 t_entries(void* block) { return context_of(block).s->entries.at(context_of(block), 0).live; }
