// Arithmetic of the protocol language where C++ leaves something undefined.
//
// Invariant: every function gives what runtime/integers.py gives, cut to 64 bits; what has no
// result is a verdict and gives 0.

#pragma once

#include "context.hpp"

inline i64 divide(Context& x, i64 dividend, i64 divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    if (divisor == -1) return static_cast<i64>(0 - static_cast<u64>(dividend));
    return dividend / divisor;
}

inline u64 divide(Context& x, u64 dividend, u64 divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    return dividend / divisor;
}

inline i64 remainder(Context& x, i64 dividend, i64 divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    return divisor == -1 ? 0 : dividend % divisor;
}

inline u64 remainder(Context& x, u64 dividend, u64 divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    return dividend % divisor;
}

// The caller cuts the result to the width of its type.
inline u64 shift_left(Context& x, u64 value, i64 amount, i32 bits) {
    if (UNLIKELY(amount < 0 || amount >= bits)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return 0;
    }
    return value << amount;
}

inline i64 shift_right(Context& x, i64 value, i64 amount, i32 bits) {
    if (UNLIKELY(amount < 0 || amount >= bits)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return 0;
    }
    return value >> amount;
}

inline u64 shift_right(Context& x, u64 value, i64 amount, i32 bits) {
    if (UNLIKELY(amount < 0 || amount >= bits)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return 0;
    }
    return value >> amount;
}
