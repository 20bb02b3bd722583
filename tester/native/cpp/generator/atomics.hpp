// What an atomic action leaves in memory, as compiled code.
//
// Invariant: equal to tester/program/atomics.py.
#pragma once

#include "shared_numbers.hpp"

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
