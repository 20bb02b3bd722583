// What the generator derives from the order of accesses, as compiled code: which accesses share
// bytes, what stores write, what loads must return, which episode waits for which.
//
// Invariant: byte for byte what tester/program/expectations.py and tester/program/store_values.py
// compute with arrays; the reasons are given there. Bytes are numbered within the lines under test.
// What arrays compute byte by byte, for all accesses of a byte at once, is computed here access by
// access, in their order.
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
    u64* history;   // [bytes] the last versions, the latest one in the highest byte
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

// An access of one lane.
struct Access {
    i32 byte;  // the first one
    u32 slot;  // row * lanes + lane
};

// The accesses of rows first_row .. last_row-1, in their order. An interval is a run of bytes of
// which each access has all or none: what is derived of one of them holds for the others.
struct Accesses {
    i64 first_row, last_row, count;
    Access* access;
    i32* first;     // [rows + 1] the first access of each row
    i32* interval;  // [bytes + 1] in which one a byte is; they are numbered from 1
    i64 bytes;      // of all accesses
};

static inline i64 bytes_of(const Known& k) { return k.lines * k.line_size; }

static inline void know_nothing(Known& k) {
    const u64 key = mix64(k.run_key + GOLDEN);
    i64 at = 0;
    for (i64 l = 0; l < k.lines; l++)
        for (i64 b = 0; b < k.line_size; b += 8, at += 8) {
            const u64 bytes = mix64(key + (u64)((k.line[l] + b) >> 3) * GOLDEN);
            __builtin_memcpy(k.memory + at, &bytes, sizeof bytes);
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
    const i64 bytes = bytes_of(k);
    const u8* memory = k.memory;
    u64* history = k.history;
    for (i64 b = 0; b < bytes; b++) history[b] = memory[b] * 0x0101010101010101u;
}

// False: too little room.
static inline bool collect(const Known& k, const Derived& d, i64 first_row, i64 last_row,
                           Room& room, Accesses& a) {
    const i64 rows = last_row - first_row, bytes = bytes_of(k);
    Access* access = room.take<Access>(rows * d.lanes);
    i32* first = room.take<i32>(rows + 1);
    i32* interval = room.zeros<i32>(bytes + 1);
    if (!room.enough()) return false;
    i64 count = 0, touched = 0;
    for (i64 row = first_row, slot = row * d.lanes; row < last_row; row++) {
        const i64 own = first[row - first_row] = (i32)count;
        for (const i64 end = slot + d.lanes; slot < end; slot++) {
            access[count].slot = (u32)slot;
            count += d.address[slot] >= 0;
        }
        touched += (count - own) * d.size[row];
        for (i64 i = own; i < count; i++) {
            const i64 address = d.address[access[i].slot];
            const i64 byte = place_of_byte(k.line, k.lines, k.line_size, address);
            access[i].byte = (i32)byte;
            interval[byte] = interval[byte + d.size[row]] = 1;  // one begins there
        }
    }
    first[rows] = (i32)count;
    for (i64 b = 0, begun = 0; b <= bytes; b++) interval[b] = (i32)(begun += interval[b]);
    a = {first_row, last_row, count, access, first, interval, touched};
    return true;
}

// Bytes that collecting takes at most.
static inline i64 room_to_collect(const Known& k, const Derived& d) {
    const i64 rows = d.first_row[d.episodes];
    return rows * d.lanes * 8 + (rows + 1) * 4 + (bytes_of(k) + 1) * 4 + 64;
}

// Whether one of the 8 versions before equals it.
static inline bool repeats(u64 history, u8 version) {
    const u64 ones = 0x0101010101010101u, differs = history ^ ones * version;
    return (differs - ones) & ~differs & ones << 7;
}

static inline u64 with_version(u64 history, u8 version) {
    return history >> 8 | (u64)version << 56;
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
// does. `mark`: room for each.
static inline void make_distinct(u64 history, u8* version, const i64* seed, i64 count, u64 key,
                                 u8* mark) {
    for (i64 i = 0; i < count; i++) mark[i] = 1;
    for (i64 attempt = 1;; attempt++) {
        bool any = false;
        u64 before = history;
        for (i64 i = 0; i < count; i++) {
            any |= mark[i] = mark[i] && repeats(before, version[i]);
            before = with_version(before, version[i]);
        }
        if (!any) return;
        const u64 again = attempt_key(key, attempt);
        i64 reach = -1;
        for (i64 i = 0; i < count; i++) {
            if (mark[i]) {
                version[i] = (u8)(draw_word(again, seed[i]) >> 56);
                reach = i + HISTORY;
            }
            mark[i] = i <= reach;
        }
    }
}

// The name of an access, and of its bytes.
static inline i64 name_of(const Derived& d, i64 row, i64 slot) {
    return word(d.identity[row] + slot - row * d.lanes, 8, 0);
}

// A byte of a store that is drawn again.
struct Redrawn {
    i32 byte;
    u32 what;  // slot << 3 | place in the access
    i64 seed;
};

// Draws again the bytes with a mark, of all stores. `history`: of each byte, before them; `marked`:
// with seven further bytes.
static inline void redraw(const Known& k, const Accesses& a, Derived& d, const u64* history,
                          const u8* marked, Room& room) {
    const i64 bytes = bytes_of(k);
    Redrawn* found = room.take<Redrawn>(a.bytes + 1);
    i64* first = room.zeros<i64>(bytes + 2);  // those of a byte begin there
    u32* what = room.take<u32>(a.bytes);
    i64* seed = room.take<i64>(a.bytes);
    u8* version = room.take<u8>(a.bytes);
    u8* mark = room.take<u8>(a.bytes);
    i64 count = 0;
    for (i64 row = a.first_row; row < a.last_row; row++) {
        if (d.kind[row] == LOAD_KIND) continue;
        const i64 size = d.size[row];
        const i32* own = a.first + row - a.first_row;
        for (i64 i = own[0]; i < own[1]; i++) {
            const Access one = a.access[i];
            u64 marks;  // of eight bytes, as an access has at most
            __builtin_memcpy(&marks, marked + one.byte, sizeof marks);
            if (!(marks << (64 - 8 * size))) continue;
            const i64 name = name_of(d, row, one.slot);
            for (i64 place = 0; place < size; place++) {
                const i32 byte = one.byte + (i32)place;
                found[count] = {byte, one.slot << 3 | (u32)place, name + place};
                count += marked[byte];
            }
        }
    }
    i64* next = first + 1;  // one behind, so that filling leaves the beginnings
    for (i64 i = 0; i < count; i++) next[found[i].byte + 1]++;
    for (i64 b = 0; b < bytes; b++) next[b + 1] += next[b];
    u8* value = (u8*)d.value;
    for (i64 i = 0; i < count; i++) {
        const i64 at = next[found[i].byte]++;
        what[at] = found[i].what;
        seed[at] = found[i].seed;
        version[at] = value[found[i].what];
    }
    for (i64 b = 0; b < bytes; b++) {
        const i64 begin = first[b], end = first[b + 1];
        if (begin == end) continue;
        make_distinct(history[b], version + begin, seed + begin, end - begin, k.values_key, mark);
        k.history[b] = history[b];
        for (i64 i = begin; i < end; i++) {
            k.history[b] = with_version(k.history[b], version[i]);
            value[what[i]] = version[i];
        }
    }
}

// What all stores write.
static inline void assign_versions(const Known& k, const Accesses& a, Derived& d, Room& room) {
    const i64 bytes = bytes_of(k);
    u64* history = room.take<u64>(bytes);
    u8* marked = room.zeros<u8>(bytes + 7);  // a version is to be drawn again
    __builtin_memcpy(history, k.history, (u64)bytes * sizeof(u64));
    bool any = false;
    for (i64 row = a.first_row; row < a.last_row; row++) {
        if (d.kind[row] == LOAD_KIND) continue;
        const i64 size = d.size[row];
        const u64 mask = size < 8 ? ((u64)1 << 8 * size) - 1 : ~(u64)0;
        const i32* own = a.first + row - a.first_row;
        for (i64 i = own[0]; i < own[1]; i++) {
            const Access one = a.access[i];
            u64 value = draw_word(k.values_key, name_of(d, row, one.slot)) & mask;
            d.value[one.slot] = value;
            u64* before = k.history + one.byte;
            for (i64 place = 0; place < size; place++, value >>= 8) {
                const bool again = repeats(before[place], (u8)value);
                marked[one.byte + place] |= again;
                any |= again;
                before[place] = with_version(before[place], (u8)value);
            }
        }
    }
    if (any) redraw(k, a, d, history, marked, room);
}

// Bytes that assigning takes at most.
static inline i64 room_to_assign(const Known& k, const Accesses& a) {
    return bytes_of(k) * 17 + a.bytes * 30 + 167;
}

// An episode as waits name it.
struct Turn {
    i32 agent, number;  // within the agent, from 1
};

// What an interval was accessed by.
struct Recent {
    i32 store;  // the episode of the last store, from 1; 0: none
    i32 load;   // the last load since then, from 1; 0: none
};

struct Load {
    i32 episode;  // from 1
    i32 before;   // the load before this one; 0: none
};

// Work space for episodes first .. last-1, counted from the first one.
struct Work {
    i64 first, last;
    Turn* turn;      // [episodes + 1] from 1 on; 0: of no episode, which nothing waits for
    i64* needed;     // [episodes * agents] latest episode that has to be complete
    i64* implied;    // [agents]
    Recent* recent;  // [intervals + 1]
    Load* load;      // from 1 on, one per interval of each load
};

static inline void need(i64* needed, i64 agent, i64 number) {
    needed[agent] = number > needed[agent] ? number : needed[agent];
}

static inline void need(i64* needed, Turn turn) { need(needed, turn.agent, turn.number); }

// Waits for what earlier blocks have done with a byte that is not stored to in this one.
static inline void need_earlier(const Known& k, i64* needed, i64 byte, bool stores) {
    if (k.stored[byte] > 0) need(needed, k.stored[byte] % k.agents, k.stored[byte] / k.agents);
    if (!stores) return;
    i64 low = 0, high = k.loads;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (k.loaded[middle] < byte * k.agents)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < k.loads && k.loaded[low] < (byte + 1) * k.agents; low++)
        need(needed, k.loaded[low] % k.agents, k.loaded_number[low]);
}

static inline void note_needs(const Known& k, const Accesses& a, const Derived& d, const Work& w) {
    bool earlier = false;
    for (i64 t = 0; t < k.agents; t++) earlier |= k.come[t] > 0;
    i32 loads = 0;
    for (i64 n = 0; n < w.last - w.first; n++) {
        const i32 episode = (i32)(n + 1);
        i64* needed = w.needed + n * k.agents;
        for (i64 row = d.first_row[w.first + n]; row < d.first_row[w.first + n + 1]; row++) {
            const bool stores = d.kind[row] != LOAD_KIND;
            const i32* own = a.first + row - a.first_row;
            for (i64 i = own[0]; i < own[1]; i++) {
                const i32* interval = a.interval + a.access[i].byte;
                for (i32 at = interval[0]; at < interval[d.size[row]]; at++) {
                    Recent& recent = w.recent[at];
                    need(needed, w.turn[recent.store]);
                    if (earlier && !recent.store)
                        for (i64 b = 0; b < d.size[row]; b++)
                            if (interval[b] == at)
                                need_earlier(k, needed, a.access[i].byte + b, stores);
                    if (stores) {
                        for (i32 l = recent.load; l; l = w.load[l].before)
                            need(needed, w.turn[w.load[l].episode]);
                        recent = {episode, 0};
                    } else {
                        w.load[++loads] = {episode, recent.load};
                        recent.load = loads;
                    }
                }
            }
        }
        needed[d.episode_thread[w.first + n]] = 0;  // an agent's own order
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

static inline u64 read_bytes(const u8* bytes, i64 size) {
    u64 value = 0;
    switch (size) {
        case 1: __builtin_memcpy(&value, bytes, 1); break;
        case 2: __builtin_memcpy(&value, bytes, 2); break;
        case 4: __builtin_memcpy(&value, bytes, 4); break;
        case 8: __builtin_memcpy(&value, bytes, 8); break;
        default: __builtin_memcpy(&value, bytes, (u64)size);
    }
    return value;
}

static inline void write_bytes(u8* bytes, i64 size, u64 value) {
    switch (size) {
        case 1: __builtin_memcpy(bytes, &value, 1); break;
        case 2: __builtin_memcpy(bytes, &value, 2); break;
        case 4: __builtin_memcpy(bytes, &value, 4); break;
        case 8: __builtin_memcpy(bytes, &value, 8); break;
        default: __builtin_memcpy(bytes, &value, (u64)size);
    }
}

// What loads and atomic actions return, and what memory holds in the end.
static inline void perform(const Known& k, const Accesses& a, const Derived& d) {
    u8* memory = k.memory;
    for (i64 row = a.first_row; row < a.last_row; row++) {
        const int kind = d.kind[row], size = d.size[row];
        const i64 end = a.first[row - a.first_row + 1];
        for (i64 i = a.first[row - a.first_row]; i < end; i++) {
            const Access one = a.access[i];
            if (kind == STORE_KIND) {
                write_bytes(memory + one.byte, size, d.value[one.slot]);
                continue;
            }
            const u64 old = d.expected[one.slot] = read_bytes(memory + one.byte, size);
            if (kind == LOAD_KIND) continue;
            const u64 left = atomic_value(d.op[row], size, old, d.value[one.slot]);
            write_bytes(memory + one.byte, size, left);
        }
    }
}

// Transitive reduction: keeps the waits that no other wait implies.
static inline void reduce(const Known& k, Derived& d, const Work& w) {
    const i64 agents = k.agents;
    for (i64 n = 0; n < w.last - w.first; n++) {
        const i64 agent = w.turn[n + 1].agent, number = w.turn[n + 1].number;
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
        i64* own = k.clocks + (agent * REMEMBERED + number % REMEMBERED) * agents;
        for (i64 t = 0; t < agents; t++) own[t] = clock[t];
        clock[agent] = number;
        k.come[agent]++;
    }
    d.wait_first[w.last] = d.waits;
}

// Keeps the last store of each byte, and the loads after it but for those that every agent knows to
// be complete.
static inline void remember(Known& k, const Accesses& a, const Work& w, Room& room) {
    const i64 agents = k.agents;
    i64* loaded = room.take<i64>(k.loads + a.bytes);
    i64* loaded_number = room.take<i64>(k.loads + a.bytes);
    i64* latest = room.zeros<i64>(agents);
    i64* frontier = room.take<i64>(agents);
    for (i64 t = 0; t < agents; t++) {
        frontier[t] = k.complete[t];
        for (i64 u = 1; u < agents; u++)
            if (k.complete[u * agents + t] < frontier[t]) frontier[t] = k.complete[u * agents + t];
    }
    i64 kept = 0, old = 0;
    for (i64 b = 0; b < bytes_of(k); b++) {
        const Recent& recent = w.recent[a.interval[b]];
        const Turn store = w.turn[recent.store];
        if (recent.store) k.stored[b] = store.number * agents + store.agent;
        for (; old < k.loads && k.loaded[old] < (b + 1) * agents; old++) {
            const i64 agent = k.loaded[old] % agents;
            if (!recent.store && k.loaded_number[old] > frontier[agent])
                need(latest, agent, k.loaded_number[old]);
        }
        for (i32 l = recent.load; l; l = w.load[l].before) need(latest, w.turn[w.load[l].episode]);
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

// Derives episodes w.first .. w.last-1 from their accesses. `more`: further episodes follow.
static inline void derive(Known& k, const Accesses& a, Derived& d, Work& w, bool more, Room& room) {
    const i64 episodes = w.last - w.first;
    w.turn = room.take<Turn>(episodes + 1);
    w.needed = room.zeros<i64>(episodes * k.agents);
    w.implied = room.zeros<i64>(k.agents);
    w.recent = room.zeros<Recent>(a.interval[bytes_of(k)] + 1);
    w.load = room.take<Load>(a.bytes + 1);
    for (i64 t = 0; t < k.agents; t++) w.implied[t] = k.come[t];
    w.turn[0] = {0, 0};
    for (i64 n = 0; n < episodes; n++) {
        const i32 agent = d.episode_thread[w.first + n];
        w.turn[n + 1] = {agent, (i32)++w.implied[agent]};
    }
    note_needs(k, a, d, w);
    perform(k, a, d);
    reduce(k, d, w);
    if (more) remember(k, a, w, room);
}

// Bytes that deriving takes at most, once the accesses are known.
static inline i64 room_to_derive(const Known& k, const Derived& d, i64 bytes) {
    return d.episodes * (k.agents + 1) * 8 + k.agents * 24 + (bytes_of(k) + 2) * 8 + bytes * 8 +
           (k.loads + bytes) * 16 + 256;
}

// Values of stores, and what is derived from the order of accesses. `more`: further episodes follow.
// False: too little room; nothing is changed then but what all of this writes anew.
static inline bool observe(Known& k, Derived& d, bool more, Room& room) {
    Accesses all;
    const i64 rows = d.first_row[d.episodes], parts = d.episodes / DERIVED_EPISODES + 1;
    if (!collect(k, d, 0, rows, room, all)) return false;
    const i64 used = room.used;
    room.take<u8>(room_to_assign(k, all) +
                  parts * (room_to_collect(k, d) + room_to_derive(k, d, all.bytes)));
    if (!room.enough()) return false;
    room.used = used;
    assign_versions(k, all, d, room);
    d.waits = 0;
    Work w{};
    for (; w.first < d.episodes; w.first = w.last) {
        w.last = w.first + DERIVED_EPISODES < d.episodes ? w.first + DERIVED_EPISODES : d.episodes;
        Accesses part = all;
        const bool whole = w.first == 0 && w.last == d.episodes;
        if (!whole) collect(k, d, d.first_row[w.first], d.first_row[w.last], room, part);
        derive(k, part, d, w, more || w.last < d.episodes, room);
    }
    d.wait_first[d.episodes] = d.waits;
    return true;
}

// What is derived from the order alone, of a program that has its values, in one part. False: too
// little room.
static inline bool derive_all(Known& k, Derived& d, Room& room) {
    Accesses a;
    if (!collect(k, d, 0, d.first_row[d.episodes], room, a)) return false;
    const i64 used = room.used;
    room.take<u8>(room_to_derive(k, d, a.bytes));
    if (!room.enough()) return false;
    room.used = used;
    Work w{};
    w.last = d.episodes;
    derive(k, a, d, w, false, room);
    return true;
}
