// Breadth first over all states of a model.
//
// Several searches may work on the level of one of them, its leader: each has a system of its own and
// keeps what it finds until the level is complete. Invariant: states are numbered in the order in which
// they were found, level by level, so a state's parent has a smaller number and the way back over
// parents is a shortest way. A state waits for its turn as its code.

#pragma once

#include "exploration/completion.hpp"
#include "exploration/model.hpp"
#include "exploration/visited.hpp"

inline u16 packed(Choice c) {
    const u32 rest =
        c.kind == ChoiceKind::ISSUE ? c.what << 8 | c.which << 4 | c.where : c.what << 5 | c.which;
    return static_cast<u16>(c.kind << 13 | rest);
}

inline Choice unpacked(u16 word) {
    const u8 kind = static_cast<u8>(word >> 13);
    if (kind == ChoiceKind::ISSUE) {
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
    u64 registers[THREAD_REGISTERS];
    u32 state;
};

struct Search {
    Model m;
    Sequence<Outcome> outcomes;
    SharedVisited own_visited;
    SharedVisited* visited = nullptr;  // its own, or those of the search that it helps
    Search* leader = nullptr;          // whose level it works on: itself, or what it helps
    u32 turn = 0;                      // lock of `at` and `state` of a leader
    u32 stop = 0;                      // whether those that work on its level should end
    u64 taken_at = 0;                  // of the codes that it works on: where the next stands
    u64 taken = 0;                     // and how many are left
    Sequence<u32> parents;
    Sequence<u16> ways;
    Sequence<u8> level;  // codes behind their lengths
    Sequence<u8> next_level;
    u64 at = 0;                // of the next code in `level` that nothing works on
    u32 next = 0;              // whose code that is
    u32 state = 0;             // that is expanded
    bool outstanding = false;  // whether anything is in it
    u64 expanded = 0;          // states
    u64 depth = 0;
    u64 steps = 0;
    u64 code_bytes = 0;
    u64 most_under_way = 0;
    u64 withheld = 0;  // states in which the bound forbade beginnings
    u64 most_states = 0;
    u64 frontier_peak = 0;
    u64 waiting = 0;
    Edges edges;
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
           s.next_level.append(code.bytes, code.count) && s.next_level.reserve(BITS_ROOM);
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

// A state that a step led to, and that may be a new one.
struct Made {
    Code code;
    Fingerprint fingerprint;
    u16 way;
};

// One step out of the state as it stands. False: it ends the search.
inline bool make_one(Search& s, Choice choice, Made& made) {
    Model& m = s.m;
    model_apply(m, choice);
    s.steps++;
    made.way = packed(choice);
    note_hits(s, s.state, made.way);
    if (!m.refused && m.agents.finding) {
        s.end = SEARCH_FOUND;
        s.found_choice = made.way;
        return false;
    }
    if (m.x.s->messages.live > s.most_under_way) s.most_under_way = m.x.s->messages.live;
    if (!m.refused) model_save(m, made.code);
    if (m.refused) {
        s.end = SEARCH_REFUSED;
        return false;
    }
    made.fingerprint = fingerprint(made.code.bytes, made.code.count);
    s.edges.step(s.state, s.outstanding, made.fingerprint.low, m.agents.completed);
    s.visited->prefetch(made.fingerprint);
    return true;
}

// Keep it if it is new. The system stands there still if there are invariants.
inline void keep_made(Search& s, const Made& made) {
    const Visited::Added added = s.visited->add(made.fingerprint);
    if (added == Visited::OLD) return;
    s.edges.state(made.fingerprint.low);
    if (added == Visited::FULL || !enqueue(s, made.code, s.state, made.way)) {
        s.end = SEARCH_MEMORY;
    } else if (model_judge_invariants(s.m)) {
        s.end = SEARCH_FOUND;
        s.found_choice = made.way;
    } else if (s.visited->count_new() >= s.most_states) {
        s.end = SEARCH_FULL;
    }
}

// Of a state in which nothing is under way. False: no memory.
inline bool note_outcome(Search& s) {
    const Script& script = s.m.agents.script;
    if (LIKELY(!script.used)) return true;
    for (u32 agent = 0; agent < s.m.agents.count; agent++) {
        if (s.m.agents.done.at[agent] < script.length[agent]) return true;
    }
    for (u64 i = 0; i < s.outcomes.count; i++) {
        if (!__builtin_memcmp(s.outcomes.items[i].registers, s.m.agents.done.registers,
                              sizeof s.m.agents.done.registers))
            return true;
    }
    Outcome made;
    __builtin_memcpy(made.registers, s.m.agents.done.registers, sizeof made.registers);
    made.state = s.state;
    return s.outcomes.add(made);
}

inline void expand(Search& s, const u8* code) {
    Model& m = s.m;
    Choice choices[MOST_CHOICES];
    model_load(m, code);
    s.outstanding = anything_outstanding(m.agents);
    s.edges.expand();
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
    Made made;
    for (u32 i = 0; i < count && make_one(s, choices[i], made); i++) {
        // What is found in the table comes meanwhile.
        const bool judged = m.invariants.count != 0;
        if (!judged && i + 1 < count) model_come_back(m);
        keep_made(s, made);
        if (s.end) return;
        if (judged && i + 1 < count) model_come_back(m);
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

inline constexpr u64 TAKEN_AT_ONCE = 64;  // states of a level

inline u64 code_length(const Search& s, u64 at) {
    u16 length;
    __builtin_memcpy(&length, s.level.items + at, 2);
    return length;
}

// Take some states of the leader's level that nothing works on. False: there are none left.
inline bool take_states(Search& s) {
    Search& leader = *s.leader;
    while (__atomic_exchange_n(&leader.turn, 1, __ATOMIC_ACQUIRE)) {}
    s.taken_at = leader.at;
    s.state = leader.next;
    for (s.taken = 0; s.taken < TAKEN_AT_ONCE && leader.at < leader.level.count; s.taken++)
        leader.at += 2 + code_length(leader, leader.at);
    leader.next += static_cast<u32>(s.taken);
    __atomic_store_n(&leader.turn, 0, __ATOMIC_RELEASE);
    return s.taken;
}

// Expand at most `budget` states of the leader's level. SEARCH_COMPLETE: the level is; its end is
// that of the search only if the next one is empty.
inline SearchEnd search_work(Search& s, u64 budget) {
    Search& leader = *s.leader;
    for (; budget; budget--) {
        if (__atomic_load_n(&leader.stop, __ATOMIC_RELAXED)) break;
        if (!s.taken && !take_states(s)) return SEARCH_COMPLETE;
        expand(s, leader.level.items + s.taken_at + 2);
        if (s.end) {
            s.found_state = s.state;
            __atomic_store_n(&leader.stop, 1, __ATOMIC_RELAXED);
            break;
        }
        s.taken_at += 2 + code_length(leader, s.taken_at);
        s.taken--;
        s.state++;
        s.expanded++;
    }
    return s.end;
}

// What a helper found becomes the leader's. False: no memory.
inline bool merge_helper(Search& s, Search& helper) {
    const u64 first = s.parents.count;
    if (!s.parents.append(helper.parents.items, helper.parents.count) ||
        !s.ways.append(helper.ways.items, helper.ways.count) ||
        !s.next_level.append(helper.next_level.items, helper.next_level.count))
        return false;
    for (u64 i = 0; i < s.hit_count; i++) {
        if (!s.hits[i].state) s.hits[i] = helper.hits[i];
    }
    s.edges.append(helper.edges);
    s.waiting += s.parents.count - first;
    s.steps += helper.steps;
    s.code_bytes += helper.code_bytes;
    s.withheld += helper.withheld;
    s.expanded += helper.expanded;
    if (helper.most_under_way > s.most_under_way) s.most_under_way = helper.most_under_way;
    helper.steps = helper.code_bytes = helper.withheld = helper.waiting = helper.expanded = 0;
    helper.parents.count = helper.ways.count = helper.next_level.count = 0;
    return true;
}

// Expand at most `budget` states, alone.
inline SearchEnd search_run(Search& s, u64 budget) {
    const u64 last = s.expanded + budget;
    while (!s.end && s.expanded < last) {
        if (search_work(s, last - s.expanded) == SEARCH_COMPLETE && !next_level(s))
            s.end = SEARCH_COMPLETE;
    }
    return s.end;
}

inline bool search_begin(Search& s) {
    Code code;
    model_start_state(s.m);
    model_save(s.m, code);
    if (s.m.refused) return false;
    const Fingerprint print = fingerprint(code.bytes, code.count);
    s.visited->add(print);
    s.visited->added = 1;
    s.edges.state(print.low);
    return enqueue(s, code, 0, 0);
}
