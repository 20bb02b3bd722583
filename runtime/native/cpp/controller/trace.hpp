// A hash over every transition, and the transitions themselves for those who compare engines.
//
// Invariant: two runs with the same hash made the same transitions in the same order; the hash
// is that of runtime/controller/trace.py.

#pragma once

#include "block/context.hpp"
#include "controller/controller_state.hpp"
#include "sim/prng.hpp"
#include "statistics/counters.hpp"

inline COLD void trace_write(Context& x, u32 id, u64 address, i32 state, i32 event, i32 next) {
    if (x.steps_written >= x.steps_room) return;
    u64* step = x.steps + STEP_WORDS * x.steps_written++;
    step[STEP_TICK] = now(x);
    step[STEP_CONTROLLER] = id;
    step[STEP_ADDRESS] = address;
    step[STEP_STATE] = static_cast<u64>(state);
    step[STEP_EVENT] = static_cast<u64>(event);
    step[STEP_NEXT] = static_cast<u64>(next);
}

// Called after every transition.
inline void observe(Context& x, const Controller& c, u64 address, i32 state, i32 event, i32 next) {
    TraceState& trace = x.s->trace;
    const u64 step = (now(x) << 20) ^ (u64{c.id} << 48) ^ (address << 1) ^
                     (static_cast<u64>(event) << 11) ^ static_cast<u64>(state) ^
                     (static_cast<u64>(next) << 56);
    const u64 value = (trace.value ^ step) * GOLDEN;
    trace.value = value ^ (value >> 29);
    trace.count++;
    if (UNLIKELY(x.steps != nullptr)) trace_write(x, c.id, address, state, event, next);
    count_transition(x, c);
}
