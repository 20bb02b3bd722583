// The generator's reservation rounds as compiled code.
//
// Picks ask for cells round by round until nearly all of them own one. Invariant: byte for byte what
// tester/generator.py and tester/reservation.py compute with arrays; the reasons stand there. Here
// owners are kept sorted by (cell, owner), so that a round costs a merge instead of a sort.
#pragma once

#include "draws.hpp"

enum { LANE_BITS = 6, ROUNDS = 8 };

// One per (cell, owner), ascending; owner = episode << LANE_BITS | lane.
struct Owners {
  i64* cell;
  i64* owner;
  u8* store;
};

// What an owner of one cell has and asks for in a round.
struct Claim {
  i64 owner;
  i64 begin;
  i64 end;
  i64 next_store;  // earliest begin of later owners that store, and of later owners
  i64 next_any;
  u8 old, old_store, stores, clash;
};

struct Reservation {
  // picks, in the order of their actions
  i64 picks;
  const i64* identity;
  const i64* episode;  // among those that start in this block
  const i64* lane;
  const i64* first_cell;  // of its group
  const i64* choices;     // how many cells it may choose from there on; 0: the lane sits out
  const i64* index;       // first choice, 0 .. choices-1
  const u8* is_store;
  // episodes: first `live` ones of earlier blocks, then this block's
  i64 live;
  i64 origin;
  const i64* start;
  const i64* hold;
  // cells
  i64 cells;
  // draws
  i64 first_share;
  const u64* keys;  // [ROUNDS]
  // owners before and, in the end, after; both have room for all owners and picks
  i64 owners;
  Owners held, spare;
  // results and room to work in
  i64* cell;      // [picks] -1: sits out
  i64* owner;     // [picks]
  u8* tried;      // [picks]
  u8* granted;    // [picks]
  i64* pending;   // [picks]
  i64* asking;    // [picks]
  i64* bucket;    // [picks]
  i64* wanted;    // [picks] the cell that a pick asks for
  i64* first;     // [cells + 1]
  Claim* claims;  // [owners + picks]
};

static inline i64 owner_of(const Reservation& r, i64 pick) { return r.owner[pick]; }

// Orders the picks that ask for one cell by owner; they nearly are.
static inline void sort_by_owner(const Reservation& r, i64* picks, i64 count) {
  for (i64 i = 1; i < count; i++) {
    const i64 pick = picks[i], owner = owner_of(r, pick);
    i64 at = i;
    for (; at > 0 && owner_of(r, picks[at - 1]) > owner; at--) picks[at] = picks[at - 1];
    picks[at] = pick;
  }
}

static inline Claim& add_claim(const Reservation& r, i64& count, i64 owner) {
  Claim& claim = r.claims[count++];
  const i64 episode = owner >> LANE_BITS;
  claim.owner = owner;
  claim.begin = r.start[episode] > r.origin ? r.start[episode] - r.origin : 0;
  claim.end = r.hold[episode] - r.origin;
  claim.old = claim.old_store = claim.stores = claim.clash = 0;
  return claim;
}

// Merges owners and asking picks of a cell into claims, by owner.
static inline i64 collect_claims(const Reservation& r, i64 from, i64 to, const i64* asks, i64 n) {
  i64 count = 0;
  for (i64 at = 0; from < to || at < n;) {
    const i64 asker = at < n ? owner_of(r, asks[at]) : INT64_MAX;
    const i64 owner = from < to && r.held.owner[from] <= asker ? r.held.owner[from] : asker;
    Claim& claim = add_claim(r, count, owner);
    if (from < to && r.held.owner[from] == owner) {
      claim.old = 1;
      claim.old_store = claim.stores = r.held.store[from++];
    }
    while (at < n && owner_of(r, asks[at]) == owner) claim.stores |= r.is_store[asks[at++]];
  }
  return count;
}

static inline void judge_claims(Claim* claims, i64 count) {
  i64 next_store = INT64_MAX, next_any = INT64_MAX;
  for (i64 i = count - 1; i >= 0; i--) {
    Claim& claim = claims[i];
    claim.next_store = next_store;
    claim.next_any = next_any;
    if (claim.old && claim.begin < next_any) next_any = claim.begin;
    if (claim.old_store && claim.begin < next_store) next_store = claim.begin;
  }
  i64 past_store = -1, past_any = -1;
  for (i64 i = 0; i < count; i++) {
    Claim& claim = claims[i];
    claim.clash = past_store > claim.begin || claim.next_store < claim.end;
    if (claim.stores) claim.clash |= past_any > claim.begin || claim.next_any < claim.end;
    if (claim.end > past_any) past_any = claim.end;
    if (claim.stores && claim.end > past_store) past_store = claim.end;
  }
}

// One round: which of the `n` asking picks get the cells they want.
static inline void grant(Reservation& r, i64 n) {
  for (i64 c = 0; c <= r.cells; c++) r.first[c] = 0;
  for (i64 i = 0; i < n; i++) r.first[r.wanted[r.asking[i]]]++;
  i64 sum = 0;
  for (i64 c = 0; c <= r.cells; c++) {
    const i64 asks = r.first[c];
    r.first[c] = sum;
    sum += asks;
  }
  for (i64 i = 0; i < n; i++) r.bucket[r.first[r.wanted[r.asking[i]]]++] = r.asking[i];
  // first[c] is the end of the bucket of c now.
  i64 owner = 0, ask = 0, kept = 0;
  while (owner < r.owners || ask < n) {
    i64 cell = INT64_MAX;
    if (owner < r.owners) cell = r.held.cell[owner];
    if (ask < n && r.wanted[r.bucket[ask]] < cell) cell = r.wanted[r.bucket[ask]];
    i64 last = owner;
    while (last < r.owners && r.held.cell[last] == cell) last++;
    const i64 end = r.first[cell];
    i64* asks = r.bucket + ask;
    const i64 count_asks = end - ask;
    if (count_asks == 0) {
      for (; owner < last; owner++, kept++) {
        r.spare.cell[kept] = cell;
        r.spare.owner[kept] = r.held.owner[owner];
        r.spare.store[kept] = r.held.store[owner];
      }
      continue;
    }
    sort_by_owner(r, asks, count_asks);
    const i64 count = collect_claims(r, owner, last, asks, count_asks);
    judge_claims(r.claims, count);
    i64 at = 0;
    for (i64 i = 0; i < count; i++) {
      const Claim& claim = r.claims[i];
      for (; at < count_asks && owner_of(r, asks[at]) == claim.owner; at++)
        r.granted[asks[at]] = !claim.clash;
      if (!claim.old && claim.clash) continue;
      r.spare.cell[kept] = cell;
      r.spare.owner[kept] = claim.owner;
      r.spare.store[kept++] = claim.old_store || (claim.stores && !claim.clash);
    }
    owner = last;
    ask = end;
  }
  const Owners old = r.held;
  r.held = r.spare;
  r.spare = old;
  r.owners = kept;
}

static inline void reserve(Reservation& r) {
  i64 pending = 0, share = r.first_share;
  for (i64 i = 0; i < r.picks; i++) {
    r.cell[i] = -1;
    r.tried[i] = 0;
    r.owner[i] = (r.episode[i] + r.live) << LANE_BITS | r.lane[i];
    if (r.choices[i] > 0) r.pending[pending++] = i;
  }
  for (int round = 0; round < ROUNDS; round++) {
    const u64 key = r.keys[round];
    i64 asks = 0;
    for (i64 i = 0; i < pending; i++) {
      const i64 pick = r.pending[i];
      if (!draw_percent(key, r.identity[pick] * 2 + 1, share)) continue;
      i64 chosen = r.index[pick];
      if (round > 0 && r.tried[pick])
        chosen = scaled(draw_word(key, r.identity[pick] * 2), r.choices[pick]);
      r.tried[pick] = 1;
      r.wanted[pick] = r.first_cell[pick] + chosen;
      r.granted[pick] = 0;
      r.asking[asks++] = pick;
    }
    grant(r, asks);
    i64 granted = 0;
    for (i64 i = 0; i < asks; i++) {
      const i64 pick = r.asking[i];
      if (!r.granted[pick]) continue;
      r.cell[pick] = r.wanted[pick];
      granted++;
    }
    i64 left = 0;
    for (i64 i = 0; i < pending; i++)
      if (r.cell[r.pending[i]] < 0) r.pending[left++] = r.pending[i];
    pending = left;
    if (pending * 64 < r.picks) break;
    const i64 success = granted * 100 / (asks > 1 ? asks : 1);
    share = success > 50 ? 100 : success > 10 ? success : 10;
  }
}
