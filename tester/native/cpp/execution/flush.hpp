// Flushes lines through one requester, a batch at a time; and the client interface of all agents.
//
// Invariant: of a flusher at most one batch is unanswered.

#pragma once

#include "execution/driver.hpp"

inline constexpr u32 FLUSH_BATCH = 64;

inline void Flusher_wakeup(Context& x, const Agent& a) {
    Flusher& flusher = client_parts(x).flushers.at(x, a.number);
    if (flusher.pending || flusher.next == flusher.last) return;
    const u32 index = access_new(x);
    if (!index) return;
    INVARIANT(flusher.next < flusher.last);
    const u32 left = flusher.last - flusher.next;
    Access& access = access_at(x, index);
    access.identity = ++flusher.identity;
    access.client = a.number;
    access.role = Role::FLUSH;
    access.kind = AccessKind::FLUSH;
    access.size = 1;
    access.source = Source::BATCH;
    access.place = flusher.next;
    access.lanes = left < FLUSH_BATCH ? left : FLUSH_BATCH;
    if (!Requester_issue(x, a.requester, index)) return access_free(x, index);
    flusher.pending = index;
    flusher.next += access.lanes;
    Checker_issued(x, access, index);
}

// Add a flusher of these lines; it begins in the next tick. Returns its number; -1: no room.
inline i64 Flusher_add(Context& x, u32 requester, const u64* lines, u64 count, u64 first_identity) {
    ClientParts& parts = client_parts(x);
    if (parts.agent_count == parts.agents.count) return -1;
    if (parts.flush_lines_used + count > parts.flush_lines.count) {
        pool_exhausted(x, POOL_LINES, parts.flush_lines.count);
        return -1;
    }
    Agent& a = agent_at(x, parts.agent_count);
    a = {};
    a.number = parts.agent_count++;
    a.consumer = x.s->controllers + x.s->requesters + a.number;
    a.requester = requester;
    a.flusher = true;
    Flusher& flusher = parts.flushers.at(x, a.number);
    flusher = {};
    flusher.identity = first_identity;
    flusher.next = parts.flush_lines_used;
    for (u64 i = 0; i < count; ++i)
        parts.flush_lines.at(x, parts.flush_lines_used++) = line_index(x, lines[i]);
    flusher.last = parts.flush_lines_used;
    if (count) ++parts.flushers_left;
    Agent_wake(x, a);
    return a.number;
}

// ---------------------------------------------------------------- all agents

inline void client_wakeup(Context& x, u32 agent) {
    Agent& a = agent_at(x, agent);
    if (a.flusher) {
        Flusher_wakeup(x, a);
    } else {
        Agent_wakeup(x, a);
    }
}

inline void client_synchronized(Context& x, Access& access) {
    Agent& a = agent_at(x, access.client);
    count_latency(access.kind, now(x) - access.issued);
    Checker_synchronized(x, access);
    if (!a.flusher) return Agent_answered(x, a);
    Flusher& flusher = client_parts(x).flushers.at(x, a.number);
    INVARIANT(flusher.pending != 0);
    flusher.pending = 0;
    if (flusher.next == flusher.last) --client_parts(x).flushers_left;
    Agent_wake(x, a);
}

inline void client_retry(Context& x, u32 client) {
    Agent& a = agent_at(x, client);
    if (a.held) a.retry = true;
    if (a.held || a.flusher) Agent_wake(x, a);
}

template <class Visit>
inline void each_line(Context& x, const Access& access, Visit visit) {
    if (access.source == Source::BATCH) {
        const u32* lines = client_parts(x).flush_lines.in(x) + access.place;
        for (u32 i = 0; i < access.lanes; ++i) {
            if (!visit(lines[i])) return;
        }
        return;
    }
    if (access.source != Source::LOADS && access.source != Source::STORES) return;
    const ProgramView& program = program_of(x, access);
    const u8 kind = access.source == Source::LOADS ? AccessKind::LOAD : AccessKind::STORE;
    for (i64 action = program.first_action[access.place];
         action < program.first_action[access.place + 1]; ++action) {
        if (!touches(program.action_kind[action], kind)) continue;
        for (i64 lane = program.first_lane[action]; lane < program.first_lane[action + 1]; ++lane) {
            if (!visit(line_index(x, line_of(x, program.address[lane])))) return;
        }
    }
}
