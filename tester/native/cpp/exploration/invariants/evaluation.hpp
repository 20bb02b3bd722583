// Invariants of an author: what has to hold of all that controllers know of a line.
//
// Each is a list of words that a stack evaluates, line by line: tester/exploration/invariants/words.py
// writes it and says what they mean. Invariant: evaluating one may change the system (looking up a
// state may allocate), so it comes after the state was written, and what it fails at is no finding.

#pragma once

#include "encoding.hpp"
#include "exploration/agents/agents.hpp"
#include "exploration/invariants/words.hpp"

struct Invariants {
    u32 count;
    u64* words;                      // all of them, one behind the other
    u64 first[MOST_INVARIANTS + 1];  // where each begins, and where the last ends
};

// What all controllers know of a line. Sets have a bit for each node, as destinations have.
struct LineKnowledge {
    AbstractCacheEntry* entries[MAX_NAMED];
    TbeHeader* records[MAX_NAMED];
    i32 states[MAX_NAMED];
    u64 nodes[MAX_NAMED];
};

inline void find_storage(Context& x, u32 line, LineKnowledge& known) {
    const System& s = *x.s;
    for (u32 i = 0; i < s.caches; i++) {
        const CacheMemory& cache = x.caches[i];
        const u32 handle = line_place(x, cache.visible, line);
        if (handle) known.entries[cache.controller] = or_null<AbstractCacheEntry>(x, handle);
    }
    for (u32 i = 0; i < s.directories_used; i++) {
        const u32 owner = owner_in_order(x, i, &MachineShape::directories);
        const u32 handle = line_place(x, directory_memory(x, i).records, line);
        if (owner != NIL && handle && !known.entries[owner])
            known.entries[owner] = or_null<AbstractCacheEntry>(x, handle);
    }
    for (u32 i = 0; i < s.tables_used; i++) {
        const u32 owner = owner_in_order(x, i, &MachineShape::tables);
        const u32 handle = line_place(x, tbe_table(x, i).records, line);
        if (owner != NIL && handle) known.records[owner] = or_null<TbeHeader>(x, handle);
    }
}

inline void find_states(Context& x, u32 line, LineKnowledge& known) {
    const u64 address = line_address_of(x, line);
    for (u32 id = 0; id < x.s->controllers; id++) {
        Controller& c = controller(x, id);
        known.nodes[id] = machine_in_set(x, c.machineID);
        known.states[id] = state_of_line(x, c, address, known.entries[id], known.records[id]);
    }
}

// Those of a set of which `holds` is true.
template <class Holds>
inline u64 those_of(const Context& x, const LineKnowledge& known, u64 set, Holds holds) {
    u64 found = 0;
    for (u32 id = 0; id < x.s->controllers; id++) {
        if ((set & known.nodes[id]) && holds(id)) found |= known.nodes[id];
    }
    return found;
}

inline u64 of_machine(const Context& x, const LineKnowledge& known, u64 machine) {
    return those_of(x, known, ~u64{0},
                    [&](u32 id) { return controller(x, id).machine == machine; });
}

inline u64 in_states(const Context& x, const LineKnowledge& known, u64 set, const u64* in) {
    return those_of(x, known, set, [&](u32 id) {
        const u32 state = static_cast<u32>(known.states[id]);
        return known.states[id] >= 0 && (in[state >> 6] >> (state & 63) & 1);
    });
}

inline u64 size_of_set(u64 set) { return static_cast<u64>(__builtin_popcountll(set)); }

inline u64 compared(u64 word, u64 left, u64 right) {
    const i64 one = static_cast<i64>(left);
    const i64 other = static_cast<i64>(right);
    return word == INVARIANT_EQUAL  ? one == other
           : word == INVARIANT_LESS ? one < other
                                    : one <= other;
}

// `filter`: a field, whether its size is asked for, how it is compared, whether that is negated,
// and with what. A controller without such a record is none of those.
inline u64 filtered(Context& x, LineKnowledge& known, u64 set, const u64* filter) {
    return those_of(x, known, set, [&](u32 id) {
        u64 value = 0;
        if (!field_of_line(x, filter[0], known.entries[id], known.records[id], value)) return false;
        if (filter[1]) value = size_of_set(value);
        return compared(filter[2], value, filter[4]) != filter[3];
    });
}

inline u64 named(Context& x, LineKnowledge& known, u64 set, u64 field) {
    u64 all = 0;
    those_of(x, known, set, [&](u32 id) {
        u64 value = 0;
        field_of_line(x, field, known.entries[id], known.records[id], value);
        all |= value;
        return true;
    });
    return all;
}

inline u64 summed(Context& x, LineKnowledge& known, u64 set, u64 field) {
    u64 sum = 0;
    those_of(x, known, set, [&](u32 id) {
        u64 value = 0;
        field_of_line(x, field, known.entries[id], known.records[id], value);
        sum += value;
        return true;
    });
    return sum;
}

inline u64 of_two(u64 word, u64 left, u64 right) {
    switch (word) {
        case INVARIANT_UNION: return left | right;
        case INVARIANT_MEET: return left & right;
        case INVARIANT_WITHIN: return !(left & ~right);
        case INVARIANT_ADD: return left + right;
        case INVARIANT_AND: return left && right;
        case INVARIANT_OR: return left || right;
        default: return compared(word, left, right);
    }
}

// What an operation with words of its own leaves of `top`; `at` moves behind these.
inline u64 of_one(Context& x, LineKnowledge& known, u64 word, u64 top, const u64*& at) {
    const u64* const own = at;
    at += word == INVARIANT_IN ? STATE_WORDS : word == INVARIANT_WHERE ? FILTER_WORDS : 1;
    switch (word) {
        case INVARIANT_IN: return in_states(x, known, top, own);
        case INVARIANT_WHERE: return filtered(x, known, top, own);
        case INVARIANT_FIELD: return named(x, known, top, *own);
        default: return summed(x, known, top, *own);
    }
}

inline bool holds_of_line(Context& x, LineKnowledge& known, const u64* at, const u64* end) {
    u64 stack[INVARIANT_DEPTH];
    u32 depth = 0;
    while (at != end) {
        const u64 word = *at++;
        if (word == INVARIANT_NUMBER) {
            stack[depth++] = *at++;
        } else if (word == INVARIANT_MACHINE) {
            stack[depth++] = of_machine(x, known, *at++);
        } else if (word == INVARIANT_SIZE) {
            stack[depth - 1] = size_of_set(stack[depth - 1]);
        } else if (word == INVARIANT_NOT) {
            stack[depth - 1] = !stack[depth - 1];
        } else if (word < INVARIANT_SIZE) {
            stack[depth - 1] = of_one(x, known, word, stack[depth - 1], at);
        } else {
            depth--;
            stack[depth - 1] = of_two(word, stack[depth - 1], stack[depth]);
        }
    }
    return stack[0];
}

// The first invariant, counted from 1, that does not hold of a line; 0: all do. `line` is which.
inline u32 broken_invariant(Context& x, const Invariants& all, u32 lines, u32& line) {
    if (!all.count) return 0;
    for (line = 0; line < lines; line++) {
        LineKnowledge known = {};
        find_storage(x, line, known);
        find_states(x, line, known);
        for (u32 i = 0; i < all.count; i++) {
            if (!holds_of_line(x, known, all.words + all.first[i], all.words + all.first[i + 1]))
                return i + 1;
        }
    }
    return 0;
}
