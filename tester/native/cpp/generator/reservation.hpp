// The generator's reservation rounds as compiled code.
//
// Picks request locations round by round until nearly all of them own one. Invariant: byte for byte what
// tester/generator/reservation.py computes with arrays; the reasons are given there. Here owners are
// kept sorted by (location, owner), so that a round costs a merge instead of a sort.
#pragma once

#include "counter_rng.hpp"

enum { LANE_BITS = 6, ROUNDS = 8 };

// One lane of an action.
struct Pick {
    i64 identity;  // counters for random numbers
    i32 action, episode, group;
    u8 lane, is_store;
    u8 size;  // index: 1, 2, 4 or 8 bytes
};

// What it asks for.
struct Wish {
    u64 key;      // of the first location of its group
    i32 choices;  // how many locations it may choose from there on; 0: the lane sits out
    i32 index;    // first choice, 0 .. choices-1; -1: it was refused
};

// A pick that requests a location.
struct Ask {
    u64 key;   // see key_of
    i64 what;  // pick << 1 | whether it stores
};

// When an episode begins and ends, from the origin on.
struct Span {
    i64 begin, end;
};

enum { OWNER_BITS = 40, STORES = 1 };

struct Reservation {
    // picks, in the order of their actions
    i64 picks;
    const Pick* pick;
    Wish* wish;
    // episodes: first `live` ones of earlier blocks, then this block's, in the order of their starts
    i64 live;
    i64 origin;
    i64 episodes;
    const i64* start;
    const i64* hold;
    i64 locations;
    i64 first_share;
    u64 keys[ROUNDS];  // of random streams
    // who owns which location, before and in the end after: keys, ascending, of those that store with
    // STORES; with room for all owners, asks and one more
    i64 owners;
    u64* held;
    u64* spare;
    // results
    i32* location;  // [picks] -1: sits out
    // work space
    u64* counter;  // [picks + 1] of each pick without a location, or that was granted one in the
                   // last round: of its random numbers, spread: twice its identity
    i32* what;     // [picks + 1] of each of them: as of an Ask
    i32* now;      // [picks + 1] those of them that ask in a round
    Ask* asking;   // [asks] in the order of picks
    Ask* bucket;   // [asks + 1] by location
    i32* first;    // [locations + 1] how many ask for each
    Span* span;    // [episodes]
};

// Of a location and what owns it or asks for it; `episode`: within the reservations.
static inline u64 key_of(i64 location, i64 episode, i64 lane) {
    return (u64)location << OWNER_BITS | (u64)(episode << LANE_BITS | lane) << 1;
}

static inline i64 episode_of(u64 key) {
    return (i64)(key & (((u64)1 << OWNER_BITS) - 1)) >> (LANE_BITS + 1);
}

// Sorts the asks by key: by location first, and inside of a location they nearly are. `first` counts anew
// afterwards.
static inline void sort_asks(const Reservation& r, i64 n) {
    i32 sum = 0;
    for (i64 c = 0; c < r.locations; c++) {
        const i32 asks = r.first[c];
        r.first[c] = sum;
        sum += asks;
    }
    for (i64 i = 0; i < n; i++) r.bucket[r.first[r.asking[i].key >> OWNER_BITS]++] = r.asking[i];
    __builtin_memset(r.first, 0, (u64)r.locations * sizeof(i32));
    for (i64 i = 1; i < n; i++) {
        const Ask ask = r.bucket[i];
        i64 at = i;
        for (; at > 0 && r.bucket[at - 1].key > ask.key; at--) r.bucket[at] = r.bucket[at - 1];
        r.bucket[at] = ask;
    }
    r.bucket[n].key = ~(u64)0;
}

// A pass over the claims of one location, in the order of their owners: to whom it is held, and who asks.
struct Pass {
    i64 any, store;  // when the last claim before ends, and the last one that stores
    i64 owner;       // the next one
    i64 next_store;  // the next one that stores
    i64 kept;
};

static inline void pass_claim(const Span& span, bool stores, Pass& p) {
    p.any = span.end > p.any ? span.end : p.any;
    const i64 stored = span.end & -(i64)stores;  // 0: overlaps with none
    p.store = stored > p.store ? stored : p.store;
}

// When the next owner of a location begins, or its next one that stores; `owner`: one of the location, or the
// first of a later one.
static inline i64 next_begin(const Reservation& r, u64 location, i64 owner) {
    const u64 key = r.held[owner];
    return key >> OWNER_BITS == location ? r.span[episode_of(key)].begin : INT64_MAX;
}

// The owners before a key keep what they have; nothing is asked of their locations.
static inline void keep_owners(const Reservation& r, u64 key, Pass& p) {
    while (r.held[p.owner] < key) r.spare[p.kept++] = r.held[p.owner++];
}

// The owners before a key pass unjudged: what they have they keep.
static inline void pass_owners(const Reservation& r, u64 key, Pass& p) {
    while (r.held[p.owner] < key) {
        const u64 held = r.spare[p.kept++] = r.held[p.owner++];
        pass_claim(r.span[episode_of(held)], held & STORES, p);
    }
}

// One round: grants locations to those of the `n` asks that may have them; returns their number.
static inline i64 grant(Reservation& all, i64 n) {
    const Reservation r = all;  // of its own: no store through a pointer changes it
    sort_asks(r, n);
    r.held[r.owners] = ~(u64)0;
    i64 granted = 0, ask = 0;
    Pass p{};
    while (ask < n) {
        const u64 location = r.bucket[ask].key >> OWNER_BITS;
        keep_owners(r, location << OWNER_BITS, p);
        p = {-1, -1, p.owner, p.owner, p.kept};
        while (r.bucket[ask].key >> OWNER_BITS == location) {
            const u64 key = r.bucket[ask].key;
            pass_owners(r, key, p);
            const bool old = (r.held[p.owner] ^ key) <= STORES;
            const bool old_store = old && r.held[p.owner] & STORES;
            p.owner += old;
            if (p.next_store < p.owner) p.next_store = p.owner;
            while (r.held[p.next_store] >> OWNER_BITS == location &&
                   !(r.held[p.next_store] & STORES))
                p.next_store++;
            i64 last = ask;
            bool stores = old_store;
            do stores |= r.bucket[last].what & 1;
            while (r.bucket[++last].key == key);
            const Span& span = r.span[episode_of(key)];
            const i64 next_store = next_begin(r, location, p.next_store);
            const i64 next = next_begin(r, location, p.owner);
            const bool clash = (p.store > span.begin) | (next_store < span.end) |
                               (stores & ((p.any > span.begin) | (next < span.end)));
            pass_claim(span, stores, p);
            granted += clash ? 0 : last - ask;
            do r.location[r.bucket[ask].what >> 1] = clash ? -1 : (i32)location;
            while (++ask < last);
            r.spare[p.kept] = key | (old_store | (stores & !clash));
            p.kept += old | !clash;
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

// `at`: its place among the asks; `what` and `key`: as of an Ask.
static inline void ask_for(const Reservation& r, i64 at, i64 what, u64 key) {
    r.asking[at] = {key, what};
    r.first[key >> OWNER_BITS]++;
}

// The last one of that share of all random words; only upper halves tell whether a word is of it.
static inline u64 last_of_share(i64 percent) {
    return ((((u64)percent << 32) + 99) / 100 << 32) - 1;
}

static inline void reserve(Reservation& r) {
    const i64 picks = r.picks;
    const Pick* pick = r.pick;
    Wish* wish = r.wish;
    u64* counters = r.counter;
    i32 *location = r.location, *whats = r.what, *now = r.now;
    i64 waiting = 0, share = r.first_share;
    for (i64 i = 0; i < picks; i++) {
        location[i] = -1;
        counters[waiting] = (u64)pick[i].identity * 2 * GOLDEN;
        whats[waiting] = (i32)i << 1 | pick[i].is_store;
        waiting += wish[i].choices > 0;
    }
    i64 pending = waiting;  // of them, those without a location
    for (int round = 0; round < ROUNDS; round++) {
        const u64 key = r.keys[round], first = key + GOLDEN, last = last_of_share(share);
        // Written without branches on what is drawn, which no branch predictor could predict.
        i64 asks = 0, left = 0;
        for (i64 i = 0; i < waiting; i++) {
            const u64 counter = counters[i];
            const i32 what = whats[i];
            const bool refused = location[what >> 1] < 0;
            counters[left] = counter;
            whats[left] = what;
            now[asks] = (i32)left;
            asks += refused & (mix64(counter + first) <= last);
            left += refused;
        }
        waiting = left;
        for (i64 i = 0; i < asks; i++) {
            const i32 what = whats[now[i]];
            Wish& its = wish[what >> 1];
            const i64 drawn = scaled(mix64(counters[now[i]] + key), its.choices);
            const i64 chosen = its.index < 0 ? drawn : its.index;
            its.index = -1;
            ask_for(r, i, what, its.key + ((u64)chosen << OWNER_BITS));
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
static inline void keep_earlier(Reservation& r, i64 owners, const u64* key, i64 episodes,
                                const i64* start, const i64* hold, i64* kept_start, i64* kept_hold,
                                i32* number) {
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
    const u64 episode_mask = key_of(1, 0, 0) - key_of(0, 1, 0);
    for (i64 i = 0; i < owners; i++) {
        const i32 at = number[episode_of(key[i])];
        if (at >= 0) r.held[r.owners++] = (key[i] & ~episode_mask) | key_of(0, at, 0);
    }
}
