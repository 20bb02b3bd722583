// What a run counts, in objects that are compiled to count; in all others this is nothing at all.
//
// The host lays the words out (runtime/native/statistics.py): a head of CounterWord, whose words say
// where the lists of the others begin. One leg counts at a time. Invariant: counting changes nothing
// of a run, and counts what runtime/statistics/counters.py counts.

#pragma once

#include "block/context.hpp"
#include "controller/controller_state.hpp"
#include "statistics/shared_numbers.hpp"

#ifdef SLICC_STATISTICS
inline constexpr bool COUNTING = true;
#else
inline constexpr bool COUNTING = false;
#endif

inline i64* counter_words = nullptr;  // of the leg that runs, while it is counted
inline i64* wanted_words = nullptr;   // of its next attempt

inline bool counting() { return COUNTING && LIKELY(counter_words != nullptr); }

inline i64& counter(CounterWord list, u64 place) {
    return counter_words[counter_words[list] + static_cast<i64>(place)];
}

// A system is at tick 0, perhaps after an attempt with too little room: nothing is counted yet.
inline void count_from_start() {
    if (!COUNTING) return;
    counter_words = wanted_words;
    if (!counting()) return;
    i64* const w = counter_words;
    for (i64 i = w[COUNTER_VICTIM]; i < w[COUNTER_OCCUPANCY]; i++) w[i] = -1;
    for (i64 i = w[COUNTER_OCCUPANCY]; i < w[COUNTER_END]; i++) w[i] = 0;
    w[COUNTER_TAKEN] = w[COUNTER_LATE] = w[COUNTER_ANSWERS] = 0;
    w[COUNTER_ROWS] = w[COUNTER_NEXT_SAMPLE] = 0;
    w[COUNTER_INTERVAL] = SAMPLE_TICKS;
}

// What is done from now on does not count: all episodes are complete.
inline void count_no_more() {
    if (COUNTING) counter_words = nullptr;
}

// ---------------------------------------------------------------- messages between controllers

// A field that has a member of an enumeration; 0: the class has none, or it is out of range.
inline i64 message_field(const Message& message, u32 at, i64 members) {
    if (!at) return 0;
    const i64 value = *reinterpret_cast<const i32*>(reinterpret_cast<const u8*>(&message) + at);
    return value < 0 || value >= members ? 0 : value;
}

inline void count_sent(u32 port, const Message& message, const NetDest& to) {
    if (!counting()) return;
    const i64 kinds = counter(COUNTER_KINDS_OF, message.type);
    const i64 kind = counter(COUNTER_FIRST_KIND, message.type) +
                     message_field(message, MESSAGE_KIND[message.type], kinds);
    const i64 size =
        message_field(message, MESSAGE_SIZE[message.type], counter_words[COUNTER_SIZES]);
    const i64 bytes = counter(COUNTER_BYTES_OF, static_cast<u64>(size));
    const i64 row = counter(COUNTER_PORT_ROW, port);
    for (u32 word = 0; word < NODE_WORDS; word++) {
        for (u64 bits = to.w[word]; bits; bits &= bits - 1) {
            const u32 node = word * 64 + static_cast<u32>(__builtin_ctzll(bits));
            const i64 machine = counter(COUNTER_NODE_MACHINE, node);
            const u64 place =
                static_cast<u64>((row + machine) * counter_words[COUNTER_KINDS] + kind);
            counter(COUNTER_MESSAGES, place)++;
            counter(COUNTER_BYTES, place) += bytes;
        }
    }
}

// ---------------------------------------------------------------- controllers

inline i64& tally(TallyWord what, i64 machine) {
    return counter(COUNTER_TALLIES, static_cast<u64>(machine * TALLY_WORDS + what));
}

// A row of a machine's table was held back, once for each look at it.
inline void count_stall(u32 machine) {
    if (counting()) tally(TALLY_STALLS, machine)++;
}

// A message waits for its line to be woken.
inline void count_wait(u32 consumer) {
    if (counting()) tally(TALLY_WAITS, counter(COUNTER_CONSUMER_MACHINE, consumer))++;
}

// A controller takes a requester's message out of its mandatory queue.
inline void count_taken(u32 buffer, const Message& message, u64 tick) {
    if (!counting() || !counter(COUNTER_MANDATORY, buffer)) return;
    if (message.type != MessageType::RubyRequest) return;
    const i32 type = static_cast<const RubyRequest&>(message).Type;
    if (type >= RubyRequestType::NUM || !counter(COUNTER_IS_ACCESS, static_cast<u64>(type))) return;
    counter_words[COUNTER_TAKEN]++;
    counter_words[COUNTER_LATE] += message.arrival != tick;
}

// A frame is filled, a victim is chosen, a frame is given up.
inline void count_fill(u32 cache) {
    if (counting()) tally(TALLY_FILLS, counter(COUNTER_CACHE_MACHINE, cache))++;
}

inline void count_victim(u32 cache, u64 address) {
    if (counting()) counter(COUNTER_VICTIM, cache) = static_cast<i64>(address);
}

inline void count_given_up(u32 cache, u64 address) {
    if (!counting() || counter(COUNTER_VICTIM, cache) != static_cast<i64>(address)) return;
    counter(COUNTER_VICTIM, cache) = -1;
    tally(TALLY_EVICTIONS, counter(COUNTER_CACHE_MACHINE, cache))++;
}

// ---------------------------------------------------------------- occupancy over time

// Two rows become one, of twice the ticks.
inline COLD void halve_samples() {
    const i64 width = counter_words[COUNTER_SERIES];
    i64* const rows = &counter(COUNTER_SAMPLES, 0);
    for (i64 row = 0; row < SAMPLE_ROWS / 2; row++) {
        for (i64 i = 0; i < width; i++)
            rows[row * width + i] = rows[2 * row * width + i] + rows[(2 * row + 1) * width + i];
    }
    __builtin_memset(rows + SAMPLE_ROWS / 2 * width, 0,
                     sizeof(i64) * static_cast<u64>(SAMPLE_ROWS / 2 * width));
    counter_words[COUNTER_ROWS] = SAMPLE_ROWS / 2;
    counter_words[COUNTER_INTERVAL] *= 2;
}

inline COLD void count_occupancy(const Context& x, u32 buffers) {
    const i64 width = counter_words[COUNTER_SERIES];
    i64* const now_there = &counter(COUNTER_OCCUPANCY, 0);
    __builtin_memset(now_there, 0, sizeof(i64) * static_cast<u64>(width));
    for (u32 i = 0; i < buffers; i++)
        now_there[counter(COUNTER_BUFFER_SERIES, i)] += x.buffers[i].count;
    for (u64 i = 0; i < x.s->tables_used; i++)
        now_there[counter(COUNTER_TABLE_SERIES, x.tables[i].machine)] += x.tables[i].count;
    const i64 tick = static_cast<i64>(now(x));
    while (counter_words[COUNTER_NEXT_SAMPLE] <= tick) {
        if (counter_words[COUNTER_ROWS] == SAMPLE_ROWS) halve_samples();
        const i64 interval = counter_words[COUNTER_INTERVAL];
        i64* const row =
            &counter(COUNTER_SAMPLES, static_cast<u64>(counter_words[COUNTER_ROWS]++ * width));
        for (i64 i = 0; i < width; i++) row[i] = now_there[i] * (interval / SAMPLE_TICKS);
        counter_words[COUNTER_NEXT_SAMPLE] += interval;
    }
}

// After every transition. An access was a hit if the transition that took it answered it, in the
// tick in which it arrived.
inline void count_transition(const Context& x, const Controller& c) {
    if (!counting()) return;
    i64* const w = counter_words;
    if (w[COUNTER_TAKEN]) {
        const bool hit = w[COUNTER_ANSWERS] && !w[COUNTER_LATE];
        tally(hit ? TALLY_HITS : TALLY_MISSES, c.machine)++;
        w[COUNTER_TAKEN] = 0;
        w[COUNTER_LATE] = 0;
    }
    w[COUNTER_ANSWERS] = 0;
    if (UNLIKELY(static_cast<i64>(now(x)) >= w[COUNTER_NEXT_SAMPLE]))
        count_occupancy(x, static_cast<u32>(w[COUNTER_BUFFERS]));
}

// ---------------------------------------------------------------- accesses

// The place of a latency among LATENCY_BUCKETS: two for each power of two.
inline u32 latency_bucket(u64 ticks) {
    if (ticks < 2) return static_cast<u32>(ticks);
    const u32 power = 63 - static_cast<u32>(__builtin_clzll(ticks));
    const u32 bucket = 2 * power + static_cast<u32>(ticks >> (power - 1) & 1);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

inline void count_latency(u32 kind, u64 ticks) {
    if (!counting()) return;
    counter(COUNTER_LATENCIES, kind * LATENCY_BUCKETS + latency_bucket(ticks))++;
    counter(COUNTER_LATENCY_SUMS, kind) += static_cast<i64>(ticks);
}

// Lanes have their data, or the cache has theirs.
inline void count_answer() {
    if (counting()) counter_words[COUNTER_ANSWERS]++;
}
