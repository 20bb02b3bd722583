// What is stored to bytes that racing loads read; tester/execution/early_loads.py says what for.
//
// Invariant: ordered by byte, then by action, as a ProgramView has them.

#pragma once

#include "program/final_memory.hpp"

// Calls `visit(place in m.contents, number in the lane)` for the bytes of a lane.
template <class Visit>
inline void each_byte(const ProgramArrays& p, const FinalMemory& m, u64 action, u64 slot,
                      Visit visit) {
    if (p.lane_address[slot] < 0) return;
    const u64 address = static_cast<u64>(p.lane_address[slot]);
    const u64 first = (line_number(m, address) << LINE_BITS) + (address & LINE_MASK);
    const u64 bytes = m.lines << LINE_BITS;
    const u64 size = first + p.action_size[action] < bytes ? p.action_size[action] : bytes - first;
    for (u64 i = 0; i < size; ++i) visit(first + i, i);
}

inline bool has_lanes(const ProgramArrays& p, u64 action) {
    for (u64 l = 0; l < p.lanes; ++l)
        if (p.lane_address[action * p.lanes + l] >= 0) return true;
    return false;
}

// Mark the bytes of the first load of every episode that makes a racing load.
inline void mark_racing(const ProgramArrays& p, const FinalMemory& m, u8* wanted) {
    for (u64 e = 0; e < p.episodes; ++e) {
        if (!(p.episode_scope[e] & EPISODE_RACING_LOAD)) continue;
        u64 a = static_cast<u64>(p.episode_first_action[e]);
        const u64 last = static_cast<u64>(p.episode_first_action[e + 1]);
        while (a < last && (p.action_kind[a] != AccessKind::LOAD || !has_lanes(p, a) ||
                            p.action_scope[a] & ACTION_CONTINUES))
            ++a;
        for (bool more = a < last; more;
             more = ++a < last && p.action_scope[a] & ACTION_CONTINUES) {
            for (u64 slot = a * p.lanes; slot < (a + 1) * p.lanes; ++slot)
                each_byte(p, m, a, slot, [=](u64 place, u64) { wanted[place] = 1; });
        }
    }
}

// False: no byte of a lane is wanted. Looks at all of its bytes at once.
inline bool any_wanted(const ProgramArrays& p, const FinalMemory& m, const u8* wanted, u64 action,
                       u64 slot) {
    const u64 size = p.action_size[action];
    if (p.lane_address[slot] < 0) return false;
    if (size > 8) return true;
    const u64 address = static_cast<u64>(p.lane_address[slot]);
    u64 bytes;
    __builtin_memcpy(&bytes,
                     wanted + (line_number(m, address) << LINE_BITS) + (address & LINE_MASK),
                     sizeof bytes);
    return bytes << (64 - 8 * size);
}

// Calls `visit(place, episode, action of the view, value)` for the bytes that are wanted of all stores,
// in the order of the program.
template <class Visit>
inline void each_version(ProgramArrays p, FinalMemory m, const u8* wanted, Visit visit) {
    u64 actions = 0;  // that issue an access, as view_program counts them
    for (u64 e = 0; e < p.episodes; ++e) {
        const u64 last = static_cast<u64>(p.episode_first_action[e + 1]);
        for (u64 a = static_cast<u64>(p.episode_first_action[e]); a < last; ++a) {
            if (!(p.action_scope[a] & ACTION_CONTINUES && actions)) actions += has_lanes(p, a);
            if (p.action_kind[a] == AccessKind::LOAD) continue;
            for (u64 slot = a * p.lanes; slot < (a + 1) * p.lanes; ++slot) {
                if (!any_wanted(p, m, wanted, a, slot)) continue;
                const u64 left = value_left(p, a, slot);
                each_byte(p, m, a, slot, [&](u64 place, u64 i) {
                    if (wanted[place]) visit(place, e, actions - 1, static_cast<u8>(left >> 8 * i));
                });
            }
        }
    }
}

// The versions of a derived program, for its view. False: not enough room.
inline bool program_versions(const ProgramArrays& p, const FinalMemory& m, Arena& arena,
                             ProgramView& view) {
    const u64 bytes = m.lines << LINE_BITS;
    u8* wanted = arena.zeros<u8>(bytes + 8);  // any_wanted looks at eight of them
    u64* next = arena.zeros<u64>(bytes + 1);
    if (!arena.enough()) return false;
    mark_racing(p, m, wanted);
    each_version(p, m, wanted, [=](u64 place, u64, u64, u8) { ++next[place + 1]; });
    for (u64 i = 0; i < bytes; ++i) next[i + 1] += next[i];
    const u64 count = next[bytes];
    u64* byte = arena.take<u64>(count);
    i64* action = arena.take<i64>(count);
    u8* value = arena.take<u8>(count);
    u32* episode = arena.take<u32>(count);
    u32* agent = arena.take<u32>(count);
    if (!arena.enough()) return false;
    each_version(p, m, wanted, [=](u64 place, u64 e, u64 issued, u8 left) {
        const u64 at = next[place]++;
        byte[at] = m.line[place >> LINE_BITS] + (place & LINE_MASK);
        action[at] = static_cast<i64>(issued);
        value[at] = left;
        episode[at] = static_cast<u32>(e);
        agent[at] = static_cast<u32>(p.episode_thread[e]);
    });
    view.judges_early = 1;
    view.versions = count;
    view.version_byte = byte;
    view.version_action = action;
    view.version_value = value;
    view.version_episode = episode;
    view.version_agent = agent;
    return true;
}
