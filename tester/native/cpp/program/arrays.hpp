// A program as Python has it, and room for what is worked out from it.
//
// Invariant: the arrays are those of tester/program/program.py, of the same types and in the same
// order; nothing here writes them.

#pragma once

#include "block/line_map.hpp"
#include "execution/program.hpp"

// Of `agents`: what they are (AgentSpec), whether each loads lines again at the end, and its isolation
// group. Rows of `lanes` words.
// Without `expected`, the waits are missing as well.
struct ProgramArrays {
    u64 agents, lanes, episodes, actions, groups, waits, run_key, line_bits;
    const u8* agent_adds;
    const u8* agent_reads_back;
    const u32* agent_requester;
    const u32* agent_lanes;
    const i64* agent_isolation;
    const i32* episode_thread;
    const i64* episode_first_action;
    const i32* episode_group;
    const u8* episode_scope;
    const i64* group_word;
    const u8* action_kind;
    const u8* action_size;
    const u8* action_scope;
    const u8* action_op;
    const i64* lane_address;
    const u64* store_value;
    const u64* expected;
    const i64* wait_first;
    const i32* wait_thread;
    const i32* wait_count;
};

inline bool adds(const ProgramArrays& p, u64 episode) {
    return p.agent_adds[p.episode_thread[episode]] && !(p.episode_scope[episode] & EPISODE_BARE);
}

// Memory that is given out from its start and never taken back. One that is too small hands out
// nothing more, but counts on: `used` is then how much would have been enough so far.
struct Arena {
    u8* base;
    u64 size;
    u64 used;

    bool enough() const { return used <= size; }

    // Room for `count` of them, with whatever is in it; nullptr if there is not enough.
    template <class T>
    T* take(u64 count) {
        const u64 place = (used + 15) & ~u64{15};
        used = place + count * sizeof(T);
        return enough() ? reinterpret_cast<T*>(base + place) : nullptr;
    }

    template <class T>
    T* zeros(u64 count) {
        T* made = take<T>(count);
        if (made) __builtin_memset(static_cast<void*>(made), 0, count * sizeof(T));
        return made;
    }
};

// The arrays for drivers and the checker: see execution/program.hpp. False: not enough room.
inline bool view_program(const ProgramArrays& p, Arena& arena, ProgramView& view) {
    const u64 slots = p.actions * p.lanes;
    i64* agent_first = arena.zeros<i64>(p.agents + 2);
    i32* agent_episode = arena.take<i32>(p.episodes);
    i64* first_action = arena.take<i64>(p.episodes + 1);
    i64* first_word = arena.take<i64>(p.episodes + 1);
    u8* word_lane = arena.take<u8>(p.episodes * p.lanes);
    u64* word_address = arena.take<u64>(p.episodes * p.lanes);
    u32* word_group = arena.take<u32>(p.episodes * p.lanes);
    u64* group_increments = arena.zeros<u64>(p.groups);
    u8* kind = arena.take<u8>(p.actions);
    u16* size = arena.take<u16>(p.actions);
    u8* scope = arena.take<u8>(p.actions);
    u8* op = arena.take<u8>(p.actions);
    u8* pieces = arena.take<u8>(p.actions);
    i64* first_lane = arena.take<i64>(p.actions + 1);
    u8* lane = arena.take<u8>(slots);
    u64* address = arena.take<u64>(slots);
    u64* value = arena.take<u64>(slots);
    u64* expected = arena.take<u64>(slots);
    if (!arena.enough()) return false;

    for (u64 e = 0; e < p.episodes; ++e) ++agent_first[p.episode_thread[e] + 2];
    for (u64 a = 2; a <= p.agents; ++a) agent_first[a] += agent_first[a - 1];
    for (u64 e = 0; e < p.episodes; ++e)
        agent_episode[agent_first[p.episode_thread[e] + 1]++] = static_cast<i32>(e);

    u64 words = 0;
    for (u64 e = 0; e < p.episodes; ++e) {
        first_word[e] = static_cast<i64>(words);
        if (!adds(p, e)) continue;
        for (u64 l = 0; l < p.lanes; ++l) {
            const i32 group = p.episode_group[e * p.lanes + l];
            if (group < 0) continue;
            word_lane[words] = static_cast<u8>(l);
            word_address[words] = static_cast<u64>(p.group_word[group]);
            word_group[words++] = static_cast<u32>(group);
            group_increments[group] += 2;
        }
    }
    first_word[p.episodes] = static_cast<i64>(words);

    // Actions without lanes have no effect; edited programs may have some.
    u64 actions = 0;
    u64 lanes = 0;
    u64 next = 0;  // episode whose first action is not yet known
    for (u64 a = 0; a < p.actions; ++a) {
        for (; next <= p.episodes && p.episode_first_action[next] == static_cast<i64>(a); ++next)
            first_action[next] = static_cast<i64>(actions);
        const u64 before = lanes;
        const u64 width = p.lanes, slot = a * width;
        const i64* addresses = p.lane_address + slot;
        const u64 *values = p.store_value + slot, *expects = p.expected + slot;
        for (u64 l = 0; l < width; ++l) {
            // What a lane that sits out writes is written over: a branch could not be predicted.
            lane[lanes] = static_cast<u8>(l);
            address[lanes] = static_cast<u64>(addresses[l]);
            value[lanes] = values[l];
            expected[lanes] = expects[l];
            lanes += addresses[l] >= 0;
        }
        if (p.action_scope[a] & ACTION_CONTINUES && actions) {
            // The first row of an access stands for all; each piece counts as a lane.
            size[actions - 1] = static_cast<u16>(size[actions - 1] + p.action_size[a]);
            pieces[actions - 1] += pieces[actions - 1] ? 1 : 2;
        } else if (lanes > before) {
            kind[actions] = p.action_kind[a];
            size[actions] = p.action_size[a];
            scope[actions] = p.action_scope[a];
            op[actions] = p.action_op[a];
            pieces[actions] = 0;
            first_lane[actions++] = static_cast<i64>(before);
        }
    }
    first_lane[actions] = static_cast<i64>(lanes);
    for (; next <= p.episodes; ++next) first_action[next] = static_cast<i64>(actions);

    view = {p.agents,
            p.episodes,
            actions,
            lanes,
            words,
            p.waits,
            p.run_key,
            p.line_bits,
            agent_first,
            agent_episode,
            p.episode_scope,
            first_action,
            first_word,
            word_lane,
            word_address,
            p.wait_first,
            p.wait_thread,
            p.wait_count,
            kind,
            size,
            scope,
            first_lane,
            lane,
            address,
            value,
            expected,
            p.groups,
            word_group,
            reinterpret_cast<const u64*>(p.group_word),
            group_increments,
            op,
            pieces,
            nullptr};
    return true;
}
