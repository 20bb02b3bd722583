// The one owner of time.
//
// Invariant: inside a tick every due item is handed over before the first consumer runs, and
// consumers run in ascending id; what asks for the current tick again runs in a further round
// of it. The wheel holds the ticks [now, now + WHEEL), the heap all later ones.

#pragma once

#include "block/line_map.hpp"
#include "block/pools.hpp"

// Defined above the engine: where a due item goes, and what a consumer does when woken.
inline void deliver(Context& x, Message& item);
inline void consumer_wakeup(Context& x, u32 consumer);

// Defined above it, too: what watches for runaways.
inline void watchdog_suspect(Context& x);
inline void watchdog_endless_tick(Context& x);

// ---------------------------------------------------------------- the far future

inline bool far_before(const FarItem& one, const FarItem& other) {
    return one.tick != other.tick ? one.tick < other.tick : one.order < other.order;
}

inline COLD void far_push(Context& x, u64 tick, u32 item, bool wake) {
    EngineState& e = x.s->engine;
    if (e.far_count >= e.far.count) {
        pool_exhausted(x, POOL_FAR, e.far.count);
        return;
    }
    INVARIANT(tick > e.now);
    FarItem* heap = e.far.in(x);
    const FarItem added = {tick, e.far_order++, item, wake};
    u64 place = e.far_count++;
    while (place && far_before(added, heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = added;
}

inline FarItem far_pop(Context& x) {
    EngineState& e = x.s->engine;
    FarItem* heap = e.far.in(x);
    INVARIANT(e.far_count > 0);
    const FarItem first = heap[0];
    INVARIANT(first.tick >= e.now);
    const FarItem moved = heap[--e.far_count];
    u64 place = 0;
    for (u64 child = 1; child < e.far_count; child = 2 * place + 1) {
        if (child + 1 < e.far_count && far_before(heap[child + 1], heap[child])) child++;
        if (!far_before(heap[child], moved)) break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = moved;
    return first;
}

// ---------------------------------------------------------------- asking for a tick

inline void wheel_wake(Context& x, u32 slot, u32 consumer) {
    EngineState& e = x.s->engine;
    INVARIANT(slot < WHEEL && consumer < 64 * e.words);
    e.occupied.add(slot);
    x.wakes[slot * e.words + (consumer >> 6)] |= u64{1} << (consumer & 63);
}

// The last of no items: seen from there, the head of a slot's list stands where an item has the
// handle of the next one.
inline u32 wheel_front(const Context& x, const WheelSlot& list) {
    return static_cast<u32>((offset_of(x, list.head) - offsetof(Message, next)) >> 3);
}

inline void wheel_append(Context& x, u32 slot, Message& item) {
    INVARIANT(slot < WHEEL);
    WheelSlot& list = x.wheel[slot];
    INVARIANT(item.self == handle_of(x, item));
    x.s->engine.occupied.add(slot);
    item.next = 0;
    of_handle<Message>(x, list.tail).next = item.self;
    list.tail = item.self;
}

inline void wheel_start(Context& x) {
    for (u32 slot = 0; slot < WHEEL; slot++) x.wheel[slot].tail = wheel_front(x, x.wheel[slot]);
}

// Let a consumer run in a further round of the current tick.
inline void flag_consumer(Context& x, u32 consumer) {
    INVARIANT(consumer < 64 * x.s->engine.words);
    x.pending[consumer >> 6] |= u64{1} << (consumer & 63);
}

#ifdef SLICC_UNTIMED
inline constexpr bool JUDGES_TIMES = false;  // what a protocol asserts of them
#include "untimed/posting.hpp"
#else
inline constexpr bool JUDGES_TIMES = true;

// What is sent there need not wait for what was sent before. Here its arrival says so.
inline void channel_overtaken(const Context&, u32) {}
inline void buffer_overtaken(const Context&, u32) {}
inline void port_overtaken(const Context&, u32) {}

// Wake a consumer at `tick`; now or earlier means in a further round of this tick.
inline void schedule(Context& x, u32 consumer, u64 tick) {
    EngineState& e = x.s->engine;
    if (tick <= e.now) {
        if (e.running) {
            flag_consumer(x, consumer);
            return;
        }
        tick = e.now;
    }
    if (UNLIKELY(tick - e.now >= WHEEL)) {
        far_push(x, tick, consumer, true);
        return;
    }
    const u32 slot = tick & (WHEEL - 1);
    wheel_wake(x, slot, consumer);
}

// When an alarm for `tick` goes off, and its consumer is woken.
inline u64 alarm_tick(Context& x, u32 consumer, u64 tick) {
    schedule(x, consumer, tick == NONE ? NONE - 1 : tick);  // both never come, but one is pending
    return tick;
}

// Deliver an item at the start of `tick`: who receives it is woken then. At the current tick of
// a running engine it is delivered at once.
inline void post(Context& x, Message& item, u64 tick) {
    EngineState& e = x.s->engine;
    if (UNLIKELY(tick - e.now - 1 >= WHEEL - 1)) {  // now, earlier, or beyond the wheel
        if (tick > e.now) {
            far_push(x, tick, item.self, false);
            return;
        }
        if (e.running) {
            deliver(x, item);
            return;
        }
        tick = e.now;
    }
    wheel_append(x, tick & (WHEEL - 1), item);
}

inline void post(Context& x, Message& item, u64 tick, u32) { post(x, item, tick); }
#endif

// Post something that is no message.
inline void post_event(Context& x, Delivery delivery, u32 target, u64 tick) {
    Message& event = pool_take<Message>(x, x.s->events);
    event.self = handle_of(x, event);
    event.type = 0;
    event.delivery = delivery;
    event.target = target;
    post(x, event, tick);
}

inline void stop(Context& x) { x.s->engine.stopped = 1; }

// ---------------------------------------------------------------- running

// The next tick that has anything to do, NONE without one.
inline u64 next_tick(const Context& x) {
    const EngineState& e = x.s->engine;
    const u64 ahead = e.occupied.distance(e.now & (WHEEL - 1));
    if (LIKELY(ahead < WHEEL)) return e.now + ahead;
    return e.far_count ? e.far.in(x)[0].tick : NONE;
}

inline void far_to_wheel(Context& x) {
    EngineState& e = x.s->engine;
    while (e.far_count && e.far.in(x)[0].tick - e.now < WHEEL) {
        const FarItem item = far_pop(x);
        const u32 slot = item.tick & (WHEEL - 1);
        if (item.wake) {
            wheel_wake(x, slot, item.item);
        } else {
            wheel_append(x, slot, of_handle<Message>(x, item.item));
        }
    }
}

// What the wake-up that is over no longer looks at becomes free.
inline APART void limbo_tables(Context& x) {
    Limbo& limbo = x.s->limbo;
    while (limbo.entries) {
        AbstractCacheEntry& entry = of_handle<AbstractCacheEntry>(x, limbo.entries);
        limbo.entries = entry.next;
        INVARIANT(entry.limbo && entry.live);
        entry.limbo = 0;
        if (entry.cache == NIL) {
            entry.live = 0;
            pool_give(x, x.s->entries.at(x, entry.machine), entry);
        }
    }
    while (limbo.records) {
        TbeHeader& record = of_handle<TbeHeader>(x, limbo.records);
        limbo.records = record.next;
        INVARIANT(record.live && !record.used);
        record.live = 0;
        pool_give(x, x.s->records.at(x, record.machine), record);
    }
}

inline void limbo_release(Context& x) {
    Limbo& limbo = x.s->limbo;
    if (limbo.messages) {
        Pool& pool = x.s->messages;
        of_handle<Message>(x, limbo.last_message).next = pool.free;
        pool.free = limbo.messages;
        limbo.messages = 0;
        limbo.last_message = LIMBO_FRONT;
    }
    if (limbo.entries | limbo.records) limbo_tables(x);
}

// Hand over what is due.
inline void deliver_slot(Context& x, u32 slot) {
    EngineState& e = x.s->engine;
    e.occupied.remove(slot);
    WheelSlot& list = x.wheel[slot];
    u32 handle = list.head;
    list.head = 0;
    list.tail = wheel_front(x, list);
    while (handle) {
        Message& item = of_handle<Message>(x, handle);
        INVARIANT(item.self == handle);
        handle = item.next;
        __builtin_prefetch(&of_handle<Message>(x, handle));
        deliver(x, item);
    }
}

// Run the consumers of a mask in ascending id; false when something went wrong.
inline bool run_consumers(Context& x, u32 first, u64 mask) {
    while (mask) {
        const u32 consumer = first + static_cast<u32>(__builtin_ctzll(mask));
        mask &= mask - 1;
        x.s->engine.wakeups++;
        consumer_wakeup(x, consumer);
        limbo_release(x);
        if (UNLIKELY(x.s->trouble)) return false;
    }
    return true;
}

// Masks of consumers have one word in most systems; these are for what stands behind it. They stand
// apart because a compiler makes more of such loops than their few rounds are worth.

inline APART void take_more_wakes(u64* pending, u64* wakes, u32 words) {
    for (u32 i = 1; i < words; i++) {
        pending[i] |= wakes[i];
        wakes[i] = 0;
    }
}

inline APART void take_more_pending(u64* flags, u64* pending, u32 words) {
    for (u32 i = 1; i < words; i++) {
        flags[i] = pending[i];
        pending[i] = 0;
    }
}

inline APART u64 more_pending(const u64* pending, u32 words) {
    u64 any = 0;
    for (u32 i = 1; i < words; i++) any |= pending[i];
    return any;
}

// Run who is flagged, in ascending id; who is flagged meanwhile runs in the next round. False when
// something went wrong.
inline APART bool run_round(Context& x) {
    const EngineState& e = x.s->engine;
    const u32 words = e.words;
    u64* const flags = e.flags.in(x);
    u64 mask = x.pending[0];
    x.pending[0] = 0;
    if (words > 1) take_more_pending(flags, x.pending, words);
    for (u32 i = 0;;) {
        if (!run_consumers(x, i * 64, mask)) return false;
        if (LIKELY(++i >= words)) return true;
        mask = flags[i];
    }
}

inline TINY void run_tick(Context& x, u64 tick) {
    EngineState& e = x.s->engine;
    const u32 slot = tick & (WHEEL - 1);
    INVARIANT(tick >= e.now);
    INVARIANT(!e.far_count || e.far.at(x, 0).tick >= tick);
    e.now = tick;
    e.running = 1;
    if (UNLIKELY(e.far_count)) far_to_wheel(x);
    deliver_slot(x, slot);
    const u32 words = e.words;
    u64* const pending = x.pending;
    u64* const wakes = x.wakes + slot * words;
    pending[0] |= wakes[0];
    wakes[0] = 0;
    if (words > 1) take_more_wakes(pending, wakes, words);
    u64 rounds = 0;
    u64 more;
    do {
        if (!run_round(x)) return;
        more = pending[0];
        if (words > 1) more |= more_pending(pending, words);
        if (UNLIKELY(more && ++rounds >= e.max_rounds >> 1)) {
            // Half of the rounds are over: see what the other half does.
            if (rounds == e.max_rounds >> 1) watchdog_suspect(x);
            if (rounds > e.max_rounds) return watchdog_endless_tick(x);
        }
    } while (more);
    e.running = 0;
}
