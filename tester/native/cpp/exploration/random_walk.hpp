// Two systems in one state, by different ways: one that was never written down and one that was just
// read. Whatever a code leaves out would make them differ sooner or later.
//
// Invariant: nothing here changes what a search does.

#pragma once

#include "exploration/search.hpp"

// What follows from a state: a fingerprint for each choice, sorted.
struct Followers {
    u64 all[MOST_CHOICES];
    u32 count;

    void add(u64 one) {
        u32 at = count++;
        for (; at && all[at - 1] > one; at--) all[at] = all[at - 1];
        all[at] = one;
    }
};

inline u64 outcome(Model& m) {
    if (m.agents.finding) return hash64(m.agents.finding, m.x.s->error.kind);
    Code code;
    model_save(m, code);
    return fingerprint(code.bytes, code.count).low;
}

struct Kept {
    u8* block;
    AgentsState agents;
};

inline void keep(const Model& m, Kept& kept) {
    __builtin_memcpy(kept.block, m.block, m.block_bytes);
    kept.agents = m.agents;
}
inline void give_back(Model& m, const Kept& kept) {
    __builtin_memcpy(m.block, kept.block, m.block_bytes);
    m.agents.state() = kept.agents;
    m.x.recent_address = NONE;
    m.origin.code = nullptr;
}

// The first byte outside of what `load` restores that differs from the start; 0: none does. Pools,
// counts and notes of running functions may.
inline u64 forgotten(Model& m) {
    const System& s = *m.x.s;
    model_start_state(m);
    struct Exempt {
        u64 from, to;
    };
    Exempt exempt[64 + MAX_NAMED];
    u32 count = 0;
    const auto array = [&](u64 offset, u64 bytes) { exempt[count++] = {offset, offset + bytes}; };
    const auto pool = [&](const Pool& p) {
        array(p.offset, u64{p.stride} * (p.capacity + POOL_SPARE));
    };
    pool(s.messages);
    pool(s.events);
    pool(s.logs);
    pool(s.atomics);
    pool(s.flights);
    pool(s.triggers);
    for (u32 i = 0; i < MACHINES; i++) {
        pool(s.entries.at(m.x, i));
        pool(s.records.at(m.x, i));
    }
    array(s.counts.offset, s.counts.count * 8);
    const Array<LineLock>& locks = controller_parts(m.x).locks;
    array(locks.offset, locks.count * sizeof(LineLock));
    for (u32 i = 0; i < s.caches; i++)
        array(offset_of(m.x, m.x.caches[i].counts), sizeof m.x.caches[i].counts);
    const RequesterParts& parts = requester_parts(m.x);
    array(parts.accesses.offset, parts.accesses.count * sizeof(Access));
    array(parts.requests.offset, parts.requests.count * sizeof(LineRequest));
    array(parts.sorted.offset, parts.sorted.count * 8);
    array(offset_of(m.x, parts.scratch), sizeof parts.scratch);
    for (u64 at = 0; at < m.block_bytes; at++) {
        if (m.block[at] == m.start_block[at]) continue;
        bool free = false;
        for (u32 i = 0; i < count; i++) free |= at >= exempt[i].from && at < exempt[i].to;
        if (!free) return at;
    }
    return 0;
}

// Walk on without ever reading a state, and compare. `out`: steps made, states compared, where.
inline u64 random_walk(Model& m, u64 seed, u64 steps, u64* out) {
    Kept kept = {static_cast<u8*>(malloc(m.block_bytes)), {}};
    if (!kept.block) return WALK_MEMORY;
    const u64 key = prng_key(seed);
    u64 fault = WALK_SAME;
    model_start_state(m);
    out[0] = out[1] = out[2] = 0;
    for (u64 i = 0; i < steps && !fault; i++) {
        Choice choices[MOST_CHOICES];
        Code code;
        Code again;
        Followers mine = {};
        Followers theirs = {};
        keep(m, kept);
        model_save(m, code);
        const u32 count = model_choices(m, choices);
        // Values are not used twice without reading, so a walk ends with them.
        if (!count || m.agents.oracle.tokens[MAX_TOKENS - 1].used) break;
        for (u32 j = 0; j < count; j++) {
            give_back(m, kept);
            model_apply(m, choices[j]);
            mine.add(outcome(m));
        }
        model_load(m, code.bytes);
        model_save(m, again);
        if (again.count != code.count || __builtin_memcmp(again.bytes, code.bytes, code.count))
            fault = WALK_CODES;
        Choice others[MOST_CHOICES];
        const u32 other_count = model_choices(m, others);
        for (u32 j = 0; j < other_count; j++) {
            model_load(m, code.bytes);
            model_apply(m, others[j]);
            theirs.add(outcome(m));
        }
        if (!fault && (mine.count != theirs.count ||
                       __builtin_memcmp(mine.all, theirs.all, mine.count * sizeof(u64))))
            fault = WALK_FOLLOWERS;
        out[1]++;
        give_back(m, kept);
        model_apply(m, choices[prng_below(key, i + 1, count)]);
        if (m.agents.finding) {
            give_back(m, kept);
            break;
        }
        // Time goes on, as in no state that was read; it must not matter.
        out[0]++;
    }
    if (!fault) {
        out[2] = forgotten(m);
        if (out[2]) fault = WALK_FORGOTTEN;
    }
    free(kept.block);
    return fault;
}

// Follow `ways` from state to state as a search did, and at the same time in a system that is never
// read. Returns how many steps of it were found, in `out`.
inline u64 concrete_way(Model& m, const u16* ways, u64 count, u16* out) {
    Kept kept = {static_cast<u8*>(malloc(m.block_bytes)), {}};
    u64 done = 0;
    Code code;
    Code before;  // what follows it is written with parts of it
    if (kept.block) {
        model_start_state(m);
        keep(m, kept);
        model_save(m, code);
        for (; done < count; done++) {
            before = code;
            model_load(m, before.bytes);
            model_apply(m, unpacked(ways[done]));
            const u64 wanted = outcome(m);
            const bool ends = m.agents.finding != FOUND_NOTHING;
            if (!ends) model_save(m, code);
            Choice choices[MOST_CHOICES];
            give_back(m, kept);
            const u32 choice_count = model_choices(m, choices);
            u32 i = 0;
            for (; i < choice_count; i++) {
                give_back(m, kept);
                model_apply(m, choices[i]);
                if (outcome(m) == wanted) break;
            }
            if (i == choice_count) break;
            out[done] = packed(choices[i]);
            keep(m, kept);
            if (ends) {
                done++;
                break;
            }
        }
    }
    free(kept.block);
    return done;
}
