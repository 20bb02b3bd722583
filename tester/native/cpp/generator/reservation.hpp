// Who holds which location until when, as compiled code.
//
// Invariant: equal to tester/generator/reservation.py; the reasons are given there.
#pragma once

#include "room.hpp"

// A location: until when episodes before the last one hold it, and how the last one does.
struct Claim {
    i64 held, stored;  // the latest end of any, and of those that store
    i64 episode;       // identity of the last one; -1: none so far
    i64 end;
    i32 lane;    // its lane, or SEVERAL
    i32 unseen;  // the agent of the last store, if no other agent has loaded it; or NOBODY
    bool stores;
};

// A lane of an episode that asks.
struct Holder {
    i64 episode, begin, end;
    i32 agent, lane;
    bool stores;
};

enum { SEVERAL = -1, NOBODY = -1 };

static inline i64 later(i64 one, i64 other) { return one > other ? one : other; }

// Whether no other lane of the same episode is in the way.
static inline bool agrees(const Claim& c, const Holder& h) {
    return c.episode != h.episode || c.lane == h.lane || !(c.stores | h.stores);
}

static inline bool is_free(const Claim& c, const Holder& h) {
    const bool own = c.episode == h.episode;
    const i64 held = own ? c.held : later(c.held, c.end);
    const i64 stored = own | !c.stores ? c.stored : later(c.stored, c.end);
    return agrees(c, h) & (stored <= h.begin) & (!h.stores | (held <= h.begin));
}

// Whether the access says most here: a load of a store that nobody else has seen, a store where none is
// lost by it.
static inline bool tells(const Claim& c, const Holder& h) {
    return (c.unseen == NOBODY) == h.stores && (h.stores || c.unseen != h.agent);
}

static inline void hold(Claim& c, const Holder& h) {
    const i32 unseen = h.stores ? h.agent : c.unseen == h.agent ? c.unseen : i32{NOBODY};
    if (c.episode == h.episode) {
        if (c.lane != h.lane) c.lane = SEVERAL;
        c.stores |= h.stores;
        c.unseen = unseen;
    } else {
        const i64 stored = c.stores ? later(c.stored, c.end) : c.stored;
        c = {later(c.held, c.end), stored, h.episode, h.end, h.lane, unseen, h.stores};
    }
}
