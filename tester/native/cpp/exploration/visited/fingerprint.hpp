// What a state's code is known by.

#pragma once

#include "sim/prng.hpp"

struct Fingerprint {
    u64 low;
    u64 high;

    bool same(const Fingerprint& other) const { return low == other.low && high == other.high; }
};

// Of bytes behind which there are zeros up to a whole number of pairs of words.
inline Fingerprint fingerprint(const u8* bytes, u64 count) {
    u64 a = count * GOLDEN + 0x8f3a91c2d4e5b617;
    u64 b = ~count * 0xd6e8feb86659fd93;
    for (const u8* const end = bytes + count; bytes < end; bytes += 16) {
        u64 words[2];
        __builtin_memcpy(words, bytes, sizeof words);
        const u128 left = u128{a ^ words[0]} * (0x9fb21c651e98df25 ^ words[1]);
        const u128 right = u128{b ^ words[1]} * (0xa0761d6478bd642f ^ words[0]);
        a = static_cast<u64>(left) ^ static_cast<u64>(left >> 64) ^ b;
        b = static_cast<u64>(right) ^ static_cast<u64>(right >> 64);
    }
    return {mix64(a ^ mix64(b)), mix64(b + GOLDEN * a)};
}
