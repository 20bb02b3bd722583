// Memory to work in, which is given out from its start, and the places of bytes under test in it.
//
// Invariant: a room that is too small hands out nothing more, but counts on, so that `used` is then
// how much would have been enough so far.
#pragma once

#include "counter_rng.hpp"

struct Room {
    u8* base;
    i64 size;
    i64 used;

    bool enough() const { return used <= size; }

    template <class T>
    T* take(i64 count) {
        const i64 place = (used + 15) & ~(i64)15;
        used = place + count * (i64)sizeof(T);
        return enough() ? reinterpret_cast<T*>(base + place) : nullptr;
    }

    template <class T>
    T* zeros(i64 count) {
        T* made = take<T>(count);
        if (made) __builtin_memset(static_cast<void*>(made), 0, (u64)count * sizeof(T));
        return made;
    }
};

// The number of a byte under test, counted from the first line on.
static inline i64 place_of_byte(const i64* line, i64 lines, i64 line_size, i64 address) {
    const i64 offset = address & (line_size - 1), own = address - offset;
    // Most maps are dense.
    const i64 guess = (own - line[0]) >> __builtin_ctzll((u64)line_size);
    if (guess < lines && line[guess] == own) return guess * line_size + offset;
    i64 low = 0, high = lines;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (line[middle] < own)
            low = middle + 1;
        else
            high = middle;
    }
    return low * line_size + offset;
}
