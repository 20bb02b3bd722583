// Names for widths, hints and limits that everything below is written in.
//
// Invariant: no header of the native engine includes more of the standard library than the two
// here, and none keeps state: all of it is in one block (see context.hpp).

#pragma once

#include <stddef.h>
#include <stdint.h>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using u128 = unsigned __int128;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

#ifndef LINE_BYTES
#define LINE_BYTES 64  // of every line that this object can simulate
#endif
#ifndef NODE_WORDS
#define NODE_WORDS 1  // 64 controllers for each
#endif

static_assert(LINE_BYTES >= 8 && (LINE_BYTES & (LINE_BYTES - 1)) == 0);

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((cold))           // rarely called: kept out of the way
#define TINY __attribute__((always_inline))  // shorter than a call of it
#define FLAT __attribute__((flatten))        // with all that it calls, but for what stands APART
#define APART __attribute__((noinline))

// Without the instruction for it, which not every processor of the kind has, or a call.
constexpr i32 count_bits(u64 bits) {
    bits -= bits >> 1 & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<i32>(bits * 0x0101010101010101 >> 56);
}

// Zeros, in pieces: a long memset becomes a loop that takes the processor long to begin.
template <u64 SIZE>
inline void clear_bytes(void* from) {
    u8* const bytes = static_cast<u8*>(from);
#pragma GCC unroll 16
    for (u64 at = 0; at < SIZE; at += 64)
        __builtin_memset(bytes + at, 0, SIZE - at < 64 ? SIZE - at : 64);
}

// A cheap invariant of our own code: checked in tests and in sanitizer builds, free in all others.
#ifdef SLICC_INVARIANTS
inline constexpr bool CHECKED = true;
#define INVARIANT(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
#else
inline constexpr bool CHECKED = false;
#define INVARIANT(condition) static_cast<void>(0)
#endif

inline constexpr u32 NIL = 0xFFFFFFFF;           // no object, where objects count from 0
inline constexpr u64 NONE = 0xFFFFFFFFFFFFFFFF;  // no tick, no address
inline constexpr u32 LINE_WORDS = LINE_BYTES / 8;
inline constexpr u32 LINE_BITS = __builtin_ctzll(LINE_BYTES);
inline constexpr u64 LINE_MASK = LINE_BYTES - 1;  // of an offset in a line
inline constexpr u32 MASK_WORDS = (LINE_BYTES + 63) / 64;

struct Context;
struct System;
