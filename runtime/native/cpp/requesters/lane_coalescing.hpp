// Grouping the lanes of one instruction by line.
//
// Invariant: rows stand in the order in which their lines are first mentioned, lanes in lane order
// inside a row, and every lane is in exactly one row.

#pragma once

#include "requesters/external_lanes.hpp"

// The rows of a load, store or atomic; with `alone` every lane has a row of its own. Returns how
// many they are; the chain has them in order. The access's lines are known (access_lines), and
// there is room.
inline u32 coalesce(Context& x, const Requester& r, u32 index, bool alone, Queue& chain) {
    RequesterParts& parts = requester_parts(x);
    const Access& access = access_at(x, index);
    alone |= access.lanes == 1;
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
    const u32 near = message_buffer(x, r.queue).near;
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
        if (!alone && marks[line].stamp == stamp) {
            row = marks[line].row;
            rows[row].lanes |= bit;
            continue;
        }
        // Looked at when the row is admitted, and by the controller.
        __builtin_prefetch(&book_of(x, r, line), 1);
        expect_places(x, near, line);
        row = row_new(x, index, line, type, bit);
        if (!alone) marks[line] = {stamp, row};
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
    if (access.source == Source::OUTSIDE && access.kind != AccessKind::ATOMIC) {
        return outside_contents(x, row, access, line, message);
    }
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
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u32 offset = static_cast<u32>(addresses[lane] - line);
        mask_add(message.writeMask, offset, size);
        if (row.type == RubyRequestType::LD) continue;
        const AtomicNode node = access_operation(x, access, lane);
        atomics_append(x, message.writeMask.atomics, last, static_cast<u16>(offset), node.kind, node.size, node.operand,
                       node.compare);
    }
}
