// Counter-based random numbers, equal to those of tester/counter_rng.py.
//
// Invariant: a number depends on the key of its stream and its counter alone.
#pragma once

#include <stdint.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef int32_t i32;
typedef uint8_t u8;

static inline u64 mix64(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static inline u64 draw_word(u64 key, i64 counter) {
    return mix64((u64)counter * 0x9E3779B97F4A7C15u + key);
}

// 0 .. limit-1, for limits below 2**31; 0 where the limit is 0.
static inline i64 scaled(u64 word, i64 limit) { return (i64)((word >> 32) * (u64)limit >> 32); }

static inline bool draw_percent(u64 key, i64 counter, i64 chance) {
    if (chance <= 0 || chance >= 100) return chance >= 100;
    return scaled(draw_word(key, counter), 100) < chance;
}
