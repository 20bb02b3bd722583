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

inline Fingerprint fingerprint(const u8* bytes, u64 count) {
    u64 a = count * GOLDEN + 0x8f3a91c2d4e5b617;
    u64 b = ~count * 0xd6e8feb86659fd93;
    while (count) {
        u64 word = 0;
        const u64 part = count < 8 ? count : 8;
        __builtin_memcpy(&word, bytes, part);
        const u128 left = u128{a ^ word} * 0x9fb21c651e98df25;
        const u128 right = u128{b ^ word} * 0xa0761d6478bd642f;
        a = static_cast<u64>(left) ^ static_cast<u64>(left >> 64) ^ b;
        b = static_cast<u64>(right) ^ static_cast<u64>(right >> 64);
        bytes += part;
        count -= part;
    }
    return {mix64(a ^ mix64(b)), mix64(b + GOLDEN * a)};
}

// Open addressing; `wide`: both halves of a fingerprint are kept.
struct Visited {
    u64* table = nullptr;
    u64 mask = 0;
    u64 count = 0;
    u32 words = 1;

    bool start(bool wide) {
        words = wide ? 2 : 1;
        mask = (1 << 8) - 1;
        table = static_cast<u64*>(calloc((mask + 1) * words, sizeof(u64)));
        return table;
    }
    void close() { free(table); }

    u64 bytes() const { return (mask + 1) * words * sizeof(u64); }

    u64 place(const u64* in, u64 in_mask, Fingerprint f) const {
        u64 at = f.low & in_mask;
        for (; in[at * words]; at = (at + 1) & in_mask) {
            if (in[at * words] == f.low && (words == 1 || in[at * words + 1] == f.high)) break;
        }
        return at;
    }
    bool grow() {
        const u64 larger = 2 * mask + 1;
        u64* next = static_cast<u64*>(calloc((larger + 1) * words, sizeof(u64)));
        if (!next) return false;
        for (u64 at = 0; at <= mask; at++) {
            if (!table[at * words]) continue;
            const Fingerprint f = {table[at * words], words == 2 ? table[at * words + 1] : 0};
            const u64 to = place(next, larger, f);
            for (u32 i = 0; i < words; i++) next[to * words + i] = table[at * words + i];
        }
        free(table);
        table = next;
        mask = larger;
        return true;
    }
    enum Added { OLD, NEW, FULL };

    Added add(Fingerprint f) {
        if (!f.low) f.low = 1;
        const u64 at = place(table, mask, f);
        if (table[at * words]) return OLD;
        if (count * 8 > mask * 7) {
            if (!grow()) return FULL;
            return add(f);
        }
        table[at * words] = f.low;
        if (words == 2) table[at * words + 1] = f.high;
        count++;
        return NEW;
    }
};

// Tables by a part of the fingerprint that they do not look at, so that several searches can add to
// them at a time, each holding the lock of one.
struct SharedVisited {
    static constexpr u32 PARTS = 64;
    Visited parts[PARTS];
    u32 locks[PARTS];
    u64 added;  // to all of them, while several searches add

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
    Visited::Added add(Fingerprint f) {
        const u32 which = static_cast<u32>(f.high >> 58);
        while (__atomic_exchange_n(&locks[which], 1, __ATOMIC_ACQUIRE)) {}
        const Visited::Added result = parts[which].add(f);
        __atomic_store_n(&locks[which], 0, __ATOMIC_RELEASE);
        return result;
    }
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
        u64 wanted = room + room / 2 + 1024;
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
