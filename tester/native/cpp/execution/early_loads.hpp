// What a racing load may return: the one load of a program that stores of others may overtake. The
// rules stand in tester/execution/early_loads.py.
//
// Invariant: a version is known by its place in the program's arrays, which no run changes.

#pragma once

#include "execution/state.hpp"

// checker.hpp has it.
inline void Checker_found(Context& x, Verdict verdict, u64 tick, const Access& access, i64 index,
                          u64 address, u64 expected, u64 got);

// ---------------------------------------------------------------- versions

// Those of a byte that stand before an episode: from `first` to `end` - 1.
struct VersionRange {
    u64 first, end;
};

// The first place whose version is not before (byte, episode).
inline u64 version_place(const ProgramView& program, u64 byte, u32 episode) {
    u64 low = 0;
    u64 high = program.versions;
    while (low < high) {
        const u64 middle = (low + high) / 2;
        const u64 other = program.version_byte[middle];
        const bool before =
            other < byte || (other == byte && program.version_episode[middle] < episode);
        if (before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

inline VersionRange versions_before(const ProgramView& program, u64 byte, u32 episode) {
    return {version_place(program, byte, 0), version_place(program, byte, episode)};
}

inline bool version_is_issued(const Context& x, const ProgramView& program, u64 version) {
    const Agent& writer = agent_at(x, program.version_agent[version]);
    const u32 episode = program.version_episode[version] + 1;
    if (writer.begun != episode) return writer.begun > episode;
    const i64 action = program.version_action[version];
    if (writer.next_action <= action) return false;
    if (!writer.held) return true;
    const Access& held = access_at(x, writer.held);
    return held.source != Source::ACTION || held.place != static_cast<u32>(action);
}

inline bool version_is_complete(const Context& x, const ProgramView& program, u64 version) {
    const Agent& writer = agent_at(x, program.version_agent[version]);
    if (writer.begun > program.version_episode[version] + 1) return true;
    if (writer.steps & STEP_FLUSH || !version_is_issued(x, program, version)) return false;
    for (u32 index = client_parts(x).oldest; index; index = access_at(x, index).newer) {
        const Access& open = access_at(x, index);
        if (open.client == writer.number && open.source == Source::ACTION && !open.driver &&
            open.place == static_cast<u32>(program.version_action[version]))
            return false;
    }
    return true;
}

// The value of a version, given as its place and one; 0: what memory held at first.
inline u8 version_value(const ProgramView& program, u64 byte, u64 version) {
    if (version) return program.version_value[version - 1];
    return static_cast<u8>(initial_word(program.run_key, byte) >> 8 * (byte & 7));
}

// ---------------------------------------------------------------- racing loads

inline EarlyLoad& early_of(const Context& x, u32 agent) {
    return client_parts(x).early_loads.at(x, agent);
}

inline u8 early_rule(u8 steps) { return steps >> STEP_EARLY_SHIFT; }
inline u8 early_rule(const Agent& a) { return early_rule(a.steps); }

// The address of a byte of the load, and its lane.
inline u64 early_byte(const ProgramView& program, const EarlyLoad& early, u32 number, u32& lane) {
    const u32 size = program.action_size[early.action];
    INVARIANT(number < EARLY_BYTES);
    lane = number / size;
    return program.address[program.first_lane[early.action] + lane] + number % size;
}

inline COLD void Early_wrong(Context& x, const Access& access, u32 lane, u64 address, u8 expected,
                             u8 got) {
    Access part = access;
    part.size = 1;
    Checker_found(x, Verdict::WRONG_VALUE, now(x), part, lane, address, expected, got);
}

// A racing load was taken.
inline void Early_begin(Context& x, const Access& access) {
    EarlyLoad& early = early_of(x, access.client);
    const u8 rule = early_rule(agent_at(x, access.client));
    early.bytes = 0;
    if (!rule || (rule == EARLY_BYPASSING && !(access.scope & Scope::GLC))) return;
    const ProgramView& program = program_of(x, access);
    const u32 lanes = access.pieces ? 1 : access.lanes;
    early.action = access.place;
    early.episode = agent_at(x, access.client).episode;
    early.bytes = lanes * access.size;
    if (early.bytes > EARLY_BYTES) early.bytes = EARLY_BYTES;
    early.answered = 0;
    early.lost = false;
    for (u32 number = 0; number < early.bytes; ++number) {
        u32 lane;
        const u64 byte = early_byte(program, early, number, lane);
        const VersionRange range = versions_before(program, byte, early.episode);
        u64 version = range.end;
        while (version > range.first && !version_is_complete(x, program, version - 1)) --version;
        early.lower[number] = version > range.first ? static_cast<u32>(version) : 0;
    }
}

// Whether all versions behind the one that was kept are those of a port's own agents.
inline COLD bool early_is_own_affair(const Context& x, const ProgramView& program, u32 requester,
                                     u64 byte, VersionRange range, u8 got) {
    for (u64 version = range.end; version > range.first; --version) {
        if (version_value(program, byte, version) == got) return true;
        if (agent_at(x, program.version_agent[version - 1]).requester != requester) return false;
    }
    return true;
}

// The episode begins: what was held must be what it would load.
inline void Early_begun(Context& x, const Access& access) {
    EarlyLoad& early = early_of(x, access.client);
    const u32 bytes = early.bytes;
    early.bytes = 0;
    if (early.lost || early_rule(agent_at(x, access.client)) != EARLY_HELD) return;
    const ProgramView& program = program_of(x, access);
    for (u32 number = 0; number < bytes; ++number) {
        u32 lane;
        const u64 byte = early_byte(program, early, number, lane);
        const VersionRange range = versions_before(program, byte, early.episode);
        const u8 wanted = version_value(program, byte, range.end > range.first ? range.end : 0);
        const u8 got = early.value[number];
        if (got == wanted) continue;
        const u32 requester = agent_at(x, access.client).requester;
        if (early_is_own_affair(x, program, requester, byte, range, got)) continue;
        return Early_wrong(x, access, lane, byte, wanted, got);
    }
}

inline bool early_is_answered(const EarlyLoad& early) {
    return early.answered == (early.bytes < 64 ? (u64{1} << early.bytes) - 1 : ~u64{0});
}

// A request of the program was taken.
inline void Early_issued(Context& x, const Access& access) {
    if (access.driver) return;
    if (access.role == Role::RACING_LOAD) return Early_begin(x, access);
    Agent& a = agent_at(x, access.client);
    a.begun = a.episode + 1;
    const EarlyLoad& early = early_of(x, access.client);
    if (UNLIKELY(early.bytes && early_is_answered(early))) Early_begun(x, access);
}

// Whether a byte may have this value; `expected` is the newest that it may have.
inline bool early_may_be(const Context& x, const ProgramView& program, const EarlyLoad& early,
                         u32 number, u64 byte, u8 got, u8& expected) {
    const VersionRange range = versions_before(program, byte, early.episode);
    const u64 lower = early.lower[number];
    expected = version_value(program, byte, lower);
    bool found = got == expected;
    for (u64 version = lower ? lower : range.first; version < range.end; ++version) {
        if (!version_is_issued(x, program, version)) continue;
        expected = version_value(program, byte, version + 1);
        found |= got == expected;
    }
    return found;
}

// Lanes of a racing load have their data; `bytes` are those from address `start` on.
inline void Early_answered(Context& x, const Access& access, u64 lanes, u64 start,
                           const u8* bytes) {
    EarlyLoad& early = early_of(x, access.client);
    if (!early.bytes) return;
    const ProgramView& program = program_of(x, access);
    for (; lanes; lanes &= lanes - 1) {
        const u32 first = static_cast<u32>(__builtin_ctzll(lanes)) * access.size;
        for (u32 number = first; number < first + access.size && number < early.bytes; ++number) {
            u32 lane;
            const u64 byte = early_byte(program, early, number, lane);
            const u8 got = early.value[number] = bytes[byte - start];
            early.answered |= u64{1} << number;
            u8 expected;
            if (early_may_be(x, program, early, number, byte, got, expected)) continue;
            return Early_wrong(x, access, lane, byte, expected, got);
        }
    }
    const Agent& a = agent_at(x, access.client);
    if (early_is_answered(early) && a.begun == a.episode + 1) Early_begun(x, access);
}

// A machine reports that a line has left its cache.
inline void client_line_lost(Context& x, u32 requester, u64 line) {
    const u32 agents = client_parts(x).driver_count ? client_parts(x).drivers[0].agents : 0;
    for (u32 number = 0; number < agents; ++number) {
        const Agent& a = agent_at(x, number);
        EarlyLoad& early = early_of(x, number);
        if (LIKELY(!early.bytes) || a.requester != requester) continue;
        const ProgramView& program = program_at(x, 0);
        const i64 first = program.first_lane[early.action];
        const i64 end = program.first_lane[early.action + 1];
        for (i64 lane = first; lane < end; ++lane)
            early.lost |= line_of(x, program.address[lane]) == line;
    }
}
