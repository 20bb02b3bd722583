// Invariants of an author: what has to hold of the states that all controllers have for a line.
//
// Each is a list of words that a stack evaluates, line by line: tester/exploration/invariants.py
// writes it. Invariant: evaluating one may change the system (looking up a state may allocate), so it
// comes after the state was written, and what it fails at is no finding.

#pragma once

#include "encoding.hpp"
#include "exploration/agents.hpp"

enum InvariantWord : u64 {
    WORD_NUMBER,  // and a number
    WORD_COUNT,  // and a machine and STATE_WORDS words: how many of its controllers are in these states
    WORD_SIZE,  // and a machine: how many controllers it has
    WORD_ADD,
    WORD_EQUAL,
    WORD_LESS,
    WORD_AT_MOST,
    WORD_AND,
    WORD_OR,
    WORD_NOT,
};

inline constexpr u32 STATE_WORDS = 4;
inline constexpr u32 MOST_INVARIANTS = 16;
inline constexpr u32 INVARIANT_DEPTH = 32;

struct Invariants {
    u32 count;
    u64* words;                      // all of them, one behind the other
    u64 first[MOST_INVARIANTS + 1];  // where each begins, and where the last ends
};

// In which state each controller has the line.
inline void states_of_line(Context& x, u32 line, i32* states) {
    const System& s = *x.s;
    const u64 address = line_address_of(x, line);
    AbstractCacheEntry* entries[MAX_NAMED] = {};
    TbeHeader* records[MAX_NAMED] = {};
    for (u32 i = 0; i < s.caches; i++) {
        const CacheMemory& cache = x.caches[i];
        const u32 handle = line_place(x, cache.visible, line);
        if (handle) entries[cache.controller] = or_null<AbstractCacheEntry>(x, handle);
    }
    for (u32 i = 0; i < s.directories_used; i++) {
        const u32 owner = owner_in_order(x, i, &MachineShape::directories);
        const u32 handle = line_place(x, directory_memory(x, i).records, line);
        if (owner != NIL && handle && !entries[owner])
            entries[owner] = or_null<AbstractCacheEntry>(x, handle);
    }
    for (u32 i = 0; i < s.tables_used; i++) {
        const u32 owner = owner_in_order(x, i, &MachineShape::tables);
        const u32 handle = line_place(x, tbe_table(x, i).records, line);
        if (owner != NIL && handle) records[owner] = or_null<TbeHeader>(x, handle);
    }
    for (u32 id = 0; id < s.controllers; id++) {
        Controller& c = controller(x, id);
        states[id] = state_of_line(x, c, address, entries[id], records[id]);
    }
}

inline u64 count_in_states(const Context& x, const i32* states, u64 machine, const u64* in) {
    u64 count = 0;
    for (u32 id = 0; id < x.s->controllers; id++) {
        if (controller(x, id).machine != machine || states[id] < 0) continue;
        const u32 state = static_cast<u32>(states[id]);
        count += in[state >> 6] >> (state & 63) & 1;
    }
    return count;
}

inline bool holds(const Context& x, const i32* states, const u64* at, const u64* end) {
    u64 stack[INVARIANT_DEPTH];
    u32 depth = 0;
    while (at != end) {
        const u64 word = *at++;
        if (word == WORD_NUMBER) {
            stack[depth++] = *at++;
        } else if (word == WORD_COUNT) {
            stack[depth++] = count_in_states(x, states, at[0], at + 1);
            at += 1 + STATE_WORDS;
        } else if (word == WORD_SIZE) {
            u64 size = 0;
            for (u32 id = 0; id < x.s->controllers; id++) size += controller(x, id).machine == *at;
            stack[depth++] = size;
            at++;
        } else if (word == WORD_NOT) {
            stack[depth - 1] = !stack[depth - 1];
        } else {
            const u64 right = stack[--depth];
            u64& left = stack[depth - 1];
            switch (word) {
                case WORD_ADD: left += right; break;
                case WORD_EQUAL: left = left == right; break;
                case WORD_LESS: left = left < right; break;
                case WORD_AT_MOST: left = left <= right; break;
                case WORD_AND: left = left && right; break;
                default: left = left || right;
            }
        }
    }
    return stack[0];
}

// The first invariant, counted from 1, that does not hold of a line; 0: all do. `line` is which.
inline u32 broken_invariant(Context& x, const Invariants& all, u32 lines, u32& line) {
    if (!all.count) return 0;
    i32 states[MAX_NAMED];
    for (line = 0; line < lines; line++) {
        states_of_line(x, line, states);
        for (u32 i = 0; i < all.count; i++) {
            if (!holds(x, states, all.words + all.first[i], all.words + all.first[i + 1]))
                return i + 1;
        }
    }
    return 0;
}
