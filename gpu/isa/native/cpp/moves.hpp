// Loads and stores of the lanes of one wave within one piece of memory: an allocation, or the LDS
// of a group.
//
// Invariant: what is not that simple (a lane elsewhere, or not aligned) changes nothing and is
// left to Python.

#pragma once

#include "lanes.hpp"

inline constexpr u32 MOST_PLACES = 2;
inline constexpr u32 MOST_WORDS = 4;

enum class Address : u8 { LOCAL, WIDE, BASED };  // 32 bits that wrap, 64 bits, a base and 32 bits

struct Window {
    u64 exec;
    u64 start;  // added to every address
    u64 base;   // of the first byte that may be accessed
    u64 size;
    u8* bytes;
    u64 outside;  // out: the first address that is not within it
};

// The twin of _MOVE in gpu/compute_unit/memory_ops/native_moves.py.
struct Move {
    Window* window;
    u64 offset[MOST_PLACES];
    u8 bytes;  // of a lane, at each place
    u8 places;
    u8 stores;
    u8 extends;  // the sign of what is loaded
    Address address;
    u8 row;  // of the address
    u8 data[MOST_PLACES];
};
static_assert(sizeof(Move) == 32);

inline u64 address_of(const Move& m, const u32* rows, u64 start, u32 place, u32 lane) {
    const u32* row = rows + LANES * m.row;
    if (m.address == Address::LOCAL) return static_cast<u32>(row[lane] + m.offset[place]);
    const u64 high = m.address == Address::WIDE ? row[lane + LANES] : 0;
    return (row[lane] | high << 32) + start + m.offset[place];
}

inline u32 extended(const Move& m, u32 value) {
    if (!m.extends) return value;
    const u32 shift = 32 - 8 * m.bytes;
    return static_cast<u32>(static_cast<i32>(value << shift) >> shift);
}

// Whether it was carried out.
inline bool move(const Move& m, u32* rows) {
    Window& window = *m.window;
    u64 at[MOST_PLACES][LANES];
    u32 lanes[LANES];
    u32 count = 0;
    for (u64 left = window.exec; left; left &= left - 1) lanes[count++] = __builtin_ctzll(left);
    const u64 unaligned = (m.bytes < 4 ? m.bytes : 4) - 1;
    for (u32 place = 0; place < m.places; ++place) {
        for (u32 i = 0; i < count; ++i) {
            const u64 address = address_of(m, rows, window.start, place, lanes[i]);
            const u64 offset = address - window.base;
            if (offset >= window.size || window.size - offset < m.bytes || offset & unaligned) {
                window.outside = address;
                return false;
            }
            at[place][i] = offset;
        }
    }
    const u32 words = (m.bytes + 3u) / 4;
    const u32 each = m.bytes < 4 ? m.bytes : 4;
    for (u32 place = 0; place < m.places && m.stores; ++place) {
        for (u32 i = 0; i < count; ++i) {
            const u32* row = rows + LANES * m.data[place] + lanes[i];
            u8* into = window.bytes + at[place][i];
            for (u32 word = 0; word < words; ++word)
                memcpy(into + 4 * word, row + LANES * word, each);
        }
    }
    for (u32 place = 0; place < m.places && !m.stores; ++place) {
        for (u32 i = 0; i < count; ++i) {
            const u8* from = window.bytes + at[place][i];
            u32* row = rows + LANES * m.data[place] + lanes[i];
            for (u32 word = 0; word < words; ++word) {
                u32 value = 0;
                memcpy(&value, from + 4 * word, each);
                row[LANES * word] = extended(m, value);
            }
        }
    }
    return true;
}
