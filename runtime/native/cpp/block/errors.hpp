// What went wrong: a verdict about the protocol, or a pool of the host's that was too small.
//
// Invariant: only the first of each is kept, and nothing unwinds. Whoever calls fail() goes on
// with something harmless; the engine's loop sees `trouble` after the running wake-up.

#pragma once

#include "block/base.hpp"

// The order of runtime.errors.ErrorKind; a record of kind 0 is no error.
enum class ErrorKind : u32 {
    NONE,
    UNDEFINED_TRANSITION,
    PANIC,
    ASSERTION,
    NULL_DEREFERENCE,
    INDEX_RANGE,
    ENUM_RANGE,
    DIVISION_BY_ZERO,
    BAD_SHIFT,
    SLOT_OVERFLOW,
    EMPTY_BUFFER,
    WRONG_MESSAGE,
    NEGATIVE_LATENCY,
    TOO_MANY_TRANSITIONS,
    MESSAGE_WITHOUT_DESTINATION,
    UNDELIVERABLE,
    MISALIGNED,
    ALREADY_ALLOCATED,
    NOT_ALLOCATED,
    TABLE_FULL,
    BANK_CONFLICT,
    BAD_MEMORY_REQUEST,
    BAD_CALLBACK,
};

// The order of the capacities in the plan; 0 is none.
enum PoolName : u32 {
    POOL_NONE,
    POOL_MESSAGES,
    POOL_LINES,
    POOL_INCREMENTS,
    POOL_LOGS,
    POOL_ATOMICS,
    POOL_FLIGHTS,
    POOL_ROWS,
    POOL_EVENTS,
    POOL_WORDS,
    POOL_FAR,
    POOL_TRIGGERS,
    POOL_TABLES,  // entries and records: their numbers follow from the system, this is a bug of ours
};

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
