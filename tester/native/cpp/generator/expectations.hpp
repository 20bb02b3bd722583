// What the generator derives from the order of accesses, as compiled code: which accesses share
// bytes, what stores write, what loads must return, which episode waits for which.
//
// Invariant: byte for byte what tester/program/expectations.py and tester/program/store_values.py
// compute with arrays; the reasons are given there. Bytes are numbered within the lines under test,
// so that sorting by byte is counting.
#pragma once

#include "atomics.hpp"
#include "counter_rng.hpp"

enum { HISTORY = 8, ATTEMPTS = 16, REMEMBERED = 64 };

struct Accesses {
    i64 actions;
    i64 lanes;
    const i64* address;  // [actions * lanes] -1: the lane sits out
    const u8* size;      // [actions]
    const u8* kind;      // [actions]
    i64 lines;
    const i64* line;  // [lines] ascending addresses
    i64 line_size;
};

// See ByteEvents in tester/program/expectations.py; all arrays have one entry per byte of each access.
struct Events {
    i64 count;
    i64* byte;
    i64* slot;
    i64* offset;
    u8* is_store;
    i64* before;
    i64* after;
    i64 segments;
    i64* first;
};

static inline i64 place_of_line(const Accesses& a, i64 address) {
    // Most maps are dense.
    const i64 guess = (address - a.line[0]) / a.line_size;
    if (guess < a.lines && a.line[guess] == address) return guess;
    i64 low = 0, high = a.lines;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (a.line[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// `ends`: room for lines * line_size + 1 counters; `start`: room for a word per slot.
static inline void explode(const Accesses& a, Events& e, i64* ends, i64* start) {
    const i64 bytes = a.lines * a.line_size;
    for (i64 b = 0; b <= bytes; b++) ends[b] = 0;
    for (i64 slot = 0, action = 0; action < a.actions; action++)
        for (i64 lane = 0; lane < a.lanes; lane++, slot++) {
            const i64 address = a.address[slot];
            if (address < 0) continue;
            const i64 offset = address & (a.line_size - 1);
            start[slot] = place_of_line(a, address - offset) * a.line_size + offset;
            for (i64 i = 0; i < a.size[action]; i++) ends[start[slot] + i]++;
        }
    i64 sum = 0, segments = 0;
    for (i64 b = 0; b <= bytes; b++) {
        const i64 here = ends[b];
        if (here > 0) {
            e.first[segments] = sum;
            for (i64 i = 0; i < here; i++) e.byte[sum + i] = b;
            segments++;
        }
        ends[b] = sum;
        sum += here;
    }
    e.segments = segments;
    for (i64 slot = 0, action = 0; action < a.actions; action++)
        for (i64 lane = 0; lane < a.lanes; lane++, slot++) {
            if (a.address[slot] < 0) continue;
            for (i64 i = 0; i < a.size[action]; i++) {
                const i64 at = ends[start[slot] + i]++;
                e.slot[at] = slot;
                e.offset[at] = i;
                e.is_store[at] = a.kind[action] != LOAD_KIND;
            }
        }
    for (i64 s = 0; s < segments; s++) {
        const i64 first = e.first[s], end = s + 1 < segments ? e.first[s + 1] : e.count;
        i64 nearest = -1;
        for (i64 i = first; i < end; i++) {
            e.before[i] = nearest;
            if (e.is_store[i]) nearest = i;
        }
        nearest = -1;
        for (i64 i = end - 1; i >= first; i--) {
            e.after[i] = nearest;
            if (e.is_store[i]) nearest = i;
        }
    }
}

static inline bool repeats(const u8* version) {
    for (int lag = 1; lag <= HISTORY; lag++)
        if (version[0] == version[-lag]) return true;
    return false;
}

// Redraws versions that repeat one of the 8 before them, all versions of a byte at once, until none
// does. `versions` starts with the history. False: more attempts than there are keys.
static inline bool make_distinct(u8* versions, const i64* seed, i64 count, const u64* keys,
                                 u8* mark) {
    for (i64 i = 0; i < count; i++) mark[i] = 1;
    for (int attempt = 1;; attempt++) {
        bool any = false;
        for (i64 i = 0; i < count; i++) {
            mark[i] = mark[i] && repeats(versions + HISTORY + i);
            any |= mark[i];
        }
        if (!any) return true;
        if (attempt >= ATTEMPTS) return false;
        for (i64 i = 0; i < count; i++)
            if (mark[i]) versions[HISTORY + i] = (u8)(draw_word(keys[attempt], seed[i]) >> 56);
        i64 reach = -1;
        for (i64 i = 0; i < count; i++) {
            if (mark[i]) reach = i + HISTORY;
            mark[i] = i <= reach;
        }
    }
}

struct Versions {
    const i64* identity;  // [slots]
    const u64* keys;      // [ATTEMPTS] of the first draw and of those that follow
    u8* history;          // [bytes * HISTORY]
    u64* value;           // [slots] in: the first draw; out: what is stored
    u8* versions;         // [events + HISTORY]
    u8* mark;             // [events]
    i64* seed;            // [events]
};

static inline bool assign_versions(const Events& e, Versions& v) {
    u8* bytes = (u8*)v.value;
    for (i64 s = 0; s < e.segments; s++) {
        const i64 end = s + 1 < e.segments ? e.first[s + 1] : e.count;
        u8* history = v.history + e.byte[e.first[s]] * HISTORY;
        i64 count = 0;
        for (i64 i = e.first[s]; i < end; i++) {
            if (!e.is_store[i]) continue;
            v.versions[HISTORY + count] = bytes[e.slot[i] * 8 + e.offset[i]];
            v.seed[count++] = v.identity[e.slot[i]] * 8 + e.offset[i];
        }
        if (count == 0) continue;
        for (int i = 0; i < HISTORY; i++) v.versions[i] = history[i];
        if (!make_distinct(v.versions, v.seed, count, v.keys, v.mark)) return false;
        for (int i = 0; i < HISTORY; i++) history[i] = v.versions[count + i];
        count = 0;
        for (i64 i = e.first[s]; i < end; i++)
            if (e.is_store[i]) bytes[e.slot[i] * 8 + e.offset[i]] = v.versions[HISTORY + count++];
    }
    return true;
}

struct Derivation {
    i64 agents;
    i64 episodes;
    i64 lanes;
    const i32* episode_thread;  // [episodes]
    const i64* first_action;    // [episodes + 1]
    const i64* number;          // [episodes] within its agent, from 1
    const u64* store_value;     // [slots]
    // atomic actions: [actions], and [slots] in: the operands, out: what they leave, or null
    const u8* kind;
    const u8* size;
    const u8* op;
    u64* left;
    i64* place;         // [slots] work space: the event of a slot's first byte
    i32* slot_episode;  // [slots] work space
    // state before, and after
    u8* memory;     // [bytes]
    i64* stored;    // [bytes] last store: number * agents + agent
    i64* complete;  // [agents * agents]
    i64* clocks;    // [(agents * REMEMBERED + 1) * agents]
    i64* come;      // [agents] episodes derived so far
    // loads of earlier blocks, sorted by byte * agents + agent
    i64 loads;
    const i64* loaded;
    const i64* loaded_number;
    // results
    u64* expected;     // [slots], zero
    i64* needed;       // [episodes * agents], zero: latest episode that has to be complete
    i64* wait_first;   // [episodes + 1]
    i64* wait_thread;  // [episodes * agents]
    i64* wait_count;   // [episodes * agents]
    i64* implied;      // [agents] work space
};

static inline void need(Derivation& d, i64 later, i64 agent, i64 number) {
    i64& most = d.needed[later * d.agents + agent];
    if (agent != d.episode_thread[later] && number > most) most = number;
}

// Waits for loads of earlier blocks, of a byte that is stored to for the first time in this one.
static inline void need_readers(Derivation& d, i64 later, i64 byte) {
    i64 low = 0, high = d.loads;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (d.loaded[middle] < byte * d.agents)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < d.loads && d.loaded[low] < (byte + 1) * d.agents; low++)
        need(d, later, d.loaded[low] % d.agents, d.loaded_number[low]);
}

// Replaces operands by the values that their operations leave, one operation after the other. The
// bytes of an access have neighbouring addresses, but not neighbouring events: each is found by its
// offset.
static inline void perform(const Events& e, Derivation& d) {
    const i64 slots = d.first_action[d.episodes] * d.lanes;
    for (i64 i = 0; i < e.count; i++) {
        if (d.kind[e.slot[i] / d.lanes] != ATOMIC_KIND) continue;
        u8* byte = (u8*)(d.expected + e.slot[i]) + e.offset[i];
        // Where the byte comes from: memory, or the event before, whose value may not be known yet.
        if (e.before[i] < 0) *byte = d.memory[e.byte[i]];
        if (e.offset[i] == 0) d.place[e.slot[i]] = i;
    }
    u8* left = (u8*)d.left;
    for (i64 s = 0; s < slots; s++) {
        const i64 action = s / d.lanes;
        if (d.kind[action] != ATOMIC_KIND) {
            s += d.lanes - 1;
            continue;
        }
        if (d.place[s] < 0) continue;
        u8* old = (u8*)(d.expected + s);
        i64 event = d.place[s];
        for (i64 offset = 0; offset < d.size[action]; offset++) {
            while (e.slot[event] != s || e.offset[event] != offset) event++;
            const i64 before = e.before[event];
            if (before >= 0) old[offset] = left[e.slot[before] * 8 + e.offset[before]];
        }
        d.left[s] = atomic_value(d.op[action], d.size[action], d.expected[s], d.left[s]);
    }
}

static inline void collect(const Events& e, Derivation& d) {
    for (i64 n = 0; n < d.episodes; n++)
        for (i64 s = d.first_action[n] * d.lanes; s < d.first_action[n + 1] * d.lanes; s++)
            d.slot_episode[s] = (i32)n;
    if (d.left) perform(e, d);
    const u8* stored = (const u8*)(d.left ? d.left : d.store_value);
    u8* expected = (u8*)d.expected;
    for (i64 i = 0; i < e.count; i++) {
        const i64 byte = e.byte[i], before = e.before[i], after = e.after[i];
        const i64 episode = d.slot_episode[e.slot[i]];
        if (before >= 0) {
            const i64 earlier = d.slot_episode[e.slot[before]];
            need(d, episode, d.episode_thread[earlier], d.number[earlier]);
        } else {
            if (d.stored[byte] > 0)
                need(d, episode, d.stored[byte] % d.agents, d.stored[byte] / d.agents);
            if (e.is_store[i]) need_readers(d, episode, byte);
        }
        if (e.is_store[i]) continue;
        if (after >= 0) {
            const i64 later = d.slot_episode[e.slot[after]];
            need(d, later, d.episode_thread[episode], d.number[episode]);
        }
        expected[e.slot[i] * 8 + e.offset[i]] =
            before >= 0 ? stored[e.slot[before] * 8 + e.offset[before]] : d.memory[byte];
    }
    for (i64 i = 0; i < e.count; i++) {
        if (!e.is_store[i] || e.after[i] >= 0) continue;
        const i64 episode = d.slot_episode[e.slot[i]];
        d.memory[e.byte[i]] = stored[e.slot[i] * 8 + e.offset[i]];
        d.stored[e.byte[i]] = d.number[episode] * d.agents + d.episode_thread[episode];
    }
}

// Transitive reduction: keeps the waits that no other wait implies.
static inline void reduce(Derivation& d) {
    const i64 agents = d.agents;
    i64 kept = 0;
    for (i64 n = 0; n < d.episodes; n++) {
        const i64 agent = d.episode_thread[n];
        const i64* needed = d.needed + n * agents;
        i64* clock = d.complete + agent * agents;
        d.wait_first[n] = kept;
        bool fresh = false;
        for (i64 t = 0; t < agents; t++) fresh |= needed[t] > clock[t];
        if (fresh) {
            for (i64 t = 0; t < agents; t++) d.implied[t] = 0;
            for (i64 t = 0; t < agents; t++) {
                if (needed[t] == 0 || d.come[t] - needed[t] >= REMEMBERED) continue;
                const i64* known = d.clocks + (t * REMEMBERED + needed[t] % REMEMBERED) * agents;
                for (i64 u = 0; u < agents; u++)
                    if (known[u] > d.implied[u]) d.implied[u] = known[u];
            }
            for (i64 t = 0; t < agents; t++) {
                if (needed[t] > clock[t] && needed[t] > d.implied[t]) {
                    d.wait_thread[kept] = t;
                    d.wait_count[kept++] = needed[t];
                }
                if (d.implied[t] > clock[t]) clock[t] = d.implied[t];
                if (needed[t] > clock[t]) clock[t] = needed[t];
            }
        }
        i64* own = d.clocks + (agent * REMEMBERED + d.number[n] % REMEMBERED) * agents;
        for (i64 t = 0; t < agents; t++) own[t] = clock[t];
        clock[agent] = d.number[n];
        d.come[agent]++;
    }
    d.wait_first[d.episodes] = kept;
}
