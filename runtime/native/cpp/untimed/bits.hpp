// Numbers of a few bits, one behind the other.
//
// Invariant: what was put is got back by the same calls in the same order. The last byte is filled
// with zeros, so equal sequences have equal bytes.

#pragma once

#include "block/base.hpp"

struct BitWriter {
    u8* start;
    u8* end;  // of the room
    u8* at;
    u64 held = 0;
    u32 count = 0;
    bool overflow = false;

    BitWriter(u8* to, u64 room) : start(to), end(to + room), at(to) {}

    TINY void put(u64 value, u32 bits) {
        INVARIANT(bits <= 32 && !(value >> bits));
        held |= value << count;
        count += bits;
        if (count < 32) return;
        if (UNLIKELY(end - at < 8)) {
            overflow = true;
            at = start;
        }
        const u32 low = static_cast<u32>(held);
        __builtin_memcpy(at, &low, 4);
        at += 4;
        held >>= 32;
        count -= 32;
    }

    u64 bits() const { return static_cast<u64>(at - start) * 8 + count; }

    // The bytes so far; nothing may be put behind them.
    u64 finish() {
        for (; count; count = count > 8 ? count - 8 : 0) {
            *at++ = static_cast<u8>(held);
            held >>= 8;
        }
        return static_cast<u64>(at - start);
    }
};

struct BitReader {
    const u8* at;
    u64 held = 0;
    u32 count = 0;

    explicit BitReader(const u8* from) : at(from) {}

    TINY u64 get(u32 bits) {
        while (count < bits) {
            held |= u64{*at++} << count;
            count += 8;
        }
        const u64 value = held & ((u64{1} << bits) - 1);
        held >>= bits;
        count -= bits;
        return value;
    }
};
