// States in which a request is outstanding, and from which no run completes any unless another one is begun.
//
// A protocol that keeps a request going in circles never comes to rest, so that no state is a deadlock.
// Which states those are can be said when all moves are known: the others are those that lead to a
// move with a completion. What agents begin does not count. So if there is none of these states, then from
// every state a run completes one request after the other until none is outstanding: none starves.
// Invariant: the answer is the state that was found first, so the way to it is a shortest one.

#pragma once

#include "exploration/sequence.hpp"
#include "exploration/shared_numbers.hpp"

// What has to be known of all moves; nothing any more once there are more than `most`.
//
// `to`: the fingerprint of the state that a move leads to, without its last bit, which says whether a
// request was completed; `from`: the state's number, and in its last bit whether anything was
// outstanding there. `prints`: fingerprints by number, without their last bits. Of a state out of
// which a step completes a request, that step is all that is kept.
struct Edges {
    u64 most;
    Sequence<u64> to;
    Sequence<u32> from;
    Sequence<u64> prints;
    u64 first;       // of the state that is expanded
    bool completes;  // whether a step out of that completes a request

    void close() {
        to.close();
        from.close();
        prints.close();
        to = {};
        from = {};
        prints = {};
    }
    void drop() {
        close();
        most = 0;
    }
    void state(u64 print) {
        if (most && !prints.add(print & ~u64{1})) drop();
    }
    // Steps out of another state follow.
    void expand() {
        first = to.count;
        completes = false;
    }
    void step(u32 state, bool outstanding, u64 print, bool completed) {
        if (!most || completes) return;
        if (completed) to.count = from.count = first;
        completes = completed;
        const u64 there = (print & ~u64{1}) | u64{completed};
        if (to.count == most || !to.add(there) || !from.add(state << 1 | outstanding)) drop();
    }
    // The steps of a helper.
    void append(Edges& other) {
        if (!most) return;
        if (!other.most || to.count + other.to.count > most ||
            !to.append(other.to.items, other.to.count) ||
            !from.append(other.from.items, other.from.count))
            drop();
        other.to.count = other.from.count = 0;
    }
    u64 bytes() const {
        return to.count * sizeof(u64) + from.count * sizeof(u32) + prints.count * sizeof(u64);
    }
};

// Numbers of states by fingerprint.
struct StateNumbers {
    u32* table;
    u64 places;
    const u64* prints;

    bool start(const u64* all, u64 count) {
        for (places = 64; places < 2 * count; places *= 2) {}
        prints = all;
        table = static_cast<u32*>(calloc(places, sizeof(u32)));
        for (u64 i = 0; table && i < count; i++) {
            u64 at = home(prints[i]);
            for (; table[at]; at = (at + 1) & (places - 1)) {}
            table[at] = static_cast<u32>(i + 1);
        }
        return table;
    }
    // They are hashes, but for their lowest bits.
    u64 home(u64 print) const { return print >> 8 & (places - 1); }
    void prefetch(u64 print) const { __builtin_prefetch(table + home(print)); }
    u32 of(u64 print) const {
        u64 at = home(print);
        while (prints[table[at] - 1] != print) at = (at + 1) & (places - 1);
        return table[at] - 1;
    }
};

// The number of the first state from which no run completes a request. `to` has numbers of states in
// the place of fingerprints afterwards.
inline i64 first_stuck(u64* to, const u32* from, const u64* prints, u64 steps, u64 states) {
    constexpr u64 AHEAD = 16;
    StateNumbers numbers;
    u8* const completing = static_cast<u8*>(calloc(states, 1));
    if (!completing || !numbers.start(prints, states)) {
        free(completing);
        return NOT_JUDGED;
    }
    for (u64 i = 0; i < steps; i++) {
        if (i + AHEAD < steps) numbers.prefetch(to[i + AHEAD] & ~u64{1});
        if (to[i] & 1)
            completing[from[i] >> 1] = 1;
        else
            to[i] = numbers.of(to[i]);
    }
    free(numbers.table);
    // Most steps lead to states with larger numbers, so the last ones come first.
    for (bool changed = true; changed;) {
        changed = false;
        for (u64 i = steps; i-- > 0;) {
            if (completing[from[i] >> 1] || !completing[to[i]]) continue;
            completing[from[i] >> 1] = 1;
            changed = true;
        }
    }
    i64 stuck = NONE_STUCK;
    for (u64 i = 0; i < steps; i++) {
        const i64 state = from[i] >> 1;
        if ((from[i] & 1) && !completing[state] && (stuck < 0 || state < stuck)) stuck = state;
    }
    free(completing);
    return stuck;
}
