// Grouping the lanes of one instruction by line.
//
// Invariant: rows stand in the order in which their lines are first mentioned, lanes in lane order
// inside a row, and every lane is in exactly one row.

#pragma once

#include "requester_base.hpp"

// The rows of a load, store or atomic; with `alone` every lane has a row of its own. Returns how
// many they are; the chain has them in order. The access's lines are known (access_lines), and
// there is room.
inline u32 coalesce(Context& x, u32 index, bool alone, Queue& chain) {
    RequesterParts& parts = requester_parts(x);
    const Access& access = access_at(x, index);
    i32 type = RubyRequestType::LD;
    if (access.kind == AccessKind::STORE) {
        type = RubyRequestType::ST;
    } else if (access.kind == AccessKind::ATOMIC) {
        const bool quiet = access.scope & Scope::QUIET;
        type = quiet ? RubyRequestType::ATOMIC_NO_RETURN : RubyRequestType::ATOMIC_RETURN;
    }
    Line* marks = parts.marks.in(x);
    Row* rows = parts.rows.in(x);
    const u32 stamp = ++parts.stamp;
    u32 count = 0;
    u32 row = 0;
    u32 line = NIL;
    chain = {};
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        const u64 bit = u64{1} << lane;
        if (parts.scratch[lane] == line && !alone) {
            rows[row].lanes |= bit;
            continue;
        }
        line = parts.scratch[lane];
        Line& mark = marks[line];
        if (mark.stamp == stamp && !alone) {
            row = mark.row;
            rows[row].lanes |= bit;
            continue;
        }
        row = row_new(x, index, line, type, bit);
        mark = {stamp, row};
        if (chain.last) {
            rows[chain.last].next = row;
        } else {
            chain.first = row;
        }
        chain.last = row;
        ++count;
    }
    return count;
}

// What a row sends along: the bytes that its lanes name, and what stores and atomics do to them.
inline void row_contents(Context& x, const Row& row, const Access& access, u64 line, RubyRequest& message) {
    const u64* addresses = access_addresses(x, access);
    const u32 size = access.size;
    u64 left = row.lanes;
    message.PhysicalAddress = addresses[__builtin_ctzll(left)];
    if (row.type == RubyRequestType::ST) {
        const u64* values = access_values(x, access);
        u8* bytes = bytes_of(message.WTData);
        for (; left; left &= left - 1) {
            const u32 lane = static_cast<u32>(__builtin_ctzll(left));
            const u32 offset = static_cast<u32>(addresses[lane] - line);
            mask_add(message.writeMask, offset, size);
            store_bytes(bytes + offset, values[lane], size);
        }
        return;
    }
    u32 last = 0;
    for (; left; left &= left - 1) {
        const u32 offset = static_cast<u32>(addresses[__builtin_ctzll(left)] - line);
        mask_add(message.writeMask, offset, size);
        if (row.type == RubyRequestType::LD) continue;
        atomics_append(x, message.writeMask.atomics, last, static_cast<u16>(offset), AtomicKind::ADD, access.size, 1, 0);
    }
}
