// Numbers of a few bits, one behind the other.
//
// Both are a few words, so that a function that writes or reads many numbers can keep them in
// registers. Invariant: what was put is got back by the same calls in the same order. The last byte is
// filled with zeros, so equal sequences have equal bytes.

#pragma once

#include "block/base.hpp"

inline constexpr u64 BITS_ROOM = 16;  // bytes behind what is written or read that are touched, too
inline constexpr u32 MOST_BITS = 56;  // of a number

struct BitWriter {
    u8* start;
    u8* end;  // of the room, less BITS_ROOM
    u8* at;
    u64 held = 0;
    u32 count = 0;

    BitWriter(u8* to, u64 room) : start(to), end(to + room - BITS_ROOM), at(to) {}

    // Words as wide as those that are read of it, so that reading need not wait for several.
    TINY void put(u64 value, u32 bits) {
        INVARIANT(bits <= MOST_BITS && !(value >> bits));
        held |= value << count;
        count += bits;
        if (UNLIKELY(count >= 64)) {
            __builtin_memcpy(at, &held, 8);
            at = at + 8 < end ? at + 8 : end;
            count -= 64;
            held = value >> (bits - count);
        }
    }

    // Whether more was put than there is room for.
    bool overflow() const { return at == end; }
    u64 bits() const { return static_cast<u64>(at - start) * 8 + count; }
    // The bytes so far.
    u64 finish() {  // and zeros behind them up to the next pair of words
        const u64 last[2] = {held, 0};
        __builtin_memcpy(at, last, sizeof last);
        return static_cast<u64>(at - start) + (count + 7) / 8;
    }
};

struct BitReader {
    const u8* start;
    u64 at = 0;  // in bits

    explicit BitReader(const u8* from) : start(from) {}

    TINY u64 get(u32 bits) {
        u64 held;
        __builtin_memcpy(&held, start + (at >> 3), 8);
        const u64 value = held >> (at & 7) & ((u64{1} << bits) - 1);
        at += bits;
        return value;
    }
};
