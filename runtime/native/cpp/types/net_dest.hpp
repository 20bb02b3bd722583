// Nodes of the system, and sets of them or of numbers: MachineID, NetDest and Set of
// runtime/types/values.py.
//
// Invariant: a node number is below the number of nodes; an id that names no controller of the
// system has none (-1) and may be compared, removed and asked for, but not added.

#pragma once

#include "block/context.hpp"

// ---------------------------------------------------------------- topology

inline i32 node_of(const Context& x, MachineID machine) {
    const TopologyState& t = x.s->topology;
    if (UNLIKELY(static_cast<u32>(machine.type) >= MACHINE_TYPES)) return -1;
    if (UNLIKELY(machine.num >= t.count[machine.type])) return -1;
    return static_cast<i32>(t.first[machine.type] + machine.num);
}

inline MachineID machine_of_node(const Context& x, u32 node) {
    return x.s->topology.machine_of.at(x, node);
}

inline u32 topology_count(const Context& x, i32 type) {
    return static_cast<u32>(type) < MACHINE_TYPES ? x.s->topology.count[type] : 0;
}

inline MachineID topology_map_address(const Context& x, i32 type, u64 address) {
    if (UNLIKELY(static_cast<u32>(type) >= MACHINE_TYPES)) return {type, 0};
    const TopologyState& t = x.s->topology;
    const u32 count = t.count[type];
    if (!t.interleaved[type] || !count) return {type, 0};
    const u64 number = address >> t.interleave_bit[type];
    const bool power = (count & (count - 1)) == 0;
    return {type, static_cast<u32>(power ? number & (count - 1) : number % count)};
}

// Whether each controller of the type owns only some addresses.
inline bool topology_interleaved(const Context& x, i32 type) {
    return x.s->topology.interleaved[type] != 0;
}

// Whether the address lies in the ranges of that controller.
inline bool topology_owns(const Context& x, MachineID machine, u64 address) {
    if (UNLIKELY(static_cast<u32>(machine.type) >= MACHINE_TYPES)) return true;
    const TopologyState& t = x.s->topology;
    if (!t.interleaved[machine.type]) return true;
    return topology_map_address(x, machine.type, address) == machine;
}

inline MachineID topology_machine_id(const Context&, i32 type, u32 num) { return {type, num}; }

inline bool MachineID_equal(const Context&, MachineID one, MachineID other) { return one == other; }

// ---------------------------------------------------------------- sets of controllers

// Apply `f(word, bits of [first, first + count) in it)`.
template <class F>
inline void node_range(u32 first, u32 count, F f) {
    for (u32 word = 0; word < NODE_WORDS; word++) {
        const u32 low = word * 64;
        const u32 from = first > low ? first - low : 0;
        const u32 to = first + count > low ? first + count - low : 0;
        if (from >= 64 || to <= from) continue;
        const u64 below_to = to >= 64 ? ~u64{0} : (u64{1} << to) - 1;
        f(word, below_to & ~((u64{1} << from) - 1));
    }
}

inline void NetDest_add_node(NetDest& set, u32 node) {
    set.w[NODE_WORDS == 1 ? 0 : node >> 6] |= u64{1} << (node & 63);
}

inline void NetDest_add(Context& x, NetDest& set, MachineID machine) {
    const i32 node = node_of(x, machine);
    if (UNLIKELY(node < 0)) {
        fail(x, ErrorKind::INDEX_RANGE);
        return;
    }
    NetDest_add_node(set, static_cast<u32>(node));
}

inline void NetDest_remove(Context& x, NetDest& set, MachineID machine) {
    const i32 node = node_of(x, machine);
    if (node >= 0) set.w[NODE_WORDS == 1 ? 0 : node >> 6] &= ~(u64{1} << (node & 63));
}

inline void NetDest_clear(Context&, NetDest& set) { set = {}; }

inline void NetDest_assign(Context&, NetDest& set, const NetDest& other) { set = other; }

inline i32 NetDest_count(Context&, const NetDest& set) {
    i32 count = 0;
    for (u64 word : set.w) count += count_bits(word);
    return count;
}

inline bool NetDest_isElement(Context& x, const NetDest& set, MachineID machine) {
    const i32 node = node_of(x, machine);
    return node >= 0 && (set.w[NODE_WORDS == 1 ? 0 : node >> 6] >> (node & 63) & 1);
}

inline bool NetDest_isEmpty(Context&, const NetDest& set) {
    u64 any = 0;
    for (u64 word : set.w) any |= word;
    return !any;
}

inline bool NetDest_isSuperset(Context&, const NetDest& set, const NetDest& other) {
    u64 missing = 0;
    for (u32 i = 0; i < NODE_WORDS; i++) missing |= other.w[i] & ~set.w[i];
    return !missing;
}

inline bool NetDest_intersectionIsEmpty(Context&, const NetDest& set, const NetDest& other) {
    u64 common = 0;
    for (u32 i = 0; i < NODE_WORDS; i++) common |= other.w[i] & set.w[i];
    return !common;
}

inline void NetDest_addNetDest(Context&, NetDest& set, const NetDest& other) {
    for (u32 i = 0; i < NODE_WORDS; i++) set.w[i] |= other.w[i];
}

inline void NetDest_removeNetDest(Context&, NetDest& set, const NetDest& other) {
    for (u32 i = 0; i < NODE_WORDS; i++) set.w[i] &= ~other.w[i];
}

inline NetDest NetDest_OR(Context& x, NetDest set, const NetDest& other) {
    NetDest_addNetDest(x, set, other);
    return set;
}

inline NetDest NetDest_AND(Context&, NetDest set, const NetDest& other) {
    for (u32 i = 0; i < NODE_WORDS; i++) set.w[i] &= other.w[i];
    return set;
}

// Where the first controller of a type stands, or would stand.
inline u32 topology_first(const Context& x, i32 type) {
    if (static_cast<u32>(type) >= MACHINE_TYPES) return x.s->topology.nodes;
    return x.s->topology.first[type];
}

inline void NetDest_broadcast(Context& x, NetDest& set, i32 type) {
    node_range(topology_first(x, type), topology_count(x, type),
               [&](u32 word, u64 bits) { set.w[word] |= bits; });
}

inline NetDest topology_mask(Context& x, i32 type) {
    NetDest set = {};
    NetDest_broadcast(x, set, type);
    return set;
}

inline void NetDest_broadcast_all(Context& x, NetDest& set) {
    node_range(0, x.s->topology.nodes, [&](u32 word, u64 bits) { set.w[word] |= bits; });
}

inline i32 NetDest_lowest(const NetDest& set) {
    for (u32 i = 0; i < NODE_WORDS; i++) {
        if (set.w[i]) return static_cast<i32>(i * 64) + __builtin_ctzll(set.w[i]);
    }
    return -1;
}

inline MachineID NetDest_smallestElement(Context& x, const NetDest& set) {
    const i32 node = NetDest_lowest(set);
    if (UNLIKELY(node < 0)) {
        fail(x, ErrorKind::ASSERTION);
        return machine_of_node(x, 0);
    }
    return machine_of_node(x, static_cast<u32>(node));
}

inline MachineID NetDest_smallestElement_of(Context& x, const NetDest& set, i32 type) {
    NetDest members = {};
    node_range(topology_first(x, type), topology_count(x, type),
               [&](u32 word, u64 bits) { members.w[word] = set.w[word] & bits; });
    return NetDest_smallestElement(x, members);
}

inline void NetDest_setNetDest(Context& x, NetDest& set, i32 type, const Set& members) {
    const u32 first = topology_first(x, type);
    const u32 count = topology_count(x, type);
    node_range(first, count, [&](u32 word, u64 bits) { set.w[word] &= ~bits; });
    for (u32 number = 0; number < MAX_MEMBERS; number++) {
        if (!(members.w[number >> 6] >> (number & 63) & 1)) continue;
        if (number >= count) {
            fail(x, ErrorKind::INDEX_RANGE);
            return;
        }
        NetDest_add_node(set, first + number);
    }
}

inline bool operator==(const NetDest& one, const NetDest& other) {
    return __builtin_memcmp(one.w, other.w, sizeof one.w) == 0;
}

inline bool NetDest_equal(const Context&, const NetDest& one, const NetDest& other) {
    return one == other;
}

// ---------------------------------------------------------------- sets of numbers

inline bool Set_has_room(Context& x, const Set& set, i64 number) {
    if (LIKELY(number >= 0 && number < (set.size ? set.size : i64{MAX_MEMBERS}))) return true;
    fail(x, ErrorKind::INDEX_RANGE);
    return false;
}

inline void Set_setSize(Context& x, Set& set, i64 size) {
    if (UNLIKELY(size < 0 || size > i64{MAX_MEMBERS})) {
        fail(x, ErrorKind::INDEX_RANGE);
        return;
    }
    set = {};
    set.size = static_cast<i32>(size);
}

inline void Set_assign(Context&, Set& set, const Set& other) { set = other; }

inline void Set_add(Context& x, Set& set, i64 number) {
    if (Set_has_room(x, set, number)) set.w[number >> 6] |= u64{1} << (number & 63);
}

inline void Set_remove(Context& x, Set& set, i64 number) {
    if (Set_has_room(x, set, number)) set.w[number >> 6] &= ~(u64{1} << (number & 63));
}

inline void Set_addSet(Context&, Set& set, const Set& other) {
    for (u32 i = 0; i < MAX_MEMBERS / 64; i++) set.w[i] |= other.w[i];
}

inline void Set_removeSet(Context&, Set& set, const Set& other) {
    for (u32 i = 0; i < MAX_MEMBERS / 64; i++) set.w[i] &= ~other.w[i];
}

inline void Set_clear(Context&, Set& set) {
    for (u64& word : set.w) word = 0;
}

inline void Set_broadcast(Context& x, Set& set) {
    Set_clear(x, set);
    for (i32 number = 0; number < set.size; number++) Set_add(x, set, number);
}

inline i32 Set_count(Context&, const Set& set) {
    i32 count = 0;
    for (u64 word : set.w) count += count_bits(word);
    return count;
}

inline bool Set_isElement(Context&, const Set& set, i64 number) {
    return number >= 0 && number < i64{MAX_MEMBERS} && (set.w[number >> 6] >> (number & 63) & 1);
}

inline bool Set_isEmpty(Context&, const Set& set) {
    u64 any = 0;
    for (u64 word : set.w) any |= word;
    return !any;
}

inline bool operator==(const Set& one, const Set& other) {
    return __builtin_memcmp(one.w, other.w, sizeof one.w) == 0;
}

inline bool Set_equal(const Context&, const Set& one, const Set& other) { return one == other; }

inline bool Set_isEqual(Context&, const Set& set, const Set& other) { return set == other; }

inline bool Set_isSuperset(Context&, const Set& set, const Set& other) {
    u64 missing = 0;
    for (u32 i = 0; i < MAX_MEMBERS / 64; i++) missing |= other.w[i] & ~set.w[i];
    return !missing;
}

inline bool Set_intersectionIsEmpty(Context&, const Set& set, const Set& other) {
    u64 common = 0;
    for (u32 i = 0; i < MAX_MEMBERS / 64; i++) common |= other.w[i] & set.w[i];
    return !common;
}

inline u32 Set_smallestElement(Context& x, const Set& set) {
    for (u32 i = 0; i < MAX_MEMBERS / 64; i++) {
        if (set.w[i]) return i * 64 + static_cast<u32>(__builtin_ctzll(set.w[i]));
    }
    fail(x, ErrorKind::ASSERTION);
    return 0;
}
