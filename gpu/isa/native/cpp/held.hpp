// Loads and stores of one wave between their steps: what moves.hpp reads of registers, and what the
// issue engine of gpu/compute_unit/native needs to carry them out.
//
// Invariant: nothing here depends on the meanings of instructions.

#pragma once

#include <stddef.h>

#include "block/base.hpp"

inline constexpr u32 LANES = 64;
inline constexpr u32 MOST_PLACES = 2;
inline constexpr u32 MOST_BYTES = 16;
inline constexpr u32 MOST_SCALARS = 16;

enum class Address : u8 { LOCAL, WIDE, BASED };  // 32 bits that wrap, 64 bits, a base and 32 bits

struct Held;

// Of the addresses of lanes.
struct Extent {
    u64 low;
    u64 high;
    u64 lines;    // that their bytes are in
    u64 crosses;  // whether a lane's bytes are in two
};

// The twin of _WINDOW in gpu/compute_unit/memory_ops/native_moves.py.
struct Window {
    u64 exec;
    u64 start;  // added to every address
    u64 base;   // of the first byte that may be accessed
    u64 size;
    u8* bytes;
    u64 outside;  // out: the first address that is not within it
    Held* held;   // where a move is kept that is performed later
};

// The twin of _MOVE there.
struct Move {
    Window* window;
    u64 offset[MOST_PLACES];
    u8 bytes;  // of a lane, at each place
    u8 places;
    u8 stores;
    u8 extends;  // the sign of what is loaded
    Address address;
    u8 row;  // of the address
    u8 data[MOST_PLACES];
};
static_assert(sizeof(Move) == 32);

// The twin of HeldMove in gpu/compute_unit/native/held.py. Active lanes only, in their order.
struct Held {
    u64 returned;  // its registers are written
    const Move* move;
    u32* rows;
    u8* bytes;
    u64 count;
    Extent extent;  // of a move in memory
    u8 lanes[LANES];
    u64 at[MOST_PLACES][LANES];      // offsets in `bytes`, or addresses in memory
    i64 dwords[MOST_PLACES][LANES];  // of the offsets, counted from that of the first lane
    u8 data[MOST_PLACES][LANES * MOST_BYTES];
};
static_assert(offsetof(Held, returned) == 0 && offsetof(Held, extent) == 40);
static_assert(offsetof(Held, at) == 136 && offsetof(Held, dwords) == 1160);
static_assert(offsetof(Held, data) == 2184 && sizeof(Held) == 4232);

// The twin of HeldScalars there: a load of scalar registers, which Python writes.
struct HeldScalars {
    u64 returned;
    u64 address;
    u64 piece;  // bytes that its port takes at once
    u64 pieces;
    u8 data[4 * MOST_SCALARS];
};
static_assert(offsetof(HeldScalars, returned) == 0 && sizeof(HeldScalars) == 96);
