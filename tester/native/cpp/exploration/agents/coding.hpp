// Writing and reading agents: their accesses, and what is known of values.
//
// Invariant: values of which the same is known are written alike, so that a state does not depend on
// which of them was stored first.

#pragma once

#include "exploration/agents/agents.hpp"

inline u32 access_number(const Context& x, u32 access) {
    const Access& it = access_at(x, access);
    return it.agent * AGENT_SLOTS + it.slot;
}

inline u32 access_of_number(const Context& x, u32 number) {
    return agents_of(x).access[number / AGENT_SLOTS][number % AGENT_SLOTS];
}

inline u32 renamed_location(const Agents& a, const Renaming& r, u32 location) {
    return renamed_place(r, location, a.coding.data);
}
inline u32 old_location(const Agents& a, const Renaming& r, u32 location) {
    if (LIKELY(r.same_lines)) return location;
    return r.lines.from[location / a.coding.data] * a.coding.data + location % a.coding.data;
}

template <class Code>
inline void code_access_number(Code& code, u32& number) {
    u32 agent = number / AGENT_SLOTS;
    u32 slot = number % AGENT_SLOTS;
    if constexpr (!Code::READS) {
        agent = code.renaming.agents.to[agent];
        if (slot) slot = 1 + renamed_location(agents_of(code.x), code.renaming, slot - 1);
    }
    code.bits(agent, 3);
    code.small(slot);
    number = agent * AGENT_SLOTS + slot;
}

// What is written of a value that is dead: no owner, and over.
inline constexpr u64 DEAD_SIGNATURE = u64{15} << 54 | u64{3} << 52;

// Values of which the same is known, and of which no judgement asks which one it is, are of one
// kind; where protocols compare data, each is one of its own. Kinds are in the order of what is known.
inline void classify_values(const Agents& a, const Renaming& renaming, ValueKinds& to) {
    u64 signatures[MAX_TOKENS];
    u8 order[MAX_TOKENS];
    u32 count = 0;
    to.kind[CLEARED] = CLEARED;
    __builtin_memset(to.kind + DEAD, DEAD, MAX_TOKENS - DEAD);
    to.owed = 0;
    if (UNLIKELY(a.script.used)) return;  // every value is itself
    for (u64 left = a.oracle.used; left; left &= left - 1) {
        const u32 value = static_cast<u32>(__builtin_ctzll(left));
        const Token& t = a.oracle.tokens[value];
        const bool live = a.oracle.live(t);
        if (!live && !a.coding.compares) continue;
        signatures[value] = live ? a.oracle.signature(t, renaming, a.coding.data) : DEAD_SIGNATURE;
        u32 at = count++;
        for (; at && signatures[order[at - 1]] > signatures[value]; at--) order[at] = order[at - 1];
        order[at] = static_cast<u8>(value);
    }
    const bool all_relaxed = a.oracle.relaxed == (1u << a.count) - 1;
    const u64 agents = (1u << a.count) - 1;
    u32 groups = DEAD;
    u32 kind = DEAD;
    for (u32 i = 0; i < count; i++) {
        const Token& t = a.oracle.tokens[order[i]];
        const u64 signature = signatures[order[i]];
        const bool alike =
            !a.coding.compares && t.owner == NO_AGENT && (all_relaxed || (t.over && !t.before));
        const bool same = i && signature == signatures[order[i - 1]];
        if (!same) groups++;
        if (!same || !alike) {
            kind++;
            to.group[kind] = static_cast<u8>(groups);
            to.known[kind] = signature >> 52 | (signature & agents) << 12 |
                             (signature >> 16 & agents) << (12 + a.count) |
                             (signature >> 32 & agents) << (12 + 2 * a.count);
            to.owed |= u64{a.oracle.live(t) && (t.owner != NO_AGENT || !t.over)} << kind;
        }
        to.kind[order[i]] = static_cast<u8>(kind);
    }
}

// What is known about the values that were written, and about those that were not but matter: what
// is over and nowhere any more does not.
inline void code_knowledge(Coder<Writer>& outer) {
    const Agents& a = agents_of(outer.x);
    if (UNLIKELY(a.script.used)) return;
    Coder<Writer> code = outer;
    Values& values = code.values;
    for (u64 left = values.kinds.owed; left; left &= left - 1)
        values.number_of(static_cast<u32>(__builtin_ctzll(left)));
    u32 count = values.numbers - FIRST_TOKEN;
    code.small(count);
    static_assert(12 + 3 * MOST_AGENTS <= MOST_BITS);
    for (u32 number = FIRST_TOKEN; number < values.numbers; number++)
        code.out.put(values.kinds.known[values.kind_of[number]], 12 + 3 * a.count);
    outer.resume(code);
}

inline void code_knowledge(Coder<Reader>& code) {
    Agents& a = agents_of(code.x);
    if (UNLIKELY(a.script.used)) return;
    u32 count = 0;
    code.small(count);
    for (u64 left = a.oracle.used; left; left &= left - 1)
        a.oracle.tokens[__builtin_ctzll(left)] = {};
    a.oracle.used = ((u64{1} << count) - 1) << FIRST_TOKEN;
    for (u32 i = 0; i < count; i++) {
        Token& t = a.oracle.tokens[FIRST_TOKEN + i];
        const u64 high = code.in.get(12);
        t.used = true;
        t.location = static_cast<u8>(high >> 6);
        const u32 owner = high >> 2 & 15;
        t.owner = owner == 15 ? NO_AGENT : static_cast<u8>(owner);
        t.established = high >> 1 & 1;
        t.over = high & 1;
        t.before = static_cast<u16>(code.in.get(a.count));
        t.may = static_cast<u16>(code.in.get(a.count));
        t.older = static_cast<u16>(code.in.get(a.count));
    }
}

template <class Code>
TINY inline void code_access(Code& code, u32 agent, u32 slot, Access& access) {
    const Agents& a = agents_of(code.x);
    u32 op = access.op;
    u32 where = access.where;
    if constexpr (!Code::READS) {
        const u8 target = a.operations[op].target;
        if (target == TARGET_LOCATION)
            where = renamed_location(a, code.renaming, where);
        else if (target != TARGET_NOTHING)
            where = code.renaming.lines.to[where];
    }
    static_assert(MOST_OPERATIONS <= 16 && MOST_LOCATIONS <= 8);
    u32 what = op << 3 | where;
    code.bits(what, 7);
    code.small(access.open);
    const Operation& o = a.operations[Code::READS ? what >> 3 : op];
    if constexpr (Code::READS) {
        access.agent = static_cast<u8>(agent);
        access.slot = static_cast<u8>(slot);
        access.op = static_cast<u8>(what >> 3);
        access.where = what & 7;
        access.client = agent;
        access.kind = o.kind;
        access.scope = o.scope;
        access.size = UNLIKELY(a.script.used) ? a.size_of(agent, access.op) : LOCATION_BYTES;
        access.lanes = o.target == TARGET_NOTHING ? 0 : 1;
        access.sequence = RELEASE_SEQUENCE;
        requester_at(code.x, a.agents[agent].requester).live++;
    }
    if (o.kind != AccessKind::RELEASE) code.small(access.sequence);
}

// The slots of an agent's accesses, a bit each, once lines have changed places.
inline u32 renamed_slots(const Agents& a, const Renaming& r, u32 slots) {
    if (LIKELY(r.same_lines)) return slots;
    u32 renamed = slots & 1;
    for (u32 left = slots >> 1; left; left &= left - 1)
        renamed |= 2u << renamed_location(a, r, static_cast<u32>(__builtin_ctz(left)));
    return renamed;
}

template <class Code>
inline void code_agent(Code& outer, u32 agent) {
    Code code = outer;
    Context& x = code.x;
    Agents& a = agents_of(x);
    ClientState& client = requester_parts(x).clients.at(x, agent);
    u32* const accesses = a.access[agent];
    u32 current = a.current[agent];
    u32 slots = 0;
    if constexpr (!Code::READS) {
        if (current > 1) current = 2 + renamed_location(a, code.renaming, current - 2);
        for (u32 slot = 0; slot <= a.locations(); slot++) slots |= u32{accesses[slot] != 0} << slot;
        slots = renamed_slots(a, code.renaming, slots);
    }
    static_assert(AGENT_SLOTS < 16);
    u32 known = current | u32{client.release != 0} << 4 | slots << 5;
    code.bits(known, 5 + 1 + a.locations());
    slots = known >> 5;
    if constexpr (Code::READS) {
        a.current[agent] = known & 15;
        for (u32 slot = 0; slot <= a.locations(); slot++) accesses[slot] = 0;
    }
    for (; slots; slots &= slots - 1) {
        u32 slot = static_cast<u32>(__builtin_ctz(slots));
        if constexpr (Code::READS)
            accesses[slot] = access_new(x);
        else if (slot)
            slot = 1 + old_location(a, code.renaming, slot - 1);
        code_access(code, agent, slot, access_at(x, accesses[slot]));
    }
    code.small(client.writes);
    if (known >> 4 & 1) {
        client.release = accesses[0];
        if (access_at(x, client.release).next_release) code.refuse("two releases of one agent");
    }
    outer.resume(code);
}

inline CodePart* part_of_agent(Coder<Reader>& code, u32 agent) {
    return &code.origin.agents[agent];
}
inline const CodePart* part_of_agent(const Coder<Writer>& code, u32 agent) {
    if (!code.origin) return nullptr;
    const u32 requester = agents_of(code.x).agents[agent].requester;
    return code.origin->of_agent(agent, requester_at(code.x, requester).controller);
}

template <class Code>
inline void code_words(Code& code) {
    Agents& a = agents_of(code.x);
    if (!a.coding.word) return;
    for (u32 place = 0; place < a.coding.lines; place++) {
        Words& word = a.word[old_number(code, &Renaming::lines, place)];
        for (u32 i = 0; i < a.count; i++) {
            const u32 agent = old_number(code, &Renaming::agents, i);
            code.word(word.begun[agent]);
            code.increments(word.needed[agent]);
        }
        code.increments(word.done);
        code.small(word.counts);
    }
}

template <class Code>
inline void code_script(Code& code) {
    Agents& a = agents_of(code.x);
    if (LIKELY(!a.script.used)) return;
    for (u32 agent = 0; agent < a.count; agent++) code.word(a.done.at[agent]);
    for (u32 i = 0; i < a.script.registers; i++) code.word(a.done.registers[i]);
}

template <class Code>
inline void code_clients(Code& code) {
    Agents& a = agents_of(code.x);
    code_script(code);
    if constexpr (Code::READS) {
        a.oracle.loading = 0;
        a.finding = 0;
    }
    for (u32 place = 0; place < a.count; place++) {
        const u32 agent = old_number(code, &Renaming::agents, place);
        code_or_copy(code, part_of_agent(code, agent), [&] { code_agent(code, agent); });
    }
    code_words(code);
    if constexpr (Code::READS) {
        for (u32 agent = 0; agent < a.count; agent++) {
            if (a.current[agent] != 1 || a.oracle.relaxed >> agent & 1) continue;
            const Access& access = access_at(code.x, a.access[agent][0]);
            if (access.kind != AccessKind::LOAD) continue;
            a.oracle.loading = static_cast<u16>(a.oracle.loading | 1u << agent);
            a.oracle.loads[agent] = access.where;
        }
    }
}
