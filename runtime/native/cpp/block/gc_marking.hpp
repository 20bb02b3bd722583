// Finding the log and operation nodes that are still referenced, before the rest is freed.
//
// Invariant: a marked node's list is marked to its end, so marking stops at a marked node.

#pragma once

#include "block/context.hpp"
#include "block/pools.hpp"

// `live` of a node: 0 free, 1 taken, 2 marked.
struct Marker {
    u32 logs;
    u32 atomics;
};

inline void mark_value(Context& x, Marker& marker, const DataBlock& block) {
    if (!block.logged) return;
    for (u32 handle = block.log; handle;) {
        LogNode& node = of_handle<LogNode>(x, handle);
        if (node.live == 2) return;
        node.live = 2;
        marker.logs++;
        handle = node.next;
    }
}

inline void mark_value(Context& x, Marker& marker, const WriteMask& mask) {
    for (u32 handle = mask.atomics; handle;) {
        AtomicNode& node = of_handle<AtomicNode>(x, handle);
        if (node.live == 2) return;
        node.live = 2;
        marker.atomics++;
        handle = node.next;
    }
}
