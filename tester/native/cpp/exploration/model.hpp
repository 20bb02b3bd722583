// One system that can be put into any state, stepped, and written down.
//
// Invariant: `load` makes the whole of the state from its code, and `save` writes the least code over
// all renamings that are allowed, so equal codes are equal systems.

#pragma once

#include "encoding.hpp"
#include "exploration/agents/beginnings.hpp"
#include "exploration/agents/coding.hpp"
#include "exploration/invariants/evaluation.hpp"
#include "exploration/renaming_keys.hpp"
#include "system/api.hpp"
#include "untimed/regions.hpp"

#include <stdlib.h>

inline constexpr u32 MOST_RENAMINGS = 64;

// A choice in a word.
inline u16 packed(Choice c) {
    const u32 rest =
        c.kind == ChoiceKind::ISSUE ? c.what << 8 | c.which << 4 | c.where : c.what << 5 | c.which;
    return static_cast<u16>(c.kind << 13 | rest);
}

inline Choice unpacked(u16 word) {
    const u8 kind = static_cast<u8>(word >> 13);
    if (kind == ChoiceKind::ISSUE) {
        return {kind, static_cast<u8>(word >> 8 & 31), static_cast<u8>(word >> 4 & 15),
                static_cast<u8>(word & 15)};
    }
    return {kind, static_cast<u8>(word >> 5 & 255), static_cast<u8>(word & 31), 0};
}

struct Code {
    u8 bytes[MOST_CODE];
    u64 count;
};

struct Model {
    u8* block = nullptr;
    u64 block_bytes = 0;
    u8* start_state = nullptr;
    u8* start_block = nullptr;
    u8* kept_state = nullptr;
    u64 kept_room = 0;
    Regions regions;
    Context x;
    Agents agents;
    AgentsState start_agents;
    AgentsState kept_agents;
    bool kept;               // whether the state that was read last is
    RenamingKeys kept_keys;  // of storage there
    ValueKinds kept_kinds;   // under the identity
    bool kept_classified;    // whether these are known
    Renaming* renamings = nullptr;
    u32 renaming_count = 0;
    KeyPlan key_plan;
    u64 private_caches = 0;  // controllers with them, where one writer excludes readers
    u64 memories = 0;        // controllers that hand requests to memory
    Invariants invariants;
    Origin origin;
    u64 steps[MOST_STEPS * STEP_WORDS];
    const char* refused = nullptr;
};

inline void model_start_state(Model& m) {
    m.regions.restore(m.block, m.start_state);
    m.agents.state() = m.start_agents;
    m.x.recent_address = NONE;
    m.origin.code = nullptr;
}

// What is known of values, under a renaming. Few steps change it.
inline const ValueKinds& model_kinds(Model& m, const Renaming& renaming, ValueKinds& room) {
    if (!renaming.same || !m.kept || !same_tokens(m.agents.oracle, m.kept_agents.oracle)) {
        classify_values(m.agents, renaming, room);
        return room;
    }
    if (!m.kept_classified) classify_values(m.agents, renaming, m.kept_kinds);
    m.kept_classified = true;
    return m.kept_kinds;
}

// The code of the state under one renaming.
FLAT inline void model_write(Model& m, const Renaming& renaming, Code& to) {
    ValueKinds room;
    Values values{model_kinds(m, renaming, room)};
    const Origin* const origin = renaming.same && m.origin.code ? &m.origin : nullptr;
    Coder<Writer> code(m.x, m.agents.coding, renaming, values, origin, to.bytes, sizeof to.bytes);
    code_system(code, m.agents.rules.order);
    to.count = code.out.finish();
    if (code.out.overflow()) values.refused = "a state longer than 8 KB";
    if (values.refused) m.refused = values.refused;
}

inline bool before(const Code& one, const Code& other) {
    if (one.count != other.count) return one.count < other.count;
    return __builtin_memcmp(one.bytes, other.bytes, one.count) < 0;
}

// Keys of what controllers have; of those that a step did not reach they are as before it.
inline void model_keys(Model& m, RenamingKeys& keys) {
    const u32 controllers = m.x.s->controllers;
    u64 left = (u64{1} << controllers) - 1;
    if (m.kept && m.origin.code) {
        keys.copy(m.kept_keys, controllers);
        left = m.origin.touched;
    }
    for (; left; left &= left - 1) {
        const u32 id = static_cast<u32>(__builtin_ctzll(left));
        keys_of_storage(m.x, m.agents, m.key_plan, id, keys);
    }
}

// The least code over all renamings under which keys come in the least order. Returns which
// renaming that is.
inline u32 model_save(Model& m, Code& to) {
    const auto written = [&](u32 which) {
        model_write(m, m.renamings[which], to);
        return which;
    };
    if (m.renaming_count == 1) return written(0);
    u32 best[MOST_RENAMINGS];
    u32 count = m.renaming_count;
    for (u32 i = 0; i < count; i++) best[i] = i;
    const auto narrow = [&](const RenamingKeys& keys) {
        count = least_keys(m.x, m.agents.coding.lines, m.key_plan, keys, m.renamings, best, count);
    };
    RenamingKeys keys;
    model_keys(m, keys);
    narrow(keys);
    // Messages are looked at only where that does not decide.
    if (count > 1) {
        keys_of_messages(m.x, m.agents, m.key_plan, keys);
        narrow(keys);
    }
    u32 least = written(best[0]);
    Code other;
    for (u32 i = 1; i < count; i++) {
        model_write(m, m.renamings[best[i]], other);
        if (!before(other, to)) continue;
        to.count = other.count;
        __builtin_memcpy(to.bytes, other.bytes, other.count + BITS_ROOM);
        least = best[i];
    }
    return least;
}

FLAT inline void model_load(Model& m, const u8* code) {
    m.regions.restore(m.block, m.start_state);
    m.x.recent_address = NONE;
    m.x.s->engine.now = 1 << 20;
    for (u32 i = 0; i < m.agents.coding.lines; i++) m.agents.word[i] = {};
    m.agents.out_of_tokens = false;
    m.origin.begin(code);
    m.kept = false;
    Coder<Reader> reader(m.x, m.agents.coding, m.origin, code);
    code_system(reader, m.agents.rules.order);
    m.x.s->engine.now += 1 + m.x.s->engine.sequence;
}

// Keep the state as it stands, to come back to it without reading it again. False: no memory.
inline bool model_keep(Model& m) {
    const u64 wanted = m.regions.bytes + taken_bytes(m.x);
    if (wanted > m.kept_room) {
        free(m.kept_state);
        m.kept_room = 2 * wanted;
        m.kept_state = static_cast<u8*>(malloc(m.kept_room));
        if (!m.kept_state) return false;
    }
    m.regions.save(m.block, m.kept_state);
    taken_save(m.x, m.kept_state + m.regions.bytes);
    agents_copy(m.agents, m.agents, m.kept_agents);
    if (m.renaming_count > 1) model_keys(m, m.kept_keys);
    m.kept = true;
    m.kept_classified = false;
    return true;
}

// One step back.
inline void model_come_back(Model& m) {
    m.regions.restore_reached(m.block, m.kept_state, m.origin.touched);
    INVARIANT(m.regions.equal(m.block, m.kept_state));
    taken_restore(m.x, m.kept_state + m.regions.bytes);
    agents_copy(m.agents, m.kept_agents, m.agents);
    m.x.recent_address = NONE;
    m.origin.stepped = false;
}

inline u32 model_choices(Model& m, Choice* out) {
    const u32 count = moves(m.x, m.agents.rules, out, MOST_CHOICES);
    if (m.agents.bound && m.x.s->messages.live >= m.agents.bound) return count;
    return count + beginnings(m.x, m.agents, out + count, MOST_CHOICES - count);
}

// Whether a line can be written in one private cache and read in another. `owners`: the controllers
// that have those, a bit each. One that is about to look at a message may lose its line by that. A step
// that reached none of them changes nothing of it.
inline bool two_writers(const Context& x, u32 lines, u64 owners) {
    owners &= ~x.wakes[0];
    for (u32 line = 0; line < lines; line++) {
        u64 readers = 0;
        u64 writers = 0;
        for (u32 i = 0; i < x.s->caches; i++) {
            const CacheMemory& c = x.caches[i];
            const u32 handle = line_place(x, c.visible, line);
            if (!handle || !(owners >> c.controller & 1)) continue;
            const i32 permission = of_handle<AbstractCacheEntry>(x, handle).permission;
            const u64 bit = u64{1} << c.controller;
            if (permission == AccessPermission::Read_Write) writers |= bit;
            if (permission == AccessPermission::Read_Only) readers |= bit;
        }
        if (writers && ((writers & (writers - 1)) || (readers & ~writers))) return true;
    }
    return false;
}

// What stands in the place of a pool that was exhausted.
inline const char* why_refused(u32 pool) {
    switch (static_cast<Unexplored>(pool)) {
        case Unexplored::PREFETCH: return "a prefetcher that is used";
        case Unexplored::DISTRIBUTION: return "operations on translations that are distributed";
    }
    return "the room for messages and records";
}

inline void model_apply(Model& m, Choice choice) {
    m.agents.finding = FOUND_NOTHING;
    m.agents.completed = false;
    m.agents.asked = 0;
    m.x.steps = m.steps;
    m.x.steps_room = MOST_STEPS;
    m.x.steps_written = 0;
    m.origin.step(choice.kind == ChoiceKind::DELIVER ? choice.what : NIL);
    if (choice.kind == ChoiceKind::ISSUE) {
        begin(m.x, m.agents, choice);
    } else {
        step(m.x, m.agents.rules, choice);
    }
    m.origin.touched = controllers_woken(m.x);
    if (choice.kind == ChoiceKind::ISSUE)
        m.origin.touched |= u64{1}
                            << requester_at(m.x, m.agents.agents[choice.what].requester).controller;
    const System& s = *m.x.s;
    if (s.trouble)
        found(m.agents, FOUND_ERROR, NIL, NIL, s.error.kind);
    else if (m.private_caches & m.origin.touched &&
             two_writers(m.x, m.agents.coding.lines, m.private_caches))
        found(m.agents, FOUND_TWO_WRITERS, NIL, NIL, 0);
    if (m.agents.out_of_tokens) m.refused = "more than 62 values at a time";
    if (s.pool.name) m.refused = why_refused(s.pool.name);
    if (overtaken(m.x).meets(m.agents.rules.order))
        m.refused = "a message that need not wait for those before it, in a buffer with order";
}

inline bool anything_outstanding(const Agents& a) {
    for (u32 agent = 0; agent < a.count; agent++) {
        for (u32 slot = 0; slot <= a.locations(); slot++) {
            if (a.access[agent][slot]) return true;
        }
    }
    return false;
}

// What is wrong with a state in which nothing is under way.
inline FindingKind model_judge_rest(Model& m) {
    if (anything_outstanding(m.agents)) return FOUND_DEADLOCK;
    return slicc_leaks(m.block) ? FOUND_LEAK : FOUND_NOTHING;
}

// Whether an invariant does not hold. The state cannot be stepped any more.
inline bool model_judge_invariants(Model& m) {
    u32 line = 0;
    const u32 broken = broken_invariant(m.x, m.invariants, m.agents.coding.lines, line);
    if (broken) found(m.agents, FOUND_INVARIANT, NIL, line, broken);
    return broken;
}
