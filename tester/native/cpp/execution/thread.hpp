// One agent of a program at its port: what it issues next, and what it waits for.
//
// Invariant: whether an instruction may be issued depends on the program and on which answers
// arrived in earlier ticks, never on their values; so one program on one system is one run. The
// rules stand in tester/execution/thread.py.

#pragma once

#include "execution/checker.hpp"

// What the threads of a driver share (driver.hpp).
inline void Driver_last_access(Context& x, Thread& t);
inline void Driver_episode_completed(Context& x, Thread& t);
inline void Driver_thread_ended(Context& x, Thread& t);
inline u32 Driver_await_episodes(Context& x, Thread& t);
inline void Driver_change(Context& x, Driver& driver, i64 by);

inline Driver& driver_of(const Context& x, const Thread& t) { return client_parts(x).drivers[t.driver]; }
inline void Thread_next_action(Context& x, Thread& t);
inline void Thread_next_phase(Context& x, Thread& t);

inline void Thread_wake(Context& x, const Thread& t) { schedule(x, t.consumer, now(x) + 1); }

// ---------------------------------------------------------------- instructions

// A new access of the thread; 0 when there is no slot left.
inline u32 Thread_access(
    Context& x, Thread& t, u8 role, u8 kind, Source source, u64 place, i64 first = 0, i64 lanes = 0) {
    const u32 index = access_new(x);
    if (!index) return 0;
    Access& access = access_at(x, index);
    access.identity = ++driver_of(x, t).identity;
    access.client = t.number;
    access.driver = t.driver;
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
inline u32 Thread_action_access(Context& x, Thread& t, u8 role, u8 kind, u64 action) {
    const ProgramView& program = program_at(x, t.driver);
    const u8 pieces = program.action_pieces[action];
    const i64 first = program.first_lane[action];
    const i64 lanes = pieces ? 1 : program.first_lane[action + 1] - first;
    const u32 index = Thread_access(x, t, role, kind, Source::ACTION, action, first, lanes);
    if (UNLIKELY(!index)) return 0;
    Access& access = access_at(x, index);
    access.size = program.action_size[action];
    access.pieces = pieces;
    return index;
}

inline void Thread_issue(Context& x, Thread& t, u32 index) {
    if (UNLIKELY(!index)) return;
    Access& access = access_at(x, index);
    access.issued = now(x);
    t.held = 0;
    ++t.flights;
    if (!Requester_issue(x, t.requester, index)) {
        --t.flights;
        t.held = index;
        return;
    }
    Checker_issued(x, access, index);
    if (t.phase == Phase::ACTIONS) Thread_wake(x, t);
}

// A synchronisation without addresses.
inline void Thread_synchronize(Context& x, Thread& t, u8 role, u8 kind) {
    Thread_issue(x, t, Thread_access(x, t, role, kind, Source::NOTHING, 0));
}

// An acquire or release; a plain episode just waits for what is on its way.
inline void Thread_fence(Context& x, Thread& t, u8 role, u8 kind) {
    if (!(t.scope & EpisodeScope::PLAIN)) return Thread_synchronize(x, t, role, kind);
    if (t.flights) return;  // of an acquire: a peek
    if (role == Role::ACQUIRE) return Thread_next_phase(x, t);
    Thread_wake(x, t);
}

// A step on the lines that the episode's loads (stores) touch, or straight on.
inline void Thread_hand_over(Context& x, Thread& t, bool wanted, u8 of_kind, u8 role, u8 kind) {
    const ProgramView& program = program_at(x, t.driver);
    bool any = false;
    for (i64 action = program.first_action[t.episode]; wanted && !any && action < t.last_action; ++action) {
        any = touches(program.action_kind[action], of_kind);
    }
    if (!any) return Thread_next_phase(x, t);
    const Source source = of_kind == AccessKind::LOAD ? Source::LOADS : Source::STORES;
    Thread_issue(x, t, Thread_access(x, t, role, kind, source, t.episode));
}

inline void Thread_fetch_add(Context& x, Thread& t, u8 role) {
    const ProgramView& program = program_at(x, t.driver);
    const i64 first = program.first_word[t.episode];
    const i64 lanes = program.first_word[t.episode + 1] - first;
    if (!lanes) return Thread_next_phase(x, t);
    const u32 index = Thread_access(x, t, role, AccessKind::ATOMIC, Source::WORDS, t.episode, first, lanes);
    if (UNLIKELY(!index)) return;
    const u32 closing = role == Role::CLOSE ? Scope::QUIET : 0;
    access_at(x, index).scope = static_cast<u8>(t.scope & (Scope::GLC | Scope::SLC | closing));
    Thread_issue(x, t, index);
}

// ---------------------------------------------------------------- bytes with an outstanding access

// A bit for each of up to 8 bytes.
inline u64 pattern(u32 size) { return (u64{1} << size) - 1; }

// Those of them that belong to the next word of a mask.
inline u64 over(u64 offset, u64 ones) { return MASK_WORDS > 1 && offset & 63 ? ones >> (64 - (offset & 63)) : 0; }

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

inline u32& Thread_bucket(const Context& x, const Thread& t, u32 line) {
    return client_parts(x).buckets.in(x)[t.number * BUSY_BUCKETS + line % BUSY_BUCKETS];
}

// Where the number of the line's record stands, or would: it is 0 there if nothing is busy.
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

// Take the bytes of the lanes, whose lines stand in `scratch`, unless one of them is taken. Lanes
// of one instruction may share bytes; it is noted whether they do. `size_of` has the bytes of each.
template <class Size>
inline bool Thread_take_bytes(Context& x, const Thread& t, const u64* addresses, u32 lanes, Size size_of, bool& shared) {
    const u32* lines = requester_parts(x).scratch;
    const u64 offset_bits = LINE_MASK;
    Busy* busy = client_parts(x).busy.in(x);
    u32* buckets = &Thread_bucket(x, t, 0);
    for (u32 lane = 0; lane < lanes; ++lane) {
        const u64 offset = addresses[lane] & offset_bits;
        const u32 index = busy_place(busy, buckets[lines[lane] % BUSY_BUCKETS], lines[lane]);
        if (index && bytes_taken(busy[index].bytes, offset, pattern(size_of(lane)))) return false;
    }
    shared = false;
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
inline void Thread_free(Context& x, const Thread& t, u32 line, const u64* bits) {
    ClientParts& parts = client_parts(x);
    Busy* busy = parts.busy.in(x);
    u32& place = busy_place(busy, Thread_bucket(x, t, line), line);
    const u32 index = place;
    if (UNLIKELY(!index)) return;  // a peek takes no bytes
    u64 left = 0;
    for (u32 word = 0; word < MASK_WORDS; ++word) left |= busy[index].bytes[word] &= ~bits[word];
    if (left) return;
    place = busy[index].next;
    busy[index].next = parts.free_busy;
    parts.free_busy = index;
}

// All bytes of an access of pieces are.
inline void Thread_free_pieces(Context& x, const Thread& t, const Access& access) {
    each_piece(x, access, [&](u32, u64 address, u32 size) {
        const u64 offset = address & LINE_MASK;
        u64 bits[MASK_WORDS] = {};
        bytes_add(bits, offset, pattern(size));
        Thread_free(x, t, line_index(x, address - offset), bits);
    });
}

// These lanes of one line are answered: others of the wave may use their bytes, if no other lane
// of the instruction waits for them.
inline void Thread_free_bytes(Context& x, const Thread& t, Access& access, u64 lanes, u32 line) {
    access.pending &= ~lanes;
    if (UNLIKELY(access.pieces)) return Thread_free_pieces(x, t, access);
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
    Thread_free(x, t, line, bits);
}

// ---------------------------------------------------------------- issue

inline void Thread_next_action(Context& x, Thread& t) {
    if (t.next_action == t.last_action) {
        t.phase = Phase::RELEASE;
        return Thread_fence(x, t, Role::RELEASE, AccessKind::RELEASE);
    }
    const ProgramView& program = program_at(x, t.driver);
    const u64 action = static_cast<u64>(t.next_action);
    const i64 first = program.first_lane[action];
    const u32 lanes = static_cast<u32>(program.first_lane[action + 1] - first);
    const u64* addresses = program.address + first;
    const u32 size = program.action_size[action];
    const bool whole = !program.action_pieces[action];
    bool shared;
    if (!find_lines(x, addresses, lanes, whole ? size : 1, lines_key(t.driver, whole ? Source::ACTION : Source::PIECES, action))) return;
    if (LIKELY(whole)) {
        t.blocked = !Thread_take_bytes(x, t, addresses, lanes, [size](u32) { return size; }, shared);
    } else {
        const u64 end = addresses[0] + size;
        const auto size_of = [=](u32 piece) {
            return static_cast<u32>((piece + 1 < lanes ? addresses[piece + 1] : end) - addresses[piece]);
        };
        t.blocked = !Thread_take_bytes(x, t, addresses, lanes, size_of, shared);
    }
    if (t.blocked) return;  // the answer that frees the byte wakes this thread
    ++t.next_action;
    const u32 index = Thread_action_access(x, t, driver_of(x, t).role, program.action_kind[action], action);
    if (UNLIKELY(!index)) return;
    Access& access = access_at(x, index);
    access.scope = program.action_scope[action];
    access.shared = shared && whole;
    Thread_issue(x, t, index);
    if (t.next_action == t.last_action) Driver_last_access(x, t);
}

// Load the line that the awaited access will move, if the episode does such things.
inline void Thread_peek(Context& x, Thread& t) {
    if (t.phase != Phase::HANDOVER || t.flights || t.held || !(t.scope & EpisodeScope::PEEK)) return;
    const ProgramView& program = program_at(x, t.driver);
    i64 action = t.next_action;
    while (action < t.last_action && program.action_kind[action] != AccessKind::LOAD) ++action;
    if (action == t.last_action) return;
    const u32 index = Thread_action_access(x, t, Role::PEEK, AccessKind::LOAD, static_cast<u64>(action));
    if (UNLIKELY(!index)) return;
    Thread_issue(x, t, index);
    if (!t.held) return;
    t.held = 0;
    access_free(x, index);
}

inline void Thread_open(Context& x, Thread& t) {
    t.phase = Phase::OPEN;
    Driver_change(x, driver_of(x, t), 1);
    Thread_fetch_add(x, t, Role::OPEN);
}

inline void Thread_begin_episode(Context& x, Thread& t) {
    t.since = now(x);
    if (t.next_episode == t.last_episode) {
        t.phase = Phase::ENDED;
        return Driver_thread_ended(x, t);
    }
    const ProgramView& program = program_at(x, t.driver);
    t.episode = static_cast<u32>(program.thread_episode[t.next_episode++]);
    t.scope = program.episode_scope[t.episode];
    t.next_action = program.first_action[t.episode];
    t.last_action = program.first_action[t.episode + 1];
    t.phase = Phase::HANDOVER;
    t.waits = Driver_await_episodes(x, t);
    if (!t.waits) Thread_open(x, t);
}

// Everything issued so far has been answered, and that was what the phase waited for.
inline void Thread_next_phase(Context& x, Thread& t) {
    switch (t.phase) {
        case Phase::OPEN:
            t.phase = Phase::ACQUIRE;
            return Thread_fence(x, t, Role::ACQUIRE, AccessKind::ACQUIRE);
        case Phase::ACQUIRE:
            t.phase = Phase::INVALIDATE;
            return Thread_hand_over(
                x, t, t.steps & STEP_INVALIDATE, AccessKind::LOAD, Role::INVALIDATE, AccessKind::INVALIDATE_L2);
        case Phase::INVALIDATE:
            t.phase = Phase::ACTIONS;
            return Thread_next_action(x, t);
        case Phase::RELEASE:
            t.phase = Phase::FLUSH;
            return Thread_hand_over(x, t, t.steps & STEP_FLUSH || t.scope & EpisodeScope::FLUSHES, AccessKind::STORE,
                                    Role::FLUSH, AccessKind::FLUSH);
        case Phase::FLUSH:
            t.phase = Phase::CLOSE;
            return Thread_fetch_add(x, t, Role::CLOSE);
        default:
            ++t.completed;
            t.phase = Phase::IDLE;
            Driver_episode_completed(x, t);
            Thread_begin_episode(x, t);
    }
}

// Issue the next instruction, if there is one that need not wait.
inline void Thread_wakeup(Context& x, Thread& t) {
    if (t.held) {
        if (!t.retry) return;
        t.retry = false;
        return Thread_issue(x, t, t.held);
    }
    switch (t.phase) {
        case Phase::ACTIONS: return Thread_next_action(x, t);
        case Phase::HANDOVER:
            if (t.waits) return;
            driver_of(x, t).handover_time += now(x) - t.since;
            return Thread_open(x, t);
        case Phase::IDLE: return Thread_begin_episode(x, t);
        case Phase::ENDED: return;
        default:
            if (!t.flights) Thread_next_phase(x, t);
    }
}

// ---------------------------------------------------------------- answers

// An instruction has all of its answers; the last one lets the thread go on.
inline void Thread_answered(Context& x, Thread& t) {
    if (!--t.flights) Thread_wake(x, t);
}

inline void client_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    Thread& t = thread_at(x, access.client);
    Checker_loaded(x, access, lanes, line, bytes);
    Thread_free_bytes(x, t, access, lanes, line);
    if (!access.pending) --t.flights;
    if (t.blocked || !t.flights) Thread_wake(x, t);
}

inline void client_stored(Context& x, Access& access, u64 lanes, u32 line) {
    Thread& t = thread_at(x, access.client);
    Checker_accepted(x, access, lanes, line);
    Thread_free_bytes(x, t, access, lanes, line);
    if (t.blocked) Thread_wake(x, t);
}

inline void client_store_completed(Context& x, Access& access, u64 lanes, u32 line) {
    Checker_completed(x, access, lanes, line);
    access.uncompleted &= ~lanes;
    if (!access.uncompleted) Thread_answered(x, thread_at(x, access.client));
}

inline void client_atomic_done(Context& x, Access& access, u64 lanes, const u64* old, u32 values) {
    Thread& t = thread_at(x, access.client);
    Checker_returned(x, access, lanes, old, values);
    if (access.source == Source::ACTION) {
        const u64 address = access_addresses(x, access)[__builtin_ctzll(lanes)];
        Thread_free_bytes(x, t, access, lanes, line_index(x, line_of(x, address)));
    }
    access.pending &= ~lanes;
    if (!access.pending) Thread_answered(x, t);
    if (t.blocked) Thread_wake(x, t);
}
