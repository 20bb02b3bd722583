// Several searches on the level of another one, their leader.
//
// Each helper has a system of its own, takes states of the level, and keeps what it finds until the
// level is complete. Invariant: what they find together is, state by state and number by number, what one
// finds that is alone, and so is what is asleep in each state.

#pragma once

#include "exploration/search.hpp"

// What is left of what a helper found.
struct FoundQueue {
    Search* helper;
    u64 next;  // number
    u64 at;    // in its level

    bool empty() const { return next == helper->arrivals.count; }
    const Arrival& first() const { return helper->arrivals.items[next]; }
};

// The first of a queue becomes the leader's, unless another step found the state before. False: no memory.
inline bool take_first(Search& s, FoundQueue& queue) {
    const Search& helper = *queue.helper;
    const u8* const entry = helper.next_level.items + queue.at;
    Head head;
    __builtin_memcpy(&head, entry, sizeof head);
    const Arrival& arrival = queue.first();
    const u64 number = queue.next++;
    queue.at += head.bytes();
    if (!s.visited->is_first(arrival.print, arrival.order)) return true;
    s.edges.state(arrival.print.low);
    s.waiting++;
    s.code_bytes += head.bytes();
    return s.parents.add(helper.parents.items[number]) && s.ways.add(helper.ways.items[number]) &&
           s.next_level.append(entry, head.bytes()) && s.next_level.reserve(BITS_ROOM);
}

// What helpers found becomes the leader's, in the order of steps. False: no memory.
inline bool merge_found(Search& s, void* const* helpers, u64 count) {
    Sequence<FoundQueue> queues;
    bool fits = true;
    for (u64 i = 0; i < count; i++) fits &= queues.add({static_cast<Search*>(helpers[i]), 0, 0});
    while (fits) {
        FoundQueue* first = nullptr;
        for (u64 i = 0; i < count; i++) {
            FoundQueue& queue = queues.items[i];
            if (queue.empty()) continue;
            if (!first || queue.first().order < first->first().order) first = &queue;
        }
        if (!first) break;
        fits = take_first(s, *first);
    }
    for (u64 i = 0; i < count; i++) {
        Search& helper = *static_cast<Search*>(helpers[i]);
        helper.parents.count = helper.ways.count = helper.next_level.count = 0;
        helper.arrivals.count = 0;
        helper.waiting = helper.code_bytes = 0;
    }
    queues.close();
    s.visited->begin_level();
    return fits;
}

// What a helper did becomes the leader's.
inline void merge_counts(Search& s, Search& helper) {
    for (u64 i = 0; i < s.hit_count; i++) {
        const FirstHit hit = helper.hits[i];
        if (hit.state && (!s.hits[i].state || hit.state < s.hits[i].state)) s.hits[i] = hit;
    }
    s.edges.append(helper.edges);
    s.steps += helper.steps;
    s.made += helper.made;
    s.withheld += helper.withheld;
    s.expanded += helper.expanded;
    if (helper.most_under_way > s.most_under_way) s.most_under_way = helper.most_under_way;
    helper.steps = helper.made = helper.withheld = helper.expanded = 0;
}
