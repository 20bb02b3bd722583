// The generator's inner loops, as functions on arrays owned by Python (tester/generator/native_loops.py).
#include "expectations.hpp"
#include "address_selection.hpp"

#define VISIBLE __attribute__((visibility("default")))

extern "C" {

VISIBLE i64 tester_loops_version() { return 3; }

// Returns the number of picks.
VISIBLE i64 tester_make_picks(Selection* p) { return make_picks(*p); }

VISIBLE void tester_return_to_own(const Selection* p, i64* cell) { return_to_own(*p, cell); }

VISIBLE void tester_place(const Selection* p, i64 picks, const i64* cell, const i64* cell_address,
                          i64* address) {
    place(*p, picks, cell, cell_address, address);
}

// Returns the number of owners afterwards; they are in r->held.
VISIBLE i64 tester_reserve(Reservation* r) {
    reserve(*r);
    return r->owners;
}

VISIBLE i64 tester_explode(const Accesses* a, Events* e, i64* ends, i64* start) {
    explode(*a, *e, ends, start);
    return e->segments;
}

// 0: too many attempts; values and history are then incomplete.
VISIBLE i64 tester_assign_versions(const Events* e, Versions* v) { return assign_versions(*e, *v); }

// Returns the number of waits.
VISIBLE i64 tester_derive(const Events* e, Derivation* d) {
    collect(*e, *d);
    reduce(*d);
    return d->wait_first[d->episodes];
}
}
