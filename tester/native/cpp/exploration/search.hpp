// Breadth first over all states of a model.
//
// Invariant: states are numbered in the order in which they were found, so a state's parent has a
// smaller number and the way back over parents is a shortest way. A state waits for its turn as its code.

#pragma once

#include "exploration/model.hpp"
#include "exploration/visited.hpp"

enum SearchEnd : u32 {
    SEARCH_CONTINUES,
    SEARCH_COMPLETE,
    SEARCH_FOUND,
    SEARCH_FULL,     // as many states as are allowed
    SEARCH_MEMORY,   // no memory left
    SEARCH_REFUSED,  // a state that cannot be written
};

inline u16 packed(Choice c) {
    const u32 rest =
        c.kind == Choice::ISSUE ? c.what << 8 | c.which << 4 | c.where : c.what << 5 | c.which;
    return static_cast<u16>(c.kind << 13 | rest);
}

inline Choice unpacked(u16 word) {
    const u8 kind = static_cast<u8>(word >> 13);
    if (kind == Choice::ISSUE) {
        return {kind, static_cast<u8>(word >> 8 & 31), static_cast<u8>(word >> 4 & 15),
                static_cast<u8>(word & 15)};
    }
    return {kind, static_cast<u8>(word >> 5 & 255), static_cast<u8>(word & 31), 0};
}

// Where a transition was made first.
struct FirstHit {
    u32 state;  // + 1
    u16 choice;
    u16 unused;
};

// What the registers of a script held when all programs had ended, and a first state of that.
struct Outcome {
    u8 registers[THREAD_REGISTERS];
    u32 state;
};

struct Search {
    Model m;
    Sequence<Outcome> outcomes;
    Visited visited;
    Sequence<u32> parents;
    Sequence<u16> ways;
    Sequence<u8> level;  // codes behind their lengths
    Sequence<u8> next_level;
    u64 at = 0;     // of the next code in `level`
    u32 state = 0;  // whose code that is
    u64 depth = 0;
    u64 steps = 0;
    u64 code_bytes = 0;
    u64 most_under_way = 0;
    u64 withheld = 0;  // states in which the bound forbade beginnings
    u64 most_states = 0;
    u64 frontier_peak = 0;
    u64 waiting = 0;
    FirstHit* hits = nullptr;
    u64 hit_count = 0;  // cells
    // What was found.
    u32 found_state = 0;
    u16 found_choice = 0;
    bool found_at_rest = false;
    SearchEnd end = SEARCH_CONTINUES;
};

inline bool enqueue(Search& s, const Code& code, u32 parent, u16 way) {
    const u16 length = static_cast<u16>(code.count);
    u8 head[2];
    __builtin_memcpy(head, &length, 2);
    s.waiting++;
    s.code_bytes += code.count;
    return s.parents.add(parent) && s.ways.add(way) && s.next_level.append(head, 2) &&
           s.next_level.append(code.bytes, code.count);
}

inline void note_hits(Search& s, u32 state, u16 way) {
    for (u64 i = 0; i < s.m.x.steps_written; i++) {
        const u64* step = s.m.steps + i * STEP_WORDS;
        const Controller& c = controller(s.m.x, static_cast<u32>(step[STEP_CONTROLLER]));
        const u64 cell =
            c.counts + step[STEP_STATE] * (MACHINE_SHAPES[c.machine].events + 1) + step[STEP_EVENT];
        FirstHit& hit = s.hits[cell];
        if (!hit.state) hit = {state + 1, way, 0};
    }
}

// One step out of the state as it stands, and the state that it leads to.
inline void expand_one(Search& s, Choice choice) {
    Model& m = s.m;
    model_apply(m, choice);
    s.steps++;
    const u16 way = packed(choice);
    note_hits(s, s.state, way);
    if (m.refused) {
        s.end = SEARCH_REFUSED;
    } else if (m.agents.finding) {
        s.end = SEARCH_FOUND;
        s.found_choice = way;
    } else {
        if (m.x.s->messages.live > s.most_under_way) s.most_under_way = m.x.s->messages.live;
        Code made;
        model_save(m, made);
        if (m.refused) {
            s.end = SEARCH_REFUSED;
            return;
        }
        const Visited::Added added = s.visited.add(fingerprint(made.bytes, made.count));
        if (added == Visited::OLD) return;
        if (added == Visited::FULL || !enqueue(s, made, s.state, way))
            s.end = SEARCH_MEMORY;
        else if (s.parents.count >= s.most_states)
            s.end = SEARCH_FULL;
    }
}

// Of a state in which nothing is under way. False: no memory.
inline bool note_outcome(Search& s) {
    const Script& script = s.m.agents.script;
    if (LIKELY(!script.used)) return true;
    for (u32 agent = 0; agent < s.m.agents.count; agent++) {
        if (script.at[agent] < script.length[agent]) return true;
    }
    for (u64 i = 0; i < s.outcomes.count; i++) {
        if (!__builtin_memcmp(s.outcomes.items[i].registers, script.registers_now,
                              THREAD_REGISTERS))
            return true;
    }
    Outcome made;
    __builtin_memcpy(made.registers, script.registers_now, THREAD_REGISTERS);
    made.state = s.state;
    return s.outcomes.add(made);
}

inline void expand(Search& s, const u8* code) {
    Model& m = s.m;
    Choice choices[MOST_CHOICES];
    model_load(m, code);
    const u32 delivered = moves(m.x, m.agents.rules, choices, MOST_CHOICES);
    if (!delivered) {
        const FindingKind rest = model_judge_rest(m);
        if (rest) {
            m.agents.finding = FOUND_NOTHING;
            found(m.agents, rest, NIL, NIL, 0);
            s.end = SEARCH_FOUND;
            s.found_at_rest = true;
            return;
        }
        if (!note_outcome(s)) {
            s.end = SEARCH_MEMORY;
            return;
        }
    }
    u32 count = delivered;
    if (m.agents.bound && m.x.s->messages.live >= m.agents.bound) {
        s.withheld++;
    } else {
        count += beginnings(m.x, m.agents, choices + count, MOST_CHOICES - count);
    }
    if (count == MOST_CHOICES) {
        m.refused = "more than 511 choices in a state";
        s.end = SEARCH_REFUSED;
        return;
    }
    if (count > 1 && !model_keep(m)) {
        s.end = SEARCH_MEMORY;
        return;
    }
    for (u32 i = 0; i < count && !s.end; i++) {
        if (i) model_come_back(m);
        expand_one(s, choices[i]);
    }
}

inline bool next_level(Search& s) {
    Sequence<u8> kept = s.level;
    s.level = s.next_level;
    s.next_level = kept;
    s.next_level.count = 0;
    s.at = 0;
    s.depth++;
    if (s.waiting > s.frontier_peak) s.frontier_peak = s.waiting;
    s.waiting = 0;
    return s.level.count;
}

// Expand at most `budget` states.
inline SearchEnd search_run(Search& s, u64 budget) {
    for (; budget && !s.end; budget--) {
        if (s.at == s.level.count && !next_level(s)) {
            s.end = SEARCH_COMPLETE;
            break;
        }
        u16 length;
        __builtin_memcpy(&length, s.level.items + s.at, 2);
        expand(s, s.level.items + s.at + 2);
        if (s.end) {
            s.found_state = s.state;
            break;
        }
        s.at += 2u + length;
        s.state++;
    }
    return s.end;
}

inline bool search_begin(Search& s) {
    Code code;
    model_start_state(s.m);
    model_save(s.m, code);
    if (s.m.refused) return false;
    s.visited.add(fingerprint(code.bytes, code.count));
    return enqueue(s, code, 0, 0);
}
