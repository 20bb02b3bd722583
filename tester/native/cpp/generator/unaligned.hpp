// Accesses of any size at any place, of agents that are not bound to aligned locations, as compiled code.
//
// Invariant: equal to tester/generator/unaligned.py; the reasons are given there.
#pragma once

#include "address_map.hpp"
#include "reservation.hpp"

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
    u8* is_whole;  // by location: whether every byte of its line is of its isolation group
};

// The bytes of an access that gets another shape.
struct Shape {
    i64 first, end;
};

// What is asked of it. `longest`: bytes it may have; more than MAX_ACCESS_BYTES: an engine's, over several
// lines. `by_group`: it stays within its group, as its episode makes fetch-adds. `whole_line`: it takes its
// line, which is whole.
struct Shaping {
    i64 name;  // counters for random numbers
    i64 address, longest;
    bool by_group, whole_line;
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
    row.is_whole = room.take<u8>(locations);
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
    for (i64 i = 0; i < locations; i++) {
        const i64 start = row.address[i] & -line_size;
        row.is_whole[row.location[i]] =
            row.isolation_first[i] <= start && start + line_size <= row.isolation_end[i];
    }
    return true;
}

// The first location at this address or behind it. The address is in a line under test, or where one
// ends.
static inline i64 location_from(const ByteRow& row, i64 address) {
    return row.from[place_of_byte(row.line, row.lines, row.line_size, address)];
}

// What an access has if all is free, within what it may touch at all. `own`: its location, of the row.
static inline Shape wanted_shape(const ByteRow& row, u64 key, const Shaping& s, i64 own) {
    const i64 name = word(s.name, 8, 0), size = row.line_size;
    if (s.whole_line) return {s.address & -size, (s.address & -size) + size};
    i64 bits = 0;
    while ((i64)1 << bits < s.longest) bits++;
    const bool is_short = draw_percent(key, name, 50);
    if (is_short) bits = 2 + draw_below(key, name + 1, bits - 1);
    const i64 length = 1 + draw_below(key, name + 2, (i64)1 << bits);
    Shape wanted;
    wanted.first = s.address - draw_below(key, name + 3, length);
    wanted.end = wanted.first + length;
    const bool inside = s.longest <= MAX_ACCESS_BYTES;
    if (!inside && size <= MAX_TRANSFER_BYTES / 4 &&
        draw_percent(key, name + 4, WHOLE_LINES_PERCENT)) {
        wanted.first &= -size;
        wanted.end = (wanted.end + size - 1) & -size;
    }
    i64 low = s.by_group ? row.group_first[own] : row.isolation_first[own];
    i64 high = s.by_group ? row.group_end[own] : row.isolation_end[own];
    const i64 line = s.address & -size;
    if (inside && line > low) low = line;
    if (inside && line + size < high) high = line + size;
    if (wanted.first < low) wanted.first = low;
    if (wanted.end > high) wanted.end = high;
    return wanted;
}

// The shape of an access that holds its own location: it grows on both sides into those it may have.
static inline Shape grown(const ByteRow& row, u64 key, const Shaping& s, const Holder& holder,
                          Claim* claim) {
    const i64 own = location_from(row, s.address + 1) - 1;
    Shape shape = wanted_shape(row, key, s, own);
    const bool insists = s.whole_line || (s.longest > MAX_ACCESS_BYTES &&
                                          draw_percent(key, word(s.name, 8, 5), INSIST_PERCENT));
    const auto takes = [&](i64 at) {
        Claim& its = claim[row.location[at]];
        if (!insists && !is_free(its, holder)) return false;
        hold(its, holder);
        return true;
    };
    for (i64 at = own - 1; at >= 0 && row.end[at] > shape.first; at--)
        if (!takes(at)) shape.first = row.end[at];
    for (i64 at = own + 1; at < row.locations && row.address[at] < shape.end; at++)
        if (!takes(at)) shape.end = row.address[at];
    return shape;
}

// Bytes up to the end of its first line, or of the access.
static inline i64 first_line_end(const Shape& s, i64 line_size) {
    const i64 end = (s.first & -line_size) + line_size;
    return end < s.end ? end : s.end;
}

// Rows of an access: every 8 bytes, and where a line ends.
static inline i64 pieces_of(const Shape& s, i64 line_size) {
    const i64 line_end = first_line_end(s, line_size);
    return (line_end - s.first + 7) / 8 + (s.end - line_end + 7) / 8;
}

static inline void piece_of(const Shape& s, i64 line_size, i64 part, i64& address, u8& size) {
    const i64 line_end = first_line_end(s, line_size);
    const i64 here = (line_end - s.first + 7) / 8;
    const i64 limit = part < here ? line_end : s.end;
    address = part < here ? s.first + 8 * part : line_end + 8 * (part - here);
    size = (u8)(limit - address < 8 ? limit - address : 8);
}
