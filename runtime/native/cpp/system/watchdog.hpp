// Ends runs that only work: transitions without a completed request, messages without end.
//
// Invariant: the points at which it looks, the numbers that it sees and the transition that it names
// are those of runtime/system/watchdog.py. A look between two ticks changes nothing but its own
// state, so a run that is no runaway does not depend on it.

#pragma once

#include "controller/controller_state.hpp"
#include "system/core.hpp"

inline Controller& controller(const Context& x, u32 id);  // system.hpp
inline u64 requesters_completed(const Context& x);        // registry.hpp

inline void watchdog_schedule(Context& x) {
    EngineState& e = x.s->engine;
    e.look_wakeups = e.wakeups + LOOK_WAKEUPS;
    e.look_sequence = e.sequence + x.s->watchdog.messages / LOOK_SHARE;
}

inline void watchdog_start(Context& x) {
    x.s->watchdog.since = NONE;
    watchdog_schedule(x);
}

// Note where the counters stand, so that it can be named what has moved since.
inline COLD void watchdog_suspect(Context& x) {
    System& s = *x.s;
    Watchdog& w = s.watchdog;
    w.since = s.engine.now;
    w.wakeups_before = s.engine.wakeups;
    w.transitions_before = s.trace.count;
    __builtin_memcpy(w.before.in(x), s.counts.in(x), sizeof(u64) * s.counts.count);
}

// A transition, by its cell among all of the system.
inline void watchdog_name(Context& x, u64 cell) {
    u32 id = 0;
    while (id + 1 < x.s->controllers && controller(x, id + 1).counts <= cell) id++;
    const Controller& c = controller(x, id);
    const u64 stride = MACHINE_SHAPES[c.machine].events + 1;
    x.controller = id;
    x.state = static_cast<i32>((cell - c.counts) / stride);
    x.event = static_cast<i32>((cell - c.counts) % stride);
}

// Name the transition that was made most often, the first of equals. If there are hardly any: the
// first controller that stalled in this tick, with the transition that it tried, else the first that ran.
inline void watchdog_culprit(Context& x) {
    System& s = *x.s;
    const Watchdog& w = s.watchdog;
    x.controller = NIL;
    x.state = x.event = -1;
    const u64 transitions = s.trace.count - w.transitions_before;
    if (transitions * IDLE_SHARE >= s.engine.wakeups - w.wakeups_before) {
        const u64* counts = s.counts.in(x);
        const u64* before = w.before.in(x);
        u64 most = 0;
        for (u64 cell = 0; cell < s.counts.count; cell++) {
            if (counts[cell] - before[cell] <= most) continue;
            most = counts[cell] - before[cell];
            watchdog_name(x, cell);
        }
        return;
    }
    for (u32 id = s.controllers; id--;) {
        if (controller(x, id).busy_tick == now(x)) x.controller = id;
    }
    for (u32 id = 0; id < s.controllers; id++) {
        const Controller& c = controller(x, id);
        if (c.stall_tick != now(x)) continue;
        x.controller = id;
        x.state = c.stall_state;
        x.event = c.stall_event;
        return;
    }
}

inline COLD void watchdog_verdict(Context& x, ErrorKind kind) {
    watchdog_culprit(x);
    x.action = 0;
    x.address = NONE;
    fail(x, kind, 0);
}

// There were too many rounds in one tick.
inline COLD void watchdog_endless_tick(Context& x) {
    watchdog_verdict(x, ErrorKind::TOO_MANY_TRANSITIONS);
}

inline COLD void watchdog_look(Context& x) {
    System& s = *x.s;
    Watchdog& w = s.watchdog;
    watchdog_schedule(x);
    const u64 work = s.trace.count + s.engine.wakeups;
    const u64 completed = requesters_completed(x);
    const u64 allowed = w.paid + w.credit * (completed - w.completed);
    const u64 excess = work > allowed ? work - allowed : 0;
    w.paid = work - excess;
    w.completed = completed;
    const u64 messages = s.messages.live;
    if (2 * messages <= w.messages && !excess) {
        w.since = NONE;
    } else if (w.since == NONE) {
        watchdog_suspect(x);
    } else if (messages > w.messages) {
        watchdog_verdict(x, ErrorKind::TOO_MANY_MESSAGES);
    } else if (excess > w.work) {
        watchdog_verdict(x, ErrorKind::TOO_MANY_TRANSITIONS);
    }
}
