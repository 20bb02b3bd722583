// The generator as functions on arrays owned by Python (tester/generator/native_loops.py).
#include "generator.hpp"

#define VISIBLE __attribute__((visibility("default")))

// Episodes that arrays were filled with, and what of them is derived.
struct Observation {
    Known known;
    Derived derived;
    i64 fresh, more;
    Room room;
};

extern "C" {

VISIBLE i64 tester_loops_version() { return 9; }

// Makes d->map and the claims on its locations, in d->room.
VISIBLE i64 tester_draw_map(Drawing* d) {
    const i64 made = build_map(d->map_settings, FORKED(d->key, "map"), d->room, d->map);
    if (made != DRAWN) return made;
    d->carried.claim = d->room.take<Claim>(d->map.locations);
    if (!d->room.enough()) return TOO_LITTLE_ROOM;
    for (i64 i = 0; i < d->map.locations; i++)
        d->carried.claim[i] = {0, 0, -1, 0, SEVERAL, NO_AGENT, false};
    return DRAWN;
}

// Makes d->result, in d->room.
VISIBLE i64 tester_draw_chunk(Drawing* d) { return draw_chunk(*d); }

// Fills the results of o->derived.
VISIBLE i64 tester_observe(Observation* o) {
    if (o->fresh) {
        know_nothing(o->known);
        begin_history(o->known);
    }
    return observe(o->known, o->derived, o->more, o->room) ? DRAWN : TOO_LITTLE_ROOM;
}
}
