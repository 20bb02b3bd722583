// Read-modify-write operations on words of 4 or 8 bytes.
//
// Invariant: operands, old and new values are unsigned and fit the size.

#pragma once

#include "block/context.hpp"
#include "block/pools.hpp"

// The new value of a word that holds `old`.
inline u64 atomic_apply(const AtomicNode& node, u64 old) {
    const u64 operand = node.operand;
    const u64 mask = node.size == 8 ? ~u64{0} : 0xFFFFFFFF;
    switch (node.kind) {
        case AtomicKind::ADD: return (old + operand) & mask;
        case AtomicKind::SUB: return (old - operand) & mask;
        case AtomicKind::AND: return old & operand;
        case AtomicKind::OR: return old | operand;
        case AtomicKind::XOR: return old ^ operand;
        case AtomicKind::EXCHANGE: return operand;
        case AtomicKind::CAS: return old == node.compare ? operand : old;
        case AtomicKind::INC: return old >= operand ? 0 : old + 1;
        case AtomicKind::DEC: return old == 0 || old > operand ? operand : old - 1;
        case AtomicKind::UMIN: return old < operand ? old : operand;
        case AtomicKind::UMAX: return old > operand ? old : operand;
    }
    // Adding the sign bit orders two's complement values like unsigned ones.
    const u64 sign = (mask >> 1) + 1;
    const bool below = ((old + sign) & mask) < ((operand + sign) & mask);
    return below == (node.kind == AtomicKind::MIN) ? old : operand;
}

// Make the next operation of a list that the caller is building; `head` then goes into a mask.
inline void atomics_append(Context& x, u32& head, u32& tail, u16 offset, u8 kind, u8 size,
                           u64 operand, u64 compare = 0) {
    AtomicNode& node = pool_take_fresh<AtomicNode>(x, x.s->atomics);
    node.operand = operand;
    node.compare = compare;
    node.next = 0;
    node.kind = kind;
    node.size = size;
    node.offset = offset;
    node.live = 1;
    const u32 handle = handle_of(x, node);
    if (tail) {
        of_handle<AtomicNode>(x, tail).next = handle;
    } else {
        head = handle;
    }
    tail = handle;
}
