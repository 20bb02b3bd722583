// Functions that the host may call in objects for the tester, besides system/api.hpp. Programs stay
// outside of the block and are passed again by every call that needs them, in the order of their drivers.
// tester/native/system.py calls these.

#pragma once

#include "calls/batch.hpp"

SLICC_API i64 slicc_add_driver(void* block, const ProgramView* program, u32 role,
                               const u32* requester_of_agent, const u8* steps, u64 first_identity) {
    Context x = context_of(block);
    return Driver_add(x, *program, static_cast<u8>(role), requester_of_agent, steps,
                      first_identity);
}

SLICC_API i64 slicc_add_flusher(void* block, u32 requester, const u64* lines, u64 count,
                                u64 first_identity) {
    Context x = context_of(block);
    return Flusher_add(x, requester, lines, count, first_identity);
}

// Run in slices of `ticks` ticks, at most `slices` of them, until the driver's agents have ended;
// after each one the oldest requests are checked. `until` is where the last slice ended.
SLICC_API i64 slicc_run_slices(void* block, ProgramView* programs, u64 driver, u64 ticks, u64 limit,
                               u64 slices, u64* until) {
    Context x = context_with(block, programs);
    for (; slices; slices--) {
        const u64 tick = next_tick(x);
        if (tick == NONE) return STATUS_IDLE;
        *until = (tick > *until ? tick : *until) + ticks;
        const i64 status = run_status(x, *until);
        if (status >= STATUS_FINDING) return status;
        if (Checker_overdue(x, limit)) return STATUS_FINDING;
        if (!client_parts(x).drivers[driver].running) break;
    }
    return STATUS_UNTIL;
}

// ---------------------------------------------------------------- results

SLICC_API u64 slicc_lane_accesses(void* block) {
    return client_parts(context_of(block)).lane_accesses;
}

SLICC_API void slicc_finding(void* block, u64* out) {
    const Finding& finding = client_parts(context_of(block)).finding;
    out[0] = finding.verdict;
    out[1] = finding.tick;
    out[2] = finding.identity;
    out[3] = static_cast<u64>(finding.index);
    out[4] = finding.address;
    out[5] = finding.size;
    out[6] = finding.expected;
    out[7] = finding.got;
    out[8] = finding.role;
    out[9] = finding.kind;
}

SLICC_API void slicc_statistics(void* block, u64 driver, u64* out) {
    const Driver& d = client_parts(context_of(block)).drivers[driver];
    out[0] = d.completed;
    out[1] = d.live;
    out[2] = d.live_time;
    out[3] = d.handover_time;
    out[4] = d.agent_time;
    out[5] = d.end;
    out[6] = d.running == 0;
}

SLICC_API u64 slicc_flushers_left(void* block) {
    return client_parts(context_of(block)).flushers_left;
}

// ---------------------------------------------------------------- the checker's verdicts

SLICC_API i64 slicc_overdue(void* block, ProgramView* programs, u64 limit) {
    Context x = context_with(block, programs);
    return Checker_overdue(x, limit);
}

SLICC_API i64 slicc_stuck(void* block, ProgramView* programs) {
    Context x = context_with(block, programs);
    return Checker_stuck(x);
}

SLICC_API i64 slicc_finish(void* block, ProgramView* programs) {
    Context x = context_with(block, programs);
    return Checker_finish(x);
}

SLICC_API i64 slicc_refused(void* block) { return Driver_refused(context_of(block)); }
