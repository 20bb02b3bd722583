// Growing lists of flags.
//
// Invariant: flags behind the last one are false, so that growing needs no work.

#pragma once

#include "block/context.hpp"

inline bool flag_exists(Context& x, const BoolVec& vector, i64 index) {
    if (LIKELY(index >= 0 && index < vector.size)) return true;
    fail(x, ErrorKind::INDEX_RANGE);
    return false;
}

inline bool BoolVec_at(Context& x, const BoolVec& vector, i64 index) {
    return flag_exists(x, vector, index) && (vector.w[index >> 6] >> (index & 63) & 1);
}

inline void BoolVec_set_at(Context& x, BoolVec& vector, i64 index, bool value) {
    if (!flag_exists(x, vector, index)) return;
    const u64 bit = u64{1} << (index & 63);
    vector.w[index >> 6] = value ? vector.w[index >> 6] | bit : vector.w[index >> 6] & ~bit;
}

inline void BoolVec_clear(Context&, BoolVec& vector) { vector = {}; }

// Cut, or grow with false.
inline void BoolVec_resize(Context& x, BoolVec& vector, i64 size) {
    if (UNLIKELY(size < 0 || size > i64{MAX_MEMBERS})) {
        fail(x, ErrorKind::INDEX_RANGE);
        return;
    }
    for (i64 index = size; index < vector.size; index++) {
        vector.w[index >> 6] &= ~(u64{1} << (index & 63));
    }
    vector.size = static_cast<i32>(size);
}

inline i32 BoolVec_size(Context&, const BoolVec& vector) { return vector.size; }

inline bool BoolVec_equal(const Context&, const BoolVec& one, const BoolVec& other) {
    return one.size == other.size && __builtin_memcmp(one.w, other.w, sizeof one.w) == 0;
}

// How many flags are set.
inline i32 library_countBoolVec(Context&, const BoolVec& vector) {
    i32 count = 0;
    for (u64 word : vector.w) count += count_bits(word);
    return count;
}
