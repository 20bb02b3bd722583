// What the agents of a program share: hand-overs between episodes, and how much ran side by side.
//
// Invariant: a hand-over wakes exactly the agents that wait for it, when it happens; nothing is
// polled.

#pragma once

#include "execution/agent.hpp"

// `by` more episodes are live from now on.
inline void Driver_change(Context& x, Driver& driver, i64 by) {
    const u64 tick = now(x);
    driver.live_time += driver.live * (tick - driver.live_since);
    driver.live_since = tick;
    driver.live += static_cast<u64>(by);
    driver.end = tick;
}

// ---------------------------------------------------------------- waits

inline Wait& wait_at(const Context& x, u32 index) { return client_parts(x).waits.at(x, index); }

inline bool waits_left(Context& x, u64 need) {
    const ClientParts& parts = client_parts(x);
    if (parts.waits_live + need < parts.waits.count) return true;
    pool_exhausted(x, POOL_LINE_REQUESTS, parts.waits.count - 1);
    return false;
}

// Only after waits_left.
inline u32 wait_new(const Context& x, u32 count, u32 waiter) {
    ClientParts& parts = client_parts(x);
    u32 index = parts.free_wait;
    if (index) {
        parts.free_wait = wait_at(x, index).next;
    } else {
        index = ++parts.waits_used;
    }
    ++parts.waits_live;
    INVARIANT(count > 0 && parts.waits_live < parts.waits.count);
    wait_at(x, index) = {count, waiter, 0};
    return index;
}

inline void wait_free(const Context& x, u32 index) {
    ClientParts& parts = client_parts(x);
    INVARIANT(parts.waits_live > 0);
    --parts.waits_live;
    wait_at(x, index).next = parts.free_wait;
    parts.free_wait = index;
}

inline void wait_append(const Context& x, Queue& queue, u32 index) {
    wait_at(x, index).next = 0;
    (queue.last ? wait_at(x, queue.last).next : queue.first) = index;
    queue.last = index;
}

// Record what the agent's episode waits for. Returns how many of those are still incomplete; the
// agent's `waits` is counted down, and the agent is woken when it reaches zero.
inline u32 Driver_await_episodes(Context& x, Agent& a) {
    const ProgramView& program = program_at(x, a.driver);
    const Driver& driver = driver_of(x, a);
    const i64 first = program.first_wait[a.episode];
    const i64 last = program.first_wait[a.episode + 1];
    u32 ahead = 0;
    if (first == last || !waits_left(x, static_cast<u64>(last - first))) return 0;
    for (i64 wait = first; wait < last; ++wait) {
        Agent& other =
            agent_at(x, driver.first_agent + static_cast<u32>(program.wait_thread[wait]));
        INVARIANT(other.number != a.number && other.driver == a.driver);
        const u32 count = static_cast<u32>(program.wait_count[wait]);
        if (other.completed >= count) continue;
        wait_append(x, other.waiting, wait_new(x, count, a.number));
        ++ahead;
    }
    return ahead;
}

// The agent issues the last access of its episode: agents that wait for the episode may make racing loads.
inline void Driver_last_access(Context& x, Agent& a) {
    for (u32 index = a.waiting.first; index;) {
        const Wait& wait = wait_at(x, index);
        index = wait.next;
        if (wait.count == a.completed + 1) Agent_racing_load(x, agent_at(x, wait.waiter));
    }
}

inline void Driver_episode_completed(Context& x, Agent& a) {
    Driver& driver = driver_of(x, a);
    ++driver.completed;
    INVARIANT(driver.live > 0);
    Driver_change(x, driver, -1);
    Queue kept = {};
    for (u32 index = a.waiting.first; index;) {
        const Wait& wait = wait_at(x, index);
        const u32 next = wait.next;
        if (wait.count == a.completed) {
            Agent& waiter = agent_at(x, wait.waiter);
            wait_free(x, index);
            INVARIANT(waiter.waits > 0);
            if (!--waiter.waits) Agent_wake(x, waiter);
        } else {
            wait_append(x, kept, index);
        }
        index = next;
    }
    a.waiting = kept;
}

inline void Driver_agent_ended(Context& x, Agent& a) {
    Driver& driver = driver_of(x, a);
    INVARIANT(driver.running > 0);
    --driver.running;
    driver.agent_time += now(x);
}

// ---------------------------------------------------------------- construction

// A word for each group of a program that makes fetch-adds, with a bit for each of its increments.
// False: no room.
inline bool Driver_words(Context& x, const ProgramView& program) {
    ClientParts& parts = client_parts(x);
    if (!program.words_total) return true;
    if (parts.words_used + program.groups > parts.words.count) {
        pool_exhausted(x, POOL_WORDS, parts.words.count);
        return false;
    }
    for (u64 group = 0; group < program.groups; ++group) {
        const u64 address = program.group_word[group];
        const u64 increments = program.group_increments[group];
        Word& word = parts.words.at(x, parts.words_used++);
        word = {};
        word.address = address;
        word.initial =
            static_cast<u32>(initial_word(program.run_key, address) >> 8 * (address & 4));
        word.latest = word.settled = -1;
        word.line = increments ? line_index(x, line_of(x, address)) : 0;
        word.increments = static_cast<u32>(increments);
        word.first_seen = parts.seen_used;
        parts.seen_used += (increments + 63) / 64;
    }
    if (parts.seen_used <= parts.seen.count) return true;
    pool_exhausted(x, POOL_INCREMENTS, parts.seen.count);
    return false;
}

// Add all agents of a program; they begin in the next tick. `requesters[i]` is the one that
// agent i uses, `steps[i]` what it does besides acquire and release, `role` that of its actions.
// Returns the driver's number, which is that of its program in later calls; -1: no room.
inline i64 Driver_add(Context& x, const ProgramView& program, u8 role, const u32* requesters,
                      const u8* steps, u64 first_identity) {
    ClientParts& parts = client_parts(x);
    if (parts.driver_count == DRIVERS || parts.agent_count + program.agents > parts.agents.count)
        return -1;
    const u32 number = parts.driver_count;
    Driver& driver = parts.drivers[number];
    driver = {};
    driver.identity = first_identity;
    driver.first_agent = parts.agent_count;
    driver.agents = driver.running = static_cast<u32>(program.agents);
    driver.first_word = parts.words_used;
    driver.role = role;
    if (!Driver_words(x, program)) return -1;
    if (!number) parts.judges_early = program.judges_early;
    ++parts.driver_count;
    for (u32 i = 0; i < driver.agents; ++i) {
        Agent& a = agent_at(x, parts.agent_count);
        a = {};
        a.number = parts.agent_count++;
        a.consumer = x.s->controllers + x.s->requesters + a.number;
        a.requester = requesters[i];
        a.driver = static_cast<u8>(number);
        a.steps = steps ? steps[i] : 0;
        a.next_episode = program.agent_first[i];
        a.last_episode = program.agent_first[i + 1];
        Agent_wake(x, a);
    }
    return number;
}

// The number of an agent whose requester refused it and has not asked for it again; -1: none.
inline i64 Driver_refused(const Context& x) {
    ClientParts& parts = client_parts(x);
    const Driver& driver = parts.drivers[parts.driver_count ? parts.driver_count - 1 : 0];
    for (u32 i = 0; i < driver.agents; ++i) {
        const Agent& a = agent_at(x, driver.first_agent + i);
        if (a.held && !a.retry) return i;
    }
    return -1;
}
