// One agent of a program at its port: what it issues next, and what it waits for.
//
// Invariant: whether an instruction may be issued depends on the program and on which answers
// arrived in earlier ticks, never on their values; so one program on one system is one run. The
// rules stand in tester/execution/agent.py.

#pragma once

#include "execution/checker.hpp"

// What the agents of a driver share (driver.hpp).
inline void Driver_last_access(Context& x, Agent& a);
inline void Driver_episode_completed(Context& x, Agent& a);
inline void Driver_agent_ended(Context& x, Agent& a);
inline u32 Driver_await_episodes(Context& x, Agent& a);
inline void Driver_change(Context& x, Driver& driver, i64 by);

inline Driver& driver_of(const Context& x, const Agent& a) {
    INVARIANT(a.driver < client_parts(x).driver_count);
    return client_parts(x).drivers[a.driver];
}
inline void Agent_next_action(Context& x, Agent& a);
inline void Agent_next_phase(Context& x, Agent& a);

inline void Agent_wake(Context& x, const Agent& a) { schedule(x, a.consumer, now(x) + 1); }

// ---------------------------------------------------------------- instructions

// A new access of the agent; 0 when there is no slot left.
inline u32 Agent_access(Context& x, Agent& a, u8 role, u8 kind, Source source, u64 place,
                        i64 first = 0, i64 lanes = 0) {
    const u32 index = access_new(x);
    if (!index) return 0;
    Access& access = access_at(x, index);
    access.identity = ++driver_of(x, a).identity;
    access.client = a.number;
    access.driver = a.driver;
    access.role = role;
    access.kind = kind;
    access.source = source;
    access.place = static_cast<u32>(place);
    access.first = static_cast<u64>(first);
    access.lanes = static_cast<u32>(lanes);
    access.size = 4;
    if (kind <= AccessKind::ATOMIC) access.pending = all_lanes(access.lanes);
    if (kind == AccessKind::STORE) access.uncompleted = access.pending;
    return index;
}

// The access that an action of the program asks for; 0 when there is no slot left.
inline u32 Agent_action_access(Context& x, Agent& a, u8 role, u8 kind, u64 action) {
    const ProgramView& program = program_at(x, a.driver);
    const u8 pieces = program.action_pieces[action];
    const i64 first = program.first_lane[action];
    const i64 lanes = pieces ? 1 : program.first_lane[action + 1] - first;
    const u32 index = Agent_access(x, a, role, kind, Source::ACTION, action, first, lanes);
    if (UNLIKELY(!index)) return 0;
    Access& access = access_at(x, index);
    access.size = program.action_size[action];
    access.pieces = pieces;
    return index;
}

inline void Agent_issue(Context& x, Agent& a, u32 index) {
    if (UNLIKELY(!index)) return;
    Access& access = access_at(x, index);
    INVARIANT(!access.listed && (!a.held || a.held == index));
    access.issued = now(x);
    a.held = 0;
    ++a.outstanding;
    if (!Requester_issue(x, a.requester, index)) {
        INVARIANT(a.outstanding > 0);
        --a.outstanding;
        a.held = index;
        return;
    }
    Checker_issued(x, access, index);
    if (a.phase == Phase::ACTIONS) Agent_wake(x, a);
}

// A synchronisation without addresses.
inline void Agent_synchronize(Context& x, Agent& a, u8 role, u8 kind) {
    Agent_issue(x, a, Agent_access(x, a, role, kind, Source::NOTHING, 0));
}

// An acquire or release; a plain episode only waits for its outstanding accesses.
inline void Agent_fence(Context& x, Agent& a, u8 role, u8 kind) {
    if (!(a.scope & EPISODE_PLAIN)) return Agent_synchronize(x, a, role, kind);
    if (a.outstanding) return;  // before an acquire only a racing load can be
    if (role == Role::ACQUIRE) return Agent_next_phase(x, a);
    Agent_wake(x, a);
}

// A hand-over step on the lines that the episode's loads (stores) touch; the next phase if there are none.
inline void Agent_hand_over(Context& x, Agent& a, bool wanted, u8 of_kind, u8 role, u8 kind) {
    const ProgramView& program = program_at(x, a.driver);
    bool any = false;
    for (i64 action = program.first_action[a.episode]; wanted && !any && action < a.last_action;
         ++action) {
        any = touches(program.action_kind[action], of_kind);
    }
    if (!any) return Agent_next_phase(x, a);
    const Source source = of_kind == AccessKind::LOAD ? Source::LOADS : Source::STORES;
    Agent_issue(x, a, Agent_access(x, a, role, kind, source, a.episode));
}

inline void Agent_fetch_add(Context& x, Agent& a, u8 role) {
    const ProgramView& program = program_at(x, a.driver);
    const i64 first = program.first_word[a.episode];
    const i64 lanes = program.first_word[a.episode + 1] - first;
    if (!lanes) return Agent_next_phase(x, a);
    const u32 index =
        Agent_access(x, a, role, AccessKind::ATOMIC, Source::WORDS, a.episode, first, lanes);
    if (UNLIKELY(!index)) return;
    const u32 closing = role == Role::CLOSE ? Scope::QUIET : 0;
    access_at(x, index).scope = static_cast<u8>(a.scope & (Scope::GLC | Scope::SLC | closing));
    Agent_issue(x, a, index);
}

// ---------------------------------------------------------------- bytes with an outstanding access

// A bit for each of up to 8 bytes.
inline u64 pattern(u32 size) { return (u64{1} << size) - 1; }

// Those of them that belong to the next word of a mask.
inline u64 over(u64 offset, u64 ones) {
    return MASK_WORDS > 1 && offset & 63 ? ones >> (64 - (offset & 63)) : 0;
}

inline bool bytes_taken(const u64* bytes, u64 offset, u64 ones) {
    const u64* word = bytes + mask_word(offset);
    return *word & ones << (offset & 63) || (over(offset, ones) && word[1] & over(offset, ones));
}

inline void bytes_add(u64* bytes, u64 offset, u64 ones) {
    u64* word = bytes + mask_word(offset);
    *word |= ones << (offset & 63);
    if (over(offset, ones)) word[1] |= over(offset, ones);
}

inline void bytes_remove(u64* bytes, u64 offset, u64 ones) {
    u64* word = bytes + mask_word(offset);
    *word &= ~(ones << (offset & 63));
    if (over(offset, ones)) word[1] &= ~over(offset, ones);
}

inline u32& Agent_bucket(const Context& x, const Agent& a, u32 line) {
    return client_parts(x).buckets.in(x)[a.number * BUSY_BUCKETS + line % BUSY_BUCKETS];
}

// The link that has the number of the line's record, or 0 if nothing of the line is busy.
inline u32& busy_place(Busy* busy, u32& bucket, u32 line) {
    u32* place = &bucket;
    while (*place && busy[*place].line != line) place = &busy[*place].next;
    return *place;
}

inline u32 busy_new(const Context& x, u32 line) {
    ClientParts& parts = client_parts(x);
    u32 index = parts.free_busy;
    if (index) {
        parts.free_busy = parts.busy.at(x, index).next;
    } else {
        index = ++parts.busy_used;
    }
    parts.busy.at(x, index) = Busy{{}, line, 0};
    return index;
}

inline bool Agent_bytes_taken(const Context& x, const Agent& a, u32 line, u64 offset, u32 size) {
    Busy* busy = client_parts(x).busy.in(x);
    const u32 index = busy_place(busy, Agent_bucket(x, a, line), line);
    return index && bytes_taken(busy[index].bytes, offset, pattern(size));
}

// Whether the lane that made the next action wait still does: bytes of a waiting agent are only freed,
// so no other lane has to be looked at before that.
inline bool Agent_waits_for_bytes(const Context& x, const Agent& a, const u64* addresses,
                                  u32 size) {
    if (!a.taken_lane) return false;
    return Agent_bytes_taken(x, a, a.taken_line, addresses[a.taken_lane - 1] & LINE_MASK, size);
}

// Take the bytes of the lanes, whose lines stand in `scratch`, unless one of them is taken. Lanes
// of one instruction may share bytes; it is noted whether they do. `size_of` has the bytes of each.
template <class Size>
inline bool Agent_take_bytes(Context& x, Agent& a, const u64* addresses, u32 lanes, Size size_of,
                             bool& shared) {
    const u32* lines = requester_parts(x).scratch;
    const u64 offset_bits = LINE_MASK;
    // Those in front of the lane that was waited for were not taken then, and are not now.
    for (u32 lane = a.taken_lane; lane < lanes; ++lane) {
        const u64 offset = addresses[lane] & offset_bits;
        if (!Agent_bytes_taken(x, a, lines[lane], offset, size_of(lane))) continue;
        a.taken_lane = lane + 1;
        a.taken_line = lines[lane];
        return false;
    }
    a.taken_lane = 0;
    shared = false;
    Busy* busy = client_parts(x).busy.in(x);
    u32* buckets = &Agent_bucket(x, a, 0);
    u32 line = NIL;
    u32 index = 0;
    for (u32 lane = 0; lane < lanes; ++lane) {
        if (lines[lane] != line) {
            line = lines[lane];
            u32& place = busy_place(busy, buckets[line % BUSY_BUCKETS], line);
            if (!place) place = busy_new(x, line);
            index = place;
        }
        const u64 offset = addresses[lane] & offset_bits;
        shared |= bytes_taken(busy[index].bytes, offset, pattern(size_of(lane)));
        bytes_add(busy[index].bytes, offset, pattern(size_of(lane)));
    }
    return true;
}

// These bytes of a line are answered.
inline void Agent_free(Context& x, const Agent& a, u32 line, const u64* bits) {
    ClientParts& parts = client_parts(x);
    Busy* busy = parts.busy.in(x);
    u32& place = busy_place(busy, Agent_bucket(x, a, line), line);
    const u32 index = place;
    if (UNLIKELY(!index)) return;  // a racing load takes no bytes
    u64 left = 0;
    for (u32 word = 0; word < MASK_WORDS; ++word) left |= busy[index].bytes[word] &= ~bits[word];
    if (left) return;
    INVARIANT(busy[index].line == line && index <= parts.busy_used);
    place = busy[index].next;
    busy[index].next = parts.free_busy;
    parts.free_busy = index;
}

// All bytes of an access of pieces are answered.
inline void Agent_free_pieces(Context& x, const Agent& a, const Access& access) {
    each_piece(x, access, [&](u32, u64 address, u32 size) {
        const u64 offset = address & LINE_MASK;
        u64 bits[MASK_WORDS] = {};
        bytes_add(bits, offset, pattern(size));
        Agent_free(x, a, line_index(x, address - offset), bits);
    });
}

// These lanes of one line are answered: others of the wave may use their bytes, if no other lane
// of the instruction waits for them.
inline void Agent_free_bytes(Context& x, const Agent& a, Access& access, u64 lanes, u32 line) {
    access.pending &= ~lanes;
    if (UNLIKELY(access.pieces)) return Agent_free_pieces(x, a, access);
    const u64* addresses = access_addresses(x, access);
    const u64 ones = pattern(access.size);
    const u64 offset_bits = LINE_MASK;
    u64 bits[MASK_WORDS] = {};
    for (u64 left = lanes; left; left &= left - 1) {
        const u64 offset = addresses[__builtin_ctzll(left)] & offset_bits;
        bytes_add(bits, offset, ones);
    }
    if (UNLIKELY(access.shared)) {
        const u64 start = line_address_of(x, line);
        for (u64 left = access.pending; left; left &= left - 1) {
            const u64 offset = addresses[__builtin_ctzll(left)] - start;
            if (offset <= offset_bits) bytes_remove(bits, offset, ones);
        }
    }
    Agent_free(x, a, line, bits);
}

// ---------------------------------------------------------------- issue

// How the next action is marked where the requester marks fences; `waits`: for all others.
inline u32 Agent_fence_of(const Context& x, const Agent& a, const ProgramView& program,
                          bool& waits) {
    const Requester& r = requester_at(x, a.requester);
    waits = false;
    if (LIKELY(!(r.acquire_flags | r.release_flags)) || a.scope & EPISODE_PLAIN) return 0;
    const i64 first = program.first_action[a.episode];
    u32 fence = 0;
    if (r.acquire_flags && a.next_action == first) fence |= Scope::ACQUIRES;
    if (r.release_flags && a.next_action + 1 == a.last_action) fence |= Scope::RELEASES;
    waits = fence & Scope::RELEASES || (r.acquire_flags && a.next_action == first + 1);
    return fence;
}

// The next action is issued soon: let the processor fetch meanwhile what the requester keeps about
// its line, the first one where there are more (the others find time while these are looked at).
inline TINY void Agent_look_ahead(const Context& x, const Agent& a, const ProgramView& program) {
    if (a.next_action == a.last_action) return;
    const u64 address = program.address[program.first_lane[a.next_action]];
    expect_line(x, requester_at(x, a.requester).places, line_of(x, address));
}

inline void Agent_next_action(Context& x, Agent& a) {
    if (a.next_action == a.last_action) {
        a.phase = Phase::RELEASE;
        return Agent_fence(x, a, Role::RELEASE, AccessKind::RELEASE);
    }
    const ProgramView& program = program_at(x, a.driver);
    bool waits;
    const u32 fence = Agent_fence_of(x, a, program, waits);
    if (waits && a.outstanding) return;  // the last answer wakes this agent
    const u64 action = static_cast<u64>(a.next_action);
    const i64 first = program.first_lane[action];
    const u32 lanes = static_cast<u32>(program.first_lane[action + 1] - first);
    const u64* addresses = program.address + first;
    const u32 size = program.action_size[action];
    const bool in_order = program.action_scope[action] & ACTION_IN_ORDER;
    a.blocked = in_order && a.in_order;
    if (UNLIKELY(a.blocked)) return;  // the load's answer wakes this agent
    const bool whole = !program.action_pieces[action];
    const u64 end = addresses[0] + size;
    const auto piece_size = [=](u32 piece) {
        return static_cast<u32>((piece + 1 < lanes ? addresses[piece + 1] : end) -
                                addresses[piece]);
    };
    const u32 awaited = a.taken_lane && !whole ? piece_size(a.taken_lane - 1) : size;
    a.blocked = Agent_waits_for_bytes(x, a, addresses, awaited);
    if (a.blocked) return;
    bool shared;
    if (!find_lines(x, addresses, lanes, whole ? size : 1,
                    lines_key(a.driver, whole ? Source::ACTION : Source::PIECES, action)))
        return;
    if (LIKELY(whole)) {
        a.blocked = !Agent_take_bytes(x, a, addresses, lanes, [size](u32) { return size; }, shared);
    } else {
        a.blocked = !Agent_take_bytes(x, a, addresses, lanes, piece_size, shared);
    }
    if (a.blocked) return;  // the answer that frees the byte wakes this agent
    INVARIANT(a.next_action < a.last_action);
    ++a.next_action;
    const u32 index =
        Agent_action_access(x, a, driver_of(x, a).role, program.action_kind[action], action);
    if (UNLIKELY(!index)) return;
    Access& access = access_at(x, index);
    access.scope = static_cast<u8>((program.action_scope[action] & ~ACTION_IN_ORDER) | fence);
    access.shared = shared && whole;
    if (in_order) a.in_order = index;
    Agent_issue(x, a, index);
    Agent_look_ahead(x, a, program);
    if (a.next_action == a.last_action) Driver_last_access(x, a);
}

// Load the line that the awaited access will move, if the episode makes racing loads.
inline void Agent_racing_load(Context& x, Agent& a) {
    if (a.phase != Phase::HANDOVER || a.outstanding || a.held || !(a.scope & EPISODE_RACING_LOAD))
        return;
    const ProgramView& program = program_at(x, a.driver);
    i64 action = a.next_action;
    while (action < a.last_action && program.action_kind[action] != AccessKind::LOAD) ++action;
    if (action == a.last_action) return;
    const u32 index =
        Agent_action_access(x, a, Role::RACING_LOAD, AccessKind::LOAD, static_cast<u64>(action));
    if (UNLIKELY(!index)) return;
    access_at(x, index).scope =
        static_cast<u8>((program.action_scope[action] & (Scope::GLC | Scope::SLC)) |
                        (a.scope & EPISODE_BYPASSING_LOAD ? Scope::GLC : 0));
    Agent_issue(x, a, index);
    if (!a.held) return;
    a.held = 0;
    access_free(x, index);
}

inline void Agent_open(Context& x, Agent& a) {
    a.phase = Phase::OPEN;
    Driver_change(x, driver_of(x, a), 1);
    Agent_fetch_add(x, a, Role::OPEN);
}

inline void Agent_begin_episode(Context& x, Agent& a) {
    a.since = now(x);
    if (a.next_episode == a.last_episode) {
        a.phase = Phase::ENDED;
        return Driver_agent_ended(x, a);
    }
    const ProgramView& program = program_at(x, a.driver);
    INVARIANT(a.next_episode < a.last_episode && !a.outstanding && !a.held);
    a.episode = static_cast<u32>(program.agent_episode[a.next_episode++]);
    a.scope = program.episode_scope[a.episode];
    a.next_action = program.first_action[a.episode];
    a.last_action = program.first_action[a.episode + 1];
    a.phase = Phase::HANDOVER;
    a.waits = Driver_await_episodes(x, a);
    if (!a.waits) Agent_open(x, a);
}

// Everything issued so far has been answered, and that was what the phase waited for.
inline void Agent_next_phase(Context& x, Agent& a) {
    switch (a.phase) {
        case Phase::OPEN:
            a.phase = Phase::ACQUIRE;
            return Agent_fence(x, a, Role::ACQUIRE, AccessKind::ACQUIRE);
        case Phase::ACQUIRE:
            a.phase = Phase::INVALIDATE;
            return Agent_hand_over(x, a, a.steps & STEP_INVALIDATE, AccessKind::LOAD,
                                   Role::INVALIDATE, AccessKind::INVALIDATE_L2);
        case Phase::INVALIDATE: a.phase = Phase::ACTIONS; return Agent_next_action(x, a);
        case Phase::RELEASE:
            a.phase = Phase::FLUSH;
            return Agent_hand_over(x, a, a.steps & STEP_FLUSH || a.scope & EPISODE_FLUSHES,
                                   AccessKind::STORE, Role::FLUSH, AccessKind::FLUSH);
        case Phase::FLUSH: a.phase = Phase::CLOSE; return Agent_fetch_add(x, a, Role::CLOSE);
        default:
            ++a.completed;
            a.phase = Phase::IDLE;
            Driver_episode_completed(x, a);
            Agent_begin_episode(x, a);
    }
}

// Issue the next instruction, if there is one that need not wait.
inline void Agent_wakeup(Context& x, Agent& a) {
    if (a.held) {
        if (!a.retry) return;
        a.retry = false;
        return Agent_issue(x, a, a.held);
    }
    switch (a.phase) {
        case Phase::ACTIONS: return Agent_next_action(x, a);
        case Phase::HANDOVER:
            if (a.waits) return;
            driver_of(x, a).handover_time += now(x) - a.since;
            return Agent_open(x, a);
        case Phase::IDLE: return Agent_begin_episode(x, a);
        case Phase::ENDED: return;
        default:
            if (!a.outstanding) Agent_next_phase(x, a);
    }
}

// ---------------------------------------------------------------- answers

// An instruction has all of its answers; the last one wakes the agent.
inline void Agent_answered(Context& x, Agent& a) {
    INVARIANT(a.outstanding > 0);
    if (!--a.outstanding) Agent_wake(x, a);
}

inline void client_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    Agent& a = agent_at(x, access.client);
    count_latency(access.kind, now(x) - access.issued);
    count_answer();
    Checker_loaded(x, access, lanes, line, bytes);
    Agent_free_bytes(x, a, access, lanes, line);
    INVARIANT(a.outstanding > 0);
    if (!access.pending) {
        --a.outstanding;
        if (a.in_order && &access == &access_at(x, a.in_order)) a.in_order = 0;
    }
    if (a.blocked || !a.outstanding) Agent_wake(x, a);
}

inline void client_stored(Context& x, Access& access, u64 lanes, u32 line) {
    Agent& a = agent_at(x, access.client);
    count_answer();
    Checker_accepted(x, access, lanes, line);
    Agent_free_bytes(x, a, access, lanes, line);
    if (a.blocked) Agent_wake(x, a);
}

inline void client_store_completed(Context& x, Access& access, u64 lanes, u32 line) {
    count_latency(access.kind, now(x) - access.issued);
    Checker_completed(x, access, lanes, line);
    access.uncompleted &= ~lanes;
    if (!access.uncompleted) Agent_answered(x, agent_at(x, access.client));
}

inline void client_atomic_done(Context& x, Access& access, u64 lanes, const u64* old, u32 values) {
    Agent& a = agent_at(x, access.client);
    count_latency(access.kind, now(x) - access.issued);
    count_answer();
    Checker_returned(x, access, lanes, old, values);
    if (access.source == Source::ACTION) {
        const u64 address = access_addresses(x, access)[__builtin_ctzll(lanes)];
        Agent_free_bytes(x, a, access, lanes, line_index(x, line_of(x, address)));
    }
    access.pending &= ~lanes;
    if (!access.pending) Agent_answered(x, a);
    if (a.blocked) Agent_wake(x, a);
}
