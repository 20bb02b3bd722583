// What the generator derives from the order of accesses, as compiled code: which accesses share
// bytes, what stores write, what loads must return, which episode waits for which.
//
// Invariant: byte for byte what tester/program/expectations.py and tester/program/store_values.py
// compute with arrays; the reasons are given there. Bytes are numbered within the lines under test,
// so that sorting by byte is counting.
#pragma once

#include "room.hpp"
#include "shared_numbers.hpp"

enum { HISTORY = 8, REMEMBERED = 64, DERIVED_EPISODES = 1024 };

// What is known of memory and of the agents after the episodes so far.
struct Known {
    i64 lines, line_size;
    const i64* line;  // [lines] ascending addresses
    i64 agents;
    u64 run_key;
    u64 values_key;
    u8* memory;     // [bytes]
    u8* history;    // [bytes * HISTORY]
    i64* stored;    // [bytes] last store: number * agents + agent
    i64* complete;  // [agents * agents]
    i64* clocks;    // [agents * REMEMBERED * agents] written before they are read
    i64* come;      // [agents] episodes so far
    // loads since the last store of their byte, sorted by byte * agents + agent
    i64 loads;
    const i64* loaded;
    const i64* loaded_number;
};

// Consecutive episodes, and what is derived of them.
struct Derived {
    i64 episodes, lanes;
    const i32* episode_thread;  // [episodes]
    const i64* first_row;       // [episodes + 1]
    // [rows]
    const u8* kind;
    const u8* size;
    const u8* op;
    const i64* identity;  // of each lane 0
    const i64* address;   // [rows * lanes] -1: the lane sits out
    u64* value;           // [rows * lanes] what is stored, operands of atomic actions
    u64* expected;        // [rows * lanes], zero
    i64 waits;
    i64* wait_first;   // [episodes + 1]
    i32* wait_thread;  // [episodes * agents]
    i32* wait_count;   // [episodes * agents]
};

// The bytes of all accesses of some rows, sorted by (byte, slot).
struct Events {
    i64 count;
    u32* what;   // slot << 4 | place in the access << 1 | it stores
    i64* first;  // [bytes + 1]
};

static inline i64 bytes_of(const Known& k) { return k.lines * k.line_size; }

static inline void know_nothing(Known& k) {
    const u64 key = mix64(k.run_key + GOLDEN);
    i64 at = 0;
    for (i64 l = 0; l < k.lines; l++)
        for (i64 b = 0; b < k.line_size; b += 8, at += 8) {
            const u64 bytes = mix64(key + (u64)((k.line[l] + b) >> 3) * GOLDEN);
            for (int i = 0; i < 8; i++) k.memory[at + i] = (u8)(bytes >> 8 * i);
        }
    const u64 agents = (u64)k.agents;
    __builtin_memset(k.stored, 0, (u64)at * sizeof(i64));
    __builtin_memset(k.complete, 0, agents * agents * sizeof(i64));
    __builtin_memset(k.come, 0, agents * sizeof(i64));
    k.loads = 0;
}

// Versions before the first store.
static inline void begin_history(const Known& k) {
    static_assert(HISTORY == sizeof(u64), "a word has the versions of a byte");
    for (i64 b = 0; b < bytes_of(k); b++) {
        const u64 versions = k.memory[b] * 0x0101010101010101u;
        __builtin_memcpy(k.history + b * HISTORY, &versions, HISTORY);
    }
}

static inline i64 count_events(const Derived& d, i64 first, i64 last) {
    i64 count = 0;
    for (i64 row = first; row < last; row++)
        for (i64 lane = 0; lane < d.lanes; lane++)
            if (d.address[row * d.lanes + lane] >= 0) count += d.size[row];
    return count;
}

// The events of rows first .. last-1. False: too little room.
static inline bool explode(const Known& k, const Derived& d, i64 first, i64 last, Room& room,
                           Events& e) {
    const i64 bytes = bytes_of(k), slots = (last - first) * d.lanes;
    e.count = count_events(d, first, last);
    e.what = room.take<u32>(e.count);
    e.first = room.zeros<i64>(bytes + 2);
    i32* start = room.take<i32>(slots);
    if (!room.enough()) return false;
    i64* next = e.first + 1;  // one behind, so that filling leaves the beginnings
    for (i64 row = first, i = 0; row < last; row++)
        for (i64 lane = 0; lane < d.lanes; lane++, i++) {
            const i64 address = d.address[row * d.lanes + lane];
            if (address < 0) continue;
            const i64 byte = place_of_byte(k.line, k.lines, k.line_size, address);
            start[i] = (i32)byte;
            for (i64 b = byte; b < byte + d.size[row]; b++) next[b + 1]++;
        }
    for (i64 b = 0; b < bytes; b++) next[b + 1] += next[b];
    for (i64 row = first, i = 0; row < last; row++) {
        const u32 stores = d.kind[row] != LOAD_KIND;
        for (i64 lane = 0; lane < d.lanes; lane++, i++) {
            const i64 slot = row * d.lanes + lane;
            if (d.address[slot] < 0) continue;
            for (i64 place = 0; place < d.size[row]; place++)
                e.what[next[start[i] + place]++] = (u32)(slot << 4 | place << 1 | stores);
        }
    }
    return true;
}

enum : u32 { PLACE_BITS = 7 << 1 };
static inline bool is_store(u32 what) { return what & 1; }
static inline i64 slot_of(u32 what) { return what >> 4; }
// Of the byte among those of all values.
static inline i64 byte_of(u32 what) { return what >> 1; }

// One of the 8 versions before equals it.
static inline bool repeats(const u8* version) {
    const u64 ones = 0x0101010101010101u;
    u64 before;
    __builtin_memcpy(&before, version - HISTORY, HISTORY);
    const u64 differs = before ^ ones * version[0];
    return (differs - ones) & ~differs & ones << 7;
}

// Of the number-th attempt to draw a byte that is another one.
static inline u64 attempt_key(u64 values_key, i64 number) {
    char name[32] = "again-";
    i64 length = 6;
    for (i64 unit = 1;; unit *= 10)
        if (number / unit < 10) {
            for (; unit > 0; unit /= 10) name[length++] = (char)('0' + number / unit % 10);
            break;
        }
    name[length] = 0;
    return forked(values_key, hash_name(name));
}

// Redraws versions that repeat one of the 8 before them, all versions of a byte at once, until none
// does. `versions` starts with the history.
static inline void make_distinct(u8* versions, const i64* seed, i64 count, u64 key, u8* mark) {
    bool any = false;
    for (i64 i = 0; i < count; i++) any |= mark[i] = repeats(versions + HISTORY + i);
    for (i64 attempt = 1; any; attempt++) {
        const u64 again = attempt_key(key, attempt);
        i64 reach = -1;
        for (i64 i = 0; i < count; i++) {
            if (mark[i]) {
                versions[HISTORY + i] = (u8)(draw_word(again, seed[i]) >> 56);
                reach = i + HISTORY;
            }
            mark[i] = i <= reach;
        }
        any = false;
        for (i64 i = 0; i < count; i++) any |= mark[i] = mark[i] && repeats(versions + HISTORY + i);
    }
}

// What all stores write.
static inline void assign_versions(const Known& k, const Events& e, Derived& d, i64 rows,
                                   Room& room) {
    u8* versions = room.take<u8>(e.count + HISTORY);
    u8* mark = room.take<u8>(e.count);
    i64* seed = room.take<i64>(e.count);
    i64* name = room.take<i64>(rows * d.lanes);  // of the bytes of each access
    for (i64 row = 0; row < rows; row++) {
        const u64 mask = d.size[row] < 8 ? ((u64)1 << 8 * d.size[row]) - 1 : ~(u64)0;
        u64* value = d.value + row * d.lanes;
        const i64* address = d.address + row * d.lanes;
        if (d.kind[row] == LOAD_KIND) {
            __builtin_memset(value, 0, (u64)d.lanes * sizeof(u64));
            continue;
        }
        for (i64 lane = 0; lane < d.lanes; lane++) {
            const i64 own = name[row * d.lanes + lane] = word(d.identity[row] + lane, 8, 0);
            value[lane] = address[lane] >= 0 ? draw_word(k.values_key, own) & mask : 0;
        }
    }
    u8* bytes = (u8*)d.value;
    for (i64 b = 0; b < bytes_of(k); b++) {
        i64 count = 0;
        for (i64 i = e.first[b]; i < e.first[b + 1]; i++) {
            if (!is_store(e.what[i])) continue;
            versions[HISTORY + count] = bytes[byte_of(e.what[i])];
            seed[count++] = name[slot_of(e.what[i])] + (byte_of(e.what[i]) & 7);
        }
        if (count == 0) continue;
        u8* history = k.history + b * HISTORY;
        __builtin_memcpy(versions, history, HISTORY);
        make_distinct(versions, seed, count, k.values_key, mark);
        __builtin_memcpy(history, versions + count, HISTORY);
        count = 0;
        for (i64 i = e.first[b]; i < e.first[b + 1]; i++)
            if (is_store(e.what[i])) bytes[byte_of(e.what[i])] = versions[HISTORY + count++];
    }
}

// Work space for episodes first .. last-1, counted from the first one.
struct Work {
    i64 first, last;
    i64 slot;           // the first one of these episodes
    i32* slot_episode;  // [slots of these episodes]
    i64* number;        // within the agent, from 1
    i64* needed;        // [episodes * agents] latest episode that has to be complete
    i64* implied;       // [agents]
    u64* left;          // [rows * lanes] of all episodes: what stores and atomic actions leave
};

static inline i64 episode_of(const Work& w, u32 what) {
    return w.slot_episode[slot_of(what) - w.slot];
}

static inline void need(const Known& k, const Derived& d, const Work& w, i64 later, i64 agent,
                        i64 number) {
    i64& most = w.needed[later * k.agents + agent];
    if (agent != d.episode_thread[w.first + later] && number > most) most = number;
}

// Waits for an episode.
static inline void need_episode(const Known& k, const Derived& d, const Work& w, i64 later,
                                i64 earlier) {
    need(k, d, w, later, d.episode_thread[w.first + earlier], w.number[earlier]);
}

// Waits for loads of earlier blocks, of a byte that is stored to for the first time in this one.
static inline void need_readers(const Known& k, const Derived& d, const Work& w, i64 later,
                                i64 byte) {
    i64 low = 0, high = k.loads;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (k.loaded[middle] < byte * k.agents)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < k.loads && k.loaded[low] < (byte + 1) * k.agents; low++)
        need(k, d, w, later, k.loaded[low] % k.agents, k.loaded_number[low]);
}

// Whether a byte has the accesses of the byte before it, now and in earlier blocks.
static inline bool is_alike(const Known& k, const Events& e, i64 byte) {
    if (byte == 0 || k.loads > 0 || k.stored[byte] != k.stored[byte - 1]) return false;
    const i64 count = e.first[byte + 1] - e.first[byte];
    const u32 *own = e.what + e.first[byte], *before = own - count;
    if (before != e.what + e.first[byte - 1]) return false;
    for (i64 i = 0; i < count; i++)
        if ((own[i] ^ before[i]) & ~PLACE_BITS) return false;
    return true;
}

static inline void note_needs(const Known& k, const Events& e, const Derived& d, const Work& w) {
    for (i64 b = 0; b < bytes_of(k); b++) {
        if (is_alike(k, e, b)) continue;  // it needs the same
        i64 store = -1;                   // the last one
        i64 reads = e.first[b];           // loads since then begin here
        for (i64 i = reads; i < e.first[b + 1]; i++) {
            const i64 episode = episode_of(w, e.what[i]);
            if (store >= 0)
                need_episode(k, d, w, episode, store);
            else if (k.stored[b] > 0)
                need(k, d, w, episode, k.stored[b] % k.agents, k.stored[b] / k.agents);
            if (!is_store(e.what[i])) continue;
            if (store < 0) need_readers(k, d, w, episode, b);
            for (; reads < i; reads++) need_episode(k, d, w, episode, episode_of(w, e.what[reads]));
            reads = i + 1;
            store = episode;
        }
    }
}

// What an atomic action leaves in memory; see tester/program/atomics.py.
static inline u64 atomic_value(int op, int size, u64 old, u64 operand) {
    const u64 ones = size == 8 ? ~(u64)0 : 0xFFFFFFFF;
    const u64 sign = (ones >> 1) + 1;
    const bool below_signed = ((old + sign) & ones) < ((operand + sign) & ones);
    switch (op) {
        case ADD: return (old + operand) & ones;
        case SUB: return (old - operand) & ones;
        case MIN: return below_signed ? old : operand;
        case MAX: return below_signed ? operand : old;
        case UMIN: return old < operand ? old : operand;
        case UMAX: return old < operand ? operand : old;
        case AND: return old & operand;
        case OR: return old | operand;
        case XOR: return old ^ operand;
        case INC: return old < operand ? old + 1 : 0;
        case DEC: return old == 0 || old > operand ? operand : old - 1;
        case CAS_FAILS: return old;
    }
    return operand;  // EXCHANGE, and CAS whose comparison succeeds
}

// Replaces operands by the values that their operations leave, one operation after the other.
static inline void perform(const Known& k, const Events& e, const Derived& d, Work& w, Room& room) {
    const i64 first = d.first_row[w.first], last = d.first_row[w.last];
    bool any = false;
    for (i64 row = first; row < last; row++) any |= d.kind[row] == ATOMIC_KIND;
    if (!any) return;
    const i64 base = first * d.lanes, slots = (last - first) * d.lanes;
    u64* left = room.take<u64>(slots);
    // Where the bytes of atomic actions come from: a byte of another value, or memory.
    i32* source = room.take<i32>(slots * 8);
    __builtin_memcpy(left, d.value + base, (u64)slots * sizeof(u64));
    w.left = left - base;
    for (i64 b = 0; b < bytes_of(k); b++) {
        i32 before = (i32)(-1 - b);
        for (i64 i = e.first[b]; i < e.first[b + 1]; i++) {
            const u32 what = e.what[i];
            if (!is_store(what)) continue;
            source[byte_of(what) - base * 8] = before;
            before = (i32)(byte_of(what) - base * 8);
        }
    }
    for (i64 row = first; row < last; row++) {
        if (d.kind[row] != ATOMIC_KIND) continue;
        for (i64 slot = row * d.lanes; slot < (row + 1) * d.lanes; slot++) {
            if (d.address[slot] < 0) continue;
            u8* old = (u8*)(d.expected + slot);
            for (i64 i = 0; i < d.size[row]; i++) {
                const i32 from = source[(slot - base) * 8 + i];
                old[i] = from < 0 ? k.memory[-1 - from] : ((u8*)left)[from];
            }
            w.left[slot] = atomic_value(d.op[row], d.size[row], d.expected[slot], w.left[slot]);
        }
    }
}

// What loads return, and what memory holds in the end.
static inline void note_expected(const Known& k, const Events& e, const Derived& d, const Work& w) {
    const u8* left = (const u8*)w.left;
    u8* expected = (u8*)d.expected;
    for (i64 b = 0; b < bytes_of(k); b++) {
        u8 held = k.memory[b];
        i64 store = -1;
        for (i64 i = e.first[b]; i < e.first[b + 1]; i++) {
            const i64 place = byte_of(e.what[i]);
            if (is_store(e.what[i])) {
                held = left[place];
                store = i;
            } else {
                expected[place] = held;
            }
        }
        if (store < 0) continue;
        const i64 episode = episode_of(w, e.what[store]);
        k.memory[b] = held;
        k.stored[b] = w.number[episode] * k.agents + d.episode_thread[w.first + episode];
    }
}

// Transitive reduction: keeps the waits that no other wait implies.
static inline void reduce(const Known& k, Derived& d, const Work& w) {
    const i64 agents = k.agents;
    for (i64 n = 0; n < w.last - w.first; n++) {
        const i64 agent = d.episode_thread[w.first + n];
        const i64* needed = w.needed + n * agents;
        i64* clock = k.complete + agent * agents;
        d.wait_first[w.first + n] = d.waits;
        bool fresh = false;
        for (i64 t = 0; t < agents; t++) fresh |= needed[t] > clock[t];
        if (fresh) {
            for (i64 t = 0; t < agents; t++) w.implied[t] = 0;
            for (i64 t = 0; t < agents; t++) {
                if (needed[t] == 0 || k.come[t] - needed[t] >= REMEMBERED) continue;
                const i64* known = k.clocks + (t * REMEMBERED + needed[t] % REMEMBERED) * agents;
                for (i64 u = 0; u < agents; u++)
                    w.implied[u] = known[u] > w.implied[u] ? known[u] : w.implied[u];
            }
            for (i64 t = 0; t < agents; t++) {
                if (needed[t] > clock[t] && needed[t] > w.implied[t]) {
                    d.wait_thread[d.waits] = (i32)t;
                    d.wait_count[d.waits++] = (i32)needed[t];
                }
                if (w.implied[t] > clock[t]) clock[t] = w.implied[t];
                if (needed[t] > clock[t]) clock[t] = needed[t];
            }
        }
        i64* own = k.clocks + (agent * REMEMBERED + w.number[n] % REMEMBERED) * agents;
        for (i64 t = 0; t < agents; t++) own[t] = clock[t];
        clock[agent] = w.number[n];
        k.come[agent]++;
    }
    d.wait_first[w.last] = d.waits;
}

// Keeps the loads after the last store of each byte, but for those that every agent knows to be
// complete.
static inline void remember(Known& k, const Events& e, const Derived& d, const Work& w,
                            Room& room) {
    const i64 agents = k.agents;
    i64* loaded = room.take<i64>(k.loads + e.count);
    i64* loaded_number = room.take<i64>(k.loads + e.count);
    i64* latest = room.zeros<i64>(agents);
    i64* frontier = room.take<i64>(agents);
    for (i64 t = 0; t < agents; t++) {
        frontier[t] = k.complete[t];
        for (i64 u = 1; u < agents; u++)
            if (k.complete[u * agents + t] < frontier[t]) frontier[t] = k.complete[u * agents + t];
    }
    i64 kept = 0, old = 0;
    for (i64 b = 0; b < bytes_of(k); b++) {
        i64 since = e.first[b];
        for (i64 i = since; i < e.first[b + 1]; i++)
            if (is_store(e.what[i])) since = i + 1;
        const bool stored = since > e.first[b] && is_store(e.what[since - 1]);
        for (; old < k.loads && k.loaded[old] < (b + 1) * agents; old++) {
            const i64 agent = k.loaded[old] % agents;
            if (!stored && k.loaded_number[old] > frontier[agent])
                latest[agent] = k.loaded_number[old];
        }
        for (i64 i = since; i < e.first[b + 1]; i++) {
            const i64 episode = episode_of(w, e.what[i]);
            latest[d.episode_thread[w.first + episode]] = w.number[episode];
        }
        if (since == e.first[b + 1] && stored) continue;
        for (i64 t = 0; t < agents; t++) {
            if (!latest[t]) continue;
            loaded[kept] = b * agents + t;
            loaded_number[kept++] = latest[t];
            latest[t] = 0;
        }
    }
    k.loads = kept;
    k.loaded = loaded;
    k.loaded_number = loaded_number;
}

// Derives episodes w.first .. w.last-1 from their `events`.
static inline void derive(Known& k, const Events& e, Derived& d, Work& w, bool more, Room& room) {
    const i64 episodes = w.last - w.first, base = d.first_row[w.first];
    w.slot = base * d.lanes;
    w.slot_episode = room.take<i32>(d.first_row[w.last] * d.lanes - w.slot);
    w.number = room.take<i64>(episodes);
    w.needed = room.zeros<i64>(episodes * k.agents);
    w.implied = room.zeros<i64>(k.agents);
    w.left = d.value;
    for (i64 t = 0; t < k.agents; t++) w.implied[t] = k.come[t];
    for (i64 n = 0; n < episodes; n++) {
        w.number[n] = ++w.implied[d.episode_thread[w.first + n]];
        const i64 first = d.first_row[w.first + n], last = d.first_row[w.first + n + 1];
        for (i64 slot = first * d.lanes; slot < last * d.lanes; slot++)
            w.slot_episode[slot - w.slot] = (i32)n;
    }
    perform(k, e, d, w, room);
    note_needs(k, e, d, w);
    note_expected(k, e, d, w);
    reduce(k, d, w);
    if (more) remember(k, e, d, w, room);
}

// Bytes that deriving takes at most, once the events are known.
static inline i64 room_to_derive(const Known& k, const Derived& d, i64 events) {
    const i64 rows = d.first_row[d.episodes];
    return rows * d.lanes * (8 + 32 + 4) + d.episodes * (k.agents + 1) * 8 + k.agents * 24 +
           (k.loads + events) * 16 + 256;
}

// The same for all of it, in parts.
static inline i64 room_to_observe(const Known& k, const Derived& d, i64 events) {
    const i64 rows = d.first_row[d.episodes], parts = d.episodes / DERIVED_EPISODES + 1;
    const i64 exploded = events * 4 + bytes_of(k) * 8 + rows * d.lanes * 4 + 64;
    return events * 10 + HISTORY + rows * d.lanes * 8 + 80 +
           parts * (exploded + room_to_derive(k, d, events));
}

// Values of stores, and what is derived from the order of accesses. `more`: further episodes follow.
// False: too little room; nothing is changed then but what all of this writes anew.
static inline bool observe(Known& k, Derived& d, bool more, Room& room) {
    Events all;
    const i64 rows = d.first_row[d.episodes];
    if (!explode(k, d, 0, rows, room, all)) return false;
    const i64 used = room.used;
    room.take<u8>(room_to_observe(k, d, all.count));
    if (!room.enough()) return false;
    room.used = used;
    assign_versions(k, all, d, rows, room);
    d.waits = 0;
    Work w{};
    for (; w.first < d.episodes; w.first = w.last) {
        w.last = w.first + DERIVED_EPISODES < d.episodes ? w.first + DERIVED_EPISODES : d.episodes;
        Events part = all;
        const bool whole = w.first == 0 && w.last == d.episodes;
        if (!whole) explode(k, d, d.first_row[w.first], d.first_row[w.last], room, part);
        derive(k, part, d, w, more || w.last < d.episodes, room);
    }
    d.wait_first[d.episodes] = d.waits;
    return true;
}

// What is derived from the order alone, of a program that has its values, in one part. False: too
// little room.
static inline bool derive_all(Known& k, Derived& d, Room& room) {
    Events e;
    if (!explode(k, d, 0, d.first_row[d.episodes], room, e)) return false;
    const i64 used = room.used;
    room.take<u8>(room_to_derive(k, d, e.count));
    if (!room.enough()) return false;
    room.used = used;
    Work w{};
    w.last = d.episodes;
    derive(k, e, d, w, false, room);
    return true;
}
