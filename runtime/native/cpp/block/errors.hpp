// What went wrong: a verdict about the protocol, or a pool of the host's that was too small.
//
// Invariant: only the first of each is kept, and nothing unwinds. The caller of fail() continues
// with something harmless; the engine's loop sees `trouble` after the running wake-up.

#pragma once

#include "block/shared_numbers.hpp"

struct ErrorRecord {
    u32 kind;
    u32 site;        // place in the .sm text, 0: none
    u32 action;      // number of the running action or function, 0: none
    u32 controller;  // NIL: outside of a controller's wake-up
    u64 tick;
    u64 address;
    i32 state;  // -1: not known
    i32 event;  // -1: not in a transition
};

struct PoolRecord {
    u32 name;
    u32 capacity;
};

// Record a verdict. The place is what the context says.
inline COLD void fail(Context& x, ErrorKind kind, u32 site);
inline void fail(Context& x, ErrorKind kind);

// Record that a pool has no slot left: no verdict, the host tries again with more room.
inline COLD void pool_exhausted(Context& x, u32 name, u64 capacity);
inline void pool_exhausted(Context& x, u32 name);
