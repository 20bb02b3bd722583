// Accesses that target bytes which another agent has just stored, as compiled code.
//
// Invariant: equal to tester/generator/conflict_targeting.py; the reasons are given there.
#pragma once

#include "address_selection.hpp"

enum { REACH = 6 };

// Work space: by group, the store picks and how many of them earlier episodes make; by location, what an
// episode does to it.
struct Targeting {
    u64 key;
    i64 percent, groups;
    const i32* agent;  // [episodes]
    i32* first;        // [groups + 1]
    i32* before;       // [groups]
    i32* stored;       // [picks]
    i32* moved;        // [picks] locations, -1: none
    i32* user;         // [locations] lane + 1, -1: several
    u8* stores;        // [locations]
};

static inline void sort_stores(const Selection& p, const i32* location, Targeting& t) {
    for (i64 g = 0; g <= t.groups; g++) t.first[g] = 0;
    for (i64 i = 0; i < p.picks; i++)
        t.first[p.pick[i].group + 1] += p.pick[i].is_store & (location[i] >= 0);
    for (i64 g = 0; g < t.groups; g++) {
        t.first[g + 1] += t.first[g];
        t.before[g] = t.first[g];
    }
    for (i64 i = 0; i < p.picks; i++)
        if (p.pick[i].is_store && location[i] >= 0) t.stored[t.before[p.pick[i].group]++] = (i32)i;
    for (i64 g = 0; g < t.groups; g++) t.before[g] = t.first[g];
}

// Puts moved picks first .. last-1, of one episode, back where their location is used by other lanes,
// one of them all to store, until none is.
static inline void put_back(const Selection& p, const i32* location, Targeting& t, i64 first,
                            i64 last) {
    for (bool any = true; any;) {
        any = false;
        for (i64 i = first; i < last; i++) {
            const i32 c = t.moved[i];
            if (c < 0) continue;
            const i32 lane = p.pick[i].lane + 1;
            t.user[c] = t.user[c] == 0 || t.user[c] == lane ? lane : -1;
            t.stores[c] |= p.pick[i].is_store;
        }
        for (i64 i = first; i < last; i++) {
            const i32 c = t.moved[i];
            if (c < 0 || c == location[i] || t.user[c] >= 0 || !t.stores[c]) continue;
            t.moved[i] = -2 - c;  // the marks of the location are still needed
            any = true;
        }
        for (i64 i = first; i < last; i++) {
            const i32 c = t.moved[i] < -1 ? -2 - t.moved[i] : t.moved[i];
            if (c < 0) continue;
            t.user[c] = 0;
            t.stores[c] = 0;
            if (t.moved[i] < -1) t.moved[i] = location[i];
        }
    }
}

// Moves some picks to other locations.
static inline void target_conflicts(const Selection& p, i32* location, Targeting& t) {
    sort_stores(p, location, t);
    __builtin_memcpy(t.moved, location, (u64)p.picks * sizeof(i32));
    for (i64 e = 0; e < p.episodes; e++) {
        const i64 first = p.first_pick[e], last = p.first_pick[e + 1];
        bool any = false;
        if (draw_percent(t.key, ~p.identity[e], t.percent)) {
            for (i64 i = first; i < last; i++) {
                const Pick& pick = p.pick[i];
                if (!draw_percent(t.key, word(pick.identity, 2, 0), 50)) continue;
                const i64 back = draw_below(t.key, word(pick.identity, 2, 1), REACH);
                const i64 place = t.before[pick.group] - 1 - back;
                if (place < t.first[pick.group]) continue;
                const i32 source = t.stored[place];
                if (t.agent[p.pick[source].episode] == t.agent[e]) continue;
                if (p.location_size[location[source]] < 1 << pick.size) continue;
                t.moved[i] = location[source];
                any = true;
            }
        }
        if (any) put_back(p, location, t, first, last);
        for (i64 i = first; i < last; i++)
            t.before[p.pick[i].group] += p.pick[i].is_store & (location[i] >= 0);
    }
    __builtin_memcpy(location, t.moved, (u64)p.picks * sizeof(i32));
}
