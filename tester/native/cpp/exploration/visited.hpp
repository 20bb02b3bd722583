// The states that were seen, by fingerprints of their codes.
//
// Invariant: a fingerprint stands in the table once; two states of one fingerprint count as one, with
// the probability that the report prints.

#pragma once

#include <stdlib.h>

#include "sim/prng.hpp"

struct Fingerprint {
    u64 low;
    u64 high;
};

// Of bytes behind which there are zeros up to a whole number of pairs of words.
inline Fingerprint fingerprint(const u8* bytes, u64 count) {
    u64 a = count * GOLDEN + 0x8f3a91c2d4e5b617;
    u64 b = ~count * 0xd6e8feb86659fd93;
    for (const u8* const end = bytes + count; bytes < end; bytes += 16) {
        u64 words[2];
        __builtin_memcpy(words, bytes, sizeof words);
        const u128 left = u128{a ^ words[0]} * (0x9fb21c651e98df25 ^ words[1]);
        const u128 right = u128{b ^ words[1]} * (0xa0761d6478bd642f ^ words[0]);
        a = static_cast<u64>(left) ^ static_cast<u64>(left >> 64) ^ b;
        b = static_cast<u64>(right) ^ static_cast<u64>(right >> 64);
    }
    return {mix64(a ^ mix64(b)), mix64(b + GOLDEN * a)};
}

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
    enum Added { OLD, NEW, FULL };

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
    }
    u64 bytes() const {
        u64 all = 0;
        for (const Visited& part : parts) all += part.bytes();
        return all;
    }
    static u32 part_of(Fingerprint f) { return static_cast<u32>(f.high >> 58); }
    void prefetch(Fingerprint f) const { parts[part_of(f)].prefetch(f.low); }
    Visited::Added add(Fingerprint f) {
        const u32 which = part_of(f);
        if (!shared) return parts[which].add(f);
        while (__atomic_exchange_n(&locks[which], 1, __ATOMIC_ACQUIRE)) {}
        const Visited::Added result = parts[which].add(f);
        __atomic_store_n(&locks[which], 0, __ATOMIC_RELEASE);
        return result;
    }
    // How many states there are with a new one.
    u64 count_new() { return shared ? __atomic_add_fetch(&added, 1, __ATOMIC_RELAXED) : ++added; }
};

// Things one behind the other.
template <class T>
struct Sequence {
    T* items = nullptr;
    u64 count = 0;
    u64 room = 0;

    void close() { free(items); }
    bool reserve(u64 more) {
        if (count + more <= room) return true;
        u64 wanted = room + room / 8 + 1024;
        if (wanted < count + more) wanted = count + more;
        T* moved = static_cast<T*>(realloc(items, wanted * sizeof(T)));
        if (!moved) return false;
        items = moved;
        room = wanted;
        return true;
    }
    bool append(const T* from, u64 number) {
        if (!reserve(number)) return false;
        __builtin_memcpy(items + count, from, number * sizeof(T));
        count += number;
        return true;
    }
    bool add(T item) { return append(&item, 1); }
};
