// Taking slots from pools and giving them back.
//
// Invariant: the slot given back last is taken first. A pool that is full hands out its spare
// slots and the run ends at the next check, so no caller tests what it was given.

#pragma once

#include "block/context.hpp"

template <class T>
inline u32 handle_of(const Context& x, const T& thing) {
    return static_cast<u32>(offset_of(x, thing) >> 3);
}

inline COLD u32 pool_extend(Context& x, Pool& pool) {
    if (UNLIKELY(pool.used >= pool.capacity)) {
        pool_exhausted(x, pool.name, pool.capacity);
        if (pool.used >= pool.capacity + POOL_SPARE) pool.used--;
    }
    const u64 offset = pool.offset + u64{pool.used++} * pool.stride;
#ifndef SLICC_UNTIMED  // there, one system has the block, and takes these slots for every state
    __builtin_memset(x.base + offset, 0,
                     pool.stride);  // a block may have had another system before
#endif
    return static_cast<u32>(offset >> 3);
}

// A slot with whatever was in it; zeros at first.
template <class T>
inline T& pool_take(Context& x, Pool& pool) {
    pool.live++;
    const u32 handle = pool.free;
    if (LIKELY(handle)) {
        T& thing = of_handle<T>(x, handle);
        pool.free = thing.next;
        return thing;
    }
    return of_handle<T>(x, pool_extend(x, pool));
}

// The same from a pool whose slots are all used before one is used again: the next one is asked for.
template <class T>
inline T& pool_take_fresh(Context& x, Pool& pool) {
    T& thing = pool_take<T>(x, pool);
    __builtin_prefetch(&of_handle<T>(x, pool.free).next, 1);
    return thing;
}

template <class T>
inline void pool_give(Context& x, Pool& pool, T& thing) {
    INVARIANT(pool.live > 0);
    INVARIANT(offset_of(x, thing) >= pool.offset);
    INVARIANT((offset_of(x, thing) - pool.offset) % pool.stride == 0);
    INVARIANT((offset_of(x, thing) - pool.offset) / pool.stride < pool.used);
    INVARIANT(pool.free != handle_of(x, thing));
    pool.live--;
    thing.next = pool.free;
    pool.free = handle_of(x, thing);
}

template <class T>
inline T& pool_slot(const Context& x, const Pool& pool, u32 index) {
    INVARIANT(index < pool.capacity + POOL_SPARE);
    return *reinterpret_cast<T*>(x.base + pool.offset + u64{index} * pool.stride);
}
