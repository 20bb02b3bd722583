// Fixed programs in the place of free choice, for scenarios: what each agent does, and what it saw.
//
// A step waits until all that its agent has under way has ended, or, where it overlaps, for nothing;
// and until other agents have completed as many steps as it says. Before all programs, agents may load
// anything and store the zeroes that are there, one at a time: so programs begin with lines in any
// state that caches have them in at rest. Invariant: values are numbers of the host's, written as they
// are, so two states are equal only if every register and every byte is. Where programs have atomic
// operations, numbers are in the order of values, without gaps, so that operations act on them.

#pragma once

#include "exploration/shared_numbers.hpp"
#include "untimed/steps.hpp"

inline constexpr u8 NO_REGISTER = 0xff;

struct ScriptStep {
    u8 op;  // 0: load, 1: store, 2: atomic operation, as the first three operations
    u8 where;
    u8 value;  // token that is stored; operand of an addition, or token that another operation takes
    u8 reg;
    bool overlaps;  // with what its agent has under way
    u8 way;         // AtomicKind
    u8 compare;     // token
    u8 needs[THREAD_AGENTS];
};

inline constexpr u8 SCRIPT_ATOMIC = 2;  // among the operations

struct Script {
    bool used;
    bool prepares;  // whether lines may be in caches beforehand
    u8 tokens;      // how many values there are; the first one is zero
    u8 registers;
    u8 length[THREAD_AGENTS];
    ScriptStep steps[THREAD_AGENTS][THREAD_STEPS];
};

struct ScriptState {
    u8 at[THREAD_AGENTS];  // steps that were begun
    u8 registers[THREAD_REGISTERS];
};
