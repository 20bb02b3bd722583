// Counter-based random numbers, equal to those of tester/counter_rng.py and runtime/prng.py.
//
// Invariant: a number depends on the key of its stream and its counter alone.
#pragma once

#include <stdint.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef int32_t i32;
typedef uint32_t u32;
typedef uint8_t u8;

inline constexpr u64 GOLDEN = 0x9E3779B97F4A7C15u;

constexpr u64 mix64(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// A text as a number.
constexpr u64 hash_name(const char* name) {
    u64 length = 0;
    while (name[length]) length++;
    u64 state = GOLDEN * (length + 1);
    for (u64 i = 0; i < length; i++) state = mix64(state ^ mix64((u64)(u8)name[i] + GOLDEN));
    return state;
}

static inline u64 forked(u64 key, u64 name) {
    return mix64(mix64(GOLDEN * 3 ^ mix64(key + GOLDEN)) ^ mix64(name + GOLDEN));
}

// The key of the stream that is forked off under a name which is known now.
#define FORKED(key, name)                  \
    ([](u64 parent) {                      \
        constexpr u64 N = hash_name(name); \
        return forked(parent, N);          \
    }(key))

static inline u64 draw_word(u64 key, i64 counter) { return mix64((u64)counter * GOLDEN + key); }

// 0 .. limit-1, for limits below 2**31; 0 where the limit is 0.
static inline i64 scaled(u64 word, i64 limit) { return (i64)((word >> 32) * (u64)limit >> 32); }

static inline i64 draw_below(u64 key, i64 counter, i64 limit) {
    return scaled(draw_word(key, counter), limit);
}

static inline bool draw_percent(u64 key, i64 counter, i64 chance) {
    if (chance <= 0 || chance >= 100) return chance >= 100;
    return draw_below(key, counter, 100) < chance;
}

// Counters wrap around.
static inline i64 word(i64 name, i64 factor, i64 offset) {
    return (i64)((u64)name * (u64)factor + (u64)offset);
}

static inline i64 shifted(i64 name, int bits) { return (i64)((u64)name << bits); }
