// State of agents, drivers, flushers and the checker: plain structs of numbers. In Python
// these are attributes of the objects of tester/execution/agent.py and the modules beside it.
//
// Invariant: an agent is a consumer behind the requesters and a client of one requester, and has
// the same number as both; a flusher is an agent without a program. Agents of a driver have
// consecutive numbers.

#pragma once

#include "execution/access.hpp"
#include "execution/shared_numbers.hpp"
#include "requesters/registry.hpp"

enum class Phase : u8 {
    IDLE,
    HANDOVER,
    OPEN,
    ACQUIRE,
    INVALIDATE,
    ACTIONS,
    RELEASE,
    FLUSH,
    CLOSE,
    ENDED,
};

// Steps of an agent at hand-overs besides acquire and release.
inline constexpr u8 STEP_FLUSH = 1, STEP_INVALIDATE = 2, STEP_BLIND = 4;
// The bits above have its EarlyRule.
inline constexpr u8 STEP_EARLY_SHIFT = 3, EARLY_BYPASSING = 1, EARLY_HELD = 3;
inline constexpr u32 EARLY_BYTES = 64;  // of a racing load that are judged

struct Agent {
    u32 number;  // of the agent
    u32 consumer;
    u32 requester;
    u8 driver;
    Phase phase;
    u8 steps;
    u8 scope;      // of the episode
    bool flusher;  // has no program, only lines to flush
    bool retry;
    bool blocked;     // the next action waits for bytes of earlier ones, or for a load
    u32 outstanding;  // instructions issued and not fully answered
    u32 held;         // refused, to be issued again
    u32 in_order;     // the last load that is kept in order, until it is answered
    u32 taken_lane;   // 1 + the lane of the next action that waits for bytes in `taken_line`, or 0
    u32 taken_line;
    u32 completed;    // episodes
    u32 waits;        // hand-overs that the episode still waits for
    u32 open_stores;  // not globally performed
    u32 episode;
    u32 begun;                       // 1 + the episode of its last request that was no racing load
    i64 next_episode, last_episode;  // in agent_episode
    i64 next_action, last_action;
    u64 since;
    Queue waiting;  // waits for this agent's episodes, in the order of registration
};

// An agent waits until another one has completed `count` episodes.
struct Wait {
    u32 count;
    u32 waiter;
    u32 next;
};

struct Flusher {
    u64 identity;
    u32 next, last;  // in flush_lines
    u32 pending;
};

// Statistics: how much ran side by side, in ticks.
struct Driver {
    u64 identity;  // the last one assigned
    u32 first_agent;
    u32 agents;
    u32 running;
    u32 completed;
    u32 first_word;
    u8 role;
    u64 live;
    u64 live_since;
    u64 live_time;
    u64 handover_time;
    u64 agent_time;
    u64 end;
};

// The increments of one word so far.
struct Word {
    u64 address;
    u64 latest_tick;
    u64 done_tick;
    u32 initial;
    u32 issued;
    i32 latest;       // highest rank returned, the last one at latest_tick ...
    i32 settled;      // ... and before that tick
    u32 done;         // answered, quiet ones included, the last at done_tick ...
    u32 done_before;  // ... and before that tick
    u32 line;
    u32 increments;  // of the whole leg
    u64 first_seen;  // where its bits begin
};

// A rank that was returned before as many increments had been issued.
struct Early {
    u64 tick;
    u64 identity;
    u32 word;
    u32 rank;
    u32 index;
    u8 role;
};

// Bytes of a line for which an agent has an outstanding load or a store that is not accepted.
struct Busy {
    u64 bytes[MASK_WORDS];
    u32 line;
    u32 next;  // of its bucket
};

// A racing load of an agent, until its episode begins.
struct EarlyLoad {
    u8 value[EARLY_BYTES];
    u32 lower[EARLY_BYTES];  // 1 + the last version that was complete when it was issued, or 0
    u64 answered;            // a bit for each byte
    u32 action;              // that it anticipates
    u32 episode;             // of that action
    u32 bytes;               // 0: there is none, or it is not judged
    bool lost;               // a line of it has left the cache
};

struct Finding {
    u32 verdict;
    u32 role;
    u32 kind;
    u32 size;
    u64 tick;
    u64 identity;
    i64 index;  // which of the request's addresses, -1: the request as a whole
    u64 address;
    u64 expected;
    u64 got;
};

// What a leg does now (execution/leg.hpp): its episodes, then coming to rest, the comparison of memory
// after a flush, and reading everything back.
enum class LegPhase : u32 {
    EPISODES,
    REST,
    COMPARE,
    FLUSH,
    FLUSHED,
    IN_MEMORY,
    READ_BACK,
    READ,
    PASSED,
};

struct LegState {
    LegPhase phase;
    u32 flushed;  // memory itself can be compared
    u64 until;    // where the last slice ended, or where coming to rest has to
};

inline constexpr u32 DRIVERS = 8;
inline constexpr u32 EARLY = 1024;
inline constexpr u32 BUSY_BUCKETS = 128;  // of an agent, by the last bits of the line

struct ClientParts {
    u32 agent_count;
    u32 driver_count;
    u32 words_used;
    u32 flush_lines_used;
    u32 flushers_left;
    u32 early_count;
    u32 oldest;  // open requests, for the checker
    u32 newest;
    u32 free_busy;
    u32 busy_used;
    u32 free_wait;
    u32 waits_used;
    u32 waits_live;
    u64 judges_early;  // of racing loads, the first driver's program has versions
    u64 seen_used;
    u64 lane_accesses;
    Finding finding;
    LegState leg;
    Driver drivers[DRIVERS];
    Array<Agent> agents;
    Array<Flusher> flushers;  // by agent
    Array<u32> flush_lines;
    Array<Word> words;
    Array<u64> seen;   // a bit for each rank of each word
    Array<i32> lower;  // by agent and lane: a rank that its increment cannot have
    Array<Early> early;
    Array<u64> line_progress;  // by line: tick of the last answer
    Array<u32> buckets;        // by agent: the lines with busy bytes
    Array<Busy> busy;
    Array<Wait> waits;
    Array<EarlyLoad> early_loads;  // by agent

    void layout(Layout& layout, const Capacities& c, const PlanView&) {
        layout.reserve(agents, c.agents);
        layout.reserve(flushers, c.agents);
        layout.reserve(words, c.words);
        layout.reserve(seen, c.increments);
        layout.reserve(line_progress, c.lines);
        layout.reserve(early_loads, c.agents);
        layout.reserve(buckets, u64{c.agents} * BUSY_BUCKETS);
    }

    void unset_layout(Layout& layout, const Capacities& c, const PlanView& plan) {
        layout.reserve(flush_lines, c.lines);
        layout.reserve(early, c.words + EARLY);
        layout.reserve(waits, c.line_requests + 1);
        layout.reserve(lower, u64{c.agents} * 64);
        // What is busy has a lane in a row, or in the one refused instruction of its agent; a
        // transfer has one in each of its lines.
        const u64 transfer_lines = (MAX_TRANSFER_BYTES >> plan.line_bits) + 1;
        layout.reserve(busy, c.line_requests + transfers_of(c, plan) * transfer_lines +
                                 u64{c.agents} * 64 + 1);
    }
};

inline ClientParts& client_parts(const Context& x) { return *x.client_parts; }
inline Agent& agent_at(const Context& x, u32 agent) { return client_parts(x).agents.at(x, agent); }
