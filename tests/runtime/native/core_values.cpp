// Values of the native core, one operation at a call, for tests/runtime/native/test_core_values.py.

#include "system/prelude.hpp"

#include "sim/delay_policy.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

inline void deliver(Context&, Message&) {}
inline void consumer_wakeup(Context&, u32) {}
inline u64 message_line_address(const Message&) { return 0; }

// A system with nothing but nodes and pools, and a few values to operate on.
struct Bench {
    System system;
    MachineID machines[64];
    LogNode logs[512];
    AtomicNode atomics[512];
    WriteMask masks[4];
    DataBlock blocks[4];
    NetDest dests[4];
    Set sets[4];
};

static Context bench_context(Bench* b) {
    Context x;
    x.base = reinterpret_cast<u8*>(b);
    x.s = &b->system;
    return x;
}

EXPORT u64 v_size() { return sizeof(Bench); }

EXPORT void v_start(Bench* b) {
    System& s = b->system;
    s.bytes = sizeof(Bench);
    s.topology.count[MachineType::TCP] = 5;
    s.topology.count[MachineType::TCC] = 3;
    s.topology.nodes = 8;
    s.topology.machine_of = {offsetof(Bench, machines), 64};
    u32 first = 0;
    for (i32 type = 0; type < MachineType::NUM; type++) {
        s.topology.first[type] = first;
        for (u32 num = 0; num < s.topology.count[type]; num++)
            b->machines[first + num] = {type, num};
        first += s.topology.count[type];
    }
    // The slots behind those of a pool are its spare ones.
    s.logs = {offsetof(Bench, logs), sizeof(LogNode), 512 - POOL_SPARE, 0, 0, 0, POOL_LOGS};
    s.atomics = {
        offsetof(Bench, atomics), sizeof(AtomicNode), 512 - POOL_SPARE, 0, 0, 0, POOL_ATOMICS};
}

// The kind of the last mistake, which is forgotten.
EXPORT u64 v_error(Bench* b) {
    const u64 kind = b->system.error.kind;
    b->system.error = {};
    b->system.trouble = 0;
    return kind;
}

EXPORT void v_operations(Bench* b, u64 i, const u64* words, u64 count) {
    Context x = bench_context(b);
    u32 head = 0;
    u32 tail = 0;
    for (u64 n = 0; n < count; n++, words += 5) {
        atomics_append(x, head, tail, static_cast<u16>(words[0]), static_cast<u8>(words[1]),
                       static_cast<u8>(words[2]), words[3], words[4]);
    }
    b->masks[i].atomics = head;
}

EXPORT u64 v_mask(Bench* b, u64 op, u64 i, u64 j, i64 one, i64 two) {
    Context x = bench_context(b);
    WriteMask& m = b->masks[i];
    const WriteMask& other = b->masks[j];
    switch (op) {
        case 0: WriteMask_assign(x, m, other); break;
        case 1: WriteMask_clear(x, m); break;
        case 2: return WriteMask_test(x, m, one);
        case 3: WriteMask_setMask(x, m, one, two); break;
        case 4: WriteMask_setMask(x, m, one, two, false); break;
        case 5: return WriteMask_getMask(x, m, one, two);
        case 6: WriteMask_fillMask(x, m); break;
        case 7: return WriteMask_isFull(x, m);
        case 8: WriteMask_setInvertedMask(x, m, other); break;
        case 9: return WriteMask_isEmpty(x, m);
        case 10: return WriteMask_isOverlap(x, m, other);
        case 11: return WriteMask_containsMask(x, m, other);
        case 12: WriteMask_orMask(x, m, other); break;
        case 13: WriteMask_andMask(x, m, other); break;
        case 14: return static_cast<u64>(WriteMask_count(x, m, one));
        case 15: return static_cast<u64>(WriteMask_firstBitSet(x, m, two & 1, one));
        case 16: return m == other;
    }
    return 0;
}

EXPORT u64 v_block(Bench* b, u64 op, u64 i, u64 j, u64 mask, u64 one, u64 two, u64* out) {
    Context x = bench_context(b);
    DataBlock& d = b->blocks[i];
    const DataBlock& other = b->blocks[j];
    switch (op) {
        case 0: d = other; break;
        case 1: DataBlock_assign(x, d, other); break;
        case 2: DataBlock_clear(x, d); break;
        case 3: DataBlock_copyPartial(x, d, other, b->masks[mask]); break;
        case 4:
            DataBlock_copyPartial_range(x, d, other, static_cast<i64>(one), static_cast<i64>(two));
            break;
        case 5: DataBlock_atomicPartial(x, d, other, b->masks[mask]); break;
        case 6: DataBlock_atomicPartial(x, d, other, b->masks[mask], false); break;
        case 7: return static_cast<u64>(DataBlock_numAtomicLogEntries(x, d));
        case 8: DataBlock_popAtomicLogEntryFront(x, d, out); break;
        case 9: DataBlock_clearAtomicLogEntries(x, d); break;
        case 10: return DataBlock_read(x, d, static_cast<u32>(one), static_cast<u32>(two));
        case 11: DataBlock_write(x, d, static_cast<u32>(one), 8, two); break;
        case 12: return DataBlock_equal(x, d, other);
        case 13: __builtin_memcpy(out, d.data, sizeof d.data); break;
    }
    return 0;
}

EXPORT u64 v_dest(Bench* b, u64 op, u64 i, u64 j, i64 type, u64 num) {
    Context x = bench_context(b);
    NetDest& d = b->dests[i];
    const NetDest& other = b->dests[j];
    const MachineID machine = {static_cast<i32>(type), static_cast<u32>(num)};
    switch (op) {
        case 0: NetDest_add(x, d, machine); break;
        case 1: NetDest_remove(x, d, machine); break;
        case 2: NetDest_clear(x, d); break;
        case 3: return static_cast<u64>(NetDest_count(x, d));
        case 4: return NetDest_isElement(x, d, machine);
        case 5: return NetDest_isEmpty(x, d);
        case 6: return NetDest_isSuperset(x, d, other);
        case 7: return NetDest_intersectionIsEmpty(x, d, other);
        case 8: NetDest_addNetDest(x, d, other); break;
        case 9: NetDest_removeNetDest(x, d, other); break;
        case 10: d = NetDest_OR(x, d, other); break;
        case 11: d = NetDest_AND(x, d, other); break;
        case 12: NetDest_broadcast(x, d, machine.type); break;
        case 13: NetDest_broadcast_all(x, d); break;
        case 14: return static_cast<u64>(node_of(x, NetDest_smallestElement(x, d)));
        case 15:
            return static_cast<u64>(node_of(x, NetDest_smallestElement_of(x, d, machine.type)));
        case 16: NetDest_setNetDest(x, d, machine.type, b->sets[j]); break;
        case 17: return d.w[0];
    }
    return 0;
}

EXPORT u64 v_set(Bench* b, u64 op, u64 i, u64 j, i64 number) {
    Context x = bench_context(b);
    Set& s = b->sets[i];
    const Set& other = b->sets[j];
    switch (op) {
        case 0: Set_setSize(x, s, number); break;
        case 1: Set_add(x, s, number); break;
        case 2: Set_remove(x, s, number); break;
        case 3: Set_addSet(x, s, other); break;
        case 4: Set_removeSet(x, s, other); break;
        case 5: Set_broadcast(x, s); break;
        case 6: Set_clear(x, s); break;
        case 7: return static_cast<u64>(Set_count(x, s));
        case 8: return Set_isElement(x, s, number);
        case 9: return Set_isEmpty(x, s);
        case 10: return Set_isEqual(x, s, other);
        case 11: return Set_isSuperset(x, s, other);
        case 12: return Set_intersectionIsEmpty(x, s, other);
        case 13: return Set_smallestElement(x, s);
        case 14: return s.w[0];
    }
    return 0;
}

EXPORT u64 v_integer(Bench* b, u64 op, i64 one, i64 two) {
    Context x = bench_context(b);
    switch (op) {
        case 0: return static_cast<u64>(divide_i64(x, one, two));
        case 1: return static_cast<u64>(remainder_i64(x, one, two));
        case 2:
            return static_cast<u64>(
                i64{divide_i32(x, static_cast<i32>(one), static_cast<i32>(two))});
        case 3:
            return static_cast<u64>(
                i64{remainder_i32(x, static_cast<i32>(one), static_cast<i32>(two))});
        case 4: return divide_u64(x, static_cast<u64>(one), static_cast<u64>(two));
        case 5: return remainder_u64(x, static_cast<u64>(one), static_cast<u64>(two));
        case 6: return static_cast<u64>(i64{shift_left_i32(x, static_cast<i32>(one), two)});
        case 7: return static_cast<u64>(i64{shift_right_i32(x, static_cast<i32>(one), two)});
        case 8: return shift_left_u64(x, static_cast<u64>(one), two);
        case 9: return shift_right_u64(x, static_cast<u64>(one), two);
    }
    return 0;
}

EXPORT u64 v_atomic(u64 kind, u64 size, u64 operand, u64 compare, u64 old) {
    AtomicNode node = {};
    node.kind = static_cast<u8>(kind);
    node.size = static_cast<u8>(size);
    node.operand = operand;
    node.compare = compare;
    return atomic_apply(node, old);
}

EXPORT u64 v_hash(u64 one, u64 two, u64 three, u64 parts) {
    return parts == 1 ? hash64(one) : parts == 2 ? hash64(one, two) : hash64(one, two, three);
}

EXPORT u64 v_hash_name(const char* name) { return hash_name(name); }
EXPORT u64 v_initial_word(u64 key, u64 address) { return initial_word(key, address); }

EXPORT u64 v_delay(u64 policy, u64 run_key, u64 name, u64 index) {
    u64 key;
    u64 start;
    delays_start(run_key, name, key, start);
    return delay_draw(static_cast<u32>(policy), key, index);
}
