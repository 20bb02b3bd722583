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
    i64 what;  // pick << 1 | whether it stores
};

// A pick without a cell, or that was granted one in the last round.
struct Waiting {
    u64 counter;  // of its random numbers, spread: twice its identity
    i32 pick;
};

// When an episode begins and ends, from the origin on.
struct Span {
    i64 begin, end;
};

enum { OLD = 1, OLD_STORE = 2, STORES = 4 };
enum { OWNER_BITS = 40 };

struct Reservation {
    // picks, in the order of their actions
    i64 picks;
    Pick* pick;
    // episodes: first `live` ones of earlier blocks, then this block's, in the order of their starts
    i64 live;
    i64 origin;
    i64 episodes;
    const i64* start;
    const i64* hold;
    i64 cells;
    i64 first_share;
    u64 keys[ROUNDS];  // of random streams
    // owners before and, in the end, after; both with room for all owners, asks and one more
    i64 owners;
    Owners held;
    Owners spare;
    // results
    i32* cell;  // [picks] -1: sits out
    // work space
    Waiting* waiting;  // [picks + 1]
    i32* now;          // [picks + 1] those of them that ask in a round
    Ask* asking;       // [asks] in the order of picks
    Ask* bucket;       // [asks + 1] by cell
    i32* first;        // [cells + 1] how many ask for each
    Span* span;        // [episodes]
};

static inline i64 episode_of(u64 key) {
    return (i64)(key & (((u64)1 << OWNER_BITS) - 1)) >> LANE_BITS;
}

// Sorts the asks by key: by cell first, and inside of a cell they nearly are. `first` counts anew
// afterwards.
static inline void sort_asks(const Reservation& r, i64 n) {
    i32 sum = 0;
    for (i64 c = 0; c < r.cells; c++) {
        const i32 asks = r.first[c];
        r.first[c] = sum;
        sum += asks;
    }
    for (i64 i = 0; i < n; i++) r.bucket[r.first[r.asking[i].key >> OWNER_BITS]++] = r.asking[i];
    __builtin_memset(r.first, 0, (u64)r.cells * sizeof(i32));
    for (i64 i = 1; i < n; i++) {
        const Ask ask = r.bucket[i];
        i64 at = i;
        for (; at > 0 && r.bucket[at - 1].key > ask.key; at--) r.bucket[at] = r.bucket[at - 1];
        r.bucket[at] = ask;
    }
    r.bucket[n].key = ~(u64)0;
}

// A pass over the claims of one cell, in the order of their owners: to whom it is held, and who asks.
struct Pass {
    i64 any, store;  // when the last claim before ends, and the last one that stores
    i64 owner;       // the next one
    i64 next_store;  // the next one that stores
    i64 kept;
};

static inline void keep(Reservation& r, Pass& p, u64 key, bool stores) {
    r.spare.key[p.kept] = key;
    r.spare.flags[p.kept++] = (u8)(OLD | (stores ? OLD_STORE | STORES : 0));
}

static inline void pass_claim(const Span& span, bool stores, Pass& p) {
    p.any = span.end > p.any ? span.end : p.any;
    p.store = (stores & (span.end > p.store)) ? span.end : p.store;
}

// The owners before a key keep what they have; nothing is asked of their cells.
static inline void keep_owners(Reservation& r, u64 key, Pass& p) {
    for (; r.held.key[p.owner] < key; p.owner++) {
        r.spare.key[p.kept] = r.held.key[p.owner];
        r.spare.flags[p.kept++] = r.held.flags[p.owner];
    }
}

// The owners before a key pass unjudged: what they have they keep.
static inline void pass_owners(Reservation& r, u64 key, Pass& p) {
    for (; r.held.key[p.owner] < key; p.owner++) {
        const u8 flags = r.held.flags[p.owner];
        r.spare.key[p.kept] = r.held.key[p.owner];
        r.spare.flags[p.kept++] = flags;
        pass_claim(r.span[episode_of(r.held.key[p.owner])], flags & OLD_STORE, p);
    }
}

// When the next owner of a cell begins, or its next one that stores; `owner`: one of the cell, or the
// first of a later one.
static inline i64 next_begin(const Reservation& r, u64 cell, i64 owner) {
    const u64 key = r.held.key[owner];
    return key >> OWNER_BITS == cell ? r.span[episode_of(key)].begin : INT64_MAX;
}

// One round: grants cells to those of the `n` asks that may have them; returns their number.
static inline i64 grant(Reservation& all, i64 n) {
    Reservation r = all;  // of its own: no store through a pointer changes it
    sort_asks(r, n);
    r.held.key[r.owners] = ~(u64)0;
    i64 granted = 0, ask = 0;
    Pass p{};
    while (ask < n) {
        const u64 cell = r.bucket[ask].key >> OWNER_BITS, begin = cell << OWNER_BITS;
        keep_owners(r, begin, p);
        p = {-1, -1, p.owner, p.owner, p.kept};
        while (r.bucket[ask].key >> OWNER_BITS == cell) {
            const u64 key = r.bucket[ask].key;
            pass_owners(r, key, p);
            const bool old = r.held.key[p.owner] == key;
            const bool old_store = old && r.held.flags[p.owner] & OLD_STORE;
            p.owner += old;
            if (p.next_store < p.owner) p.next_store = p.owner;
            while (r.held.key[p.next_store] >> OWNER_BITS == cell &&
                   !(r.held.flags[p.next_store] & OLD_STORE))
                p.next_store++;
            i64 last = ask;
            bool stores = old_store;
            do stores |= r.bucket[last].what & 1;
            while (r.bucket[++last].key == key);
            const Span& span = r.span[episode_of(key)];
            const bool clash =
                (p.store > span.begin) | (next_begin(r, cell, p.next_store) < span.end) |
                (stores & ((p.any > span.begin) | (next_begin(r, cell, p.owner) < span.end)));
            pass_claim(span, stores, p);
            granted += clash ? 0 : last - ask;
            do r.cell[r.bucket[ask].what >> 1] = clash ? -1 : (i32)cell;
            while (++ask < last);
            if (old || !clash) keep(r, p, key, old_store || (stores && !clash));
        }
    }
    keep_owners(r, ~(u64)0, p);
    all.held = r.spare;
    all.spare = r.held;
    all.owners = p.kept;
    return granted;
}

// When episodes begin and end, from the first start of the block on.
static inline void note_times(const Reservation& r) {
    for (i64 e = 0; e < r.episodes; e++)
        r.span[e] = {r.start[e] > r.origin ? r.start[e] - r.origin : 0, r.hold[e] - r.origin};
}

// `at`: its place among the asks.
static inline void ask_for(const Reservation& r, i64 at, i64 pick, i64 cell, i64 episode, i64 lane,
                           bool is_store) {
    const u64 owner = (u64)((episode + r.live) << LANE_BITS | lane);
    r.asking[at] = {(u64)cell << OWNER_BITS | owner, pick << 1 | is_store};
    r.first[cell]++;
}

// Below which the upper halves of that share of all random words are.
static inline u64 share_of_words(i64 percent) { return (((u64)percent << 32) + 99) / 100; }

static inline void reserve(Reservation& r) {
    const i64 picks = r.picks;
    Pick* pick = r.pick;
    Waiting* waits = r.waiting;
    i32 *cell = r.cell, *now = r.now;
    i64 waiting = 0, share = r.first_share;
    for (i64 i = 0; i < picks; i++) {
        cell[i] = -1;
        waits[waiting] = {(u64)pick[i].identity * 2 * GOLDEN, (i32)i};
        waiting += pick[i].choices > 0;
    }
    i64 pending = waiting;  // of them, those without a cell
    for (int round = 0; round < ROUNDS; round++) {
        const u64 key = r.keys[round], limit = share_of_words(share);
        // Written without branches on what is drawn, which no branch predictor could predict.
        i64 asks = 0, left = 0;
        for (i64 i = 0; i < waiting; i++) {
            const Waiting one = waits[i];
            const bool refused = cell[one.pick] < 0;
            waits[left] = one;
            now[asks] = (i32)left;
            asks += refused & (mix64(one.counter + GOLDEN + key) >> 32 < limit);
            left += refused;
        }
        waiting = left;
        for (i64 i = 0; i < asks; i++) {
            const Waiting one = waits[now[i]];
            Pick& its = pick[one.pick];
            const i64 drawn = scaled(mix64(one.counter + key), its.choices);
            const i64 chosen = its.tried ? drawn : its.index;
            its.tried = true;
            ask_for(r, i, one.pick, its.first_cell + chosen, its.episode, its.lane, its.is_store);
        }
        const i64 granted = grant(r, asks);
        pending -= granted;
        if (pending * 64 < picks) break;
        const i64 success = granted * 100 / (asks > 1 ? asks : 1);
        share = success > 50 ? 100 : success > 10 ? success : 10;
    }
}

// Begins a block: the owners whose reservations last beyond its first start are kept, in `r`, with
// their episodes numbered anew. `start` and `hold` then have the kept episodes first; `number` has
// room for all of the earlier ones.
static inline void keep_earlier(Reservation& r, i64 owners, const u64* key, const u8* flags,
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
