// What the threads of a program share: hand-overs between episodes, and how much ran side by side.
//
// Invariant: a hand-over wakes exactly the threads that wait for it, when it happens; nothing is
// polled.

#pragma once

#include "execution/thread.hpp"

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
    pool_exhausted(x, POOL_ROWS, parts.waits.count - 1);
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
    wait_at(x, index) = {count, waiter, 0};
    return index;
}

inline void wait_free(const Context& x, u32 index) {
    ClientParts& parts = client_parts(x);
    --parts.waits_live;
    wait_at(x, index).next = parts.free_wait;
    parts.free_wait = index;
}

inline void wait_append(const Context& x, Queue& queue, u32 index) {
    wait_at(x, index).next = 0;
    (queue.last ? wait_at(x, queue.last).next : queue.first) = index;
    queue.last = index;
}

// Note what the thread's episode waits for. Returns how many of those are still ahead; the
// thread's `waits` is counted down, and it is woken when it reaches zero.
inline u32 Driver_await_episodes(Context& x, Thread& t) {
    const ProgramView& program = program_at(x, t.driver);
    const Driver& driver = driver_of(x, t);
    const i64 first = program.first_wait[t.episode];
    const i64 last = program.first_wait[t.episode + 1];
    u32 ahead = 0;
    if (first == last || !waits_left(x, static_cast<u64>(last - first))) return 0;
    for (i64 wait = first; wait < last; ++wait) {
        Thread& other = thread_at(x, driver.first_thread + static_cast<u32>(program.wait_thread[wait]));
        const u32 count = static_cast<u32>(program.wait_count[wait]);
        if (other.completed >= count) continue;
        wait_append(x, other.waiting, wait_new(x, count, t.number));
        ++ahead;
    }
    return ahead;
}

// The thread issues the last access of its episode: whoever waits for that may peek.
inline void Driver_last_access(Context& x, Thread& t) {
    for (u32 index = t.waiting.first; index;) {
        const Wait& wait = wait_at(x, index);
        index = wait.next;
        if (wait.count == t.completed + 1) Thread_peek(x, thread_at(x, wait.waiter));
    }
}

inline void Driver_episode_completed(Context& x, Thread& t) {
    Driver& driver = driver_of(x, t);
    ++driver.completed;
    Driver_change(x, driver, -1);
    Queue kept = {};
    for (u32 index = t.waiting.first; index;) {
        const Wait& wait = wait_at(x, index);
        const u32 next = wait.next;
        if (wait.count == t.completed) {
            Thread& waiter = thread_at(x, wait.waiter);
            wait_free(x, index);
            if (!--waiter.waits) Thread_wake(x, waiter);
        } else {
            wait_append(x, kept, index);
        }
        index = next;
    }
    t.waiting = kept;
}

inline void Driver_thread_ended(Context& x, Thread& t) {
    Driver& driver = driver_of(x, t);
    --driver.running;
    driver.thread_time += now(x);
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
        word.initial = static_cast<u32>(initial_word(program.run_key, address) >> 8 * (address & 4));
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

// Add all threads of a program; they begin in the next tick. `requesters[t]` is the one that
// thread t uses, `steps[t]` what it does besides acquire and release, `role` that of its actions.
// Returns the driver's number, which is that of its program in later calls; -1: no room.
inline i64 Driver_add(Context& x, const ProgramView& program, u8 role, const u32* requesters, const u8* steps,
                      u64 first_identity) {
    ClientParts& parts = client_parts(x);
    if (parts.driver_count == DRIVERS || parts.agents + program.threads > parts.threads.count) return -1;
    const u32 number = parts.driver_count;
    Driver& driver = parts.drivers[number];
    driver = {};
    driver.identity = first_identity;
    driver.first_thread = parts.agents;
    driver.threads = driver.running = static_cast<u32>(program.threads);
    driver.first_word = parts.words_used;
    driver.role = role;
    if (!Driver_words(x, program)) return -1;
    ++parts.driver_count;
    for (u32 i = 0; i < driver.threads; ++i) {
        Thread& t = thread_at(x, parts.agents);
        t = {};
        t.number = parts.agents++;
        t.consumer = x.s->controllers + x.s->requesters + t.number;
        t.requester = requesters[i];
        t.driver = static_cast<u8>(number);
        t.steps = steps ? steps[i] : 0;
        t.next_episode = program.thread_first[i];
        t.last_episode = program.thread_first[i + 1];
        Thread_wake(x, t);
    }
    return number;
}

// The number of a thread whose requester refused it and has not asked for it again; -1: none.
inline i64 Driver_refused(const Context& x) {
    ClientParts& parts = client_parts(x);
    const Driver& driver = parts.drivers[parts.driver_count ? parts.driver_count - 1 : 0];
    for (u32 i = 0; i < driver.threads; ++i) {
        const Thread& t = thread_at(x, driver.first_thread + i);
        if (t.held && !t.retry) return i;
    }
    return -1;
}
