// The generator's inner loops, as functions on arrays that Python owns (tester/generator/native_kernels.py).
#include "expectations.hpp"
#include "address_selection.hpp"

#define VISIBLE __attribute__((visibility("default")))

extern "C" {

VISIBLE i64 tester_kernels_version() { return 3; }

// Returns the number of picks.
VISIBLE i64 tester_make_picks(Picking* p) { return make_picks(*p); }

VISIBLE void tester_return_to_own(const Picking* p, i64* cell) { return_to_own(*p, cell); }

VISIBLE void tester_place(const Picking* p, i64 picks, const i64* cell, const i64* cell_address,
                  i64* address) {
  place(*p, picks, cell, cell_address, address);
}

// Returns the number of owners afterwards; r->held says where they stand.
VISIBLE i64 tester_reserve(Reservation* r) {
  reserve(*r);
  return r->owners;
}

VISIBLE i64 tester_explode(const Accesses* a, Events* e, i64* ends, i64* start) {
  explode(*a, *e, ends, start);
  return e->segments;
}

// 0: too many attempts; values and history are then half done.
VISIBLE i64 tester_assign_versions(const Events* e, Versions* v) { return assign_versions(*e, *v); }

// Returns the number of waits.
VISIBLE i64 tester_derive(const Events* e, Derivation* d) {
  collect(*e, *d);
  reduce(*d);
  return d->wait_first[d->episodes];
}
}
