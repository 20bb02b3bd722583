// Which bytes are under test, to which group they belong, and where they lie, as compiled code.
//
// Invariant: what build_map in tester/program/address_map.py computes with arrays; the reasons are
// given there.
#pragma once

#include "room.hpp"
#include "shared_numbers.hpp"

struct MapSettings {
    i64 groups;
    i64 locations;  // -1: as many as fit
    i64 lines;      // -1: as many as needed
    i64 fill_percent, cluster_bytes, layout, stride_lines, sets, line_size, smallest, largest,
        memory_bytes;
};

struct AddressMap {
    i64 lines, locations;
    i64* line;  // [lines] ascending addresses
    i64* location_address;
    u8* location_size;
    i64* group_first;  // [groups + 1]
    i64* reach;        // [groups * 4]
    i64* group_word;
    i64* line_start;  // [locations] first of each location's line among those of its group and size
};

// What cutting the lines into locations has made; bytes are counted from the first line on.
struct Cut {
    i64 locations;
    i32* word;  // [groups] where the atomic words are
    i32* block;
    u8* size;
};

// A random permutation of 0 .. count-1: the counters in the order of their words. `bucket` has room
// for count + 1, `words` and `order` for count.
static inline void shuffle(u64 key, i64 count, u64* words, i32* bucket, i32* order) {
    for (i64 b = 0; b <= count; b++) bucket[b] = 0;
    for (i64 i = 0; i < count; i++) bucket[draw_below(key, i, count) + 1]++;
    for (i64 b = 0; b < count; b++) bucket[b + 1] += bucket[b];
    for (i64 i = 0; i < count; i++) {
        const u64 drawn = draw_word(key, i);
        const i32 at = bucket[scaled(drawn, count)]++;
        words[at] = drawn;
        order[at] = (i32)i;
    }
    for (i64 i = 1; i < count; i++) {  // words of one bucket are few
        const u64 drawn = words[i];
        const i32 own = order[i];
        i64 at = i;
        for (; at > 0 && words[at - 1] > drawn; at--) {
            words[at] = words[at - 1];
            order[at] = order[at - 1];
        }
        words[at] = drawn;
        order[at] = own;
    }
}

static inline i64 mean_location_bytes(const MapSettings& m) {
    i64 whole = 100, locations = 0, parts = 1;
    for (i64 size = 8; size >= 1; size /= 2, parts *= 2) {
        const i64 cut = size <= m.smallest ? 0 : size > m.largest ? 100 : SPLIT_PERCENT;
        locations += parts * whole * (100 - cut);
        whole = whole * cut / 100;
    }
    const i64 mean = 80000 / locations;
    return mean > 1 ? mean : 1;
}

static inline bool cut_lines(const MapSettings& m, i64 lines, u64 key, Room& room, Cut& cut) {
    const i64 slots = lines * m.line_size / 8;
    u64* words = room.take<u64>(slots);
    i32* bucket = room.take<i32>(slots + 1);
    i32* place = room.take<i32>(slots);
    u8* taken = room.zeros<u8>(slots);
    cut.word = room.take<i32>(m.groups);
    cut.block = room.take<i32>(8 * slots);
    cut.size = room.take<u8>(8 * slots);
    i32* open = room.take<i32>(8 * slots);
    i32* split = room.take<i32>(8 * slots);
    if (!room.enough()) return false;
    shuffle(FORKED(key, "words"), slots, words, bucket, place);
    const u64 side = FORKED(key, "word-side");
    for (i64 g = 0; g < m.groups; g++) {
        taken[place[g]] = 1;
        cut.word[g] = (i32)(place[g] * 8 + draw_below(side, g, 2) * ATOMIC_BYTES);
    }
    i64 blocks = 0;
    for (i64 s = 0; s < slots; s++)
        if (!taken[s]) open[blocks++] = (i32)(s * 8);
    const u64 split_key = FORKED(key, "split");
    cut.locations = 0;
    for (i64 size = 8; size >= 1; size /= 2) {
        if (size == 4 && m.smallest <= 4)
            for (i64 g = 0; g < m.groups; g++) open[blocks++] = cut.word[g] ^ ATOMIC_BYTES;
        i64 cuts = 0;
        for (i64 b = 0; b < blocks; b++) {
            const i64 unit = m.cluster_bytes > 1 ? open[b] & -m.line_size : open[b];
            if (size > m.smallest &&
                (size > m.largest || draw_percent(split_key, unit * 8 + size, SPLIT_PERCENT))) {
                split[cuts++] = open[b];
            } else {
                cut.block[cut.locations] = open[b];
                cut.size[cut.locations++] = (u8)size;
            }
        }
        for (i64 b = 0; b < cuts; b++) {
            open[b] = split[b];
            open[cuts + b] = (i32)(split[b] + size / 2);
        }
        blocks = 2 * cuts;
    }
    return true;
}

// Leaves as many locations as are wanted, in the same order.
static inline bool fill(u64 key, i64 keep, Room& room, Cut& cut) {
    u64* words = room.take<u64>(cut.locations);
    i32* bucket = room.take<i32>(cut.locations + 1);
    i32* order = room.take<i32>(cut.locations);
    u8* kept = room.zeros<u8>(cut.locations);
    if (!room.enough()) return false;
    if (keep == cut.locations) return true;
    shuffle(FORKED(key, "fill"), cut.locations, words, bucket, order);
    for (i64 i = 0; i < keep; i++) kept[order[i]] = 1;
    i64 left = 0;
    for (i64 i = 0; i < cut.locations; i++) {
        if (!kept[i]) continue;
        cut.block[left] = cut.block[i];
        cut.size[left++] = cut.size[i];
    }
    cut.locations = left;
    return true;
}

// `bytes`: of all lines.
static inline bool deal(const MapSettings& m, i64 bytes, u64 key, Room& room, const Cut& cut,
                        i32* group) {
    const i64 clusters = bytes / m.cluster_bytes + 1;
    const i64 most = m.cluster_bytes > 1 ? clusters : cut.locations;
    u64* words = room.take<u64>(most);
    i32* bucket = room.take<i32>(most + 1);
    i32* order = room.take<i32>(most);
    i32* turn = room.zeros<i32>(most);
    if (!room.enough()) return false;
    if (m.cluster_bytes > 1) {
        i64 used = 0;
        for (i64 i = 0; i < cut.locations; i++) turn[cut.block[i] / m.cluster_bytes] = 1;
        for (i64 c = 0; c < clusters; c++) used += turn[c];
        shuffle(FORKED(key, "deal-clusters"), used, words, bucket, order);
        for (i64 i = 0; i < used; i++) bucket[order[i]] = (i32)(i % m.groups);
        for (i64 c = 0, number = 0; c < clusters; c++)
            if (turn[c]) turn[c] = bucket[number++];
        for (i64 i = 0; i < cut.locations; i++) group[i] = turn[cut.block[i] / m.cluster_bytes];
        return true;
    }
    const u64 keys[] = {FORKED(key, "deal-8"), FORKED(key, "deal-4"), FORKED(key, "deal-2"),
                        FORKED(key, "deal-1")};
    i64 dealt = 0;  // locations stand in the order of their sizes
    for (int which = 0; which < 4; which++) {
        i64 end = dealt;
        while (end < cut.locations && cut.size[end] == 8 >> which) end++;
        shuffle(keys[which], end - dealt, words, bucket, order);
        for (i64 i = 0; i < end - dealt; i++)
            group[dealt + order[i]] = (i32)((i + dealt) % m.groups);
        dealt = end;
    }
    return true;
}

// False: they do not fit into memory.
static inline bool place_lines(const MapSettings& m, u64 key, i64 lines, i64* address) {
    const u64 drawn = FORKED(key, "lines");
    const i64 start = draw_below(drawn, 0, 1 << 20), choice = draw_below(drawn, 1, 1 << 20);
    const i64 stride = m.stride_lines, apart = stride > m.sets ? stride : m.sets;
    for (i64 i = 0; i < lines; i++) {
        address[i] = i;
        if (m.layout == LAYOUT_SET_CONFLICT) {
            address[i] = i / m.sets * apart + i % m.sets;
        } else if (m.layout == LAYOUT_LINE_DUEL) {
            address[i] = i * (choice & 1 ? stride : 1);
        } else if (m.layout == LAYOUT_BANK_SKEW) {
            const bool elsewhere = draw_below(drawn, i + 2, 8) == 0;
            const i64 other = draw_below(drawn, i + 2 + lines, stride);
            address[i] = i * stride + (elsewhere ? other : choice % stride);
        }
    }
    const i64 room = m.memory_bytes / m.line_size - address[lines - 1] - 1;  // the last is largest
    if (room < 1) return false;
    for (i64 i = 0; i < lines; i++) address[i] = (address[i] + 1 + start % room) * m.line_size;
    return true;
}

static inline int bits_of(i64 size) { return __builtin_ctzll((u64)size); }

// The locations by group, size falling and address.
static inline bool sort_locations(const MapSettings& m, const Cut& cut, const i32* group,
                                  Room& room, AddressMap& map) {
    const i64 bytes = map.lines * m.line_size;
    i32* at = room.zeros<i32>(bytes);
    i32* first = room.zeros<i32>(m.groups * 4 + 1);
    if (!room.enough()) return false;
    const auto kind = [&](i64 location) {
        return group[location] * 4 + 3 - bits_of(cut.size[location]);
    };
    for (i64 i = 0; i < cut.locations; i++) {
        at[cut.block[i]] = (i32)(i + 1);
        first[kind(i) + 1]++;
    }
    for (i64 k = 0; k < m.groups * 4; k++) first[k + 1] += first[k];
    for (i64 g = 0; g <= m.groups; g++) map.group_first[g] = first[g * 4];
    for (i64 g = 0; g < m.groups; g++)
        for (i64 bits = 0; bits < 4; bits++)
            map.reach[g * 4 + bits] = first[g * 4 + 4 - bits] - first[g * 4];
    for (i64 b = 0; b < bytes; b++) {
        if (!at[b]) continue;
        const i64 location = at[b] - 1, place = first[kind(location)]++;
        map.location_address[place] = map.line[b / m.line_size] + b % m.line_size;
        map.location_size[place] = cut.size[location];
    }
    return true;
}

static inline void note_line_starts(const MapSettings& m, AddressMap& map) {
    for (i64 g = 0; g < m.groups; g++)
        for (i64 i = map.group_first[g]; i < map.group_first[g + 1]; i++) {
            const bool same = i > map.group_first[g] &&
                              map.location_size[i] == map.location_size[i - 1] &&
                              (map.location_address[i] & -m.line_size) ==
                                  (map.location_address[i - 1] & -m.line_size);
            map.line_start[i] = same ? map.line_start[i - 1] : i;
        }
}

// DRAWN, TOO_LITTLE_ROOM, or IMPOSSIBLE: there is no such map.
static inline i64 build_map(const MapSettings& m, u64 key, Room& room, AddressMap& map) {
    const i64 wanted = m.locations < 0 ? -1 : m.groups * m.locations;
    i64 lines = m.lines;
    if (lines < 0) {
        const i64 bytes = wanted * mean_location_bytes(m) * 100 / m.fill_percent;
        lines = (bytes * 15 / 16 + m.groups * 8) / m.line_size;
        if (lines < 1) lines = 1;
    }
    Cut cut;
    for (const i64 used = room.used;; lines += lines / 8 > 1 ? lines / 8 : 1) {
        if (m.groups > lines * (m.line_size / 8)) return IMPOSSIBLE;
        room.used = used;
        if (!cut_lines(m, lines, key, room, cut)) return TOO_LITTLE_ROOM;
        if (m.lines >= 0 || cut.locations * m.fill_percent >= (wanted > 0 ? wanted : 0) * 100)
            break;
    }
    i64 keep = cut.locations * m.fill_percent / 100;
    if (wanted >= 0 && (m.lines < 0 || wanted < keep)) keep = wanted;
    if (keep < m.groups) return IMPOSSIBLE;
    map.lines = lines;
    map.locations = keep;
    map.line = room.take<i64>(lines);
    map.location_address = room.take<i64>(keep);
    map.location_size = room.take<u8>(keep);
    map.group_first = room.take<i64>(m.groups + 1);
    map.reach = room.take<i64>(m.groups * 4);
    map.group_word = room.take<i64>(m.groups);
    map.line_start = room.take<i64>(keep);
    i32* group = room.take<i32>(keep);
    if (!fill(key, keep, room, cut)) return TOO_LITTLE_ROOM;
    if (!deal(m, lines * m.line_size, key, room, cut, group)) return TOO_LITTLE_ROOM;
    if (!place_lines(m, key, lines, map.line)) return IMPOSSIBLE;
    if (!sort_locations(m, cut, group, room, map)) return TOO_LITTLE_ROOM;
    for (i64 g = 0; g < m.groups; g++) {
        if (map.group_first[g] == map.group_first[g + 1]) return IMPOSSIBLE;
        map.group_word[g] = map.line[cut.word[g] / m.line_size] + cut.word[g] % m.line_size;
    }
    note_line_starts(m, map);
    return DRAWN;
}
