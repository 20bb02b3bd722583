// Arithmetic of the protocol language where C++ leaves something undefined.
//
// Invariant: every function gives what runtime/types/integers.py gives, cut to its width; what has no
// result is a verdict and gives 0.

#pragma once

#include "block/context.hpp"

template <class T>
inline T divide(Context& x, T dividend, T divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    if (static_cast<T>(-1) < 0 && divisor == static_cast<T>(-1)) {
        return static_cast<T>(0 - static_cast<u64>(dividend));
    }
    return dividend / divisor;
}

template <class T>
inline T remainder(Context& x, T dividend, T divisor) {
    if (UNLIKELY(divisor == 0)) {
        fail(x, ErrorKind::DIVISION_BY_ZERO);
        return 0;
    }
    if (static_cast<T>(-1) < 0 && divisor == static_cast<T>(-1)) return 0;
    return dividend % divisor;
}

template <class T>
inline bool is_shift(Context& x, i64 amount) {
    if (LIKELY(amount >= 0 && amount < static_cast<i64>(8 * sizeof(T)))) return true;
    fail(x, ErrorKind::BAD_SHIFT);
    return false;
}

template <class T>
inline T shift_left(Context& x, T value, i64 amount) {
    return is_shift<T>(x, amount) ? static_cast<T>(static_cast<u64>(value) << amount) : T{0};
}

template <class T>
inline T shift_right(Context& x, T value, i64 amount) {
    return is_shift<T>(x, amount) ? static_cast<T>(value >> amount) : T{0};
}

inline i32 divide_i32(Context& x, i32 a, i32 b) { return divide<i32>(x, a, b); }
inline i32 remainder_i32(Context& x, i32 a, i32 b) { return remainder<i32>(x, a, b); }
inline i32 shift_left_i32(Context& x, i32 a, i64 n) { return shift_left<i32>(x, a, n); }
inline i32 shift_right_i32(Context& x, i32 a, i64 n) { return shift_right<i32>(x, a, n); }

inline u32 divide_u32(Context& x, u32 a, u32 b) { return divide<u32>(x, a, b); }
inline u32 remainder_u32(Context& x, u32 a, u32 b) { return remainder<u32>(x, a, b); }
inline u32 shift_left_u32(Context& x, u32 a, i64 n) { return shift_left<u32>(x, a, n); }
inline u32 shift_right_u32(Context& x, u32 a, i64 n) { return shift_right<u32>(x, a, n); }

inline i64 divide_i64(Context& x, i64 a, i64 b) { return divide<i64>(x, a, b); }
inline i64 remainder_i64(Context& x, i64 a, i64 b) { return remainder<i64>(x, a, b); }
inline i64 shift_left_i64(Context& x, i64 a, i64 n) { return shift_left<i64>(x, a, n); }
inline i64 shift_right_i64(Context& x, i64 a, i64 n) { return shift_right<i64>(x, a, n); }

inline u64 divide_u64(Context& x, u64 a, u64 b) { return divide<u64>(x, a, b); }
inline u64 remainder_u64(Context& x, u64 a, u64 b) { return remainder<u64>(x, a, b); }
inline u64 shift_left_u64(Context& x, u64 a, i64 n) { return shift_left<u64>(x, a, n); }
inline u64 shift_right_u64(Context& x, u64 a, i64 n) { return shift_right<u64>(x, a, n); }
