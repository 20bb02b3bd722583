// A client that somebody outside of the block stands behind: it issues what it is given, in order,
// and writes down what was answered.
//
// Invariant: it issues only in its own wake-ups; what its requester refuses stays at the front
// until the requester calls back. A tick with answers is the last one of a run.

#pragma once

#include "execution/agents.hpp"

// Add a client of a requester. Returns its number; -1: no room.
inline i64 Outside_add(Context& x, u32 requester) {
    AgentParts& parts = agent_parts(x);
    if (parts.agents == parts.threads.count) return -1;
    Thread& t = thread_at(x, parts.agents);
    t = {};
    t.number = parts.agents++;
    t.consumer = x.s->controllers + x.s->requesters + t.number;
    t.requester = requester;
    t.outside = true;
    return t.number;
}

// Queue a request at its port, which acts at `tick`.
inline void Outside_give(Context& x, const OutsideGiven& given, u64 tick) {
    const u32 index = access_new(x);
    if (UNLIKELY(!index)) return;
    Thread& t = thread_at(x, given.port);
    Access& access = access_at(x, index);
    access.client = t.number;
    access.source = Source::OUTSIDE;
    access.place = given.slot;
    access.first = u64{given.slot} * OUTSIDE_LANES;
    access.kind = given.kind;
    access.size = given.size;
    access.lanes = given.lanes;
    access.scope = given.scope;
    access.crosses = given.crosses;
    // Bytes that are still to come, or to be accepted; and to be performed.
    access.pending = access.uncompleted = u64{access.lanes} * access.size;
    if (t.waiting.last) {
        access_at(x, t.waiting.last).link = index;
    } else {
        t.waiting.first = index;
    }
    t.waiting.last = index;
    schedule(x, t.consumer, tick);
}

inline void Outside_wakeup(Context& x, Thread& t) {
    while (t.waiting.first && !x.s->trouble) {
        const u32 index = t.waiting.first;
        const u32 next = access_at(x, index).link;
        requester_parts(x).lines_of = 0;  // slots are used again
        if (!Requester_issue(x, t.requester, index)) return;
        t.waiting.first = next;
        if (!next) t.waiting.last = 0;
    }
}

inline void Outside_retry(Context& x, const Thread& t) {
    if (t.waiting.first) schedule(x, t.consumer, now(x) + 1);
}

// ---------------------------------------------------------------- answers

inline void Outside_tell(Context& x, const Access& access, OutsideAnswer kind) {
    OutsideView& view = *x.outside;
    if (view.answered < view.room) view.answers[view.answered] = access.place | static_cast<u64>(kind) << 32;
    ++view.answered;
    stop(x);
}

inline void Outside_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    u8* to = outside_bytes(x, access);
    outside_overlaps(x, access, lanes, line_address_of(x, line), [&](u32 lane, u32 byte, u32 offset, u32 count) {
        __builtin_memcpy(to + lane * access.size + byte, bytes + offset, count);
        access.pending -= count;
    });
    if (!access.pending) Outside_tell(x, access, OutsideAnswer::LOADED);
}

inline u64 outside_count(const Context& x, const Access& access, u64 lanes, u32 line) {
    u64 total = 0;
    outside_overlaps(x, access, lanes, line_address_of(x, line), [&](u32, u32, u32, u32 count) { total += count; });
    return total;
}

inline void Outside_stored(Context& x, Access& access, u64 lanes, u32 line) {
    access.pending -= outside_count(x, access, lanes, line);
    if (!access.pending) Outside_tell(x, access, OutsideAnswer::ACCEPTED);
}

inline void Outside_store_completed(Context& x, Access& access, u64 lanes, u32 line) {
    access.uncompleted -= outside_count(x, access, lanes, line);
    if (!access.uncompleted) Outside_tell(x, access, OutsideAnswer::PERFORMED);
}

inline void Outside_atomic_done(Context& x, Access& access, u64 lanes, const u64* old, u32 values) {
    u8* to = outside_bytes(x, access);
    u32 place = 0;
    for (; lanes; lanes &= lanes - 1, ++place) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        if (values) store_bytes(to + lane * access.size, old[place], access.size);
        access.pending -= access.size;
    }
    if (access.pending) return;
    const bool quiet = access.scope & Scope::QUIET;
    Outside_tell(x, access, quiet ? OutsideAnswer::PERFORMED : OutsideAnswer::OLD_VALUES);
}
