// Memory after a whole program, computed from its stores alone; numbers as in
// tester/program/final_memory.py, which says what each of them is.
//
// Invariant: a byte holds the value of the last store to it in the total order.

#pragma once

#include "program/arrays.hpp"
#include "types/atomic_op.hpp"

inline constexpr i16 NO_AGENT = -1;

struct FinalMemory {
    u64 lines;
    const u64* line;  // ascending
    u8* contents;     // by byte of these lines
    i16* owner;       // by byte: the agent of the last store to it, or of the last to add to it
    i16* writer;      // by line: the agent of the last store into it
    u64 lowest;       // of these, counted in lines
    u64 places;       // of `place`; 0: lines are too far apart for a table
    const u32* place;
};

// The number of a line that the program touches.
inline u64 line_number(const FinalMemory& m, u64 address) {
    if (m.places) return m.place[(address >> LINE_BITS) - m.lowest];
    const u64 line = address & ~LINE_MASK;
    u64 low = 0;
    for (u64 high = m.lines; high - low > 1;) {
        const u64 middle = (low + high) / 2;
        (m.line[middle] <= line ? low : high) = middle;
    }
    return low;
}

// Calls `visit(address)` for the first and the last byte of everything that the program touches.
template <class Visit>
inline void each_end(ProgramArrays p, Visit visit) {
    for (u64 a = 0; a < p.actions; ++a) {
        for (u64 l = 0; l < p.lanes; ++l) {
            const i64 address = p.lane_address[a * p.lanes + l];
            if (address < 0) continue;
            visit(static_cast<u64>(address));
            visit(static_cast<u64>(address) + p.action_size[a] - 1);
        }
    }
    for (u64 g = 0; g < p.groups; ++g) {
        visit(static_cast<u64>(p.group_word[g]));
        visit(static_cast<u64>(p.group_word[g]) + 3);
    }
}

// Lines lie close together as a rule: then a table of marks is cheaper than sorting.
inline bool lines_of_program(const ProgramArrays& p, Arena& arena, FinalMemory& m) {
    u64 lowest = NONE;
    u64 highest = 0;
    u64 count = 0;
    each_end(p, [&](u64 address) {
        const u64 line = address >> LINE_BITS;
        if (line < lowest) lowest = line;
        if (line > highest) highest = line;
        ++count;
    });
    if (!count) return true;
    const u64 range = highest - lowest + 1;
    if (range <= 8 * count + 1024) {
        u32* place = arena.zeros<u32>(range);
        if (!place) return false;
        each_end(p, [&](u64 address) { place[(address >> LINE_BITS) - lowest] = 1; });
        for (u64 i = 0; i < range; ++i) m.lines += place[i];
        u64* line = arena.take<u64>(m.lines);
        if (!line) return false;
        u32 number = 0;
        for (u64 i = 0; i < range; ++i) {
            if (!place[i]) continue;
            line[number] = (lowest + i) << LINE_BITS;
            place[i] = number++;
        }
        m.line = line;
        m.lowest = lowest;
        m.places = range;
        m.place = place;
        return true;
    }
    u64* line = arena.take<u64>(count);
    if (!line) return false;
    u64 ends = 0;
    each_end(p, [&](u64 address) { line[ends++] = address & ~LINE_MASK; });
    heap_sort(line, ends);
    for (u64 i = 0; i < ends; ++i) {
        if (!i || line[i] != line[i - 1]) line[m.lines++] = line[i];
    }
    m.line = line;
    return true;
}

// What an access of one lane leaves in memory.
inline u64 value_left(const ProgramArrays& p, u64 action, u64 slot) {
    if (p.action_kind[action] != AccessKind::ATOMIC) return p.store_value[slot];
    const u8 op = p.action_op[action];
    AtomicNode node = {};
    node.size = p.action_size[action];
    node.kind = op & static_cast<u8>(~CAS_FAILS);
    node.operand = p.store_value[slot];
    const u64 ones = node.size == 8 ? ~u64{0} : 0xFFFFFFFF;
    node.compare = p.expected[slot] ^ (op & CAS_FAILS ? ones : 0);
    return atomic_apply(node, p.expected[slot]);
}

// Copies of its own: no byte that is stored changes where they point.
inline void apply_stores(ProgramArrays p, FinalMemory m) {
    const u64 bytes = m.lines << LINE_BITS;
    u64 episode = 0;
    for (u64 a = 0; a < p.actions; ++a) {
        while (p.episode_first_action[episode + 1] <= static_cast<i64>(a)) ++episode;
        if (p.action_kind[a] == AccessKind::LOAD) continue;
        const i16 agent = static_cast<i16>(p.episode_thread[episode]);
        for (u64 slot = a * p.lanes; slot < (a + 1) * p.lanes; ++slot) {
            if (p.lane_address[slot] < 0) continue;
            const u64 address = static_cast<u64>(p.lane_address[slot]);
            const u64 number = line_number(m, address);
            const u64 first = (number << LINE_BITS) + (address & LINE_MASK);
            const u64 behind = first + p.action_size[a];
            const u64 end = behind < bytes ? behind : bytes;
            u64 value = value_left(p, a, slot);
            for (u64 at = first; at < end; ++at, value >>= 8) {
                m.contents[at] = static_cast<u8>(value);
                m.owner[at] = agent;
            }
            m.writer[number] = agent;
        }
    }
}

inline u64 place_of_word(const ProgramArrays& p, const FinalMemory& m, u64 group) {
    const u64 address = static_cast<u64>(p.group_word[group]);
    return (line_number(m, address) << LINE_BITS) + (address & LINE_MASK);
}

// The fetch-adds of all episodes: each adds 1, whatever the order.
inline void apply_increments(const ProgramArrays& p, const ProgramView& view, FinalMemory& m) {
    for (u64 g = 0; g < p.groups; ++g) {
        u32 word;
        __builtin_memcpy(&word, m.contents + place_of_word(p, m, g), sizeof word);
        word += static_cast<u32>(view.group_increments[g]);
        __builtin_memcpy(m.contents + place_of_word(p, m, g), &word, sizeof word);
    }
    for (u64 e = 0; e < p.episodes; ++e) {
        for (i64 word = view.first_word[e]; word < view.first_word[e + 1]; ++word) {
            i16* owner = m.owner + place_of_word(p, m, view.word_group[word]);
            for (u32 byte = 0; byte < 4; ++byte)
                owner[byte] = static_cast<i16>(p.episode_thread[e]);
        }
    }
}

// False: not enough room.
inline bool final_memory(const ProgramArrays& p, const ProgramView& view, Arena& arena,
                         FinalMemory& m) {
    m = {};
    if (!lines_of_program(p, arena, m)) return false;
    const u64 bytes = m.lines << LINE_BITS;
    m.contents = arena.take<u8>(bytes);
    m.owner = arena.take<i16>(bytes);
    m.writer = arena.take<i16>(m.lines);
    if (!arena.enough()) return false;
    for (u64 i = 0; i < m.lines; ++i) {
        for (u64 byte = 0; byte < LINE_BYTES; byte += 8) {
            const u64 word = initial_word(p.run_key, m.line[i] + byte);
            __builtin_memcpy(m.contents + (i << LINE_BITS) + byte, &word, sizeof word);
        }
    }
    __builtin_memset(m.owner, 0xFF, bytes * sizeof *m.owner);
    __builtin_memset(m.writer, 0xFF, m.lines * sizeof *m.writer);
    apply_stores(p, m);
    apply_increments(p, view, m);
    return true;
}
