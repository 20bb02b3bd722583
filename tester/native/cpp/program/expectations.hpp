// What a program must observe, derived where it is run: most candidates of a search are run once.
//
// Invariant: the loops are those of the generator, with the same results as
// tester/program/expectations.py; a program is derived from its beginning, in one block.

#pragma once

#include <stdint.h>

#include "program/final_memory.hpp"

namespace derivation {  // the names of the loops are short
#include "generator/expectations.hpp"
}

// Numbers of episodes within their agents, from 1.
inline bool number_episodes(const ProgramArrays& p, Arena& arena, derivation::Derivation& d) {
    i64* number = arena.take<i64>(p.episodes);
    i64* ended = arena.zeros<i64>(p.agents);
    if (!arena.enough()) return false;
    for (u64 e = 0; e < p.episodes; ++e) number[e] = ++ended[p.episode_thread[e]];
    d.number = number;
    return true;
}

// Operands, and where they are, if there are atomic actions. They become what is left in memory.
inline bool atomic_operands(const ProgramArrays& p, Arena& arena, derivation::Derivation& d) {
    bool atomic = false;
    for (u64 a = 0; a < p.actions; ++a) atomic |= p.action_kind[a] == AccessKind::ATOMIC;
    if (!atomic) return true;
    const u64 slots = p.actions * p.lanes;
    d.left = arena.take<u64>(slots);
    d.place = arena.take<i64>(slots);
    if (!arena.enough()) return false;
    __builtin_memcpy(d.left, p.store_value, slots * sizeof *d.left);
    __builtin_memset(d.place, 0xFF, slots * sizeof *d.place);
    return true;
}

// The state before the first episode; `lines` as in final memory.
inline bool begin_derivation(const ProgramArrays& p, const FinalMemory& m, Arena& arena,
                             derivation::Derivation& d) {
    const u64 slots = p.actions * p.lanes;
    u64* memory = arena.take<u64>(m.lines * LINE_WORDS);
    d.agents = static_cast<i64>(p.agents);
    d.episodes = static_cast<i64>(p.episodes);
    d.lanes = static_cast<i64>(p.lanes);
    d.episode_thread = p.episode_thread;
    d.first_action = p.episode_first_action;
    d.store_value = p.store_value;
    d.kind = p.action_kind;
    d.size = p.action_size;
    d.op = p.action_op;
    d.slot_episode = arena.take<i32>(slots);
    d.memory = reinterpret_cast<u8*>(memory);
    d.stored = arena.zeros<i64>(m.lines << LINE_BITS);
    d.complete = arena.zeros<i64>(p.agents * p.agents);
    d.clocks = arena.take<i64>(p.agents * derivation::REMEMBERED * p.agents);  // written, then read
    d.come = arena.zeros<i64>(p.agents);
    d.expected = arena.zeros<u64>(slots);
    d.needed = arena.zeros<i64>(p.episodes * p.agents);
    d.wait_first = arena.take<i64>(p.episodes + 1);
    d.wait_thread = arena.take<i64>(p.episodes * p.agents);
    d.wait_count = arena.take<i64>(p.episodes * p.agents);
    d.implied = arena.take<i64>(p.agents);
    if (!arena.enough()) return false;
    for (u64 i = 0; i < m.lines * LINE_WORDS; ++i)
        memory[i] = initial_word(p.run_key, m.line[i / LINE_WORDS] + i % LINE_WORDS * 8);
    return true;
}

inline bool explode_program(const ProgramArrays& p, const FinalMemory& m, Arena& arena,
                            derivation::Events& e) {
    const u64 slots = p.actions * p.lanes;
    u64 count = 0;
    for (u64 slot = 0; slot < slots; ++slot)
        if (p.lane_address[slot] >= 0) count += p.action_size[slot / p.lanes];
    e.count = static_cast<i64>(count);
    i64** const arrays[] = {&e.byte, &e.slot, &e.offset, &e.before, &e.after, &e.first};
    for (i64** array : arrays) *array = arena.take<i64>(count);
    e.is_store = arena.take<u8>(count);
    i64* ends = arena.take<i64>((m.lines << LINE_BITS) + 1);
    i64* start = arena.take<i64>(slots);
    i64* line = arena.take<i64>(m.lines);
    if (!arena.enough()) return false;
    for (u64 i = 0; i < m.lines; ++i) line[i] = static_cast<i64>(m.line[i]);
    derivation::explode({static_cast<i64>(p.actions), static_cast<i64>(p.lanes), p.lane_address,
                         p.action_size, p.action_kind, static_cast<i64>(m.lines), line, LINE_BYTES},
                        e, ends, start);
    return true;
}

// Fills in what the program lacks. False: not enough room.
inline bool derive_program(ProgramArrays& p, Arena& arena) {
    FinalMemory m = {};
    derivation::Events e = {};
    derivation::Derivation d = {};
    if (!lines_of_program(p, arena, m) || !number_episodes(p, arena, d) ||
        !atomic_operands(p, arena, d) || !begin_derivation(p, m, arena, d) ||
        !explode_program(p, m, arena, e))
        return false;
    derivation::collect(e, d);
    derivation::reduce(d);
    p.waits = static_cast<u64>(d.wait_first[p.episodes]);
    i32* thread = arena.take<i32>(p.waits);
    i32* count = arena.take<i32>(p.waits);
    if (!arena.enough()) return false;
    for (u64 w = 0; w < p.waits; ++w) {
        thread[w] = static_cast<i32>(d.wait_thread[w]);
        count[w] = static_cast<i32>(d.wait_count[w]);
    }
    p.expected = d.expected;
    p.wait_first = d.wait_first;
    p.wait_thread = thread;
    p.wait_count = count;
    return true;
}
