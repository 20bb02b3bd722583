// The states that were seen, by fingerprints of their codes.
//
// Invariant: a fingerprint stands in the table once; two states of one fingerprint count as one, with
// the probability that the report prints.

#pragma once

#include "exploration/visited/first_found.hpp"

// Open addressing in the order of fingerprints: one stands at the place that its value says, or behind
// it, and none is larger than a later one. So a search ends at the first larger one, growing is one pass
// over both tables, and a table can grow by a tenth and stay nearly full. `wide`: both halves of a
// fingerprint are kept.
struct Visited {
    u64* table = nullptr;
    u64 places = 0;  // where fingerprints belong; behind these is room for those that are pushed on
    u64 room = 0;
    u64 count = 0;
    u32 words = 1;

    static u64 room_for(u64 places) { return places + places / 64 + 64; }

    bool start(bool wide) {
        words = wide ? 2 : 1;
        places = 1 << 8;
        room = room_for(places);
        table = static_cast<u64*>(calloc(room * words, sizeof(u64)));
        return table;
    }
    void close() { free(table); }

    u64 bytes() const { return room * words * sizeof(u64); }

    static u64 home(u64 low, u64 places) { return static_cast<u64>(u128{low} * places >> 64); }

    void prefetch(u64 low) const {
        const u64* const from = __atomic_load_n(&table, __ATOMIC_RELAXED);
        __builtin_prefetch(from + home(low, __atomic_load_n(&places, __ATOMIC_RELAXED)) * words);
    }

    // Into a larger table. False: no memory.
    bool grow() {
        for (u64 larger = places + places / 10 + 16;; larger += larger / 10) {
            const u64 wanted = room_for(larger);
            u64* const next = static_cast<u64*>(calloc(wanted * words, sizeof(u64)));
            if (!next) return false;
            u64 to = 0;
            u64 at = 0;
            for (; at < room && to + 1 < wanted; at++) {
                const u64 low = table[at * words];
                if (!low) continue;
                const u64 first = home(low, larger);
                if (to < first) to = first;
                for (u32 i = 0; i < words; i++) next[to * words + i] = table[at * words + i];
                to++;
            }
            if (at < room) {  // too many at its end
                free(next);
                continue;
            }
            free(table);
            __atomic_store_n(&table, next, __ATOMIC_RELAXED);
            __atomic_store_n(&places, larger, __ATOMIC_RELAXED);
            room = wanted;
            return true;
        }
    }
    enum Added { OLD, NEW, FULL, EARLIER };

    Added add(Fingerprint f) {
        if (!f.low) f.low = 1;
        u64 at = home(f.low, places);
        for (; table[at * words] && table[at * words] < f.low; at++) {}
        for (; table[at * words] == f.low; at++) {
            if (words == 1 || table[at * words + 1] == f.high) return OLD;
        }
        u64 end = at;
        while (table[end * words]) end++;
        if (count * 10 >= places * 9 || end + 1 == room) return grow() ? add(f) : FULL;
        __builtin_memmove(table + (at + 1) * words, table + at * words,
                          (end - at) * words * sizeof(u64));
        table[at * words] = f.low;
        if (words == 2) table[at * words + 1] = f.high;
        count++;
        return NEW;
    }
};

// Tables by a part of the fingerprint that they do not look at, so that several searches can add to
// them at a time, each holding the lock of one. A search that is alone needs no locks.
struct SharedVisited {
    static constexpr u32 PARTS = 64;
    Visited parts[PARTS];
    FirstFound level[PARTS];  // states of the next one, if several searches add them
    u32 locks[PARTS];
    u64 added;  // to all of them
    bool shared;

    bool start(bool wide) {
        for (Visited& part : parts) {
            if (!part.start(wide)) return false;
        }
        return true;
    }
    void close() {
        for (Visited& part : parts) part.close();
        begin_level();
    }
    void begin_level() {
        for (FirstFound& part : level) part.clear();
    }
    u64 bytes() const {
        u64 all = 0;
        for (const Visited& part : parts) all += part.bytes();
        return all;
    }
    static u32 part_of(Fingerprint f) { return static_cast<u32>(f.high >> 58); }
    void prefetch(Fingerprint f) const { parts[part_of(f)].prefetch(f.low); }
    // What states are told apart by.
    Fingerprint kept(Fingerprint f) const {
        return parts[0].words == 2 ? f : Fingerprint{f.low, u64{part_of(f)}};
    }
    // `order`: the place of the step among all; EARLIER: the state was found, but by later ones.
    Visited::Added add(Fingerprint f, u64 order) {
        const u32 which = part_of(f);
        if (!shared) return parts[which].add(f);
        while (__atomic_exchange_n(&locks[which], 1, __ATOMIC_ACQUIRE)) {}
        Visited::Added result = parts[which].add(f);
        if (result == Visited::NEW) {
            if (!level[which].add(kept(f), order)) result = Visited::FULL;
        } else if (result == Visited::OLD && level[which].improve(kept(f), order)) {
            result = Visited::EARLIER;
        }
        __atomic_store_n(&locks[which], 0, __ATOMIC_RELEASE);
        return result;
    }
    bool is_first(Fingerprint f, u64 order) const {
        return level[part_of(f)].is_first(kept(f), order);
    }
    // How many states there are with a new one.
    u64 count_new() { return shared ? __atomic_add_fetch(&added, 1, __ATOMIC_RELAXED) : ++added; }
};
