// Arrays of a cache that can be busy.
//
// Invariant: what is reserved was free in this cycle; anything else is the protocol's mistake
// (a row that records an access which it did not check).

#pragma once

#include "block/context.hpp"
#include "structures/replacement_policy.hpp"

inline bool BankedArray_is_free(const Context& x, const BankedArray& array, u64 index) {
    if (!array.latency) return true;
    return in_block<BankState>(x, array.banks)[index % array.count].until <= now(x);
}

// Occupy the bank from now; the same set again in one cycle is one access.
inline void BankedArray_reserve(Context& x, const BankedArray& array, u64 index) {
    if (!array.latency) return;
    BankState& bank = in_block<BankState>(x, array.banks)[index % array.count];
    if (bank.until > now(x)) {
        if (bank.start != now(x) || bank.index != index) fail(x, ErrorKind::BANK_CONFLICT);
        return;
    }
    bank = {now(x), now(x) + array.latency, index};
}

// Forget what no longer delays an access.
inline void Alu_prune(Context& x, CacheMemory& c) {
    AluStart* starts = in_block<AluStart>(x, c.alu_starts);
    u32 kept = 0;
    for (u32 i = 0; i < c.alu_used; i++) {
        if (starts[i].tick + c.alu_latency >= now(x)) starts[kept++] = starts[i];
    }
    c.alu_used = kept;
}

inline bool Alu_is_free(Context& x, CacheMemory& c, u64 line) {
    Alu_prune(x, c);
    const AluStart* starts = in_block<AluStart>(x, c.alu_starts);
    u32 started = 0;
    for (u32 i = 0; i < c.alu_used; i++) {
        if (starts[i].line == line) return false;
        started += starts[i].tick == now(x);
    }
    return started <= c.alu_count;
}

inline void Alu_reserve(Context& x, CacheMemory& c, u64 line) {
    if (c.alu_used == c.alu_room) Alu_prune(x, c);
    if (c.alu_used == c.alu_room) {
        pool_exhausted(x, POOL_TABLES, c.alu_room);
        return;
    }
    in_block<AluStart>(x, c.alu_starts)[c.alu_used++] = {now(x), line};
}
