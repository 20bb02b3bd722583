// Many legs in one call: each is prepared, run and judged in the same memory, one after the other;
// tester/native/batch.py calls it.
//
// Invariant: a leg's result depends on the leg alone, whatever ran before it in the memory. What
// cannot be run in this memory is left to the caller (STATUS_EXHAUSTED).

#pragma once

#include "execution/leg.hpp"

// A leg: its program, the plan of its system, and how it is run. `counts`: by machine, where the
// executions of its transitions are added up if it passes; nullptr: nowhere.
struct LegJob {
    ProgramArrays program;
    LegRules rules;
    const u64* plan;
    u64 plan_words;
    u64* counts;
    RowChange* change;  // nullptr: none
};

// The first transitions of a leg, STEP_WORDS each.
struct TransitionLog {
    u64* rows;
    u64 room;
    u64 made;
};

// The caller's memory. A job whose block would be larger than `block_bytes` is not run.
struct BatchMemory {
    u8* block;
    u64 block_bytes;
    u8* arena;
    u64 arena_bytes;
    u64 steps;           // that a leg may take
    Capacities* grown;   // pools that legs turned out to need
    TransitionLog* log;  // of the last leg; nullptr: none is kept
};

inline u64 larger(u64 one, u64 other) { return one > other ? one : other; }

// How much of each pool a leg is likely to need; what turns out too small is doubled.
inline Capacities leg_capacities(const PreparedLeg& leg, const Capacities& grown) {
    const u64 agents = leg.views[0].agents;
    const u64 traffic = larger(leg.lanes, 64);
    Capacities c = {};
    c.lines = larger(grown.lines, leg.final.lines + 64);
    c.increments = leg.increments + 1;
    c.words = leg.views[0].groups + 1;
    c.messages = larger(grown.messages, 256 + 8 * leg.lanes);
    c.line_requests = larger(grown.line_requests, 64 + 8 * leg.lanes);
    c.atomics = larger(grown.atomics, 64 + 8 * leg.lanes);
    c.flights = larger(grown.flights, 64 + 16 * agents);
    c.logs = larger(grown.logs, 4 * traffic);
    c.events = larger(grown.events, 4 * traffic);
    c.far = larger(grown.far, 4 * traffic);
    c.triggers = larger(grown.triggers, 4 * traffic);
    return c;
}

inline u64* capacity_of(Capacities& c, u32 name) {
    switch (name) {
        case POOL_MESSAGES: return &c.messages;
        case POOL_LINES: return &c.lines;
        case POOL_LOGS: return &c.logs;
        case POOL_ATOMICS: return &c.atomics;
        case POOL_FLIGHTS: return &c.flights;
        case POOL_LINE_REQUESTS: return &c.line_requests;
        case POOL_EVENTS: return &c.events;
        case POOL_FAR: return &c.far;
        case POOL_TRIGGERS: return &c.triggers;
    }
    return nullptr;  // of a size that follows from the leg
}

// Later runs begin with twice as much of the pool that ran out. False: it cannot grow.
inline bool grow(const BatchMemory& memory, const PoolRecord& pool) {
    u64* capacity = capacity_of(*memory.grown, pool.name);
    if (capacity) *capacity = 2 * larger(*capacity, pool.capacity);
    return capacity;
}

// A hash of the lines that were written in memory, and where.
inline u64 memory_hash(Context& x) {
    const System& s = *x.s;
    u64 sum = 0;
    for (u32 line = 0; line < s.lines.used; ++line) {
        if (s.memory.state.at(x, line) != MEMORY_WRITTEN) continue;
        u64 state = hash64(line_address_of(x, line));
        const u64* words = s.memory.image.in(x) + u64{line} * LINE_WORDS;
        for (u32 word = 0; word < LINE_WORDS; ++word) state = hash_step(state, words[word]);
        sum += state;  // whatever the order of their first use
    }
    return sum;
}

inline void add_counts(Context& x, u64* sums) {
    u64 first[MACHINES];
    u64 next = 0;
    for (u32 machine = 0; machine < MACHINES; ++machine) {
        first[machine] = next;
        next += counts_of(machine);
    }
    for (u32 id = 0; id < x.s->controllers; ++id) {
        const Controller& c = controller(x, id);
        const u64* counts = x.s->counts.in(x) + c.counts;
        u64* sum = sums + first[c.machine];
        for (u64 cell = 0; cell < counts_of(c.machine); ++cell) sum[cell] += counts[cell];
    }
}

inline void leg_result(Context& x, const LegJob& job, i64 status, u64* out) {
    const System& s = *x.s;
    const ClientParts& parts = client_parts(x);
    const Driver& driver = parts.drivers[0];
    out[ResultWord::STATUS] = static_cast<u64>(status);
    out[ResultWord::VERDICT] = parts.finding.verdict;
    out[ResultWord::ERROR_KIND] = s.error.kind;
    out[ResultWord::CONTROLLER] = s.error.controller == NIL ? NONE : s.error.controller;
    out[ResultWord::STATE] = static_cast<u64>(i64{s.error.state});
    out[ResultWord::EVENT] = static_cast<u64>(i64{s.error.event});
    out[ResultWord::TICK] = s.finding ? parts.finding.tick : s.error.kind ? s.error.tick : now(x);
    out[ResultWord::TICKS] = now(x);
    out[ResultWord::TRANSITIONS] = s.trace.count;
    out[ResultWord::TRACE_HASH] = s.trace.value;
    out[ResultWord::MEMORY_HASH] = memory_hash(x);
    out[ResultWord::FLUSHED] = parts.leg.flushed;
    out[ResultWord::LANE_ACCESSES] = parts.lane_accesses;
    out[ResultWord::EPISODES] = driver.completed;
    out[ResultWord::LIVE] = driver.live;
    out[ResultWord::LIVE_TIME] = driver.live_time;
    out[ResultWord::HANDOVER_TIME] = driver.handover_time;
    out[ResultWord::AGENT_TIME] = driver.agent_time;
    out[ResultWord::END] = driver.end;
    const bool in_transition = s.error.kind && s.error.event >= 0;
    out[ResultWord::ADDRESS] = in_transition ? s.error.address : NONE;
    if (parts.finding.verdict) out[ResultWord::ADDRESS] = parts.finding.address;
    const bool hangs = parts.finding.verdict == static_cast<u32>(Verdict::HANG);
    out[ResultWord::STUCK] = hangs && parts.finding.kind != NIL ? parts.finding.kind : NONE;
    if (job.counts && status == STATUS_IDLE) add_counts(x, job.counts);
}

inline Context context_of_leg(const BatchMemory& memory, const PreparedLeg& leg) {
    Context x = context_of(memory.block);
    x.client_view = const_cast<ProgramView*>(leg.views);
    return x;
}

inline i64 run_logged(Context& x, const PreparedLeg& leg, const LegRules& rules,
                      const BatchMemory& memory) {
    if (TransitionLog* log = memory.log) {
        x.steps = log->rows;
        x.steps_room = log->room;
        x.steps_written = log->made;
    }
    const i64 status = Leg_run(x, leg, rules, memory.steps);
    if (memory.log) memory.log->made = x.steps_written;
    return status;
}

// Whether the leg is to be run again, because a pool has grown.
inline bool run_prepared(const LegJob& job, const PreparedLeg& leg, PlanView plan,
                         const BatchMemory& memory, u64* out) {
    const Capacities said = plan.capacities;
    plan.capacities = leg_capacities(leg, *memory.grown);
    plan.capacities.controllers = said.controllers;
    plan.capacities.requesters = said.requesters;
    plan.capacities.buffers = said.buffers;
    plan.capacities.ports = said.ports;
    plan.capacities.caches = said.caches;
    plan.capacities.nodes = said.nodes;
    plan.run_key = job.program.run_key;
    plan.capacities.agents = static_cast<u32>(2 * job.program.agents + leg.flush_parts);
    plan.capacities.consumers =
        plan.capacities.controllers + plan.capacities.requesters + plan.capacities.agents;
    const BlockSize size = block_size(plan);
    if (size.all > memory.block_bytes) return false;
    __builtin_memset(memory.block, 0, size.zeroed);
    if (CHECKED)  // what is read before it is written shows
        __builtin_memset(memory.block + size.zeroed, 0xa5, size.all - size.zeroed);
    system_start(memory.block, size, plan);
    Context x = context_of_leg(memory, leg);
    x.change = job.change;
    i64 status = STATUS_EXHAUSTED;
    if (memory.log) memory.log->made = 0;
    if (Leg_start(x, leg, job.program.agent_requester, job.rules) >= 0)
        status = run_logged(x, leg, job.rules, memory);
    if (x.s->pool.name) return grow(memory, x.s->pool);
    leg_result(x, job, status, out);
    return false;
}

// Whether any racing load is judged.
inline bool judges_early(const LegJob& job) {
    const ProgramArrays& p = job.program;
    for (u64 e = 0; e < p.episodes; ++e)
        if (p.episode_scope[e] & EPISODE_RACING_LOAD &&
            early_rule(job.rules.steps[p.episode_thread[e]]))
            return true;
    return false;
}

// Run a leg; its result is in `out`. Returns how many bytes of the arena would have been enough to
// begin; more than there are: it was not run.
inline u64 run_leg(const LegJob& job, const BatchMemory& memory, u64* out) {
    out[ResultWord::STATUS] = STATUS_EXHAUSTED;
    Arena arena = {memory.arena, memory.arena_bytes, 0};
    PreparedLeg* leg = prepare_leg(job.program, judges_early(job), arena);
    if (!leg) return arena.used;
    PlanView plan;
    if (!read_plan(job.plan, job.plan_words, plan) || !plan_fits(plan)) return 0;
    while (run_prepared(job, *leg, plan, memory, out)) continue;
    return 0;
}

// Run legs until so many lanes have had an access, or one takes long (STATUS_UNTIL). Returns how many
// have a result; `more`: bytes of the arena for the next one, if that is why the call ended, else 0.
SLICC_API u64 slicc_run_legs(const LegJob* jobs, u64 count, const BatchMemory* memory, u64 accesses,
                             u64* results, u64* more) {
    u64 made = 0;
    u64 done = 0;
    *more = 0;
    for (; done < count && made < accesses; ++done) {
        u64* out = results + done * RESULT_WORDS;
        const u64 needed = run_leg(jobs[done], *memory, out);
        if (needed > memory->arena_bytes) {
            *more = needed;
            break;
        }
        made += jobs[done].program.actions * jobs[done].program.lanes + 1;
        if (out[ResultWord::STATUS] == STATUS_UNTIL) accesses = 0;
    }
    return done;
}

// Go on with the last leg of a call, which ended with STATUS_UNTIL; its result so far is in `out`.
// Returns 1 if it has to be run again, because a pool has grown.
SLICC_API i64 slicc_resume_leg(const LegJob* job, const BatchMemory* memory, u64* out) {
    const PreparedLeg& leg = *reinterpret_cast<const PreparedLeg*>(memory->arena);
    Context x = context_of_leg(*memory, leg);
    const i64 status = run_logged(x, leg, job->rules, *memory);
    leg_result(x, *job, x.s->pool.name ? i64{STATUS_EXHAUSTED} : status, out);
    return x.s->pool.name && grow(*memory, x.s->pool);
}

// Add up what the last leg of a call has done so far.
SLICC_API void slicc_add_counts(void* block, u64* counts) {
    Context x = context_of(block);
    add_counts(x, counts);
}
