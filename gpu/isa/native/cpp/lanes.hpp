// Runs of vector instructions on the registers of one wave.
//
// The functions of one lane that generated code is written in are those of numpy for the same
// types: integers wrap, shifts by the width or more leave zeros or signs. Invariant: inactive lanes
// of a destination keep their values, and the floating-point environment of the thread is the same
// behind a run as before it.

#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")  // a product is rounded before something is added to it
#endif

#include <string.h>

#include <type_traits>

#include "block/base.hpp"
#include "held.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using f32 = float;
using f64 = double;

inline constexpr u32 MOST_SOURCES = 3;
inline constexpr u32 MOST_ROWS = 2;
inline constexpr u64 ALL_LANES = ~0ull;

template <class To, class From>
inline To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    memcpy(&result, &value, sizeof(result));
    return result;
}

// ---------------------------------------------------------------- what numpy computes of one lane

// What a number of this type is computed in: no narrower than u32, since `int` may not overflow.
template <class T>
struct Wrapping {
    using type = std::conditional_t<(sizeof(T) > 4), u64, u32>;
};
template <>
struct Wrapping<f32> {
    using type = f32;
};
template <>
struct Wrapping<f64> {
    using type = f64;
};
template <class T>
using Wrap = typename Wrapping<T>::type;

// Of two NaNs the first one is the result. Compilers exchange operands as they like.
inline f32 with_nan(f32 a, f32 result) {
    return a != a ? bits_as<f32>(bits_as<u32>(a) | 1u << 22) : result;
}
inline f64 with_nan(f64 a, f64 result) {
    return a != a ? bits_as<f64>(bits_as<u64>(a) | 1ull << 51) : result;
}
template <class T>
inline T with_nan(T, T result) {
    return result;
}

template <class T>
inline T add(T a, T b) {
    return with_nan(a, static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b)));
}
template <class T>
inline T subtract(T a, T b) {
    return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
}
template <class T>
inline T multiply(T a, T b) {
    return with_nan(a, static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b)));
}
template <class T>
inline T negative(T a) {
    return static_cast<T>(-static_cast<Wrap<T>>(a));
}
inline f32 absolute(f32 a) { return bits_as<f32>(bits_as<u32>(a) & 0x7FFF'FFFFu); }
inline f64 absolute(f64 a) { return bits_as<f64>(bits_as<u64>(a) & ~(1ull << 63)); }
template <class T>
inline T absolute(T a) {
    return a < 0 ? negative(a) : a;
}
template <class T>
inline T bitwise_and(T a, T b) {
    return static_cast<T>(a & b);
}
template <class T>
inline T bitwise_or(T a, T b) {
    return static_cast<T>(a | b);
}
template <class T>
inline T bitwise_xor(T a, T b) {
    return static_cast<T>(a ^ b);
}
template <class T>
inline T invert(T a) {
    return static_cast<T>(~a);
}
template <class T>
inline T left_shift(T a, T count) {
    const auto bits = static_cast<Wrap<T>>(count);
    if (bits >= 8 * sizeof(T)) return 0;
    return static_cast<T>(static_cast<Wrap<T>>(a) << bits);
}
template <class T>
inline T right_shift(T a, T count) {
    const auto bits = static_cast<Wrap<T>>(count);
    if (bits >= 8 * sizeof(T)) return a < 0 ? static_cast<T>(-1) : 0;
    return static_cast<T>(a >> bits);
}
template <class T>
inline bool equal(T a, T b) {
    return a == b;
}
template <class T>
inline bool not_equal(T a, T b) {
    return a != b;
}
template <class T>
inline bool less(T a, T b) {
    return a < b;
}
template <class T>
inline bool less_equal(T a, T b) {
    return a <= b;
}
template <class T>
inline bool greater(T a, T b) {
    return a > b;
}
template <class T>
inline bool greater_equal(T a, T b) {
    return a >= b;
}
inline bool logical_and(bool a, bool b) { return a & b; }
inline bool logical_or(bool a, bool b) { return a | b; }
inline bool logical_not(bool a) { return !a; }
template <class T>
inline bool isnan(T a) {
    return a != a;
}
inline f32 sqrt(f32 a) { return __builtin_sqrtf(a); }
inline f64 sqrt(f64 a) { return __builtin_sqrt(a); }
template <class T>
inline T minimum(T a, T b) {
    return b < a ? b : a;
}
template <class T>
inline T maximum(T a, T b) {
    return a < b ? b : a;
}

// ---------------------------------------------------------------- sources and results of a function

template <class T>
inline T lane_of(const u32* row, u32 lane) {
    if constexpr (sizeof(T) == 8) {
        return bits_as<T>(row[lane] | static_cast<u64>(row[lane + LANES]) << 32);
    } else if constexpr (sizeof(T) == 4) {
        return bits_as<T>(row[lane]);
    } else {
        return bits_as<T>(static_cast<u16>(row[lane]));
    }
}

template <class T>
inline void put_lane(u32* row, u32 lane, T bits) {
    row[lane] = static_cast<u32>(bits);
    if constexpr (sizeof(T) == 8) row[lane + LANES] = static_cast<u32>(bits >> 32);
}

inline u64 bits_of(const u8* lanes) {
    u64 bits = 0;
    for (u32 byte = 0; byte < LANES / 8; ++byte) {
        u64 eight;
        memcpy(&eight, lanes + 8 * byte, 8);  // bytes of 0 or 1: the product gathers their bits
        bits |= (eight * 0x0102'0408'1020'4080ull >> 56) << 8 * byte;
    }
    return bits;
}

// Sources as rows of 64 words, two for 64 bits; lanes of the mask that is read; where results go.
// Returns the mask that it gives.
using Function = u64 (*)(const u32* x, const u32* y, const u32* z, u64 lanes, u32* out);

extern const Function FUNCTIONS[];  // generated, see gpu/isa/native/lane_functions.py
extern const u32 WORDS[16];         // of the control register, by environment

// ---------------------------------------------------------------- runs

enum class From : u32 { ROW, SLOT, SLOTS, CONSTANT };  // SLOTS: 64 bits from two

struct Source {
    From from;
    u32 number;  // of the row or the slot
    u64 value;
};

// The twin of OPERATION in gpu/isa/native/runs.py.
struct Operation {
    u16 function;
    u8 environment;  // which of the wave's
    u8 sources;
    u8 rows;  // that it writes, from `row` on
    u8 row;
    u8 lanes;  // slot behind that of the mask it reads, or 0
    u8 mask;   // likewise that it writes
    Source source[MOST_SOURCES];
};
static_assert(sizeof(Operation) == 56);

// A slot holds 32 bits: a scalar register, but for these.
inline constexpr u32 EXEC_SLOT = 0;          // 64 bits
inline constexpr u32 ENVIRONMENTS_SLOT = 1;  // four bits for each environment

struct Run {
    u64* slots;
    u64 count;
    Operation operations[1];
};

// The environment of the thread while a run is under way.
struct Environment {
#if defined(__x86_64__)
    u32 before = _mm_getcsr();
    u32 now = before;
    void use(u32 wanted) {
        if (WORDS[wanted] == now) return;
        now = WORDS[wanted];
        _mm_setcsr(now);
    }
    ~Environment() {
        if (now != before) _mm_setcsr(before);
    }
#else
    void use(u32) {}
#endif
};

inline const u32* lanes_of(const Source& source, const u32* rows, const u64* slots, u32* room) {
    if (source.from == From::ROW) return rows + LANES * source.number;
    u64 value = source.value;
    if (source.from == From::SLOT) value = slots[source.number];
    if (source.from == From::SLOTS) value = slots[source.number] | slots[source.number + 1] << 32;
    for (u32 lane = 0; lane < LANES; ++lane) {
        room[lane] = static_cast<u32>(value);
        room[lane + LANES] = static_cast<u32>(value >> 32);
    }
    return room;
}

inline u64 pair_of(const u64* slots, u32 behind) {
    return behind ? slots[behind - 1] | slots[behind] << 32 : 0;
}

inline void execute(const Run& run, u32* rows) {
    u64* slots = run.slots;
    const u64 exec = slots[EXEC_SLOT];
    u32 active[LANES];
    for (u32 lane = 0; lane < LANES; ++lane) active[lane] = -static_cast<u32>(exec >> lane & 1);
    u32 room[MOST_SOURCES][MOST_ROWS * LANES];
    u32 out[MOST_ROWS * LANES];
    Environment environment;
    for (u64 place = 0; place < run.count; ++place) {
        const Operation& o = run.operations[place];
        const u32* sources[MOST_SOURCES] = {};
        for (u32 i = 0; i < o.sources; ++i) {
            sources[i] = lanes_of(o.source[i], rows, slots, room[i]);
        }
        if (o.environment) environment.use(slots[ENVIRONMENTS_SLOT] >> 4 * o.environment & 15);
        const u64 given =
            FUNCTIONS[o.function](sources[0], sources[1], sources[2], pair_of(slots, o.lanes), out);
        u32* into = rows + LANES * o.row;
        const u32 words = LANES * o.rows;
        if (exec == ALL_LANES) {
            memcpy(into, out, words * sizeof(u32));
        } else {
            for (u32 i = 0; i < words; ++i) {
                into[i] ^= (into[i] ^ out[i]) & active[i % LANES];
            }
        }
        if (o.mask) {
            slots[o.mask - 1] = static_cast<u32>(given & exec);
            slots[o.mask] = (given & exec) >> 32;
        }
    }
}
