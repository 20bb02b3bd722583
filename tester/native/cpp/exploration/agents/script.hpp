// Fixed programs in the place of free choice, for scenarios: what each agent does, and what it saw.
//
// A step waits until all that its agent has under way has ended, or, where it overlaps, for nothing;
// and until other agents have completed as many steps as it says. Before all programs, agents may load
// anything and store the zeroes that are there, one at a time: so programs begin with lines in any
// state that caches have them in at rest. Invariant: locations hold the values themselves, so accesses of
// all sizes may overlap, and two states are equal only if every register and every byte is.
//
// Bytes are stored with a bit turned over: what a protocol never filled is then no zero, which is the
// value of all memory at first. Atomic operations act on bytes as they are, so beside them none is turned.

#pragma once

#include "exploration/shared_numbers.hpp"
#include "untimed/steps.hpp"

inline constexpr u8 NO_REGISTER = 0xff;
inline constexpr u64 TURNED_BITS = 0x8080808080808080;

struct ScriptStep {
    u64 address;
    u64 value;    // that is stored, or operand
    u64 compare;  // with which an atomic operation compares
    u8 op;        // 0: load, 1: store, 2: atomic operation, as the first three operations
    u8 where;     // location of its first byte
    u8 size;      // bytes, up to 8
    u8 reg;
    bool overlaps;  // with what its agent has under way
    u8 way;         // AtomicKind
    u8 needs[THREAD_AGENTS];
};

inline constexpr u8 SCRIPT_ATOMIC = 2;  // among the operations

struct Script {
    bool used;
    bool prepares;  // whether lines may be in caches beforehand
    u8 registers;
    u8 length[THREAD_AGENTS];
    ScriptStep steps[THREAD_AGENTS][THREAD_STEPS];
};

struct ScriptState {
    u8 at[THREAD_AGENTS];  // steps that were begun
    u64 registers[THREAD_REGISTERS];
};
