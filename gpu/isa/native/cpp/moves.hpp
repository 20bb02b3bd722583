// Loads and stores of the lanes of one wave within one piece of memory: an allocation, or the LDS
// of a group.
//
// A move has the three steps of a memory instruction: it is held (registers are read), performed
// (memory is accessed) and completed (registers are written). Invariant: what is not that simple (a
// lane elsewhere, or not aligned) changes nothing and is left to Python; a move that is held needs
// nothing else and cannot fail.

#pragma once

#include "held.hpp"
#include "lanes.hpp"

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

inline void copy(u8* into, const u8* from, u32 bytes) {
    switch (bytes) {  // the sizes that there are, each known to the compiler
        case 1: *into = *from; break;
        case 2: memcpy(into, from, 2); break;
        case 4: memcpy(into, from, 4); break;
        case 8: memcpy(into, from, 8); break;
        default: memcpy(into, from, bytes);
    }
}

// Words of a lane in registers.
inline u32 words_of(const Move& m) { return (m.bytes + 3u) / 4; }
inline u32 each_of(const Move& m) { return m.bytes < 4 ? m.bytes : 4; }

inline void find_lanes(Held& held, u64 exec) {
    held.count = 0;
    for (u64 left = exec; left; left &= left - 1) {
        held.lanes[held.count++] = static_cast<u8>(__builtin_ctzll(left));
    }
}

// What a store stores.
inline void read_data(const Move& m, const u32* rows, Held& held) {
    const u32 words = words_of(m);
    const u32 each = each_of(m);
    for (u32 place = 0; place < m.places && m.stores; ++place) {
        const u32* first = rows + LANES * m.data[place];
        for (u64 i = 0; i < held.count; ++i) {
            u8* into = held.data[place] + i * m.bytes;
            for (u32 word = 0; word < words; ++word) {
                const u32 value = first[held.lanes[i] + LANES * word];
                copy(into + 4 * word, reinterpret_cast<const u8*>(&value), each);
            }
        }
    }
}

// Whether it can be performed.
inline bool hold(const Move& m, u32* rows, Held& held) {
    Window& window = *m.window;
    held.move = &m;
    held.rows = rows;
    held.bytes = window.bytes;
    held.returned = 0;
    find_lanes(held, window.exec);
    const u64 unaligned = each_of(m) - 1;
    for (u32 place = 0; place < m.places; ++place) {
        for (u64 i = 0; i < held.count; ++i) {
            const u64 address = address_of(m, rows, window.start, place, held.lanes[i]);
            const u64 offset = address - window.base;
            if (offset >= window.size || window.size - offset < m.bytes || offset & unaligned) {
                window.outside = address;
                return false;
            }
            held.at[place][i] = offset;
        }
    }
    read_data(m, rows, held);
    return true;
}

inline void perform(Held& held) {
    const Move& m = *held.move;
    for (u32 place = 0; place < m.places; ++place) {
        for (u64 i = 0; i < held.count; ++i) {
            u8* memory = held.bytes + held.at[place][i];
            u8* data = held.data[place] + i * m.bytes;
            copy(m.stores ? memory : data, m.stores ? data : memory, m.bytes);
        }
    }
}

inline void complete(Held& held) {
    const Move& m = *held.move;
    held.returned = 1;
    const u32 words = words_of(m);
    const u32 each = each_of(m);
    for (u32 place = 0; place < m.places && !m.stores; ++place) {
        u32* first = held.rows + LANES * m.data[place];
        for (u64 i = 0; i < held.count; ++i) {
            const u8* from = held.data[place] + i * m.bytes;
            for (u32 word = 0; word < words; ++word) {
                u32 value = 0;
                copy(reinterpret_cast<u8*>(&value), from + 4 * word, each);
                first[held.lanes[i] + LANES * word] = extended(m, value);
            }
        }
    }
}

// All steps at once; whether it was carried out.
inline bool move(const Move& m, u32* rows) {
    Held held;
    if (!hold(m, rows, held)) return false;
    perform(held);
    complete(held);
    return true;
}

// The first step, into the window's place. Which dwords the lanes want decides how long banks take.
inline bool hold_for_later(const Move& m, u32* rows) {
    Held& held = *m.window->held;
    if (!hold(m, rows, held)) return false;
    for (u32 place = 0; place < m.places; ++place) {
        const i64 first = static_cast<i64>(held.at[place][0] >> 2);
        for (u64 i = 0; i < held.count; ++i) {
            held.dwords[place][i] = static_cast<i64>(held.at[place][i] >> 2) - first;
        }
    }
    return true;
}

struct Lines {
    u64 count = 0;
    u64 line[2 * LANES];
    void add(u64 wanted) {  // neighbours mostly want the same, so the last ones come first
        for (u64 i = count; i--;) {
            if (line[i] == wanted) return;
        }
        line[count++] = wanted;
    }
};

// The first step of a move in memory that others perform: addresses and data, into the window's
// place, and their extent. `base` of the window: the logarithm of the size of a line; `size`: what
// the upper halves of addresses in registers are below. Whether they are.
inline bool gather(const Move& m, u32* rows) {
    Window& window = *m.window;
    Held& held = *window.held;
    Extent& extent = held.extent;
    held.move = &m;
    held.rows = rows;
    held.returned = 0;
    find_lanes(held, window.exec);
    extent = {~0ull, 0, 0, 0};
    Lines lines;
    for (u64 i = 0; i < held.count; ++i) {
        const u32 lane = held.lanes[i];
        if (m.address == Address::WIDE && rows[LANES * (m.row + 1) + lane] >= window.size) {
            return false;
        }
        const u64 address = address_of(m, rows, window.start, 0, lane);
        const u64 first = address >> window.base;
        const u64 last = (address + m.bytes - 1) >> window.base;
        held.at[0][i] = address;
        if (address < extent.low) extent.low = address;
        if (address > extent.high) extent.high = address;
        lines.add(first);
        if (last != first) lines.add(last);
        extent.crosses |= last != first;
    }
    extent.lines = lines.count;
    read_data(m, rows, held);
    return true;
}
