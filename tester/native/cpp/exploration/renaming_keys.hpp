// Which renamings can give the least code of a state, from a number for each controller and line.
//
// Writing a state under every renaming costs as many codes as there are renamings. A number that says
// some of what a controller has of a line, and that does not depend on any name, moves with them when
// they take each other's places; so only renamings under which these numbers come in the least order
// need be written. Invariant: no number depends on which of several equal controllers or lines is
// which, nor on the order of what has none.

#pragma once

#include "exploration/agents/agents.hpp"

inline constexpr u8 NO_OWNER = 0xff;

struct KeyPlan {
    u8 sender[WHEEL];  // controllers of a slot of the wheel
    u8 receiver[WHEEL];
    u8 label[WHEEL];        // least of the slots whose place it may take
    u32 agents[MAX_NAMED];  // of a controller, a bit each
    u8 order[MAX_NAMED];    // controllers, those that may move in front
};

struct RenamingKeys {
    u32 of[MAX_NAMED][MAX_LINES];  // by controller and line

    void copy(const RenamingKeys& from, u32 controllers) {
        for (u32 id = 0; id < controllers; id++)
            __builtin_memcpy(of[id], from.of[id], sizeof of[0]);
    }
};

inline u8 owner_byte(const Context& x, u32 id) {
    return id < x.s->controllers ? static_cast<u8>(id) : NO_OWNER;
}

inline void plan_slots(const Context& x, KeyPlan& plan) {
    const u32 channels = static_cast<u32>(x.s->channels.count);
    for (u32 slot = 0; slot < slots_in_use(x); slot++) {
        u32 sender = NIL;
        u32 receiver = NIL;
        if (slot < channels) {
            const u32 port = x.channels[slot].port;
            if (port < x.s->ports) sender = controller_of_node(x, x.ports[port].owner);
            receiver = x.buffers[x.channels[slot].buffer].consumer;
        } else if (slot < channels + x.s->buffers) {
            receiver = x.buffers[slot - channels].consumer;
        } else {
            sender = controller_of_node(x, x.ports[slot - channels - x.s->buffers].owner);
        }
        plan.sender[slot] = owner_byte(x, sender);
        plan.receiver[slot] = owner_byte(x, receiver);
    }
}

inline void plan_keys(const Context& x, const Agents& a, const Renaming* all, u32 count,
                      KeyPlan& plan) {
    plan_slots(x, plan);
    u64 moved = 0;
    for (u32 slot = 0; slot < WHEEL; slot++) plan.label[slot] = static_cast<u8>(slot);
    for (u32 i = 0; i < count; i++) {
        for (u32 slot = 0; slot < WHEEL; slot++) {
            if (all[i].slots.to[slot] < plan.label[slot]) plan.label[slot] = all[i].slots.to[slot];
        }
        for (u32 id = 0; id < x.s->controllers; id++)
            moved |= u64{all[i].controllers.to[id] != id} << id;
    }
    for (u32& agents : plan.agents) agents = 0;
    for (u32 i = 0; i < a.count; i++)
        plan.agents[requester_at(x, a.agents[i].requester).controller] |= 1u << i;
    u32 at = 0;
    for (u32 id = 0; id < x.s->controllers; id++) {
        if (moved >> id & 1) plan.order[at++] = static_cast<u8>(id);
    }
    for (u32 id = 0; id < x.s->controllers; id++) {
        if (!(moved >> id & 1)) plan.order[at++] = static_cast<u8>(id);
    }
}

inline u32 key_part(u32 what, u32 value) {
    return (value + 1) * 0x9E3779B1u ^ (what + 1) * 0x85EBCA77u;
}

inline void add_key(RenamingKeys& keys, u8 owner, u32 line, u32 part) {
    if (owner != NO_OWNER) keys.of[owner][line] += part * (part >> 15 | 1);
}

inline void add_messages(const Context& x, const Coding& coding, u32 handle, u32 what, u8 sender,
                         u8 receiver, RenamingKeys& keys) {
    for (; handle;) {
        const Message& message = of_handle<Message>(x, handle);
        handle = message.next;
        const u64 line = (message_line_address(message) - coding.base) >> LINE_BITS;
        if (line >= coding.lines) continue;
        const u32 part = key_part(what, message.type);
        add_key(keys, sender, static_cast<u32>(line), part);
        add_key(keys, receiver, static_cast<u32>(line), part + 1);
    }
}

inline void add_agents(const Context& x, const Agents& a, const KeyPlan& plan, u32 id,
                       RenamingKeys& keys) {
    for (u32 left = plan.agents[id]; left; left &= left - 1) {
        const u32 agent = static_cast<u32>(__builtin_ctz(left));
        for (u32 slot = 0; slot <= a.locations(); slot++) {
            if (!a.access[agent][slot]) continue;
            const Access& access = access_at(x, a.access[agent][slot]);
            const u8 target = a.operations[access.op].target;
            if (target == TARGET_NOTHING) continue;
            const u32 line =
                target == TARGET_LOCATION ? access.where / a.coding.data : access.where;
            add_key(keys, static_cast<u8>(id), line,
                    key_part(WHEEL + 8 + (a.current[agent] == slot + 1), access.op));
        }
    }
}

inline void add_storage(const Context& x, const Coding& coding, u32 id, RenamingKeys& keys) {
    const auto add = [&](Belongings::Kind kind, u32 what, auto value) {
        each_of(coding, kind, id, [&](u32 i) {
            for (u32 line = 0; line < coding.lines; line++) {
                const i32 known = value(i, line);
                if (known >= 0)
                    add_key(keys, static_cast<u8>(id), line,
                            key_part(what, static_cast<u32>(known)));
            }
        });
    };
    const auto permission = [&](u32 handle) {
        return handle ? of_handle<AbstractCacheEntry>(x, handle).permission : -1;
    };
    add(Belongings::CACHES, WHEEL,
        [&](u32 i, u32 line) { return permission(line_place(x, x.caches[i].visible, line)); });
    add(Belongings::TABLES, WHEEL + 1,
        [&](u32 i, u32 line) { return line_place(x, x.tables[i].records, line) ? 0 : -1; });
    add(Belongings::DIRECTORIES, WHEEL + 2, [&](u32 i, u32 line) {
        return permission(line_place(x, directory_memory(x, i).records, line));
    });
}

// What a controller, its agents, caches, tables and directories have.
inline void keys_of_storage(const Context& x, const Agents& a, const KeyPlan& plan, u32 id,
                            RenamingKeys& keys) {
    const u32 awake = static_cast<u32>(x.wakes[0] >> id & 1);
    for (u32& key : keys.of[id]) key = awake;
    add_agents(x, a, plan, id, keys);
    add_storage(x, a.coding, id, keys);
}

// What is under way.
inline void keys_of_messages(const Context& x, const Agents& a, const KeyPlan& plan,
                             RenamingKeys& keys) {
    for (u32 id = 0; id < x.s->controllers; id++) {
        for (u32 line = 0; line < a.coding.lines; line++) keys.of[id][line] = 0;
    }
    for (u32 i = 0; i < x.s->buffers; i++) {
        const u32 slot = slot_of_buffer(x, i);
        if (!x.buffers[i].head) continue;
        add_messages(x, a.coding, x.buffers[i].head, WHEEL + 16 + plan.label[slot], NO_OWNER,
                     plan.receiver[slot], keys);
    }
    x.s->engine.occupied.each([&](u32 slot) {
        add_messages(x, a.coding, x.wheel[slot].head, plan.label[slot], plan.sender[slot],
                     plan.receiver[slot], keys);
    });
}

// The order of the keys under two renamings: below 0 if those of `one` come first.
inline i32 compare_keys(const Context& x, u32 lines, const KeyPlan& plan, const RenamingKeys& keys,
                        const Renaming& one, const Renaming& other) {
    for (u32 i = 0; i < x.s->controllers; i++) {
        const u32* const ones = keys.of[one.controllers.from[plan.order[i]]];
        const u32* const others = keys.of[other.controllers.from[plan.order[i]]];
        for (u32 line = 0; line < lines; line++) {
            const u32 left = ones[one.lines.from[line]];
            const u32 right = others[other.lines.from[line]];
            if (left != right) return left < right ? -1 : 1;
        }
    }
    return 0;
}

// Of the renamings named by `some`, keep those under which the keys come in the least order. Returns
// how many they are.
inline u32 least_keys(const Context& x, u32 lines, const KeyPlan& plan, const RenamingKeys& keys,
                      const Renaming* all, u32* some, u32 count) {
    u32 kept = 1;
    for (u32 i = 1; i < count; i++) {
        const i32 order = compare_keys(x, lines, plan, keys, all[some[i]], all[some[0]]);
        if (order < 0) kept = 0;
        if (order <= 0) some[kept++] = some[i];
    }
    return kept;
}
