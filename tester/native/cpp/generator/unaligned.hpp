// Accesses of any size at any place, of agents that are not bound to aligned locations, as compiled code.
//
// Invariant: equal to tester/generator/unaligned.py; the reasons are given there.
#pragma once

#include "address_selection.hpp"

enum { WHOLE_LINES_PERCENT = 25, INSIST_PERCENT = 6 };

// The map as a row of bytes: one entry per location, by address.
struct ByteRow {
    i64 locations, line_size;
    const i64* line;
    i64 lines;
    i32* from;  // [bytes + 1] by byte under test, the first location there or behind it
    i32* location;
    i64* address;
    i64* end;
    // first and end of the unbroken bytes around each that its group has, and its isolation group
    i64* group_first;
    i64* group_end;
    i64* isolation_first;
    i64* isolation_end;
};

// An access that gets another shape.
struct Picked {
    i64 name;  // counters for random numbers
    i64 address;
    i64 episode;
    i64 longest;
    bool by_group, is_store;
    // what it becomes
    i64 own, first, end;
    i64 wanted, locations;  // the locations that it wants: the first one, and how many
};

// `label`: the group of each location, in the order of addresses.
static inline void note_runs(const ByteRow& row, const i32* label, i64* first, i64* end) {
    for (i64 i = 0; i < row.locations; i++) {
        const bool same = i > 0 && row.address[i] == row.end[i - 1] && label[i] == label[i - 1];
        first[i] = same ? first[i - 1] : row.address[i];
    }
    for (i64 i = row.locations - 1; i >= 0; i--) {
        const bool same = i + 1 < row.locations && first[i + 1] == first[i];
        end[i] = same ? end[i + 1] : row.end[i];
    }
}

// False: too little room.
static inline bool make_byte_row(const AddressMap& map, i64 groups, i64 isolation_groups,
                                 i64 line_size, Room& room, ByteRow& row) {
    const i64 locations = map.locations;
    row.locations = locations;
    row.line_size = line_size;
    row.line = map.line;
    row.lines = map.lines;
    row.from = room.take<i32>(map.lines * line_size + 1);
    row.location = room.take<i32>(locations);
    row.address = room.take<i64>(locations);
    row.end = room.take<i64>(locations);
    row.group_first = room.take<i64>(locations);
    row.group_end = room.take<i64>(locations);
    row.isolation_first = room.take<i64>(locations);
    row.isolation_end = room.take<i64>(locations);
    i32* label = room.take<i32>(locations);
    i32* group = room.take<i32>(locations);
    i32* at = room.zeros<i32>(map.lines * line_size);
    if (!room.enough()) return false;
    for (i64 g = 0; g < groups; g++)
        for (i64 c = map.group_first[g]; c < map.group_first[g + 1]; c++) group[c] = (i32)g;
    for (i64 c = 0; c < locations; c++)
        at[place_of_byte(map.line, map.lines, line_size, map.location_address[c])] = (i32)(c + 1);
    i64 count = 0;
    for (i64 b = 0; b < map.lines * line_size; b++) {
        row.from[b] = (i32)count;
        if (!at[b]) continue;
        const i32 location = at[b] - 1;
        row.location[count] = location;
        row.address[count] = map.location_address[location];
        row.end[count] = map.location_address[location] + map.location_size[location];
        label[count++] = group[location];
    }
    row.from[map.lines * line_size] = (i32)count;
    note_runs(row, label, row.group_first, row.group_end);
    for (i64 i = 0; i < locations; i++) label[i] = (i32)(label[i] % isolation_groups);
    note_runs(row, label, row.isolation_first, row.isolation_end);
    return true;
}

// The first location at this address or behind it. The address is in a line under test, or where one
// ends.
static inline i64 location_from(const ByteRow& row, i64 address) {
    return row.from[place_of_byte(row.line, row.lines, row.line_size, address)];
}

// What an access asks for if all is free, within what it may touch at all.
static inline void want(const ByteRow& row, u64 key, Picked& p) {
    const i64 name = word(p.name, 8, 0), size = row.line_size;
    i64 bits = 0;
    while ((i64)1 << bits < p.longest) bits++;
    const bool is_short = draw_percent(key, name, 50);
    if (is_short) bits = 2 + draw_below(key, name + 1, bits - 1);
    const i64 length = 1 + draw_below(key, name + 2, (i64)1 << bits);
    p.first = p.address - draw_below(key, name + 3, length);
    p.end = p.first + length;
    const bool inside = p.longest <= MAX_ACCESS_BYTES;
    if (!inside && size <= MAX_TRANSFER_BYTES / 4 &&
        draw_percent(key, name + 4, WHOLE_LINES_PERCENT)) {
        p.first &= -size;
        p.end = (p.end + size - 1) & -size;
    }
    p.own = location_from(row, p.address + 1) - 1;
    i64 low = p.by_group ? row.group_first[p.own] : row.isolation_first[p.own];
    i64 high = p.by_group ? row.group_end[p.own] : row.isolation_end[p.own];
    const i64 line = p.address & -size;
    if (inside && line > low) low = line;
    if (inside && line + size < high) high = line + size;
    if (p.first < low) p.first = low;
    if (p.end > high) p.end = high;
    p.wanted = location_from(row, p.first + 1) - 1;
    p.locations = location_from(row, p.end) - p.wanted;
}

// Gives each access the bytes around its own location that it may have by now. `r.location`: one entry per
// wanted location of each.
static inline void shape(const ByteRow& row, u64 key, Reservation& r, Picked* picked, i64 count) {
    i64 asks = 0;
    for (i64 i = 0; i < count; i++) {
        const Picked& p = picked[i];
        for (i64 at = p.wanted; at < p.wanted + p.locations; at++, asks++)
            ask_for(r, asks, asks << 1 | p.is_store,
                    key_of(row.location[at], r.live + p.episode, 0));
    }
    grant(r, asks);
    asks = 0;
    for (i64 i = 0; i < count; i++) {
        Picked& p = picked[i];
        i64 low = -1, high = (i64)1 << 62;
        for (i64 at = p.wanted; at < p.wanted + p.locations; at++, asks++) {
            if (r.location[asks] >= 0) continue;
            if (at < p.own && row.end[at] > low) low = row.end[at];
            if (at > p.own && row.address[at] < high) high = row.address[at];
        }
        const bool insists =
            p.longest > MAX_ACCESS_BYTES && draw_percent(key, word(p.name, 8, 5), INSIST_PERCENT);
        if (insists) continue;
        if (low > p.first) p.first = low;
        if (high < p.end) p.end = high;
    }
}

// Bytes up to the end of its first line, or of the access.
static inline i64 first_line_end(const Picked& p, i64 line_size) {
    const i64 end = (p.first & -line_size) + line_size;
    return end < p.end ? end : p.end;
}

// Rows of an access: every 8 bytes, and where a line ends.
static inline i64 pieces_of(const Picked& p, i64 line_size) {
    const i64 line_end = first_line_end(p, line_size);
    return (line_end - p.first + 7) / 8 + (p.end - line_end + 7) / 8;
}

static inline void piece_of(const Picked& p, i64 line_size, i64 part, i64& address, u8& size) {
    const i64 line_end = first_line_end(p, line_size);
    const i64 here = (line_end - p.first + 7) / 8;
    const i64 limit = part < here ? line_end : p.end;
    address = part < here ? p.first + 8 * part : line_end + 8 * (part - here);
    size = (u8)(limit - address < 8 ? limit - address : 8);
}
