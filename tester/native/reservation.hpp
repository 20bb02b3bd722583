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

// A pick that asks for a cell.
struct Ask {
  i64 owner;
  i32 pick;
  i32 is_store;
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
  u8* tried;      // [picks]
  i32* pending;   // [picks]
  i32* wanted;    // [picks] the cell that an ask is for
  Ask* asking;    // [picks] in the order of picks
  Ask* bucket;    // [picks] by cell
  i32* first;     // [cells + 1]
  Claim* claims;  // [owners + picks]
};

// Orders the asks for one cell by owner; they nearly are.
static inline void sort_by_owner(Ask* asks, i64 count) {
  for (i64 i = 1; i < count; i++) {
    const Ask ask = asks[i];
    i64 at = i;
    for (; at > 0 && asks[at - 1].owner > ask.owner; at--) asks[at] = asks[at - 1];
    asks[at] = ask;
  }
}

// Merges owners [from, to) and asks of one cell into claims, by owner.
static inline i64 collect_claims(const Reservation& r, i64 from, i64 to, const Ask* asks, i64 n) {
  i64 count = 0;
  for (i64 at = 0; from < to || at < n;) {
    const i64 asker = at < n ? asks[at].owner : INT64_MAX;
    const i64 owner = from < to && r.held.owner[from] <= asker ? r.held.owner[from] : asker;
    const i64 episode = owner >> LANE_BITS;
    Claim& claim = r.claims[count++];
    claim.owner = owner;
    claim.begin = r.start[episode] > r.origin ? r.start[episode] - r.origin : 0;
    claim.end = r.hold[episode] - r.origin;
    claim.old = claim.old_store = claim.stores = 0;
    if (from < to && r.held.owner[from] == owner) {
      claim.old = 1;
      claim.old_store = claim.stores = r.held.store[from++];
    }
    for (; at < n && asks[at].owner == owner; at++) claim.stores |= (u8)asks[at].is_store;
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

// Sorts the asks by cell; first[c] is the end of the bucket of c afterwards.
static inline void fill_buckets(const Reservation& r, i64 n) {
  __builtin_memset(r.first, 0, (u64)(r.cells + 1) * sizeof(i32));
  for (i64 i = 0; i < n; i++) r.first[r.wanted[i]]++;
  i32 sum = 0;
  for (i64 c = 0; c <= r.cells; c++) {
    const i32 asks = r.first[c];
    r.first[c] = sum;
    sum += asks;
  }
  for (i64 i = 0; i < n; i++) r.bucket[r.first[r.wanted[i]]++] = r.asking[i];
}

static inline i64 keep_owners(const Reservation& r, i64 from, i64 to, i64 kept) {
  const u64 count = (u64)(to - from);
  __builtin_memcpy(r.spare.cell + kept, r.held.cell + from, count * sizeof(i64));
  __builtin_memcpy(r.spare.owner + kept, r.held.owner + from, count * sizeof(i64));
  __builtin_memcpy(r.spare.store + kept, r.held.store + from, count);
  return kept + (i64)count;
}

// One round: gives cells to those of the `n` asks that may have them; how many.
static inline i64 grant(Reservation& r, i64 n) {
  fill_buckets(r, n);
  i64 done = 0, ask = 0, kept = 0, granted = 0;
  for (i64 cell = 0; ask < n; cell++) {
    const i64 asks = r.first[cell] - ask;
    if (asks == 0) continue;
    i64 owner = done;
    while (owner < r.owners && r.held.cell[owner] < cell) owner++;
    kept = keep_owners(r, done, owner, kept);
    done = owner;
    while (done < r.owners && r.held.cell[done] == cell) done++;
    Ask* const bucket = r.bucket + ask;
    sort_by_owner(bucket, asks);
    const i64 count = collect_claims(r, owner, done, bucket, asks);
    judge_claims(r.claims, count);
    i64 at = 0;
    for (i64 i = 0; i < count; i++) {
      const Claim& claim = r.claims[i];
      for (; at < asks && bucket[at].owner == claim.owner; at++) {
        if (claim.clash) continue;
        r.cell[bucket[at].pick] = cell;
        granted++;
      }
      if (!claim.old && claim.clash) continue;
      r.spare.cell[kept] = cell;
      r.spare.owner[kept] = claim.owner;
      r.spare.store[kept++] = claim.old_store || (claim.stores && !claim.clash);
    }
    ask += asks;
  }
  kept = keep_owners(r, done, r.owners, kept);
  const Owners old = r.held;
  r.held = r.spare;
  r.spare = old;
  r.owners = kept;
  return granted;
}

static inline void reserve(Reservation& r) {
  i64 pending = 0, share = r.first_share;
  for (i64 i = 0; i < r.picks; i++) {
    r.cell[i] = -1;
    r.tried[i] = 0;
    if (r.choices[i] > 0) r.pending[pending++] = (i32)i;
  }
  for (int round = 0; round < ROUNDS; round++) {
    const u64 key = r.keys[round];
    i64 asks = 0;
    for (i64 i = 0; i < pending; i++) {
      const i32 pick = r.pending[i];
      if (!draw_percent(key, (i64)((u64)r.identity[pick] * 2 + 1), share)) continue;
      i64 chosen = r.index[pick];
      if (r.tried[pick])
        chosen = scaled(draw_word(key, (i64)((u64)r.identity[pick] * 2)), r.choices[pick]);
      r.tried[pick] = 1;
      r.wanted[asks] = (i32)(r.first_cell[pick] + chosen);
      r.asking[asks++] = {(r.episode[pick] + r.live) << LANE_BITS | r.lane[pick], pick,
                          r.is_store[pick]};
    }
    const i64 granted = grant(r, asks);
    i64 left = 0;
    for (i64 i = 0; i < pending; i++) {
      const i32 pick = r.pending[i];
      r.pending[left] = pick;
      left += r.cell[pick] < 0;
    }
    pending = left;
    if (pending * 64 < r.picks) break;
    const i64 success = granted * 100 / (asks > 1 ? asks : 1);
    share = success > 50 ? 100 : success > 10 ? success : 10;
  }
}
