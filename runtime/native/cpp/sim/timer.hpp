// Alarms by line: TimerTable of runtime/structures/tbe_table.py.
//
// Invariant: a line has one alarm at most, and its place says where that stands in the heap. The
// first of the heap is the earliest; among those of one tick, the one of the lowest address.

#pragma once

#include "sim/engine.hpp"
#include "block/line_map.hpp"

inline TimerTable& timer_table(const Context& x, u32 timer) {
    INVARIANT(timer < x.s->library.timers_used);
    return x.s->library.timers.in(x)[timer];
}

// The next timer of a controller; called once for each when the system is built.
inline u32 TimerTable_create(Context& x, u32 consumer) {
    LibraryTables& library = x.s->library;
    const u32 timer = static_cast<u32>(library.timers_used++);
    TimerTable& t = timer_table(x, timer);
    t.consumer = consumer;
    t.alarms = library.alarms.offset + u64{timer} * x.s->lines.capacity * sizeof(Alarm);
    return timer;
}

inline Alarm* timer_alarms(const Context& x, const TimerTable& t) {
    return in_block<Alarm>(x, t.alarms);
}

inline u32& timer_place(Context& x, const TimerTable& t, u64 address) {
    return line_places(x, address)[t.places];
}

inline bool alarm_before(const Alarm& one, const Alarm& other) {
    return one.tick != other.tick ? one.tick < other.tick : one.address < other.address;
}

inline void timer_put(Context& x, const TimerTable& t, u32 position, const Alarm& alarm) {
    INVARIANT(position < t.count);
    timer_alarms(x, t)[position] = alarm;
    timer_place(x, t, alarm.address) = position + 1;
}

// Find the place of an alarm, from a position that is free, towards the first or the last.
inline void timer_sift(Context& x, const TimerTable& t, u32 position, const Alarm& alarm) {
    const Alarm* alarms = timer_alarms(x, t);
    while (position && alarm_before(alarm, alarms[(position - 1) / 2])) {
        timer_put(x, t, position, alarms[(position - 1) / 2]);
        position = (position - 1) / 2;
    }
    for (u32 child = 2 * position + 1; child < t.count; child = 2 * position + 1) {
        if (child + 1 < t.count && alarm_before(alarms[child + 1], alarms[child])) child++;
        if (!alarm_before(alarms[child], alarm)) break;
        timer_put(x, t, position, alarms[child]);
        position = child;
    }
    timer_put(x, t, position, alarm);
}

// Arm an alarm at an absolute tick.
inline void TimerTable_set(Context& x, u32 timer, u64 address, u64 tick) {
    TimerTable& t = timer_table(x, timer);
    if (UNLIKELY(timer_place(x, t, address) || t.count >= x.s->lines.capacity)) {
        fail(x, ErrorKind::ALREADY_ALLOCATED);
        return;
    }
    t.count++;
    timer_sift(x, t, t.count - 1, {alarm_tick(x, t.consumer, tick), address});
}

inline void TimerTable_unset(Context& x, u32 timer, u64 address) {
    TimerTable& t = timer_table(x, timer);
    u32& place = timer_place(x, t, address);
    if (UNLIKELY(!place)) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    const u32 position = place - 1;
    INVARIANT(timer_alarms(x, t)[position].address == address);
    place = 0;
    INVARIANT(t.count > 0);
    t.count--;
    if (position < t.count) timer_sift(x, t, position, Alarm(timer_alarms(x, t)[t.count]));
}

inline bool TimerTable_isSet(Context& x, u32 timer, u64 address) {
    return timer_place(x, timer_table(x, timer), address) != 0;
}

// Whether the earliest alarm has passed. It stays so until it is unset.
inline bool TimerTable_isReady(const Context& x, u32 timer) {
    const TimerTable& t = timer_table(x, timer);
    return t.count && timer_alarms(x, t)->tick <= now(x);
}

inline bool TimerTable_isEmpty(const Context& x, u32 timer) { return !timer_table(x, timer).count; }

// The line of the earliest alarm.
inline u64 TimerTable_nextAddress(Context& x, u32 timer) {
    const TimerTable& t = timer_table(x, timer);
    if (LIKELY(t.count)) return timer_alarms(x, t)->address;
    fail(x, ErrorKind::EMPTY_BUFFER);
    return 0;
}
