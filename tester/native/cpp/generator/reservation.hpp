// The generator's reservation rounds as compiled code.
//
// Picks request cells round by round until nearly all of them own one. Invariant: byte for byte what
// tester/generator/reservation.py computes with arrays; the reasons are given there. Here owners are
// kept sorted by (cell, owner), so that a round costs a merge instead of a sort.
#pragma once

#include "counter_rng.hpp"

enum { LANE_BITS = 6, ROUNDS = 8 };

// One per (cell, owner), ascending; owner = episode << LANE_BITS | lane.
struct Owners {
    u64* key;  // cell << OWNER_BITS | owner
    u8* flags;
};

// What one lane of an action asks for.
struct Pick {
    i64 identity;  // counters for random numbers
    i32 action, episode, group;
    i32 first_cell;  // of its group
    i32 choices;     // how many cells it may choose from there on; 0: the lane sits out
    i32 index;       // first choice, 0 .. choices-1
    u8 lane, is_store;
    u8 size;  // index: 1, 2, 4 or 8 bytes
    bool tried;
};

// A pick that requests a cell. key = cell << OWNER_BITS | owner.
struct Ask {
    u64 key;
    i32 what;   // pick << 1 | whether it stores
    i32 group;  // its place among the claims
};

// The claim of one owner to one cell in a round.
struct Claim {
    u64 key;
    i64 next_store;  // earliest begin of later owners of the cell that store, and of later owners
    i64 next_any;
    i64 flags;
};

enum { OLD = 1, OLD_STORE = 2, STORES = 4, CLASH = 8 };
enum { OWNER_BITS = 40 };

struct Reservation {
    // picks, in the order of their actions
    i64 picks;
    Pick* pick;
    // episodes: first `live` ones of earlier blocks, then this block's
    i64 live;
    i64 origin;
    i64 episodes;
    const i64* start;
    const i64* hold;
    i64 cells;
    i64 first_share;
    u64 keys[ROUNDS];  // of random streams
    // owners before and, in the end, after; with room for all owners, asks and one more
    i64 owners;
    Owners held;
    // results
    i32* cell;  // [picks] -1: sits out
    // work space
    i32* pending;   // [picks]
    i32* wanted;    // [asks] the cell that an ask is for
    Ask* asking;    // [asks] in the order of picks
    Ask* bucket;    // [asks + 1] by cell
    i32* first;     // [cells + 1]
    Claim* claims;  // [owners + asks + 1]
    i64* begin;     // [episodes] when they begin and end, from the origin on
    i64* end;
};

// Sorts the asks by key: by cell first, and inside of a cell they nearly are.
static inline void sort_asks(const Reservation& r, i64 n) {
    __builtin_memset(r.first, 0, (u64)(r.cells + 1) * sizeof(i32));
    for (i64 i = 0; i < n; i++) r.first[r.wanted[i]]++;
    i32 sum = 0;
    for (i64 c = 0; c <= r.cells; c++) {
        const i32 asks = r.first[c];
        r.first[c] = sum;
        sum += asks;
    }
    for (i64 i = 0; i < n; i++) r.bucket[r.first[r.wanted[i]]++] = r.asking[i];
    for (i64 i = 1; i < n; i++) {
        const Ask ask = r.bucket[i];
        i64 at = i;
        for (; at > 0 && r.bucket[at - 1].key > ask.key; at--) r.bucket[at] = r.bucket[at - 1];
        r.bucket[at] = ask;
    }
}

// Merges owners and asks, both by key, into claims. Written without branches on the input, which
// no branch predictor could predict.
static inline i64 collect_claims(const Reservation& r, i64 n) {
    i64 owner = 0, ask = 0, count = -1;
    u64 last = ~(u64)0;
    r.held.key[r.owners] = ~(u64)0;
    r.bucket[n].key = ~(u64)0;
    while (owner < r.owners || ask < n) {
        const Ask& asked = r.bucket[ask];
        const bool held = r.held.key[owner] <= asked.key;
        const u64 key = held ? r.held.key[owner] : asked.key;
        const i64 flags = held ? r.held.flags[owner] : (asked.what & 1) * STORES;
        const bool fresh = key != last;
        count += fresh;
        Claim& claim = r.claims[count];
        claim.key = key;
        claim.flags = (fresh ? 0 : claim.flags) | flags;
        r.bucket[ask].group = (i32)count;  // and again, until it is the ask's turn
        owner += held;
        ask += !held;
        last = key;
    }
    return count + 1;
}

static inline i64 episode_of(u64 key) {
    return (i64)(key & (((u64)1 << OWNER_BITS) - 1)) >> LANE_BITS;
}

static inline void judge_claims(const Reservation& r, i64 count) {
    i64 next_store = INT64_MAX, next_any = INT64_MAX;
    u64 cell = ~(u64)0;
    for (i64 i = count - 1; i >= 0; i--) {
        Claim& claim = r.claims[i];
        const bool same = claim.key >> OWNER_BITS == cell;
        cell = claim.key >> OWNER_BITS;
        next_store = same ? next_store : INT64_MAX;
        next_any = same ? next_any : INT64_MAX;
        claim.next_store = next_store;
        claim.next_any = next_any;
        const i64 begin = r.begin[episode_of(claim.key)];
        const i64 any = claim.flags & OLD ? begin : INT64_MAX;
        const i64 store = claim.flags & OLD_STORE ? begin : INT64_MAX;
        next_any = any < next_any ? any : next_any;
        next_store = store < next_store ? store : next_store;
    }
    i64 past_store = -1, past_any = -1;
    cell = ~(u64)0;
    for (i64 i = 0; i < count; i++) {
        Claim& claim = r.claims[i];
        const bool same = claim.key >> OWNER_BITS == cell;
        cell = claim.key >> OWNER_BITS;
        past_store = same ? past_store : -1;
        past_any = same ? past_any : -1;
        const i64 begin = r.begin[episode_of(claim.key)], end = r.end[episode_of(claim.key)];
        const bool stores = claim.flags & STORES;
        const bool clash = (past_store > begin) | (claim.next_store < end) |
                           (stores & ((past_any > begin) | (claim.next_any < end)));
        claim.flags |= clash ? CLASH : 0;
        past_any = end > past_any ? end : past_any;
        past_store = (stores & (end > past_store)) ? end : past_store;
    }
}

// One round: grants cells to those of the `n` asks that may have them; returns their number.
static inline i64 grant(Reservation& r, i64 n) {
    sort_asks(r, n);
    const i64 count = collect_claims(r, n);
    judge_claims(r, count);
    i64 granted = 0;
    for (i64 i = 0; i < n; i++) {
        const Ask& ask = r.bucket[i];
        const bool clash = r.claims[ask.group].flags & CLASH;
        r.cell[ask.what >> 1] = clash ? -1 : (i32)(ask.key >> OWNER_BITS);
        granted += !clash;
    }
    i64 kept = 0;
    for (i64 i = 0; i < count; i++) {
        const Claim& claim = r.claims[i];
        const bool clash = claim.flags & CLASH;
        const bool store = (claim.flags & OLD_STORE) |
                           (static_cast<int>(!clash) & (claim.flags & STORES) / STORES);
        r.held.key[kept] = claim.key;
        r.held.flags[kept] = (u8)(OLD | (store ? OLD_STORE | STORES : 0));
        kept += (claim.flags & OLD) | !clash;
    }
    r.owners = kept;
    return granted;
}

// When episodes begin and end, from the first start of the block on.
static inline void note_times(const Reservation& r) {
    for (i64 e = 0; e < r.episodes; e++) {
        r.begin[e] = r.start[e] > r.origin ? r.start[e] - r.origin : 0;
        r.end[e] = r.hold[e] - r.origin;
    }
}

static inline void ask_for(const Reservation& r, i64 place, i64 pick, i64 cell, i64 episode,
                           i64 lane, bool is_store) {
    const u64 owner = (u64)((episode + r.live) << LANE_BITS | lane);
    r.wanted[place] = (i32)cell;
    r.asking[place] = {(u64)cell << OWNER_BITS | owner, (i32)(pick << 1 | is_store), 0};
}

static inline void reserve(Reservation& r) {
    i64 pending = 0, share = r.first_share;
    for (i64 i = 0; i < r.picks; i++) {
        r.cell[i] = -1;
        if (r.pick[i].choices > 0) r.pending[pending++] = (i32)i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const u64 key = r.keys[round];
        i64 asks = 0;
        for (i64 i = 0; i < pending; i++) {
            Pick& pick = r.pick[r.pending[i]];
            if (!draw_percent(key, word(pick.identity, 2, 1), share)) continue;
            i64 chosen = pick.index;
            if (pick.tried) chosen = draw_below(key, word(pick.identity, 2, 0), pick.choices);
            pick.tried = true;
            ask_for(r, asks++, r.pending[i], pick.first_cell + chosen, pick.episode, pick.lane,
                    pick.is_store);
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

// Begins a block: the owners whose reservations last beyond its first start are kept, in `r`, with
// their episodes numbered anew. `start` and `hold` then have the kept episodes first; `number` has
// room for all of the earlier ones.
static inline void keep_owners(Reservation& r, i64 owners, const u64* key, const u8* flags,
                               i64 episodes, const i64* start, const i64* hold, i64* kept_start,
                               i64* kept_hold, i32* number) {
    r.live = 0;
    for (i64 e = 0; e < episodes; e++) {
        number[e] = (i32)r.live;
        kept_start[r.live] = start[e];
        kept_hold[r.live] = hold[e];
        if (hold[e] > r.origin)
            r.live++;
        else
            number[e] = -1;
    }
    r.owners = 0;
    const u64 episode_mask = ((u64)1 << OWNER_BITS) - ((u64)1 << LANE_BITS);
    for (i64 i = 0; i < owners; i++) {
        const i32 at = number[episode_of(key[i])];
        if (at < 0) continue;
        r.held.key[r.owners] = (key[i] & ~episode_mask) | (u64)at << LANE_BITS;
        r.held.flags[r.owners++] = flags[i];
    }
}
