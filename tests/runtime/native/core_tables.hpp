// What tests/runtime/native/test_core_tables.py asks of timers, persistent tables and perfect caches.

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
        case 0:
            PersistentTable_persistentRequestLock(x, t, address, machine, static_cast<i32>(kind));
            return 0;
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

// Slots of entries that are held.
EXPORT u64 t_entries(void* block) {
    return context_of(block).s->entries.at(context_of(block), 0).live;
}

// ---------------------------------------------------------------- transactions

EXPORT u64 t_queue(void* block, u64 op, u64 number, u64 which, u64 value) {
    Context x = context_of(block);
    Machine& m = static_cast<Machine&>(controller(x, static_cast<u32>(number)));
    TriggerQueue<i32>& q = m.queues[which];
    const i32 v = static_cast<i32>(value);
    switch (op) {
        case 0: TriggerQueue_push(x, q, v); return 0;
        case 1: TriggerQueue_pushNB(x, q, v); return 0;
        case 2: TriggerQueue_pushFront(x, q, v); return 0;
        case 3: TriggerQueue_pushFrontNB(x, q, v); return 0;
        case 4: TriggerQueue_pop(x, q); return 0;
        case 5: return static_cast<u64>(TriggerQueue_front(x, q));
        case 6: return static_cast<u64>(TriggerQueue_back(x, q));
        case 7: return TriggerQueue_frontNB(x, q);
        case 8: return TriggerQueue_backNB(x, q);
        case 9: return TriggerQueue_empty(x, q);
        case 10: return static_cast<u64>(TriggerQueue_size(x, q));
        case 11: TriggerQueue_assign(x, q, m.queues[1 - which]); return 0;
        case 12: return TriggerQueue_equal(x, q, m.queues[1 - which]);
    }
    return 0;
}

EXPORT u64 t_expected(void* block, u64 op, u64 number, u64 value) {
    Context x = context_of(block);
    ExpectedMap& e = static_cast<Machine&>(controller(x, static_cast<u32>(number))).expected;
    const i32 v = static_cast<i32>(value);
    switch (op) {
        case 0: ExpectedMap_clear(x, e, v); return 0;
        case 1: ExpectedMap_addExpectedRespType(x, e, v); return 0;
        case 2: ExpectedMap_addExpectedDataType(x, e, v); return 0;
        case 3: ExpectedMap_setExpectedCount(x, e, v); return 0;
        case 4: ExpectedMap_addExpectedCount(x, e, v); return 0;
        case 5: return static_cast<u64>(i64{ExpectedMap_expected(x, e)});
        case 6: return static_cast<u64>(ExpectedMap_received(x, e));
        case 7: return ExpectedMap_hasExpected(x, e);
        case 8: return ExpectedMap_hasReceivedData(x, e);
        case 9: return ExpectedMap_hasReceivedResp(x, e);
        case 10: return ExpectedMap_receiveResp(x, e, v);
        case 11: return ExpectedMap_receiveData(x, e, v);
        case 12: return ExpectedMap_receivedDataType(x, e, v);
        case 13: return ExpectedMap_receivedRespType(x, e, v);
    }
    return 0;
}

EXPORT u64 t_storage(void* block, u64 op, u64 number, u64 which, u64 value) {
    Context x = context_of(block);
    const u32 s = static_cast<Machine&>(controller(x, static_cast<u32>(number))).storages[which];
    const i32 v = static_cast<i32>(value);
    switch (op) {
        case 0: return static_cast<u64>(TBEStorage_size(x, s));
        case 1: return static_cast<u64>(TBEStorage_capacity(x, s));
        case 2: return static_cast<u64>(TBEStorage_reserved(x, s));
        case 3: return static_cast<u64>(i64{TBEStorage_slotsAvailable(x, s)});
        case 4: return TBEStorage_areNSlotsAvailable(x, s, v);
        case 5: TBEStorage_incrementReserved(x, s); return 0;
        case 6: TBEStorage_decrementReserved(x, s); return 0;
        case 7: return static_cast<u64>(TBEStorage_addEntryToNewSlot(x, s));
        case 8: TBEStorage_addEntryToSlot(x, s, v); return 0;
        case 9: TBEStorage_removeEntryFromSlot(x, s, v); return 0;
    }
    return 0;
}

EXPORT u64 t_partitions(void* block, u64 op, u64 number, u64 part, u64 value) {
    Context x = context_of(block);
    MN_TBEStorage<Retry>& s =
        static_cast<Machine&>(controller(x, static_cast<u32>(number))).partitions;
    const i32 v = static_cast<i32>(value);
    const i32 p = static_cast<i32>(part);
    switch (op) {
        case 0: return static_cast<u64>(MN_TBEStorage_size(x, s));
        case 1: return static_cast<u64>(MN_TBEStorage_capacity(x, s));
        case 2: return static_cast<u64>(MN_TBEStorage_reserved(x, s));
        case 3: return static_cast<u64>(i64{MN_TBEStorage_slotsAvailable(x, s, p)});
        case 4: return MN_TBEStorage_areNSlotsAvailable(x, s, v, p);
        case 5: MN_TBEStorage_incrementReserved(x, s, p); return 0;
        case 6: MN_TBEStorage_decrementReserved(x, s, p); return 0;
        case 7: return static_cast<u64>(MN_TBEStorage_addEntryToNewSlot(x, s, p));
        case 8: MN_TBEStorage_removeEntryFromSlot(x, s, v, p); return 0;
        case 9: MN_TBEStorage_emplaceRetryEntry(x, s, {v, p == 1}); return 0;
        case 10: return MN_TBEStorage_hasPossibleRetry(x, s);
        case 11: return static_cast<u64>(MN_TBEStorage_popNextRetryEntry(x, s).number);
    }
    return 0;
}

// What is left of the pool of items when the garbage is not held any more.
EXPORT u64 t_collect(void* block) {
    Context x = context_of(block);
    collect_garbage(x);
    return x.s->triggers.live;
}

// A queue that is dropped, as that of a deallocated record is.
EXPORT void t_forget(void* block, u64 number, u64 which) {
    Context x = context_of(block);
    static_cast<Machine&>(controller(x, static_cast<u32>(number))).queues[which] = {};
}

// ---------------------------------------------------------------- prefetchers

// Returns the hash of everything that it has asked for.
EXPORT u64 t_prefetcher(void* block, u64 op, u64 number, u64 address, u64 kind) {
    Context x = context_of(block);
    const Machine& m = static_cast<const Machine&>(controller(x, static_cast<u32>(number)));
    switch (op) {
        case 0: RubyPrefetcher_observeMiss(x, m.prefetcher, address, static_cast<i32>(kind)); break;
        case 1: RubyPrefetcher_observePfHit(x, m.prefetcher, address); break;
        case 2: RubyPrefetcher_observePfMiss(x, m.prefetcher, address); break;
    }
    return m.asked;
}
