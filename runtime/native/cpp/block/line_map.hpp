// Numbers for lines, in the order of their first use, so that tables by line are dense.
//
// Invariant: an address has one number for as long as the block lives. Any 64-bit address may
// be asked for; whether it is that of a line is the business of those who ask.

#pragma once

#include "block/context.hpp"

inline constexpr u64 LINE_HASH = 0x9E3779B97F4A7C15;
inline constexpr u32 QUEUE_PLACES =
    4;  // of a LineQueue, in which a requester keeps what is outstanding for a line
inline constexpr u64 LINE_WINDOW = 16;  // lines of the window for each that there is room for

// How many lines the address is behind the start of the window; that of no line is far behind.
inline u64 window_place(const LineMap& map, u64 address) {
    const u64 distance = address - map.start;
    return distance >> LINE_BITS | distance << (64 - LINE_BITS);
}

inline COLD __attribute__((noinline)) u32 line_lookup(Context& x, u64 address) {
    LineMap& map = x.s->lines;
    u32* table = map.table.in(x);
    u64* addresses = map.addresses.in(x);
    const u32 mask = static_cast<u32>(map.table.count - 1);
    u32 place = static_cast<u32>((address * LINE_HASH) >> map.shift);
    INVARIANT(map.used < map.table.count);
    for (; table[place]; place = (place + 1) & mask) {
        if (addresses[table[place] - 1] == address) return table[place] - 1;
    }
    if (UNLIKELY(map.used >= map.capacity)) {
        pool_exhausted(x, POOL_LINES, map.capacity);
        return 0;
    }
    if (!map.used) map.start = (address & ~LINE_MASK) - (map.window.count / 2 << LINE_BITS);
    __builtin_memset(x.places + map.used * x.place_stride, 0, x.place_stride);
    __builtin_memset(x.s->stalls.in(x) + u64{map.used} * x.s->stall_rows, 0,
                     sizeof(StallList) * x.s->stall_rows);
    addresses[map.used] = address;
    table[place] = ++map.used;
    const u64 near = window_place(map, address);
    if (near < map.window.count) x.window[near] = map.used;
    return map.used - 1;
}

inline u32 line_in_window(Context& x, u64 address) {
    const LineMap& map = x.s->lines;
    const u64 place = window_place(map, address);
    if (LIKELY(place < map.window.count)) {
        const u32 known = x.window[place];
        if (LIKELY(known)) return known - 1;
    }
    return line_lookup(x, address);
}

// The handle that a cache, table or directory keeps for a line.
inline u32& line_place(const Context& x, u64 place, u32 line) {
    INVARIANT(place * sizeof(u32) < x.place_stride && line < x.s->lines.capacity);
    return reinterpret_cast<u32*>(x.places + line * x.place_stride)[place];
}

// The number of the line that begins at an address, for those who mostly ask for another one than the
// last: whether it is the same one could not be predicted.
inline u32 other_line_index(Context& x, u64 address) {
    const u32 line = line_in_window(x, address);
    x.recent_line = line;
    x.recent_address = address;
    x.recent_places = &line_place(x, 0, line);
    return line;
}

// The number of the line that begins at an address. Mostly it is the one that the running
// transition has asked for before.
inline u32 line_index(Context& x, u64 address) {
    if (LIKELY(address == x.recent_address)) return x.recent_line;
    return other_line_index(x, address);
}

// The places of the line that begins at an address.
inline u32* line_places(Context& x, u64 address) {
    line_index(x, address);
    return x.recent_places;
}

inline u64 line_address_of(const Context& x, u32 index) {
    INVARIANT(index < x.s->lines.used);
    return x.line_addresses[index];
}

// Its places from `near` on will be looked at soon: let the processor fetch them meanwhile.
inline void expect_places(const Context& x, u32 near, u32 line) {
    __builtin_prefetch(&line_place(x, near, line), 1);
}

// The same for the line that begins at an address, if it was asked for before.
inline TINY void expect_line(const Context& x, u64 near, u64 address) {
    const LineMap& map = x.s->lines;
    const u64 place = window_place(map, address);
    if (UNLIKELY(place >= map.window.count)) return;
    const u32 known = x.window[place];
    if (UNLIKELY(!known)) return;
    __builtin_prefetch(&line_place(x, near, known - 1), 1);
    __builtin_prefetch(x.line_addresses + known - 1);
}

// The entry or record whose place is the second of those will be looked at now.
inline void expect_entry(const Context& x, u32 near, u32 line) {
    const u32 handle = line_place(x, u64{near} + 1, line);
    const u8* entry = x.base + (u64{handle} << 3);
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + 64, 1);
}

inline u64 line_of(const Context&, u64 address) { return address & ~LINE_MASK; }

// Ascending, in place.
inline void heap_sort(u64* items, u64 count) {
    const auto sift = [&](u64 place, u64 end) {
        const u64 moved = items[place];
        for (u64 child = 2 * place + 1; child < end; child = 2 * place + 1) {
            if (child + 1 < end && items[child + 1] > items[child]) child++;
            if (items[child] <= moved) break;
            items[place] = items[child];
            place = child;
        }
        items[place] = moved;
    };
    for (u64 i = count / 2; i--;) sift(i, count);
    for (u64 end = count; end > 1;) {
        end--;
        const u64 largest = items[0];
        items[0] = items[end];
        items[end] = largest;
        sift(0, end);
    }
}
