// Reading the plan: the words in which the host says what system to build.
//
// Invariant: the words are trusted but for magic and version; nothing here writes.

#pragma once

#include "block/context.hpp"

inline constexpr u64 PLAN_MAGIC = 0x31564C53;
inline constexpr u64 PLAN_VERSION = 1;
inline constexpr u32 PLAN_CONTROLLER_WORDS = 15;
inline constexpr u32 PLAN_REQUESTER_WORDS = 11;

// Words of one thing: `word(i)` is the i-th, `list(i)` the i-th of the lists behind the first
// `fixed` words; each is preceded by its length.
struct PlanWords {
    const u64* at;
    u32 fixed;

    u64 word(u32 index) const { return at[index]; }
    u32 handle(u32 index) const { return static_cast<u32>(at[index]); }  // ~0 becomes NIL

    // The length is the word before what is returned.
    const u64* list(u32 index) const {
        const u64* list = at + fixed + 1;
        for (; index; index--) list += list[-1] + 1;
        return list;
    }
};

enum PlanControllerWord : u32 {
    PLAN_MACHINE,
    PLAN_MACHINE_VERSION,
    PLAN_MACHINE_TYPE,
    PLAN_CLUSTER,
    PLAN_TRANSITIONS_PER_CYCLE,
    PLAN_TRANSITIONS_PER_TICK,
    PLAN_RECYCLE_LATENCY,
    PLAN_NUMBER_OF_TBES,
    PLAN_MANDATORY_LATENCY,
    PLAN_BUFFER_SIZE,
    PLAN_MEMORY,
    PLAN_MANDATORY_QUEUE,
    PLAN_MEMORY_REQUEST,
    PLAN_MEMORY_RESPONSE,
    PLAN_ARRAYS,
};

enum PlanControllerList : u32 { PLAN_DOWNSTREAM, PLAN_UPSTREAM, PLAN_PARAMETERS, PLAN_OBJECTS };

enum PlanRequesterWord : u32 {
    PLAN_KIND,
    PLAN_CONTROLLER,
    PLAN_QUEUE,
    PLAN_LANES,
    PLAN_WALK,
    PLAN_FETCH,
    PLAN_OUTSTANDING,
    PLAN_TOKENS,
    PLAN_COALESCES_PER_CYCLE,
    PLAN_ONE_REQUEST_PER_LANE,
    PLAN_CONTEXT,
};

enum PlanRequesterList : u32 { PLAN_CACHES, PLAN_LINKED };

struct PlanView {
    const u64* words;
    u64 run_key;
    u64 line_bits;
    u64 delay_policy;
    u64 memory_latency;
    u64 max_rounds;
    const u64* types;  // count, first node, interleave bit of each machine type
    u64 type_count;
    Capacities capacities;
    u64 channels;
    const u64* buffers;
    const u64* ports;
    const u64* caches;
    const u64* controllers;
    const u64* requesters;

    static PlanWords after(PlanWords thing, u32 lists) {
        return {thing.list(lists) - 1, thing.fixed};
    }

    PlanWords controller(u32 id) const {
        PlanWords found = {controllers, PLAN_CONTROLLER_WORDS};
        for (; id; id--) found = after(found, 4);
        return found;
    }

    PlanWords requester(u32 index) const {
        PlanWords found = {requesters, PLAN_REQUESTER_WORDS};
        for (; index; index--) found = after(found, 2);
        return found;
    }
};

inline constexpr u32 PLAN_BUFFER_WORDS = 5;
inline constexpr u32 PLAN_BUFFER_DELAY = 3;
inline constexpr u32 PLAN_PORT_WORDS = 6;  // before its channels
inline constexpr u32 PLAN_PORT_OWNER = 4;
inline constexpr u32 PLAN_CHANNEL_WORDS = 3;
inline constexpr u32 PLAN_CHANNEL_DELAY = 2;
inline constexpr u32 PLAN_CACHE_WORDS = 12;

// False if the words are not a plan of this version.
inline bool read_plan(const u64* words, u64 count, PlanView& plan) {
    if (count < 8 || words[0] != PLAN_MAGIC || words[1] != PLAN_VERSION) return false;
    plan = {};
    plan.words = words;
    plan.run_key = words[2];
    plan.line_bits = words[3];
    plan.delay_policy = words[4];
    plan.memory_latency = words[5];
    plan.max_rounds = words[6];
    plan.type_count = words[7];
    plan.types = words + 8;
    const u64* at = plan.types + 3 * plan.type_count;
    Capacities& c = plan.capacities;
    c.nodes = static_cast<u32>(*at++);
    c.controllers = static_cast<u32>(*at++);
    c.requesters = static_cast<u32>(*at++);
    c.consumers = static_cast<u32>(*at++);
    c.agents = c.consumers - c.controllers - c.requesters;
    c.buffers = static_cast<u32>(*at++);
    c.ports = static_cast<u32>(*at++);
    c.caches = static_cast<u32>(*at++);
    c.messages = *at++;
    c.lines = *at++;
    c.increments = *at++;
    c.logs = *at++;
    c.atomics = *at++;
    c.flights = *at++;
    c.rows = *at++;
    c.events = *at++;
    c.words = *at++;
    c.far = *at++;
    c.triggers = *at++;
    plan.buffers = at;
    at += PLAN_BUFFER_WORDS * c.buffers;
    plan.ports = at;
    for (u32 port = 0; port < c.ports; port++) {
        plan.channels += at[PLAN_PORT_WORDS - 1];
        at += PLAN_PORT_WORDS + PLAN_CHANNEL_WORDS * at[PLAN_PORT_WORDS - 1];
    }
    plan.caches = at;
    at += PLAN_CACHE_WORDS * c.caches;
    plan.controllers = at;
    plan.requesters = plan.controller(c.controllers).at;
    return true;
}
