// Bookkeeping of protocols that keep a list of pending events per transaction.
//
// Invariant: the items of a queue are in no other queue. Freeing a record leaves the items
// of its queues: those that are no longer referenced are found by the collector (gc.hpp).

#pragma once

#include "block/context.hpp"
#include "block/gc_marking.hpp"
#include "block/pools.hpp"

template <class T>
struct Identity {
    using type = T;
};

// ---------------------------------------------------------------- queues of events

struct TriggerNode {
    u32 next;
    u32 live;  // as of other nodes: see marking.hpp
    bool nonblocking;
};

template <class T>
struct TriggerItem : TriggerNode {
    T value;
};

// Pending events, each blocking or not: one that is not may run while answers are outstanding.
template <class T>
struct TriggerQueue {
    u32 head;
    u32 tail;
    i32 count;
};

template <class T>
inline TriggerItem<T>& trigger_item(const Context& x, u32 handle) {
    return of_handle<TriggerItem<T>>(x, handle);
}

template <class T>
inline TriggerItem<T>& trigger_made(Context& x, const T& value, bool nonblocking) {
    TriggerNode& node = pool_take<TriggerNode>(x, x.s->triggers);
    node.live = 1;
    node.next = 0;
    node.nonblocking = nonblocking;
    static_cast<TriggerItem<T>&>(node).value = value;
    return static_cast<TriggerItem<T>&>(node);
}

template <class T>
inline void trigger_append(Context& x, TriggerQueue<T>& q, const T& value, bool nonblocking) {
    const u32 item = handle_of(x, trigger_made(x, value, nonblocking));
    INVARIANT((q.head == 0) == (q.count == 0));
    INVARIANT(!q.head || !trigger_item<T>(x, q.tail).next);
    (q.head ? trigger_item<T>(x, q.tail).next : q.head) = item;
    q.tail = item;
    q.count++;
}

template <class T>
inline void trigger_prepend(Context& x, TriggerQueue<T>& q, const T& value, bool nonblocking) {
    TriggerItem<T>& item = trigger_made(x, value, nonblocking);
    item.next = q.head;
    if (!q.head) q.tail = handle_of(x, item);
    q.head = handle_of(x, item);
    q.count++;
}

template <class T>
inline void TriggerQueue_push(Context& x, TriggerQueue<T>& q,
                              const typename Identity<T>::type& value) {
    trigger_append(x, q, value, false);
}
template <class T>
inline void TriggerQueue_pushNB(Context& x, TriggerQueue<T>& q,
                                const typename Identity<T>::type& value) {
    trigger_append(x, q, value, true);
}
template <class T>
inline void TriggerQueue_pushFront(Context& x, TriggerQueue<T>& q,
                                   const typename Identity<T>::type& value) {
    trigger_prepend(x, q, value, false);
}
template <class T>
inline void TriggerQueue_pushFrontNB(Context& x, TriggerQueue<T>& q,
                                     const typename Identity<T>::type& value) {
    trigger_prepend(x, q, value, true);
}

template <class T>
inline bool TriggerQueue_empty(Context&, const TriggerQueue<T>& q) {
    return !q.head;
}
template <class T>
inline i32 TriggerQueue_size(Context&, const TriggerQueue<T>& q) {
    return q.count;
}

template <class T>
inline const TriggerItem<T>& trigger_at(Context& x, const TriggerQueue<T>& q, u32 handle) {
    if (LIKELY(q.head)) return trigger_item<T>(x, handle);
    fail(x, ErrorKind::EMPTY_BUFFER);
    return scratch<TriggerItem<T>>(x);
}

template <class T>
inline T TriggerQueue_front(Context& x, const TriggerQueue<T>& q) {
    return trigger_at(x, q, q.head).value;
}
template <class T>
inline T TriggerQueue_back(Context& x, const TriggerQueue<T>& q) {
    return trigger_at(x, q, q.tail).value;
}
template <class T>
inline bool TriggerQueue_frontNB(Context& x, const TriggerQueue<T>& q) {
    return trigger_at(x, q, q.head).nonblocking;
}
template <class T>
inline bool TriggerQueue_backNB(Context& x, const TriggerQueue<T>& q) {
    return trigger_at(x, q, q.tail).nonblocking;
}

template <class T>
inline void trigger_drop(Context& x, TriggerNode& node) {
    node.live = 0;
    pool_give(x, x.s->triggers, node);
}

// Take out the item behind another (0: the first).
template <class T>
inline void trigger_remove(Context& x, TriggerQueue<T>& q, u32 before) {
    u32& link = before ? trigger_item<T>(x, before).next : q.head;
    TriggerItem<T>& item = trigger_item<T>(x, link);
    link = item.next;
    if (!item.next) q.tail = before;
    INVARIANT(q.count > 0);
    q.count--;
    trigger_drop<T>(x, item);
}

template <class T>
inline void TriggerQueue_pop(Context& x, TriggerQueue<T>& q) {
    if (UNLIKELY(!q.head)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return;
    }
    trigger_remove(x, q, 0);
}

// Become a copy of another queue.
template <class T>
inline void TriggerQueue_assign(Context& x, TriggerQueue<T>& q, const TriggerQueue<T>& other) {
    TriggerQueue<T> made = {};
    for (u32 h = other.head; h; h = trigger_item<T>(x, h).next) {
        trigger_append(x, made, T(trigger_item<T>(x, h).value), trigger_item<T>(x, h).nonblocking);
    }
    while (q.head) trigger_remove(x, q, 0);
    q = made;
}

template <class T>
inline TriggerQueue<T> TriggerQueue_copy(Context& x, const TriggerQueue<T>& other) {
    TriggerQueue<T> made = {};
    TriggerQueue_assign(x, made, other);
    return made;
}

inline bool trigger_equal(const Context&, i32 one, i32 other) { return one == other; }
template <class T>
inline bool trigger_equal(const Context& x, const T& one, const T& other) {
    return equal(x, one, other);
}

template <class T>
inline bool TriggerQueue_equal(const Context& x, const TriggerQueue<T>& a,
                               const TriggerQueue<T>& b) {
    if (a.count != b.count) return false;
    for (u32 one = a.head, other = b.head; one;
         one = trigger_item<T>(x, one).next, other = trigger_item<T>(x, other).next) {
        const TriggerItem<T>& mine = trigger_item<T>(x, one);
        const TriggerItem<T>& theirs = trigger_item<T>(x, other);
        if (mine.nonblocking != theirs.nonblocking || !trigger_equal(x, mine.value, theirs.value))
            return false;
    }
    return true;
}

inline void mark_value(Context&, Marker&, const i32&) {}

template <class T>
inline void mark_value(Context& x, Marker& marker, const TriggerQueue<T>& q) {
    for (u32 h = q.head; h; h = trigger_item<T>(x, h).next) {
        trigger_item<T>(x, h).live = 2;
        mark_value(x, marker, trigger_item<T>(x, h).value);
    }
}

// ---------------------------------------------------------------- what a transaction waits for

inline constexpr u32 EXPECTED_KINDS = 128;  // members of an enumeration of messages

// Kinds of messages that may arrive, and which have; whole messages come in `more` + 1 parts.
struct Expected {
    u64 announced[EXPECTED_KINDS / 64];
    u64 arrived[EXPECTED_KINDS / 64];
    i32 more;
    i32 parts;
    i32 received;
};

struct ExpectedMap {
    Expected data;
    Expected responses;
    i32 total;
};

inline bool expected_has(const u64* kinds, i32 kind) {
    const u32 number = static_cast<u32>(kind);
    return number < EXPECTED_KINDS && (kinds[number / 64] >> (number & 63) & 1);
}

inline void expected_add(Expected& e, i32 kind) {
    const u32 number = static_cast<u32>(kind);
    if (number >= EXPECTED_KINDS) return;
    e.announced[number / 64] |= u64{1} << (number & 63);
    e.arrived[number / 64] &= ~(u64{1} << (number & 63));
}

// Account one part; false if its kind is not expected.
inline bool expected_arrive(Expected& e, i32 kind) {
    if (!expected_has(e.announced, kind)) return false;
    e.arrived[kind / 64] |= u64{1} << (kind & 63);
    if (++e.parts == e.more + 1) {
        e.parts = 0;
        e.received++;
    }
    return true;
}

// Start again; a data message arrives in `chunks` parts.
inline void ExpectedMap_clear(Context&, ExpectedMap& e, i32 chunks) {
    e = {};
    e.data.more = chunks - 1;
}
inline void ExpectedMap_addExpectedRespType(Context&, ExpectedMap& e, i32 kind) {
    expected_add(e.responses, kind);
}
inline void ExpectedMap_addExpectedDataType(Context&, ExpectedMap& e, i32 kind) {
    expected_add(e.data, kind);
}
inline void ExpectedMap_setExpectedCount(Context&, ExpectedMap& e, i32 count) { e.total = count; }
inline void ExpectedMap_addExpectedCount(Context&, ExpectedMap& e, i32 count) {
    e.total = i32(u32(e.total) + u32(count));
}
inline i32 ExpectedMap_received(Context&, const ExpectedMap& e) {
    return e.data.received + e.responses.received;
}
inline i32 ExpectedMap_expected(Context& x, const ExpectedMap& e) {
    return i32(u32(e.total) - u32(ExpectedMap_received(x, e)));
}
inline bool ExpectedMap_hasExpected(Context& x, const ExpectedMap& e) {
    return ExpectedMap_expected(x, e) != 0;
}
inline bool ExpectedMap_hasReceivedData(Context&, const ExpectedMap& e) {
    return e.data.received != 0;
}
inline bool ExpectedMap_hasReceivedResp(Context&, const ExpectedMap& e) {
    return e.responses.received != 0;
}
inline bool ExpectedMap_receivedDataType(Context&, const ExpectedMap& e, i32 kind) {
    return expected_has(e.data.arrived, kind);
}
inline bool ExpectedMap_receivedRespType(Context&, const ExpectedMap& e, i32 kind) {
    return expected_has(e.responses.arrived, kind);
}

inline bool ExpectedMap_receiveResp(Context& x, ExpectedMap& e, i32 kind) {
    if (LIKELY(ExpectedMap_received(x, e) < e.total)) return expected_arrive(e.responses, kind);
    fail(x, ErrorKind::ASSERTION);
    return false;
}
inline bool ExpectedMap_receiveData(Context& x, ExpectedMap& e, i32 kind) {
    if (LIKELY(ExpectedMap_received(x, e) <= e.total)) return expected_arrive(e.data, kind);
    fail(x, ErrorKind::ASSERTION);
    return false;
}

inline bool expected_equal(const Expected& a, const Expected& b) {
    for (u32 i = 0; i < EXPECTED_KINDS / 64; i++) {
        if (a.announced[i] != b.announced[i] || a.arrived[i] != b.arrived[i]) return false;
    }
    return a.more == b.more && a.parts == b.parts && a.received == b.received;
}
inline bool ExpectedMap_equal(const Context&, const ExpectedMap& a, const ExpectedMap& b) {
    return a.total == b.total && expected_equal(a.data, b.data) &&
           expected_equal(a.responses, b.responses);
}

// ---------------------------------------------------------------- slots

inline TBEStorage& tbe_storage(const Context& x, u32 storage) {
    INVARIANT(storage < x.s->library.storages_used);
    return x.s->library.storages.in(x)[storage];
}

inline u32* storage_free(const Context& x, const TBEStorage& s) {
    return in_block<u32>(x, s.slots);
}
inline u32* storage_users(const Context& x, const TBEStorage& s) {
    return in_block<u32>(x, s.slots) + s.capacity;
}

// The next storage; called once for each when the system is built.
inline u32 TBEStorage_create(Context& x, u64 capacity) {
    LibraryTables& library = x.s->library;
    const u32 storage = static_cast<u32>(library.storages_used++);
    TBEStorage& s = tbe_storage(x, storage);
    s.capacity = s.available = static_cast<u32>(capacity);
    s.slots = library.slots.offset + library.slots_used * sizeof(u32);
    library.slots_used += 2 * capacity;
    for (u32 i = 0; i < s.capacity; i++) storage_free(x, s)[i] = s.capacity - 1 - i;
    return storage;
}

inline i32 TBEStorage_capacity(const Context& x, u32 storage) {
    return static_cast<i32>(tbe_storage(x, storage).capacity);
}
inline i32 TBEStorage_reserved(const Context& x, u32 storage) {
    return tbe_storage(x, storage).reserved;
}
inline i32 TBEStorage_size(const Context& x, u32 storage) {
    const TBEStorage& s = tbe_storage(x, storage);
    return static_cast<i32>(s.capacity - s.available);
}
inline i32 TBEStorage_slotsAvailable(const Context& x, u32 storage) {
    const TBEStorage& s = tbe_storage(x, storage);
    return static_cast<i32>(s.available) - s.reserved;
}
inline bool TBEStorage_areNSlotsAvailable(const Context& x, u32 storage, i64 count) {
    return TBEStorage_slotsAvailable(x, storage) >= count;
}
inline void TBEStorage_incrementReserved(Context& x, u32 storage) {
    tbe_storage(x, storage).reserved++;
}
inline void TBEStorage_decrementReserved(Context& x, u32 storage) {
    TBEStorage& s = tbe_storage(x, storage);
    if (UNLIKELY(!s.reserved)) {
        fail(x, ErrorKind::ASSERTION);
        return;
    }
    INVARIANT(s.reserved > 0);
    s.reserved--;
}

// Take the slot that was freed last.
inline i32 TBEStorage_addEntryToNewSlot(Context& x, u32 storage) {
    TBEStorage& s = tbe_storage(x, storage);
    if (UNLIKELY(TBEStorage_slotsAvailable(x, storage) < 1)) {
        fail(x, ErrorKind::TABLE_FULL);
        return 0;
    }
    INVARIANT(s.reserved >= 0 && s.available <= s.capacity);
    const u32 slot = storage_free(x, s)[--s.available];
    INVARIANT(slot < s.capacity && !storage_users(x, s)[slot]);
    storage_users(x, s)[slot] = 1;
    return static_cast<i32>(slot);
}

// The users of a slot that is in use; null and a verdict for another.
inline u32* storage_slot(Context& x, u32 storage, i32 slot) {
    const TBEStorage& s = tbe_storage(x, storage);
    u32* users = storage_users(x, s) + slot;
    if (LIKELY(static_cast<u32>(slot) < s.capacity && *users)) return users;
    fail(x, ErrorKind::NOT_ALLOCATED);
    return nullptr;
}

// A second transaction shares a slot.
inline void TBEStorage_addEntryToSlot(Context& x, u32 storage, i32 slot) {
    if (u32* users = storage_slot(x, storage, slot)) ++*users;
}

// A transaction leaves its slot; the last one frees it.
inline void TBEStorage_removeEntryFromSlot(Context& x, u32 storage, i32 slot) {
    TBEStorage& s = tbe_storage(x, storage);
    u32* users = storage_slot(x, storage, slot);
    if (users && !--*users) storage_free(x, s)[s.available++] = static_cast<u32>(slot);
}
