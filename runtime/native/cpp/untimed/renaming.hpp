// Which controllers, lines and agents take each other's places when a state is written.
//
// Invariant: a renaming is a permutation of every kind of thing, and what belongs to a controller
// (nodes, buffers, ports, channels, caches, tables, requesters) goes where it goes.

#pragma once

#include "system/system.hpp"

inline constexpr u32 MAX_NAMED = 64;  // controllers, buffers, requesters, ...
inline constexpr u32 MAX_LINES = 8;
inline constexpr u32 MAX_AGENTS = 16;

// `to[old]` is the new number of a thing, `from[new]` the old one.
template <u32 ROOM>
struct Permutation {
    u8 to[ROOM];
    u8 from[ROOM];

    void set(u32 old, u32 now) {
        to[old] = static_cast<u8>(now);
        from[now] = static_cast<u8>(old);
    }
    void identity() {
        for (u32 i = 0; i < ROOM; i++) set(i, i);
    }
};

struct Renaming {
    bool same;  // the identity
    bool same_lines;
    Permutation<MAX_NAMED> controllers, nodes, buffers, requesters;
    Permutation<WHEEL> slots;
    Permutation<MAX_LINES> lines;
    Permutation<MAX_AGENTS> agents;
};

// Renumber things that belong to controllers: the k-th of a controller becomes the k-th of the
// other one. `owner(i)` of thing i is a controller, or NIL.
template <u32 ROOM, class Owner>
inline void rename_owned(const Renaming& r, u32 count, Permutation<ROOM>& things, Owner owner) {
    things.identity();
    for (u32 i = 0; i < count; i++) {
        const u32 mine = owner(i);
        if (mine == NIL) continue;
        u32 rank = 0;
        for (u32 j = 0; j < i; j++) rank += owner(j) == mine;
        const u32 theirs = r.controllers.to[mine];
        for (u32 j = 0; j < count; j++) {
            if (owner(j) != theirs || rank--) continue;
            things.set(i, j);
            break;
        }
    }
}

inline u32 controller_of_node(const Context& x, u32 node) {
    const MachineID machine = machine_of_node(x, node);
    for (u32 id = 0; id < x.s->controllers; id++) {
        if (controller(x, id).machineID == machine) return id;
    }
    return NIL;
}

// The controller that has the table, or directory, number `which`: they are numbered in the order
// of controllers.
inline u32 owner_in_order(const Context& x, u32 which, u32 MachineShape::* count) {
    u32 first = 0;
    for (u32 id = 0; id < x.s->controllers; id++) {
        first += MACHINE_SHAPES[controller(x, id).machine].*count;
        if (which < first) return id;
    }
    return NIL;
}

inline u32 owner_of_buffer(const Context& x, u32 buffer) {
    const u32 consumer = x.buffers[buffer].consumer;
    return consumer < x.s->controllers ? consumer : NIL;
}

// What each controller has, in ascending order, and at the end what belongs to none.
struct Belongings {
    enum Kind : u32 { CACHES, TABLES, DIRECTORIES, PERFECT, TIMERS, BUFFERS, REQUESTERS, KINDS };
    u8 first[KINDS][MAX_NAMED + 2];  // by controller
    u8 things[KINDS][MAX_NAMED];

    template <class Owner>
    void add(Kind kind, u32 controllers, u32 count, Owner owner) {
        u8 at = 0;
        for (u32 id = 0; id <= controllers; id++) {
            first[kind][id] = at;
            for (u32 i = 0; i < count; i++) {
                if (owner(i) == (id < controllers ? id : NIL))
                    things[kind][at++] = static_cast<u8>(i);
            }
        }
        first[kind][controllers + 1] = at;
    }
};

inline Belongings belongings_of(const Context& x) {
    const System& s = *x.s;
    Belongings all = {};
    const auto add = [&](Belongings::Kind kind, u64 count, auto owner) {
        all.add(kind, s.controllers, static_cast<u32>(count), owner);
    };
    const auto in_order = [&](u32 MachineShape::* number) {
        return [&x, number](u32 i) { return owner_in_order(x, i, number); };
    };
    add(Belongings::CACHES, s.caches, [&](u32 i) { return x.caches[i].controller; });
    add(Belongings::TABLES, s.tables_used, in_order(&MachineShape::tables));
    add(Belongings::DIRECTORIES, s.directories_used, in_order(&MachineShape::directories));
    add(Belongings::PERFECT, s.library.perfect_used, in_order(&MachineShape::perfect_tables));
    add(Belongings::TIMERS, s.library.timers_used,
        [&](u32 i) { return timer_table(x, i).consumer; });
    add(Belongings::BUFFERS, s.buffers, [&](u32 i) { return owner_of_buffer(x, i); });
    add(Belongings::REQUESTERS, s.requesters, [&](u32 i) { return requester_at(x, i).controller; });
    return all;
}

// A channel is where the port of its sender and the node of its receiver say.
inline u32 renamed_channel(const Context& x, const Renaming& r, u32 index) {
    const Channel& channel = x.channels[index];
    const u32 ports = x.s->ports;
    const auto sender = [&](u32 port) {
        return port < ports ? controller_of_node(x, x.ports[port].owner) : NIL;
    };
    const u32 mine = sender(channel.port);
    u32 rank = 0;
    for (u32 p = 0; p < channel.port; p++) rank += sender(p) == mine;
    for (u32 p = 0; p < ports; p++) {
        if (sender(p) != r.controllers.to[mine] || rank--) continue;
        const u32 buffer = r.buffers.to[channel.buffer];
        for (u32 other = 0; other < x.s->channels.count; other++) {
            if (x.channels[other].port == p && x.channels[other].buffer == buffer) return other;
        }
    }
    return index;
}

// From what `controllers` and `lines` say to everything else. Agents are the client's.
inline void rename_everything(const Context& x, Renaming& r) {
    const System& s = *x.s;
    r.nodes.identity();
    for (u32 node = 0; node < s.topology.nodes; node++) {
        const u32 id = controller_of_node(x, node);
        if (id == NIL) continue;
        r.nodes.set(node,
                    static_cast<u32>(node_of(x, controller(x, r.controllers.to[id]).machineID)));
    }
    rename_owned(r, s.buffers, r.buffers, [&](u32 i) { return owner_of_buffer(x, i); });
    rename_owned(r, s.requesters, r.requesters,
                 [&](u32 i) { return requester_at(x, i).controller; });
    r.slots.identity();
    const u32 channels = static_cast<u32>(s.channels.count);
    for (u32 i = 0; i < channels; i++) r.slots.set(i, renamed_channel(x, r, i));
    for (u32 i = 0; i < s.buffers; i++)
        r.slots.set(slot_of_buffer(x, i), slot_of_buffer(x, r.buffers.to[i]));
    Permutation<MAX_NAMED> ports;
    rename_owned(r, s.ports, ports, [&](u32 i) { return controller_of_node(x, x.ports[i].owner); });
    for (u32 i = 0; i < s.ports; i++) r.slots.set(slot_of_port(x, i), slot_of_port(x, ports.to[i]));
    r.same_lines = true;
    for (u32 i = 0; i < MAX_LINES; i++) r.same_lines &= r.lines.to[i] == i;
    r.same = r.same_lines;
    for (u32 i = 0; i < MAX_NAMED; i++) r.same &= r.controllers.to[i] == i;
}
