// What agents may begin, and beginning it.
//
// An access begins when its request arrives at its controller: nothing but its requester could notice
// that it was under way before, and a later beginning only allows less. Invariant: nothing is begun
// that a requester would refuse.

#pragma once

#include "exploration/agents/agents.hpp"

inline bool port_is_free(Context& x, const Requester& r, u32 kind) {
    if (kind == AccessKind::ACQUIRE) {
        if (r.kind == RequesterKind::COALESCER) return !AcquireWalk_busy(x, r);
        return !r.walk_parts;
    }
    if (kind == AccessKind::RELEASE || kind == AccessKind::FLUSH) return true;
    if (r.kind == RequesterKind::COALESCER) return r.tokens && r.count < r.max_outstanding;
    return r.count < r.max_outstanding;
}

inline bool may_begin(Context& x, const Agents& a, u32 agent, u32 op, u32 where) {
    const Operation& o = a.operations[op];
    const Requester& r = requester_at(x, a.agents[agent].requester);
    const u64 running = in_a_tick(x, a.rules);
    if (running && !(running >> r.controller & 1)) return false;
    if (o.kind == AccessKind::STORE && a.access[agent][1 + where]) return false;
    if (o.target == TARGET_WORD && a.word[where].begun[agent] == a.increments) return false;
    if (r.queue != NIL && o.kind != AccessKind::ACQUIRE && o.kind != AccessKind::RELEASE) {
        // In a queue that keeps its order, what is under way arrives first.
        const u32 slot = slot_of_buffer(x, r.queue);
        if (a.rules.order.has(slot) && x.wheel[slot].head) return false;
    }
    return port_is_free(x, r, o.kind);
}

inline u32 places_of(const Agents& a, u32 op) {
    switch (a.operations[op].target) {
        case TARGET_LOCATION: return a.locations();
        case TARGET_NOTHING: return 1;
        default: return a.coding.lines;
    }
}

inline bool idle(const Agents& a, u32 agent) {
    for (u32 slot = 0; slot <= a.locations(); slot++) {
        if (a.access[agent][slot]) return false;
    }
    return true;
}

// Whether others have completed what a step waits for.
inline bool script_needs_met(const Agents& a, const ScriptStep& step) {
    for (u32 other = 0; other < a.count; other++) {
        const u32 need = step.needs[other];
        if (!need) continue;
        if (a.done.at[other] < need || (a.done.at[other] == need && !idle(a, other))) return false;
    }
    return true;
}

// Whether any program has begun.
inline bool script_begun(const Agents& a) {
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.done.at[agent]) return true;
    }
    return false;
}

// Loads and stores of zeroes, one at a time, before all programs.
inline u32 script_preparations(Context& x, const Agents& a, Choice* out, u32 room) {
    u32 count = 0;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (!a.script.length[agent]) continue;
        for (u32 op = 0; op < 2; op++) {
            for (u32 where = 0; where < a.locations() && count < room; where++) {
                if (!may_begin(x, a, agent, op, where)) continue;
                out[count++] = {ChoiceKind::ISSUE, static_cast<u8>(agent), static_cast<u8>(op),
                                static_cast<u8>(where | BEFOREHAND)};
            }
        }
    }
    return count;
}

// What programs may do next.
inline u32 script_beginnings(Context& x, const Agents& a, Choice* out, u32 room) {
    const Script& script = a.script;
    u32 count = 0;
    if (!script_begun(a)) {
        if (x.s->messages.live || x.wakes[0]) return 0;
        if (script.prepares) count = script_preparations(x, a, out, room);
    }
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.done.at[agent] == script.length[agent] || count == room) continue;
        const ScriptStep& step = script.steps[agent][a.done.at[agent]];
        const bool free = idle(a, agent) || (step.overlaps && !a.access[agent][0]);
        if (free && script_needs_met(a, step) && may_begin(x, a, agent, step.op, step.where))
            out[count++] = {ChoiceKind::ISSUE, static_cast<u8>(agent), step.op, step.where};
    }
    return count;
}

// Everything that may be begun. Returns how many.
inline u32 beginnings(Context& x, const Agents& a, Choice* out, u32 room) {
    if (UNLIKELY(a.script.used)) return script_beginnings(x, a, out, room);
    u32 count = 0;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.current[agent]) continue;
        for (u32 op = 0; op < a.operation_count; op++) {
            if (!(a.agents[agent].operations >> op & 1)) continue;
            const u32 places = places_of(a, op);
            for (u32 where = 0; where < places && count < room; where++) {
                if (!may_begin(x, a, agent, op, where)) continue;
                out[count++] = {ChoiceKind::ISSUE, static_cast<u8>(agent), static_cast<u8>(op),
                                static_cast<u8>(where)};
            }
        }
    }
    return count;
}

inline void note_beginning(Agents& a, const Access& access) {
    const u32 agent = access.agent;
    if (UNLIKELY(a.script.used)) return;
    switch (access.kind) {
        case AccessKind::LOAD:
            a.ask(access.where);
            a.oracle.begin_load(agent, access.where);
            break;
        case AccessKind::STORE:
            a.ask(access.where);
            if (!a.oracle.begin_store(agent, access.where)) a.out_of_tokens = true;
            break;
        case AccessKind::ACQUIRE:
            a.asked = ALL_PLACES;
            a.oracle.acquire(agent);
            break;
        case AccessKind::ATOMIC: {
            a.ask(WORD_PLACE + access.where);
            Words& word = a.word[access.where];
            word.begun[agent]++;
            word.needed[agent] = word.done;
            break;
        }
        default: break;
    }
}

inline u32 list_length(const Context& x, u32 slot) {
    u32 count = 0;
    for (u32 h = x.wheel[slot].head; h; h = of_handle<Message>(x, h).next) count++;
    return count;
}

// The least number that no access of the requester has: numbers tell accesses apart, and should
// depend on nothing but the state.
inline u64 free_sequence(const Context& x, const Agents& a, u32 requester) {
    u64 taken = 1;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.agents[agent].requester != requester) continue;
        for (u32 slot = 0; slot <= a.locations(); slot++) {
            if (!a.access[agent][slot]) continue;
            const u64 number = access_at(x, a.access[agent][slot]).sequence;
            if (number < 64) taken |= u64{1} << number;
        }
    }
    return static_cast<u64>(__builtin_ctzll(~taken));
}

// Begin an access; its request arrives at once.
inline void begin(Context& x, Agents& a, Choice choice) {
    const u32 agent = choice.what;
    if (UNLIKELY(a.script.used)) {
        if (!(choice.where & BEFOREHAND)) a.done.at[agent]++;
        choice.where &= BEFOREHAND - 1;
    }
    const Operation& o = a.operations[choice.which];
    Requester& r = requester_at(x, a.agents[agent].requester);
    step_begin(x);
    const u32 index = access_new(x);
    Access& access = access_at(x, index);
    access.agent = static_cast<u8>(agent);
    access.op = choice.which;
    access.where = choice.where;
    access.slot = o.kind == AccessKind::STORE ? static_cast<u8>(1 + choice.where) : 0;
    access.client = agent;
    access.kind = o.kind;
    access.scope = o.scope;
    access.size = UNLIKELY(a.script.used) ? a.size_of(agent, choice.which) : LOCATION_BYTES;
    access.lanes = o.target == TARGET_NOTHING ? 0 : 1;
    a.access[agent][access.slot] = index;
    a.current[agent] = static_cast<u8>(access.slot + 1);
    note_beginning(a, access);
    r.next_sequence =
        o.kind == AccessKind::RELEASE ? RELEASE_SEQUENCE : free_sequence(x, a, r.index);
    requester_parts(x).lines_of = 0;
    const u32 slot = r.queue == NIL ? 0 : slot_of_buffer(x, r.queue);
    const u32 before = r.queue == NIL ? 0 : list_length(x, slot);
    if (!Requester_issue(x, r.index, index)) fail(x, ErrorKind::BAD_CALLBACK);
    run_clients(x);
    limbo_release(x);
    const bool one = o.kind != AccessKind::ACQUIRE && o.kind != AccessKind::RELEASE;
    if (one && r.queue != NIL && list_length(x, slot) == before + 1)
        flight_deliver(x, slot, before);
    step_end(x, a.rules);
}
