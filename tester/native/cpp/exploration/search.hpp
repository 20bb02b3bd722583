// Breadth first over all states of a model.
//
// Several searches may work on the level of another one, their leader: see joint_search.hpp. Invariant: states are numbered in the order in which
// they were found, level by level, so a state's parent has a smaller number and the way back over
// parents is a shortest way. A state waits for its turn as its code.

#pragma once

#include "exploration/commuting.hpp"
#include "exploration/completion.hpp"
#include "exploration/model.hpp"
#include "exploration/visited/states.hpp"

// Where a transition was made first.
struct FirstHit {
    u32 state;  // + 1
    u16 choice;
    u16 unused;
};

// Of a state that a helper found.
struct Arrival {
    Fingerprint print;
    u64 order;  // of the step
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
    Sequence<u8> level;  // codes, each between its head and what is asleep there
    Sequence<u8> next_level;
    Sequence<Arrival> arrivals;  // of a helper: of what `parents`, `ways` and `next_level` have
    u64 at = 0;                  // of the next code in `level` that nothing works on
    u32 next = 0;                // whose code that is
    u32 state = 0;               // that is expanded
    bool outstanding = false;    // whether anything is in it
    u64 expanded = 0;            // states
    u64 depth = 0;
    u64 steps = 0;
    u64 made = 0;            // of the steps
    bool commuting = false;  // whether those that commute are made in one order only
    Siblings siblings;       // steps out of the state that is expanded
    u64 under_way = 0;       // messages there
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

// What stands in front of a code that waits.
struct Head {
    u16 code;    // bytes
    u16 asleep;  // steps; they stand behind the code

    u64 bytes() const { return sizeof(Head) + code + asleep * sizeof(Reach); }
};

inline Head head_at(const Search& s, u64 at) {
    Head head;
    __builtin_memcpy(&head, s.level.items + at, sizeof head);
    return head;
}

// `resting`: which siblings are asleep there, a bit each.
inline bool enqueue(Search& s, const Code& code, u32 parent, u16 way, u64 resting,
                    const Renaming& renaming) {
    const Head head = {static_cast<u16>(code.count),
                       static_cast<u16>(__builtin_popcountll(resting))};
    Sequence<u8>& to = s.next_level;
    s.waiting++;
    s.code_bytes += head.bytes();
    if (!s.parents.add(parent) || !s.ways.add(way) || !to.reserve(head.bytes() + BITS_ROOM))
        return false;
    const auto put = [&](const void* from, u64 bytes) {
        __builtin_memcpy(to.items + to.count, from, bytes);
        to.count += bytes;
    };
    put(&head, sizeof head);
    put(code.bytes, code.count);
    for (; resting; resting &= resting - 1) {
        const u32 which = static_cast<u32>(__builtin_ctzll(resting));
        const Reach one = renamed_reach(s.m.x, s.m.agents, renaming, s.siblings.reach[which]);
        put(&one, sizeof one);
    }
    return true;
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
    u64 order;     // of the step
    u32 renaming;  // under which it is written
    u64 resting;   // siblings that are asleep there, a bit each
    u16 way;
};

// One step out of the state as it stands. False: it ends the search.
inline bool make_one(Search& s, u32 which, Made& made) {
    Model& m = s.m;
    const Choice choice = s.siblings.choices[which];
    model_apply(m, choice);
    s.steps++;
    s.made++;
    made.order = step_order(s.state, which);
    made.way = packed(choice);
    note_hits(s, s.state, made.way);
    if (!m.refused && m.agents.finding) {
        s.end = SEARCH_FOUND;
        s.found_choice = made.way;
        return false;
    }
    if (m.x.s->messages.live > s.most_under_way) s.most_under_way = m.x.s->messages.live;
    if (!m.refused) made.renaming = model_save(m, made.code);
    if (m.refused) {
        s.end = SEARCH_REFUSED;
        return false;
    }
    made.fingerprint = fingerprint(made.code.bytes, made.code.count);
    if (choice.kind != ChoiceKind::ISSUE)
        s.edges.step(s.state, s.outstanding, made.fingerprint.low, m.agents.completed);
    s.visited->prefetch(made.fingerprint);
    made.resting = s.commuting ? s.siblings.made(m, which, s.under_way) : 0;
    return true;
}

// Keep it if it is new. The system stands there still if there are invariants.
inline void keep_made(Search& s, const Made& made) {
    const Visited::Added added = s.visited->add(made.fingerprint, made.order);
    if (added == Visited::OLD) return;
    const u64 states = added == Visited::NEW ? s.visited->count_new() : 0;
    const bool shared = s.visited->shared;
    if (!shared) s.edges.state(made.fingerprint.low);
    // An arrival stands behind what it is about, so that there is none without.
    if (added == Visited::FULL ||
        !enqueue(s, made.code, s.state, made.way, made.resting, s.m.renamings[made.renaming]) ||
        (shared && !s.arrivals.add({made.fingerprint, made.order}))) {
        s.end = SEARCH_MEMORY;
    } else if (model_judge_invariants(s.m)) {
        s.end = SEARCH_FOUND;
        s.found_choice = made.way;
    } else if (states >= s.most_states) {
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

// What may be begun, and behind that what may move: steps in front are asleep more often behind the
// others, and beginnings commute with most. Returns how many move.
inline u32 all_choices(Search& s) {
    Model& m = s.m;
    Siblings& all = s.siblings;
    s.under_way = m.x.s->messages.live;
    all.count = 0;
    if (m.agents.bound && s.under_way >= m.agents.bound) {
        s.withheld++;
    } else {
        all.count = beginnings(m.x, m.agents, all.choices, MOST_CHOICES);
    }
    const u32 moving =
        moves(m.x, m.agents.rules, all.choices + all.count, MOST_CHOICES - all.count);
    all.count += moving;
    return moving;
}

// Moves that are asleep are made as long as none leads to another state, so that what is made leads on from
// every state in which something is outstanding.
inline void expand(Search& s, const u8* entry) {
    Model& m = s.m;
    Siblings& all = s.siblings;
    Head head;
    __builtin_memcpy(&head, entry, sizeof head);
    const u8* const code = entry + sizeof head;
    model_load(m, code);
    s.outstanding = anything_outstanding(m.agents);
    s.edges.expand();
    if (!all_choices(s)) {
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
    if (all.count == MOST_CHOICES) {
        m.refused = "more than 511 choices in a state";
        s.end = SEARCH_REFUSED;
        return;
    }
    if (all.count > 1 && !model_keep(m)) {
        s.end = SEARCH_MEMORY;
        return;
    }
    all.begin(code + head.code, head.asleep);
    bool leads_on = false;
    const auto make = [&](u32 which, bool again) {
        Made made;
        if (!make_one(s, which, made)) return false;
        leads_on |= all.choices[which].kind != ChoiceKind::ISSUE &&
                    (made.code.count != head.code ||
                     __builtin_memcmp(made.code.bytes, code, head.code) != 0);
        // What is found in the table comes meanwhile.
        const bool judged = m.invariants.count != 0;
        if (!judged && again) model_come_back(m);
        keep_made(s, made);
        if (judged && again && !s.end) model_come_back(m);
        return !s.end;
    };
    for (u32 i = 0; i < all.count; i++) {
        if (!all.is_asleep(i) && !make(i, i + 1 < all.count)) return;
    }
    if (all.asleep && !leads_on && all.count > 1 && !all.is_asleep(all.count - 1))
        model_come_back(m);
    for (u64 left = all.asleep; left; left &= left - 1) {
        const u32 which = static_cast<u32>(__builtin_ctzll(left));
        const bool moves = all.choices[which].kind != ChoiceKind::ISSUE;
        if (!leads_on && moves && s.outstanding) {
            if (!make(which, all.count > 1)) return;
            continue;
        }
        s.steps++;
        if (moves && all.reach[which].completed) s.edges.step(s.state, s.outstanding, 0, true);
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

// Take some states of the leader's level that nothing works on. False: there are none left.
inline bool take_states(Search& s) {
    Search& leader = *s.leader;
    while (__atomic_exchange_n(&leader.turn, 1, __ATOMIC_ACQUIRE)) {}
    s.taken_at = leader.at;
    s.state = leader.next;
    for (s.taken = 0; s.taken < TAKEN_AT_ONCE && leader.at < leader.level.count; s.taken++)
        leader.at += head_at(leader, leader.at).bytes();
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
        expand(s, leader.level.items + s.taken_at);
        if (s.end) {
            s.found_state = s.state;
            __atomic_store_n(&leader.stop, 1, __ATOMIC_RELAXED);
            break;
        }
        s.taken_at += head_at(leader, s.taken_at).bytes();
        s.taken--;
        s.state++;
        s.expanded++;
    }
    return s.end;
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
    s.visited->add(print, 0);
    s.visited->added = 1;
    s.edges.state(print.low);
    if (!enqueue(s, code, 0, 0, 0, s.m.renamings[0])) return false;
    if (model_judge_invariants(s.m)) {
        s.end = SEARCH_FOUND;
        s.found_at_rest = true;
    } else if (s.most_states <= 1) {
        s.end = SEARCH_FULL;
    }
    return true;
}
