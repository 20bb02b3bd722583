// Which line of a set is evicted.
//
// Invariant: a policy is a function of the order of touches in its set and of nothing else; ties
// go to the lowest way. Trees are those of runtime/structures/replacement_policy.py: bit n of a tree is node n,
// the root is node 1, a set bit means that the victim is on the right.

#pragma once

#include "block/context.hpp"

struct TreePath {
    u64 nodes;  // on the way from the root to a way
    u64 away;   // those that a touch sets
};

inline void replacement_start(Context& x, const CacheMemory& c) {
    if (c.tree_words != 1) return;
    TreePath* paths = in_block<TreePath>(x, c.paths);
    for (u32 way = 0; way < c.ways; way++) {
        for (u32 node = c.ways + way; node > 1; node >>= 1) {
            paths[way].nodes |= u64{1} << (node >> 1);
            if (!(node & 1)) paths[way].away |= u64{1} << (node >> 1);
        }
    }
}

// Point every node on the way's path towards it or away from it; for trees of several words.
inline COLD void tree_point(Context& x, const CacheMemory& c, u64 set, u32 way, bool away) {
    u64* tree = in_block<u64>(x, c.touched) + set * c.tree_words;
    for (u32 node = c.ways + way; node > 1; node >>= 1) {
        const u32 parent = node >> 1;
        const u64 bit = u64{1} << (parent & 63);
        const bool right = (node & 1) != away;
        u64& word = tree[parent >> 6];
        word = right ? word | bit : word & ~bit;
    }
}

// The way was used (also: filled).
inline void replacement_touch(Context& x, CacheMemory& c, u64 set, u32 way) {
    INVARIANT(set < c.sets && way < c.ways);
    u64* touched = in_block<u64>(x, c.touched);
    if (c.tree_words == 0) {
        touched[set * c.ways + way] = ++c.clock;
    } else if (LIKELY(c.tree_words == 1)) {
        const TreePath& path = in_block<TreePath>(x, c.paths)[way];
        touched[set] = (touched[set] & ~path.nodes) | path.away;
    } else {
        tree_point(x, c, set, way, true);
    }
}

// The way was emptied: it is to be chosen next.
inline void replacement_invalidate(Context& x, CacheMemory& c, u64 set, u32 way) {
    u64* touched = in_block<u64>(x, c.touched);
    if (c.tree_words == 0) {
        touched[set * c.ways + way] = 0;
    } else if (LIKELY(c.tree_words == 1)) {
        const TreePath& path = in_block<TreePath>(x, c.paths)[way];
        touched[set] = (touched[set] & ~path.nodes) | (path.nodes & ~path.away);
    } else {
        tree_point(x, c, set, way, false);
    }
}

// The way to evict from in a full set. Asking changes nothing.
inline u32 replacement_victim(const Context& x, const CacheMemory& c, u64 set) {
    const u64* touched = in_block<u64>(x, c.touched);
    if (c.tree_words == 0) {
        const u64* last = touched + set * c.ways;
        u32 victim = 0;
        for (u32 way = 1; way < c.ways; way++) {
            if (last[way] < last[victim]) victim = way;
        }
        return victim;
    }
    const u64* tree = touched + set * c.tree_words;
    u32 node = 1;
    while (node < c.ways) node = 2 * node + (tree[node >> 6] >> (node & 63) & 1);
    INVARIANT(node - c.ways < c.ways);
    return node - c.ways;
}
