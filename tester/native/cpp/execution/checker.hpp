// Checks what the ports answered.
//
// Checked here: the value of every byte that a load returned; fetch-add results (order between
// intervals, each value once); every request answered exactly once, for its own bytes, by the
// right kind of response, and in time.
//
// Invariant: the first fault stands, and stops the run at the end of its tick.
//
// Fetch-adds. Every increment of a word adds one, so a returned value minus the initial one is
// the increment's rank. Ranks are consistent with real time exactly when they are a permutation
// and every increment's rank is above the ranks of all increments that had returned before it was
// issued. The other bound, "no more increments than had been issued", is checked when the tick is
// over. Quiet increments return nothing: they only count, as one rank each.

#pragma once

#include "execution/early_loads.hpp"

inline constexpr u32 PLAUSIBLE = 1 << 24;  // no leg makes so many increments

// ---------------------------------------------------------------- verdicts

inline COLD void Checker_found(Context& x, Verdict verdict, u64 tick, const Access& access,
                               i64 index, u64 address, u64 expected = 0, u64 got = 0) {
    Finding& finding = client_parts(x).finding;
    if (x.s->finding || x.s->error.kind) return;  // what came first is the verdict
    x.s->finding = 1;
    finding.verdict = static_cast<u32>(verdict);
    finding.role = access.role;
    finding.kind = access.kind;
    finding.size = access.size;
    finding.tick = tick;
    finding.identity = access.identity;
    finding.index = index;
    finding.address = address;
    finding.expected = expected;
    finding.got = got;
    stop(x);
}

inline u64 address_of_lane(const Context& x, const Access& access, i64 index) {
    const bool lanes = access.source == Source::ACTION || access.source == Source::WORDS;
    return lanes && index >= 0 ? access_addresses(x, access)[index] : NONE;
}

inline COLD void Checker_fail(Context& x, Verdict verdict, const Access& access, i64 index,
                              u64 expected = 0, u64 got = 0) {
    Checker_found(x, verdict, now(x), access, index, address_of_lane(x, access, index), expected,
                  got);
}

inline COLD void Checker_unexpected(Context& x, const Access& access) {
    Checker_fail(x, Verdict::UNEXPECTED_RESPONSE, access, -1);
}

// ---------------------------------------------------------------- open requests

inline void Checker_close(const Context& x, Access& access) {
    ClientParts& parts = client_parts(x);
    INVARIANT(access.listed);
    access.listed = false;
    (access.older ? access_at(x, access.older).newer : parts.oldest) = access.newer;
    (access.newer ? access_at(x, access.newer).older : parts.newest) = access.older;
}

// Whether the values that the accesses of its agent return are ignored.
inline bool Checker_blind(const Context& x, const Access& access) {
    return client_parts(x).agents.at(x, access.client).steps & STEP_BLIND;
}

// Take a first answer off the pending ones; false when it was not expected.
inline bool Checker_answered(Context& x, Access& access, u64 lanes, u8 kind) {
    if (UNLIKELY(!access.listed || access.kind != kind || lanes & ~access.pending || !lanes)) {
        Checker_unexpected(x, access);
        return false;
    }
    access.pending ^= lanes;
    access.progress = now(x);
    return true;
}

inline bool Checker_in_line(Context& x, const Access& access, u64 lanes, u32 line) {
    ClientParts& parts = client_parts(x);
    const u64 start = line_address_of(x, line);
    const u64* addresses = access_addresses(x, access);
    parts.line_progress.at(x, line) = now(x);
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        if (LIKELY(addresses[lane] - start <= LINE_MASK)) continue;
        Checker_fail(x, Verdict::UNEXPECTED_RESPONSE, access, lane);
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- fetch-adds

// The increments of an access: which words they go to, and the highest rank that each cannot have.
struct Increments {
    const u32* groups;
    i32* lower;
    u32 first_word;
};

inline Increments increments_of(const Context& x, const Access& access) {
    ClientParts& parts = client_parts(x);
    const ProgramView& program = program_of(x, access);
    return {
        program.word_group + access.first,
        parts.lower.in(x) + u64{access.client} * 64,
        parts.drivers[access.driver].first_word,
    };
}

// An increment that is issued now cannot have this rank or a lower one.
inline i32 Word_below(const Word& word, u64 tick) {
    const i32 rank = word.latest_tick < tick ? word.latest : word.settled;
    const i32 done = static_cast<i32>(word.done_tick < tick ? word.done : word.done_before) - 1;
    return rank > done ? rank : done;
}

inline void Word_answered(Word& word, u64 tick) {
    if (tick > word.done_tick) {
        word.done_before = word.done;
        word.done_tick = tick;
    }
    ++word.done;
    INVARIANT(word.done <= word.issued && word.done_before <= word.done);
}

inline COLD void Checker_judge_early(Context& x) {
    ClientParts& parts = client_parts(x);
    const u32 count = parts.early_count;
    parts.early_count = 0;
    for (u32 i = 0; i < count; ++i) {
        const Early& early = parts.early.at(x, i);
        const Word& word = parts.words.at(x, early.word);
        if (early.rank < word.issued) continue;
        Access access = {};
        access.identity = early.identity;
        access.kind = AccessKind::ATOMIC;
        access.role = early.role;
        access.size = 4;
        const u32 value = word.initial + early.rank;
        Checker_found(x, Verdict::ATOMIC_SKIPPED, early.tick, access, early.index, word.address,
                      word.initial, value);
    }
}

inline void Checker_increments_issued(Context& x, Access& access) {
    ClientParts& parts = client_parts(x);
    const u64 tick = now(x);
    if (UNLIKELY(parts.early_count && tick > parts.early.at(x, 0).tick)) Checker_judge_early(x);
    const Increments increments = increments_of(x, access);
    Word* words = parts.words.in(x) + increments.first_word;
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        Word& word = words[increments.groups[lane]];
        ++word.issued;
        increments.lower[lane] = Word_below(word, tick);
    }
}

// Whether the rank has been returned before; records that it has now. Ranks that no leg can reach are
// only found among those that are not judged yet.
inline bool Checker_seen(Context& x, const Word& word, u32 number, u32 rank) {
    ClientParts& parts = client_parts(x);
    if (LIKELY(rank < word.increments)) {
        u64& bits = parts.seen.at(x, word.first_seen + (rank >> 6));
        const u64 bit = u64{1} << (rank & 63);
        const bool before = bits & bit;
        bits |= bit;
        return before;
    }
    for (u32 i = 0; i < parts.early_count; ++i) {
        const Early& early = parts.early.at(x, i);
        if (early.word == number && early.rank == rank) return true;
    }
    return false;
}

// More increments may be issued in this very tick: judged when it is over.
inline COLD void Checker_early(Context& x, const Access& access, u32 lane, u32 number, u32 rank) {
    ClientParts& parts = client_parts(x);
    if (parts.early_count == parts.early.count)
        return pool_exhausted(x, POOL_WORDS, parts.early.count);
    parts.early.at(x, parts.early_count++) = {now(x), access.identity, number, rank,
                                              lane,   access.role};
}

inline bool Checker_increment_returned(Context& x, const Access& access, u32 lane, u32 number,
                                       i32 lower, u64 value) {
    Word& word = client_parts(x).words.at(x, number);
    const u64 tick = now(x);
    const u32 rank = static_cast<u32>(value) - word.initial;
    Verdict verdict = Verdict::NONE;
    // Tested in this order, and only a rank that passes is recorded: after a verdict the run
    // stops and nothing is tested any more.
    if (UNLIKELY(rank >= PLAUSIBLE)) {
        verdict = Verdict::ATOMIC_FOREIGN;
    } else if (UNLIKELY(Checker_seen(x, word, number, rank))) {
        verdict = Verdict::ATOMIC_REPEATED;
    } else if (UNLIKELY(static_cast<i32>(rank) <= lower)) {
        verdict = Verdict::ATOMIC_ORDER;
    }
    if (UNLIKELY(verdict != Verdict::NONE)) {
        Checker_fail(x, verdict, access, lane, word.initial, value);
        return false;
    }
    if (UNLIKELY(rank >= word.issued)) Checker_early(x, access, lane, number, rank);
    if (tick > word.latest_tick) {
        word.settled = word.latest;
        word.latest_tick = tick;
    }
    INVARIANT(word.settled <= word.latest);
    if (static_cast<i32>(rank) > word.latest) word.latest = static_cast<i32>(rank);
    return true;
}

// ---------------------------------------------------------------- events

// The requester took the request.
inline void Checker_issued(Context& x, Access& access, u32 index) {
    ClientParts& parts = client_parts(x);
    INVARIANT(index && !access.listed);
    INVARIANT((parts.oldest == 0) == (parts.newest == 0));
    access.listed = true;
    access.progress = now(x);
    access.newer = 0;
    access.older = parts.newest;
    (parts.newest ? access_at(x, parts.newest).newer : parts.oldest) = index;
    parts.newest = index;
    if (parts.judges_early) Early_issued(x, access);
    if (access.kind > AccessKind::ATOMIC) return;
    parts.lane_accesses += access.lanes;
    if (access.source == Source::WORDS) Checker_increments_issued(x, access);
    if (access.kind == AccessKind::STORE) ++parts.agents.at(x, access.client).open_stores;
}

// The first lane whose bytes are not those expected, or not asked for, or not here; 64: none.
template <class Number>
inline u32 Checker_wrong_lane(const u64* addresses, const u64* expected, u64 lanes, u64 pending,
                              u64 line, u64 last, const u8* bytes) {
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        const u64 offset = addresses[lane] - line;
        if (UNLIKELY(!(pending >> lane & 1) || offset > last)) return lane;
        Number got;
        __builtin_memcpy(&got, bytes + offset, sizeof got);
        if (UNLIKELY(got != expected[lane])) return lane;
    }
    return 64;
}

// The same for other sizes.
inline COLD u32 Checker_wrong_odd(const Context& x, const Access& access, u64 lanes, u64 line,
                                  const u8* bytes) {
    const u64* addresses = access_addresses(x, access);
    const u64* expected = program_of(x, access).expected + access.first;
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        const u64 offset = addresses[lane] - line;
        if (!(access.pending >> lane & 1) || offset > LINE_MASK) return lane;
        if (load_bytes(bytes + offset, access.size) != expected[lane]) return lane;
    }
    return 64;
}

// The first wrong piece, or 64; 0 as well if there should be no data for the access.
inline u32 Checker_wrong_piece(const Context& x, const Access& access, u64 lanes, u64 line,
                               const u8* bytes) {
    const u64* expected = program_of(x, access).expected + access.first;
    if (lanes & ~access.pending || access_addresses(x, access)[0] - line > LINE_MASK) return 0;
    u32 wrong = 64;
    each_piece(x, access, [&](u32 piece, u64 address, u32 size) {
        if (wrong == 64 && load_bytes(bytes + (address - line), size) != expected[piece])
            wrong = piece;
    });
    return wrong;
}

inline COLD void Checker_fail_piece(Context& x, const Access& access, u32 wrong, u64 line,
                                    const u8* bytes) {
    const u64* expected = program_of(x, access).expected + access.first;
    each_piece(x, access, [&](u32 piece, u64 address, u32 size) {
        if (piece != wrong) return;
        Access part = access;
        part.size = static_cast<u16>(size);
        const u64 got = load_bytes(bytes + (address - line), size);
        Checker_found(x, Verdict::WRONG_VALUE, now(x), part, 0, address, expected[piece], got);
    });
}

inline COLD void Checker_wrong(Context& x, const Access& access, u32 wrong, u64 line,
                               const u64* expected, const u8* bytes) {
    const u32 lane = access.pieces ? 0 : wrong;
    if (!(access.pending >> lane & 1)) return Checker_unexpected(x, access);
    const u64 offset = access_addresses(x, access)[lane] - line;
    if (offset > LINE_MASK) return Checker_fail(x, Verdict::UNEXPECTED_RESPONSE, access, lane);
    if (access.pieces) return Checker_fail_piece(x, access, wrong, line, bytes);
    Checker_fail(x, Verdict::WRONG_VALUE, access, lane, expected[lane],
                 load_bytes(bytes + offset, access.size));
}

// Bytes of a load whose values are not checked, for a host that judges them itself.
inline COLD void Checker_observe(const Context& x, const Access& access, u64 lanes, u64 line,
                                 const u8* bytes) {
    const ProgramView& program = program_of(x, access);
    if (!program.observed) return;
    u64* observed = program.observed + access.first;
    const u64* addresses = access_addresses(x, access);
    if (access.pieces && addresses[0] - line <= LINE_MASK) {
        each_piece(x, access, [&](u32 piece, u64 address, u32 size) {
            observed[piece] = load_bytes(bytes + (address - line), size);
        });
    }
    for (u64 left = access.pieces ? 0 : lanes; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u64 offset = addresses[lane] - line;
        if (offset <= LINE_MASK) observed[lane] = load_bytes(bytes + offset, access.size);
    }
}

// Likewise, old values of an atomic action.
inline COLD void Checker_observe_old(const Context& x, const Access& access, u64 lanes,
                                     const u64* old) {
    const ProgramView& program = program_of(x, access);
    if (!program.observed) return;
    for (; lanes; lanes &= lanes - 1)
        program.observed[access.first + static_cast<u32>(__builtin_ctzll(lanes))] = *old++;
}

// Data whose values are judged elsewhere, or not at all: arrives once, and from its line.
inline COLD bool Checker_arrived(Context& x, Access& access, u64 lanes, u32 line) {
    if (!Checker_answered(x, access, lanes, AccessKind::LOAD)) return false;
    const bool here = Checker_in_line(x, access, lanes, line);
    if (!access.pending) Checker_close(x, access);
    return here;
}

inline COLD void Checker_raced(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    if (!Checker_arrived(x, access, lanes, line) || !client_parts(x).judges_early) return;
    Early_answered(x, access, lanes, line_address_of(x, line), bytes);
}

inline void Checker_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    if (UNLIKELY(!access.listed || access.kind != AccessKind::LOAD || !lanes))
        return Checker_unexpected(x, access);
    if (UNLIKELY(access.role == Role::RACING_LOAD))
        return Checker_raced(x, access, lanes, line, bytes);
    const ProgramView& program = program_of(x, access);
    const u64* addresses = program.address + access.first;
    const u64* expected = program.expected + access.first;
    const u64 start = line_address_of(x, line);
    const u64 last = LINE_MASK;
    u32 wrong;
    switch (access.pieces ? 0 : access.size) {
        case 0: wrong = Checker_wrong_piece(x, access, lanes, start, bytes); break;
        case 1:
            wrong = Checker_wrong_lane<u8>(addresses, expected, lanes, access.pending, start, last,
                                           bytes);
            break;
        case 2:
            wrong = Checker_wrong_lane<u16>(addresses, expected, lanes, access.pending, start, last,
                                            bytes);
            break;
        case 4:
            wrong = Checker_wrong_lane<u32>(addresses, expected, lanes, access.pending, start, last,
                                            bytes);
            break;
        case 8:
            wrong = Checker_wrong_lane<u64>(addresses, expected, lanes, access.pending, start, last,
                                            bytes);
            break;
        default: wrong = Checker_wrong_odd(x, access, lanes, start, bytes);
    }
    if (UNLIKELY(wrong < 64)) {
        if (Checker_blind(x, access)) {
            Checker_observe(x, access, lanes, start, bytes);
            Checker_arrived(x, access, lanes, line);
            return;
        }
        return Checker_wrong(x, access, wrong, start, expected, bytes);
    }
    access.pending ^= lanes;
    access.progress = now(x);
    client_parts(x).line_progress.at(x, line) = now(x);
    if (!access.pending) Checker_close(x, access);
}

inline void Checker_accepted(Context& x, Access& access, u64 lanes, u32 line) {
    if (Checker_answered(x, access, lanes, AccessKind::STORE))
        Checker_in_line(x, access, lanes, line);
}

inline void Checker_completed(Context& x, Access& access, u64 lanes, u32 line) {
    if (UNLIKELY(!access.listed || access.kind != AccessKind::STORE ||
                 lanes & ~access.uncompleted)) {
        return Checker_unexpected(x, access);
    }
    if (UNLIKELY(lanes & access.pending)) {
        return Checker_fail(x, Verdict::UNEXPECTED_RESPONSE, access, __builtin_ctzll(lanes));
    }
    access.uncompleted ^= lanes;
    access.progress = now(x);
    Checker_in_line(x, access, lanes, line);
    if (access.uncompleted) return;
    INVARIANT(client_parts(x).agents.at(x, access.client).open_stores > 0);
    --client_parts(x).agents.at(x, access.client).open_stores;
    Checker_close(x, access);
}

// Old values of an atomic action: each lane has one correct value.
inline void Checker_operated(Context& x, Access& access, u64 lanes, const u64* old) {
    ClientParts& parts = client_parts(x);
    const ProgramView& program = program_of(x, access);
    const u64* addresses = program.address + access.first;
    const u64* expected = program.expected + access.first;
    for (u64 left = lanes; left; left &= left - 1) {
        const u64 line = line_of(x, addresses[__builtin_ctzll(left)]);
        parts.line_progress.at(x, line_index(x, line)) = now(x);
    }
    for (u64 left = old ? lanes : 0; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u64 got = *old++;
        if (UNLIKELY(got != expected[lane])) {
            return Checker_fail(x, Verdict::WRONG_VALUE, access, lane, expected[lane], got);
        }
    }
    if (!access.pending) Checker_close(x, access);
}

inline void Checker_returned(Context& x, Access& access, u64 lanes, const u64* old, u32 values) {
    if (!Checker_answered(x, access, lanes, AccessKind::ATOMIC)) return;
    const u32 wanted = access.scope & Scope::QUIET ? 0 : static_cast<u32>(count_bits(lanes));
    if (UNLIKELY(values != wanted)) return Checker_unexpected(x, access);
    ClientParts& parts = client_parts(x);
    if (access.source == Source::ACTION) {
        const bool blind = Checker_blind(x, access);
        if (values && UNLIKELY(blind)) Checker_observe_old(x, access, lanes, old);
        return Checker_operated(x, access, lanes, values && !blind ? old : nullptr);
    }
    const Increments increments = increments_of(x, access);
    Word* words = parts.words.in(x) + increments.first_word;
    const u64 tick = now(x);
    for (u64 left = lanes; left; left &= left - 1) {
        Word& word = words[increments.groups[__builtin_ctzll(left)]];
        parts.line_progress.at(x, word.line) = tick;
        Word_answered(word, tick);
    }
    for (u64 left = values && !Checker_blind(x, access) ? lanes : 0; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u32 number = increments.first_word + increments.groups[lane];
        if (!Checker_increment_returned(x, access, lane, number, increments.lower[lane], *old++))
            return;
    }
    if (!access.pending) Checker_close(x, access);
}

// A release has finished: have all stores of its agent?
inline COLD void Checker_early_release(Context& x, u32 client) {
    for (u32 index = client_parts(x).oldest; index; index = access_at(x, index).newer) {
        const Access& access = access_at(x, index);
        if (access.client != client || !access.uncompleted) continue;
        return Checker_fail(x, Verdict::EARLY_RELEASE, access, __builtin_ctzll(access.uncompleted));
    }
}

inline void Checker_synchronized(Context& x, Access& access) {
    const bool listed = access.listed;
    if (listed) Checker_close(x, access);
    if (UNLIKELY(!listed || access.kind < AccessKind::ACQUIRE))
        return Checker_unexpected(x, access);
    if (access.kind != AccessKind::RELEASE ||
        !client_parts(x).agents.at(x, access.client).open_stores)
        return;
    Checker_early_release(x, access.client);
}

// ---------------------------------------------------------------- time

// When something last happened that the request may have been waiting for.
inline u64 Checker_progress(Context& x, const Access& access) {
    ClientParts& parts = client_parts(x);
    u64 since = access.progress;
    if (access.kind == AccessKind::RELEASE) {
        for (u32 index = parts.oldest; index; index = access_at(x, index).newer) {
            const Access& store = access_at(x, index);
            if (store.client != access.client || !store.uncompleted) continue;
            const u64 theirs = Checker_progress(x, store);
            if (theirs > since) since = theirs;
        }
        return since;
    }
    const auto look = [&](u32 line) {
        const u64 tick = parts.line_progress.at(x, line);
        if (tick > since) since = tick;
        return true;
    };
    if (access.source == Source::ACTION || access.source == Source::WORDS) {
        const u64* addresses = access_addresses(x, access);
        const u32 entries = access.pieces ? access.pieces : access.lanes;
        for (u32 entry = 0; entry < entries; ++entry)
            look(line_index(x, line_of(x, addresses[entry])));
    } else {
        each_line(x, access, look);
    }
    return since;
}

inline COLD void Checker_hang(Context& x, const Access& access) {
    const u64 left = access.pending ? access.pending : access.uncompleted;
    Checker_fail(x, Verdict::HANG, access, left ? __builtin_ctzll(left) : -1);
}

// Finds the oldest request that waited more than `limit` ticks without sign of progress: an answer
// to another part of it, or any answer from its line (a queue in front of a busy line is slow, not
// stuck), for a release that of the stores it waits for; ten limits are too many in any case.
// Returns whether there is a finding.
inline bool Checker_overdue(Context& x, u64 limit) {
    Checker_judge_early(x);
    const u64 tick = now(x);
    for (u32 index = client_parts(x).oldest; index; index = access_at(x, index).newer) {
        const Access& access = access_at(x, index);
        const u64 age = tick - access.issued;
        if (age <= limit) break;
        if (tick - Checker_progress(x, access) <= limit && age <= 10 * limit) continue;
        Checker_hang(x, access);
        break;
    }
    return x.s->finding;
}

// Nothing is pending in the system any more: an open request will never be answered.
inline bool Checker_stuck(Context& x) {
    Checker_judge_early(x);
    const u32 oldest = client_parts(x).oldest;
    if (oldest) Checker_hang(x, access_at(x, oldest));
    return x.s->finding;
}

// Judge the leg as complete: every request answered, every sum as issued.
inline bool Checker_finish(Context& x) { return Checker_stuck(x); }
