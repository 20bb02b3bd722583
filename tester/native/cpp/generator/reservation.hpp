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
    i32 lane;        // its lane, or SEVERAL
    i32 unobserved;  // whose the last store is, if no other agent has loaded it; or NO_AGENT
    bool stores;
};

// A lane of an episode that asks.
struct Holder {
    i64 episode, begin, end;
    i32 agent, lane;
    bool stores;
};

enum { SEVERAL = -1, NO_AGENT = -1 };

static inline i64 later(i64 one, i64 other) { return one > other ? one : other; }

// Whether no other lane of the same episode conflicts.
static inline bool agrees(const Claim& c, const Holder& h) {
    return c.episode != h.episode || c.lane == h.lane || !(c.stores | h.stores);
}

static inline bool is_free(const Claim& c, const Holder& h) {
    const bool own = c.episode == h.episode;
    const i64 held = own ? c.held : later(c.held, c.end);
    const i64 stored = own | !c.stores ? c.stored : later(c.stored, c.end);
    return agrees(c, h) & (stored <= h.begin) & (!h.stores | (held <= h.begin));
}

// Whether the access observes a store that no other agent has observed, or is a store that overwrites
// none of these.
static inline bool is_preferred(const Claim& c, const Holder& h) {
    return (c.unobserved == NO_AGENT) == h.stores && (h.stores || c.unobserved != h.agent);
}

static inline void hold(Claim& c, const Holder& h) {
    const i32 unobserved = h.stores                  ? h.agent
                           : c.unobserved == h.agent ? c.unobserved
                                                     : i32{NO_AGENT};
    if (c.episode == h.episode) {
        if (c.lane != h.lane) c.lane = SEVERAL;
        c.stores |= h.stores;
        c.unobserved = unobserved;
    } else {
        const i64 stored = c.stores ? later(c.stored, c.end) : c.stored;
        c = {later(c.held, c.end), stored, h.episode, h.end, h.lane, unobserved, h.stores};
    }
}
