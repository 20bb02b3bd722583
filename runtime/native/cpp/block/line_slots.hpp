// Which place of a line belongs to whom.
//
// What a controller looks up while it works on a line (its entry, its record, the delays of what it
// sends) stands together, so that it shares a line of the processor's cache. Invariant: every
// cache, table, directory, timer and delayed channel, buffer or port has one place, and no two
// have the same.

#pragma once

#include "sim/message_buffer.hpp"
#include "structures/cache_memory.hpp"
#include "system/plan.hpp"
#include "structures/tbe_table.hpp"
#include "types/net_dest.hpp"

// How many channels, buffers and ports towards a bus have random delays.
inline u64 delayed_channels(const PlanView& plan) {
    u64 delayed = 0;
    for (u32 b = 0; b < plan.capacities.buffers; b++) {
        delayed += plan.buffers[b * PLAN_BUFFER_WORDS + PLAN_BUFFER_DELAY] != 0;
    }
    const u64* port = plan.ports;
    for (u32 p = 0; p < plan.capacities.ports; p++) {
        const u64 channels = port[PLAN_PORT_CHANNELS];
        delayed += port[PLAN_PORT_DELAY] != 0;
        port += PLAN_PORT_WORDS;
        for (u64 i = 0; i < channels; i++, port += PLAN_CHANNEL_WORDS)
            delayed += port[PLAN_CHANNEL_DELAY] != 0;
    }
    return delayed;
}

// Bytes from one line's places to the next one's: an odd number of the processor's cache lines,
// so that one controller's places of all lines spread over its sets.
inline u32 places_stride(u64 places) {
    const u64 lines = (places * sizeof(u32) + 63) / 64;
    return static_cast<u32>(64 * (lines | 1));
}

inline constexpr u32 CACHE_PLACES = 16;  // of a line of the processor's cache

// The places of each node.
struct PlaceMap {
    u32 next[NODE_WORDS * 64 + 1];
};

inline u32 node_of_controller(const Context& x, const PlanWords& words) {
    const MachineID machine = {static_cast<i32>(words.word(PLAN_CONTROLLER_MACHINE_TYPE)),
                               words.handle(PLAN_CONTROLLER_MACHINE_VERSION)};
    return static_cast<u32>(node_of(x, machine));
}

// Set every place to what `f(node)` says.
template <class F>
inline void each_place(Context& x, const PlanView& plan, F f) {
    System& s = *x.s;
    u64 table = 0;
    u64 directory = 0;
    u64 timer = 0;
    u64 perfect = 0;
    PlanWords words = plan.controller(0);
    for (u32 id = 0; id < s.controllers;
         id++, words = PlanView::after(words, PLAN_CONTROLLER_LISTS)) {
        const u32 node = node_of_controller(x, words);
        const MachineShape& shape = MACHINE_SHAPES[words.word(PLAN_CONTROLLER_MACHINE)];
        for (u32 i = 0; i < shape.tables; i++) s.tables.at(x, table++).records = f(node);
        for (u32 i = 0; i < shape.directories; i++)
            s.directories.at(x, directory++).records = f(node);
        for (u32 i = 0; i < shape.timers; i++) s.library.timers.at(x, timer++).places = f(node);
        for (u32 i = 0; i < shape.perfect_tables; i++)
            s.library.perfect.at(x, perfect++).records = f(node);
    }
    for (u32 i = 0; i < s.caches; i++) {
        CacheMemory& c = cache_memory(x, i);
        c.visible = f(node_of_controller(x, plan.controller(c.controller)));
    }
    for (u32 i = 0; i < s.buffers; i++) {
        MessageBuffer& b = message_buffer(x, i);
        if (plan.buffers[i * PLAN_BUFFER_WORDS + PLAN_BUFFER_DELAY]) {
            const bool owned = b.consumer < s.controllers;
            b.delays =
                f(owned ? node_of_controller(x, plan.controller(b.consumer)) : s.topology.nodes);
        }
    }
    for (u32 i = 0; i < s.requesters; i++) {
        const PlanWords served =
            plan.controller(static_cast<u32>(plan.requester(i).word(PLAN_REQUESTER_CONTROLLER)));
        s.line_queues.at(x, i) = f(node_of_controller(x, served));
        for (u32 more = 1; more < QUEUE_PLACES; more++) f(node_of_controller(x, served));
    }
    const u64* port = plan.ports;
    u32 index = 0;
    for (u32 i = 0; i < s.ports; i++) {
        const u64 channels = port[PLAN_PORT_CHANNELS];
        const u32 owner = static_cast<u32>(port[PLAN_PORT_OWNER]);
        if (port[PLAN_PORT_DELAY]) x.ports[i].delays = f(owner);
        port += PLAN_PORT_WORDS;
        for (u64 j = 0; j < channels; j++, index++, port += PLAN_CHANNEL_WORDS) {
            if (port[PLAN_CHANNEL_DELAY]) x.channels[index].delays = f(owner);
        }
    }
}

inline void places_start(Context& x, const PlanView& plan) {
    System& s = *x.s;
    PlaceMap map = {};
    each_place(x, plan, [&](u32 node) { return map.next[node]++; });
    u32 first = 0;
    for (u32 node = 0; node <= s.topology.nodes; node++) {
        const u32 count = map.next[node];
        // What fits into a line of the processor's cache stands in one.
        if (first % CACHE_PLACES + count > CACHE_PLACES) first = (first | (CACHE_PLACES - 1)) + 1;
        map.next[node] = first;
        first += count;
    }
    s.place_stride = places_stride(first);
    x.place_stride = s.place_stride;
    // `expect_entry` reads the place behind: one that stands alone at the end is that one.
    const u32 last = static_cast<u32>(s.place_stride / sizeof(u32) - 2);
    const auto near = [&](u32 node) { return map.next[node] < last ? map.next[node] : last; };
    for (u32 i = 0; i < s.buffers; i++) {
        MessageBuffer& b = message_buffer(x, i);
        if (b.consumer < s.controllers)
            b.near = near(node_of_controller(x, plan.controller(b.consumer)));
    }
    for (u32 i = 0; i < s.ports; i++) x.ports[i].near = near(x.ports[i].owner);
    for (u64 i = 0; i < s.channels.count; i++)
        x.channels[i].near = message_buffer(x, x.channels[i].buffer).near;
    each_place(x, plan, [&](u32 node) { return map.next[node]++; });
}
