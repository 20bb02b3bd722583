// Values that protocols hold, copy and send: machine ids, sets, masks, blocks of data.
//
// Invariant: everything here is trivially copyable, and copying a value in C++ is `copy()` of
// the Python runtime. Logs of blocks and operations of masks stand in pools, are never changed
// once made, and are shared by copies.

#pragma once

#include "block/base.hpp"

struct MachineID {
    i32 type;
    u32 num;
};

inline bool operator==(MachineID a, MachineID b) { return a.type == b.type && a.num == b.num; }

inline constexpr MachineID INVALID_MACHINE = {20 /* MachineType::NUM */, 0};

// A set of controllers by node number.
struct NetDest {
    u64 w[NODE_WORDS];
};

inline constexpr u32 MAX_MEMBERS = 1024;  // numbers of a Set and flags of a BoolVec are below it

// A set of numbers below `size` (0: not sized yet).
struct Set {
    u64 w[MAX_MEMBERS / 64];
    i32 size;
};

// A growing list of flags; those behind the last one are false.
struct BoolVec {
    u64 w[MAX_MEMBERS / 64];
    i32 size;
};

// A set of bytes of a line, a bit for each, with atomic operations: `atomics` is the first
// node of a list in the order of execution (0: none).
struct WriteMask {
    u64 m[MASK_WORDS];
    u32 atomics;
};

// The bytes of a line. Its log are the newest `logged` nodes of the list that begins with
// `log`, newest first.
struct DataBlock {
    u64 data[LINE_WORDS];
    u32 log;
    u32 logged;
};

// A whole block as it was before an atomic operation.
struct LogNode {
    u64 data[LINE_WORDS];
    u32 next;  // the one before, 0: none
    u32 live;
};

// One atomic operation of a mask.
struct AtomicNode {
    u64 operand;
    u64 compare;
    u32 next;
    u8 kind;     // runtime.types.atomic_op.AtomicKind
    u8 size;     // 4 or 8
    u16 offset;  // in its line
    u32 live;
};
