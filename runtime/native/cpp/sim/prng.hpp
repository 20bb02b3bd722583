// Random integers and hashes: counter-based, the same on every machine.
//
// Invariant: the numbers of runtime/prng.py, bit for bit.

#pragma once

#include "block/base.hpp"

inline constexpr u64 GOLDEN = 0x9E3779B97F4A7C15;

constexpr u64 mix64(u64 value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

// One step of hash64: take in one more part.
constexpr u64 hash_step(u64 state, u64 part) { return mix64(state ^ mix64(part + GOLDEN)); }

constexpr u64 hash64(u64 one) { return hash_step(GOLDEN * 2, one); }

constexpr u64 hash64(u64 one, u64 two) { return hash_step(hash_step(GOLDEN * 3, one), two); }

constexpr u64 hash64(u64 one, u64 two, u64 three) {
    return hash_step(hash_step(hash_step(GOLDEN * 4, one), two), three);
}

constexpr u64 hash_name(const char* name) {
    u64 length = 0;
    while (name[length]) length++;
    u64 state = GOLDEN * (length + 1);
    for (u64 i = 0; i < length; i++) state = hash_step(state, static_cast<u8>(name[i]));
    return state;
}

// Key of the stream of a seed.
constexpr u64 prng_key(u64 seed) { return mix64(seed + GOLDEN); }

constexpr u64 prng_fork(u64 key, u64 name_hash) { return hash64(key, name_hash); }

// Draw number `index`, which counts from 1.
constexpr u64 prng_bits(u64 key, u64 index) { return mix64(key + index * GOLDEN); }

constexpr u64 prng_below(u64 key, u64 index, u64 limit) {
    return ((prng_bits(key, index) >> 32) * limit) >> 32;
}

// What the 8 bytes at an address hold before a run.
constexpr u64 initial_word(u64 run_key, u64 address) {
    return mix64(mix64(run_key + GOLDEN) + (address >> 3) * GOLDEN);
}
