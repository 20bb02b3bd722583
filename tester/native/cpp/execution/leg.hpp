// One leg from its first episode to its last check: the phases of tester/execution/leg.py.
//
// Invariant: where a leg stands is in the block, so that a snapshot of it goes on as it did; what
// was worked out from the program alone is outside, and no run changes it.

#pragma once

#include "execution/flush.hpp"
#include "program/expectations.hpp"
#include "program/read_back.hpp"
#include "program/versions.hpp"
#include "system/api.hpp"

inline constexpr u64 MOST_STEADY_TICKS = 100000;  // of one run to rest between two returns

// What a program alone determines. `views`: as drivers number their programs.
struct PreparedLeg {
    ProgramView views[2];
    FinalMemory final;
    u32* reader_requester;
    u32* flush_requester;  // ascending: those of agents that make fetch-adds
    u64* flush_first;      // [flush_parts + 1] in flush_lines
    u64* flush_lines;
    u64 flush_parts;
    u64 increments;  // words of bit sets with one bit for every increment
    u64 lanes;       // of all agents
};

// How a leg is run. `steps`: of each agent at hand-overs.
struct LegRules {
    u64 limit;
    u64 slice;
    u64 rest;  // ticks in which a system has to come to rest
    u64 blind;
    u64 copies_stay;  // nothing is read back
    u64 flushable;
    const u8* steps;
    u64 flush_identity;
    u64 read_identity;
};

// ---------------------------------------------------------------- preparation

// By requester, the lines that it flushes: those of its own agents' last stores, if these make
// fetch-adds; the others in turns.
inline bool flush_parts(const ProgramArrays& p, Arena& arena, PreparedLeg& leg) {
    leg.flush_requester = arena.take<u32>(p.agents);
    leg.flush_first = arena.zeros<u64>(p.agents + 1);
    leg.flush_lines = arena.take<u64>(leg.final.lines);
    u32* port = arena.take<u32>(leg.final.lines);
    if (!arena.enough()) return false;
    leg.flush_parts = 0;
    for (u64 from = 0;;) {  // in ascending order, each of them once
        u32 least = NIL;
        for (u64 a = 0; a < p.agents; ++a) {
            const u32 requester = p.agent_requester[a];
            if (p.agent_adds[a] && requester >= from && requester < least) least = requester;
        }
        if (least == NIL) break;
        leg.flush_requester[leg.flush_parts++] = least;
        from = u64{least} + 1;
    }
    if (!leg.flush_parts) return true;
    for (u64 i = 0; i < leg.final.lines; ++i) {
        const i16 writer = leg.final.writer[i];
        port[i] = writer != NO_AGENT && p.agent_adds[writer]
                      ? p.agent_requester[writer]
                      : leg.flush_requester[i % leg.flush_parts];
    }
    u64 used = 0;
    for (u64 part = 0; part < leg.flush_parts; ++part) {
        leg.flush_first[part] = used;
        for (u64 i = 0; i < leg.final.lines; ++i) {
            if (port[i] == leg.flush_requester[part]) leg.flush_lines[used++] = leg.final.line[i];
        }
    }
    leg.flush_first[leg.flush_parts] = used;
    return true;
}

// Everything that a leg needs beside its system, at the start of the arena. nullptr: there is not
// enough room; arena.used is then a lower bound of what is needed.
inline PreparedLeg* prepare_leg(ProgramArrays p, bool judges_early, Arena& arena) {
    PreparedLeg* leg = arena.zeros<PreparedLeg>(1);
    if (!leg || (!p.expected && !derive_program(p, arena)) ||
        !view_program(p, arena, leg->views[0]) ||
        !final_memory(p, leg->views[0], arena, leg->final) ||
        (judges_early && !program_versions(p, leg->final, arena, leg->views[0])) ||
        !read_back_program(p, leg->final, arena, leg->views[1], leg->reader_requester) ||
        !flush_parts(p, arena, *leg))
        return nullptr;
    for (u64 g = 0; g < p.groups; ++g)
        leg->increments += (leg->views[0].group_increments[g] + 63) / 64;
    for (u64 a = 0; a < p.agents; ++a) leg->lanes += p.agent_lanes[a];
    return leg;
}

// ---------------------------------------------------------------- phases

inline void Leg_fail(Context& x, Verdict verdict, u64 address = NONE) {
    Finding& finding = client_parts(x).finding;
    finding = {};
    finding.verdict = static_cast<u32>(verdict);
    finding.tick = now(x);
    finding.index = -1;
    finding.kind = NIL;
    finding.address = address;
    x.s->finding = 1;
}

inline bool Leg_failed(const Context& x) { return x.s->finding || x.s->error.kind; }

inline LegState& leg_state(const Context& x) { return client_parts(x).leg; }

// The next phase, which may take all of the ticks that coming to rest may take.
inline void Leg_rest(Context& x, const LegRules& rules, LegPhase phase) {
    leg_state(x).phase = phase;
    leg_state(x).until = now(x) + rules.rest;
}

// Nothing moves any more, and agents have not ended.
inline i64 Leg_stuck(Context& x) {
    if (Checker_stuck(x)) return STATUS_FINDING;
    if (Driver_refused(x) < 0) return STATUS_OUR_BUG;
    if (!Leg_failed(x)) Leg_fail(x, Verdict::HANG);
    return STATUS_FINDING;
}

// One slice of a driver's program.
inline i64 Leg_slice(Context& x, const LegRules& rules, u64 driver, LegPhase next) {
    LegState& leg = leg_state(x);
    const u64 tick = next_tick(x);
    if (tick == NONE) return Leg_stuck(x);
    leg.until = (tick > leg.until ? tick : leg.until) + rules.slice;
    const i64 status = run_status(x, leg.until);
    if (status >= STATUS_FINDING) return status;
    if (Checker_overdue(x, rules.limit)) return STATUS_FINDING;
    if (!client_parts(x).drivers[driver].running) {
        if (next == LegPhase::REST) count_no_more();
        Leg_rest(x, rules, next);
    }
    return STATUS_UNTIL;
}

// Everything in flight arrives; then all must be answered and nothing left behind.
inline i64 Leg_come_to_rest(Context& x, LegPhase next) {
    LegState& leg = leg_state(x);
    const u64 tick = next_tick(x);
    if (tick != NONE && tick <= leg.until) {
        const u64 soon = tick + MOST_STEADY_TICKS;
        const i64 status = run_status(x, soon < leg.until ? soon : leg.until);
        if (status >= STATUS_FINDING) return status;
        if (next_tick(x) != NONE) return STATUS_UNTIL;
    }
    if (Checker_finish(x)) return STATUS_FINDING;
    if (next_tick(x) != NONE) {
        Leg_fail(x, Verdict::HANG);
    } else if (system_leaks(x)) {
        Leg_fail(x, Verdict::LEAK);
    }
    leg.phase = next;
    return Leg_failed(x) ? STATUS_FINDING : STATUS_UNTIL;
}

inline void Leg_flushers(Context& x, const PreparedLeg& leg, const LegRules& rules) {
    u64 identity = rules.flush_identity;
    for (u64 part = 0; part < leg.flush_parts; ++part) {
        const u64 first = leg.flush_first[part];
        const u64 count = leg.flush_first[part + 1] - first;
        if (!count) continue;
        Flusher_add(x, leg.flush_requester[part], leg.flush_lines + first, count, identity);
        identity += 1 << 20;
    }
}

inline i64 Leg_flush(Context& x, const LegRules& rules) {
    const u64 tick = next_tick(x);
    if (tick == NONE || !client_parts(x).flushers_left) {
        client_parts(x).leg.flushed = true;
        Leg_rest(x, rules, LegPhase::FLUSHED);
        return STATUS_UNTIL;
    }
    const i64 status = run_status(x, (tick > now(x) ? tick : now(x)) + rules.limit / 8);
    if (status >= STATUS_FINDING) return status;
    return Checker_overdue(x, rules.limit) ? STATUS_FINDING : STATUS_UNTIL;
}

// The first byte of memory itself that is not what the program leaves there.
inline void Leg_compare(Context& x, const FinalMemory& final) {
    for (u64 i = 0; i < final.lines; ++i) {
        const u32 line = line_index(x, final.line[i]);
        if (x.s->pool.name) return;
        const u8* held = reinterpret_cast<const u8*>(x.s->memory.image.in(x) + line * LINE_WORDS);
        const bool written = x.s->memory.state.at(x, line) == MEMORY_WRITTEN;
        for (u32 byte = 0; byte < LINE_BYTES; ++byte) {
            const u64 address = final.line[i] + byte;
            const u64 first =
                written ? held[byte] : initial_word(x.s->run_key, address) >> 8 * (address & 7);
            if (static_cast<u8>(first) != final.contents[(i << LINE_BITS) + byte])
                return Leg_fail(x, Verdict::LOST_WRITE, address);
        }
    }
}

// The step after the leg's first rest, and after its flush.
inline i64 Leg_compared(Context& x, const PreparedLeg& leg, const LegRules& rules) {
    LegState& state = leg_state(x);
    if (state.flushed && !x.s->memory.echoes) Leg_compare(x, leg.final);
    if (Leg_failed(x)) return STATUS_FINDING;
    if (leg.views[1].actions && !rules.copies_stay) {
        state.until = now(x);
        state.phase = LegPhase::READ_BACK;
        if (Driver_add(x, leg.views[1], Role::READ_BACK, leg.reader_requester, nullptr,
                       rules.read_identity) < 0 &&
            !x.s->pool.name)
            return STATUS_OUR_BUG;
    } else {
        Leg_rest(x, rules, LegPhase::READ);
    }
    return x.s->pool.name ? STATUS_EXHAUSTED : STATUS_UNTIL;
}

inline i64 Leg_step(Context& x, const PreparedLeg& leg, const LegRules& rules) {
    LegState& state = leg_state(x);
    switch (state.phase) {
        case LegPhase::EPISODES: return Leg_slice(x, rules, 0, LegPhase::REST);
        case LegPhase::REST:
            return Leg_come_to_rest(x, rules.blind ? LegPhase::PASSED : LegPhase::COMPARE);
        case LegPhase::COMPARE:
            if (!rules.flushable) return Leg_compared(x, leg, rules);
            Leg_flushers(x, leg, rules);
            state.phase = LegPhase::FLUSH;
            return x.s->pool.name ? STATUS_EXHAUSTED : STATUS_UNTIL;
        case LegPhase::FLUSH: return Leg_flush(x, rules);
        case LegPhase::FLUSHED: return Leg_come_to_rest(x, LegPhase::IN_MEMORY);
        case LegPhase::IN_MEMORY: return Leg_compared(x, leg, rules);
        case LegPhase::READ_BACK: return Leg_slice(x, rules, 1, LegPhase::READ);
        case LegPhase::READ: return Leg_come_to_rest(x, LegPhase::PASSED);
        case LegPhase::PASSED: break;
    }
    return STATUS_IDLE;
}

// Run on, at most `steps` steps of a slice or so. STATUS_IDLE: the leg has passed; STATUS_UNTIL: it
// goes on.
inline i64 Leg_run(Context& x, const PreparedLeg& leg, const LegRules& rules, u64 steps) {
    i64 status = STATUS_UNTIL;
    for (; steps && status == STATUS_UNTIL; --steps) status = Leg_step(x, leg, rules);
    return status;
}

// The agents of the program, at tick 0. Negative: no room.
inline i64 Leg_start(Context& x, const PreparedLeg& leg, const u32* requesters,
                     const LegRules& rules) {
    return Driver_add(x, leg.views[0], Role::ACTION, requesters, rules.steps, 0);
}
