// Where things stand in the block that holds a whole system.
//
// Invariant: the block has no pointers. What is counted from the start of the block survives a
// copy of the block, so a snapshot is a memcpy. Two kinds of names: an index into an Array, and
// a handle, which is the distance from the start in units of 8 bytes (0: nothing).

#pragma once

#include "block/base.hpp"

template <class T>
struct Array {
    u64 offset;
    u64 count;

    T* in(const Context& x) const;
    T& at(const Context& x, u64 index) const {
        INVARIANT(index < count);
        return in(x)[index];
    }
};

// Slots of one size. Freed ones are taken again first, last freed first, so that they are still
// in the processor's cache. `used`: slots ever taken. There are POOL_SPARE slots more than
// `capacity`, for those who take some before they see that the run is about to end.
inline constexpr u32 POOL_SPARE = 64;

struct Pool {
    u64 offset;
    u32 stride;  // bytes
    u32 capacity;
    u32 used;
    u32 free;  // handle
    u32 live;
    u32 name;  // PoolName
};

// Where a block may begin: so that what stands at a multiple of less in it does so in memory.
inline constexpr u64 BLOCK_ALIGNMENT = 256;

// Adds sizes up. Size and places come from the same code, so they cannot disagree.
struct Layout {
    u64 size;

    template <class T>
    void reserve(Array<T>& array, u64 count) {
        constexpr u64 UNIT = alignof(T) > 64 ? alignof(T) : 64;
        static_assert(UNIT <= BLOCK_ALIGNMENT);
        size = (size + UNIT - 1) & ~(UNIT - 1);
        array.offset = size;
        array.count = count;
        size += count * sizeof(T);
    }

    void reserve(Pool& pool, u32 name, u64 stride, u64 capacity) {
        size = (size + 63) & ~u64{63};
        pool.offset = size;
        // What is longer than a line of the processor's cache begins with one.
        const u64 unit = stride > 48 ? 64 : 8;
        pool.stride = static_cast<u32>((stride + unit - 1) & ~(unit - 1));
        pool.capacity = static_cast<u32>(capacity);
        pool.name = name;
        size += (capacity + POOL_SPARE) * pool.stride;
    }
};

// How much room the host asks for, and how many of everything there are.
struct Capacities {
    u64 messages, lines, increments, logs, atomics, flights, line_requests, events, words, far,
        triggers;
    u32 controllers, requesters, consumers, agents, buffers, ports, caches, nodes;
};
