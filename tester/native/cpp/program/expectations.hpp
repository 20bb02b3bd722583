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

// The state before the first episode; `lines` as in final memory.
inline derivation::Known known_at_first(const ProgramArrays& p, const FinalMemory& m,
                                        Arena& arena) {
    const u64 bytes = m.lines << LINE_BITS;
    i64* line = arena.take<i64>(m.lines);
    derivation::Known k{static_cast<i64>(m.lines),
                        LINE_BYTES,
                        line,
                        static_cast<i64>(p.agents),
                        p.run_key,
                        0,
                        arena.take<u8>(bytes),
                        nullptr,
                        arena.take<i64>(bytes),
                        arena.take<i64>(p.agents * p.agents),
                        arena.take<i64>(p.agents * derivation::REMEMBERED * p.agents),
                        arena.take<i64>(p.agents),
                        0,
                        nullptr,
                        nullptr};
    if (!arena.enough()) return k;
    for (u64 i = 0; i < m.lines; ++i) line[i] = static_cast<i64>(m.line[i]);
    derivation::know_nothing(k);
    return k;
}

// Fills in what the program lacks. False: not enough room.
inline bool derive_program(ProgramArrays& p, Arena& arena) {
    FinalMemory m = {};
    if (!lines_of_program(p, arena, m)) return false;
    derivation::Known k = known_at_first(p, m, arena);
    i64* wait_first = arena.take<i64>(p.episodes + 1);
    i32* wait_thread = arena.take<i32>(p.episodes * p.agents);
    i32* wait_count = arena.take<i32>(p.episodes * p.agents);
    u64* expected = arena.zeros<u64>(p.actions * p.lanes);
    if (!arena.enough()) return false;
    derivation::Derived d{static_cast<i64>(p.episodes),
                          static_cast<i64>(p.lanes),
                          p.episode_thread,
                          p.episode_first_action,
                          p.action_kind,
                          p.action_size,
                          p.action_op,
                          nullptr,
                          p.lane_address,
                          const_cast<u64*>(p.store_value),  // deriving only reads it
                          expected,
                          0,
                          wait_first,
                          wait_thread,
                          wait_count};
    const u64 used = (arena.used + 15) & ~u64{15};
    derivation::Room room{arena.base + used, static_cast<i64>(arena.size - used), 0};
    if (used > arena.size || !derivation::derive_all(k, d, room)) {
        arena.used = used + static_cast<u64>(room.used) + 1;
        return false;
    }
    arena.used = used;  // nothing of the room is needed any more
    p.waits = static_cast<u64>(d.waits);
    p.expected = expected;
    p.wait_first = wait_first;
    p.wait_thread = wait_thread;
    p.wait_count = wait_count;
    return true;
}
