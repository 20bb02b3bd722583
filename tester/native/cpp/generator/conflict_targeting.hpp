// Accesses that target bytes which another agent has just stored, as compiled code.
//
// Invariant: equal to tester/generator/conflict_targeting.py; the reasons are given there.
#pragma once

#include "address_selection.hpp"

enum { REACH = 6 };

struct Stored {
    i32 location, agent;
};

// The latest stores of each group, by episodes before the present one, whose own stores wait.
struct LatestStores {
    u64 key;
    i64 percent;
    Stored* store;  // [groups * REACH] in turn
    i64* count;     // [groups] so far
    i64 waiting;
    i32* waiting_group;     // [waiting], at most as many as an episode stores
    i32* waiting_location;  // the same
};

static inline bool is_targeting(const LatestStores& l, i64 episode) {
    return draw_percent(l.key, ~episode, l.percent);
}

// The location that a pick of a targeting episode moves to, or -1.
static inline i64 target_of(const LatestStores& l, const Selection& s, const Pick& p) {
    if (!draw_percent(l.key, word(p.identity, 2, 0), 50)) return -1;
    const i64 place = l.count[p.group] - 1 - draw_below(l.key, word(p.identity, 2, 1), REACH);
    if (place < 0) return -1;
    const Stored latest = l.store[p.group * REACH + place % REACH];
    const bool suits = (latest.agent != p.holder.agent) &
                       (s.location_size[latest.location] >= 1 << p.size) &
                       may_go(s, p, latest.location) & agrees(s.claim[latest.location], p.holder);
    return suits ? latest.location : -1;
}

static inline void note_store(LatestStores& l, i64 group, i64 location) {
    l.waiting_group[l.waiting] = (i32)group;
    l.waiting_location[l.waiting++] = (i32)location;
}

static inline void end_episode(LatestStores& l, i64 agent) {
    for (i64 i = 0; i < l.waiting; i++) {
        const i32 group = l.waiting_group[i];
        l.store[group * REACH + l.count[group]++ % REACH] = {l.waiting_location[i], (i32)agent};
    }
    l.waiting = 0;
}
