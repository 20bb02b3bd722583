// Reading the plan: the words in which the host says what system to build. Their order is that of
// runtime/native/plan_words.py.
//
// Invariant: the words are trusted but for magic and version; nothing here writes.

#pragma once

#include "block/context.hpp"

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

struct PlanView {
    const u64* words;
    u64 run_key;
    u64 line_bits;
    u64 delay_policy;
    u64 memory_latency;
    u64 max_rounds;
    u64 max_messages;
    u64 max_work;
    u64 credit;
    u64 scripted;
    const u64* types;
    u64 type_count;
    Capacities capacities;
    u64 channels;
    const u64* buffers;
    const u64* ports;
    const u64* caches;
    const u64* controllers;
    const u64* requesters;
    const u64* script;

    static PlanWords after(PlanWords thing, u32 lists) {
        return {thing.list(lists) - 1, thing.fixed};
    }

    PlanWords controller(u32 id) const {
        PlanWords found = {controllers, PLAN_CONTROLLER_WORDS};
        for (; id; id--) found = after(found, PLAN_CONTROLLER_LISTS);
        return found;
    }

    PlanWords requester(u32 index) const {
        PlanWords found = {requesters, PLAN_REQUESTER_WORDS};
        for (; index; index--) found = after(found, PLAN_REQUESTER_LISTS);
        return found;
    }
};

// False if the words are not a plan of this version.
inline bool read_plan(const u64* words, u64 count, PlanView& plan) {
    if (count < PLAN_HEAD_WORDS) return false;
    if (words[PLAN_HEAD_MAGIC] != PLAN_MAGIC || words[PLAN_HEAD_VERSION] != PLAN_VERSION)
        return false;
    plan = {};
    plan.words = words;
    plan.run_key = words[PLAN_HEAD_RUN_KEY];
    plan.line_bits = words[PLAN_HEAD_LINE_BITS];
    plan.delay_policy = words[PLAN_HEAD_DELAY_POLICY];
    plan.memory_latency = words[PLAN_HEAD_MEMORY_LATENCY];
    plan.max_rounds = words[PLAN_HEAD_MAX_ROUNDS];
    plan.max_messages = words[PLAN_HEAD_MAX_MESSAGES];
    plan.max_work = words[PLAN_HEAD_MAX_WORK];
    plan.credit = words[PLAN_HEAD_CREDIT];
    plan.scripted = words[PLAN_HEAD_SCRIPTED];
    plan.type_count = words[PLAN_HEAD_TYPES];
    plan.types = words + PLAN_HEAD_WORDS;
    const u64* at = plan.types + PLAN_TYPE_WORDS * plan.type_count;
    Capacities& c = plan.capacities;
    c.nodes = static_cast<u32>(at[PLAN_SIZE_NODES]);
    c.controllers = static_cast<u32>(at[PLAN_SIZE_CONTROLLERS]);
    c.requesters = static_cast<u32>(at[PLAN_SIZE_REQUESTERS]);
    c.consumers = static_cast<u32>(at[PLAN_SIZE_CONSUMERS]);
    c.agents = c.consumers - c.controllers - c.requesters;
    c.buffers = static_cast<u32>(at[PLAN_SIZE_BUFFERS]);
    c.ports = static_cast<u32>(at[PLAN_SIZE_PORTS]);
    c.caches = static_cast<u32>(at[PLAN_SIZE_CACHES]);
    const u64* pools = at + PLAN_SIZE_WORDS - POOL_MESSAGES;
    c.messages = pools[POOL_MESSAGES];
    c.lines = pools[POOL_LINES];
    c.increments = pools[POOL_INCREMENTS];
    c.logs = pools[POOL_LOGS];
    c.atomics = pools[POOL_ATOMICS];
    c.flights = pools[POOL_FLIGHTS];
    c.line_requests = pools[POOL_LINE_REQUESTS];
    c.events = pools[POOL_EVENTS];
    c.words = pools[POOL_WORDS];
    c.far = pools[POOL_FAR];
    c.triggers = pools[POOL_TRIGGERS];
    at = pools + POOL_TABLES;
    plan.buffers = at;
    at += PLAN_BUFFER_WORDS * c.buffers;
    plan.ports = at;
    for (u32 port = 0; port < c.ports; port++) {
        plan.channels += at[PLAN_PORT_CHANNELS];
        at += PLAN_PORT_WORDS + PLAN_CHANNEL_WORDS * at[PLAN_PORT_CHANNELS];
    }
    plan.caches = at;
    at += PLAN_CACHE_WORDS * c.caches;
    plan.controllers = at;
    plan.requesters = plan.controller(c.controllers).at;
    plan.script = plan.requester(c.requesters).at;
    return true;
}
