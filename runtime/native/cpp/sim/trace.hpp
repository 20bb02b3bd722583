// A hash over every transition, and the transitions themselves for those who compare engines.
//
// Invariant: two runs with the same hash made the same transitions in the same order; the hash
// is that of runtime/controller/trace.py.

#pragma once

#include "block/context.hpp"
#include "controller/controller_state.hpp"
#include "sim/prng.hpp"

inline constexpr u32 STEP_WORDS = 6;

inline COLD void trace_write(Context& x, u32 id, u64 address, i32 state, i32 event, i32 next) {
    if (x.steps_written >= x.steps_room) return;
    u64* step = x.steps + STEP_WORDS * x.steps_written++;
    step[0] = now(x);
    step[1] = id;
    step[2] = address;
    step[3] = static_cast<u64>(state);
    step[4] = static_cast<u64>(event);
    step[5] = static_cast<u64>(next);
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
}
