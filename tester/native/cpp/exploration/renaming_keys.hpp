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
    u8 label[WHEEL];  // least of the slots whose place it may take
    u8 table_owner[MAX_NAMED];
    u8 directory_owner[MAX_NAMED];
    u8 agent_owner[MOST_AGENTS];
    u8 order[MAX_NAMED];  // controllers, those that may move in front
};

struct RenamingKeys {
    u32 of[MAX_NAMED][MAX_LINES];  // by controller and line
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
    for (u32 i = 0; i < x.s->tables_used; i++)
        plan.table_owner[i] = owner_byte(x, owner_in_order(x, i, &MachineShape::tables));
    for (u32 i = 0; i < x.s->directories_used; i++)
        plan.directory_owner[i] = owner_byte(x, owner_in_order(x, i, &MachineShape::directories));
    for (u32 i = 0; i < a.count; i++)
        plan.agent_owner[i] = owner_byte(x, requester_at(x, a.agents[i].requester).controller);
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

inline void add_agents(const Context& x, const Agents& a, const KeyPlan& plan, RenamingKeys& keys) {
    for (u32 agent = 0; agent < a.count; agent++) {
        for (u32 slot = 0; slot <= a.locations(); slot++) {
            if (!a.access[agent][slot]) continue;
            const Access& access = access_at(x, a.access[agent][slot]);
            const u8 target = a.operations[access.op].target;
            if (target == TARGET_NOTHING) continue;
            const u32 line =
                target == TARGET_LOCATION ? access.where / a.coding.data : access.where;
            add_key(keys, plan.agent_owner[agent], line,
                    key_part(WHEEL + 8 + (a.current[agent] == slot + 1), access.op));
        }
    }
}

inline void add_storage(const Context& x, const Coding& coding, const KeyPlan& plan,
                        RenamingKeys& keys) {
    const System& s = *x.s;
    for (u32 line = 0; line < coding.lines; line++) {
        for (u32 i = 0; i < s.caches; i++) {
            const u32 handle = line_place(x, x.caches[i].visible, line);
            if (!handle) continue;
            const i32 permission = of_handle<AbstractCacheEntry>(x, handle).permission;
            add_key(keys, static_cast<u8>(x.caches[i].controller), line,
                    key_part(WHEEL, static_cast<u32>(permission)));
        }
        for (u32 i = 0; i < s.tables_used; i++) {
            if (line_place(x, x.tables[i].records, line))
                add_key(keys, plan.table_owner[i], line, key_part(WHEEL + 1, 0));
        }
        for (u32 i = 0; i < s.directories_used; i++) {
            const u32 handle = line_place(x, directory_memory(x, i).records, line);
            if (!handle) continue;
            const i32 permission = of_handle<AbstractCacheEntry>(x, handle).permission;
            add_key(keys, plan.directory_owner[i], line,
                    key_part(WHEEL + 2, static_cast<u32>(permission)));
        }
    }
}

// What agents, caches, tables and directories have.
inline void keys_of_storage(const Context& x, const Agents& a, const KeyPlan& plan,
                            RenamingKeys& keys) {
    for (u32 id = 0; id < x.s->controllers; id++) {
        const u32 awake = static_cast<u32>(x.wakes[0] >> id & 1);
        for (u32 line = 0; line < a.coding.lines; line++) keys.of[id][line] = awake;
    }
    add_agents(x, a, plan, keys);
    add_storage(x, a.coding, plan, keys);
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
    each_occupied(x, [&](u32 slot) {
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
