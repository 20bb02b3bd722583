// Grouping the lanes of one instruction by line.
//
// Invariant: rows stand in the order in which their lines are first mentioned, lanes in lane order
// inside a row, and every lane is in exactly one row, or in two if it crosses a line.

#pragma once

#include "requesters/base.hpp"

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

// As coalesce() does, for lanes of which some cross a line: these are in two rows.
inline u32 coalesce_across(Context& x, u32 index, Queue& chain) {
    RequesterParts& parts = requester_parts(x);
    const Access& access = access_at(x, index);
    const i32 type = access.kind == AccessKind::STORE ? RubyRequestType::ST : RubyRequestType::LD;
    const u64* addresses = access_addresses(x, access);
    const u32 stamp = ++parts.stamp;
    u32 count = 0;
    chain = {};
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        const u64 last = (addresses[lane] + access.size - 1) & ~LINE_MASK;
        for (u64 at = addresses[lane] & ~LINE_MASK; at <= last; at += LINE_MASK + 1) {
            const u32 line = line_index(x, at);
            Line& mark = parts.marks.at(x, line);
            if (mark.stamp == stamp) {
                row_at(x, mark.row).lanes |= u64{1} << lane;
                continue;
            }
            const u32 row = row_new(x, index, line, type, u64{1} << lane);
            mark = {stamp, row};
            rows_queue(x, chain, {row, row});
            ++count;
        }
    }
    return count;
}

// Calls `visit(lane, first byte of it, offset in the line, bytes)` for what lanes have in a line.
template <class Visit>
inline void lanes_in_line(const u64* addresses, u32 size, u64 lanes, u64 line, Visit visit) {
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        const u64 address = addresses[lane];
        const u64 low = address < line ? line : address;
        const u64 end = line + LINE_MASK + 1;
        const u64 high = address + size < end ? address + size : end;
        visit(lane, static_cast<u32>(low - address), static_cast<u32>(low - line), static_cast<u32>(high - low));
    }
}

// What a row sends along: the bytes that its lanes name, and what stores and atomics do to them.
inline void row_contents(Context& x, const Row& row, const Access& access, u64 line, RubyRequest& message) {
    const u64* addresses = access_addresses(x, access);
    const u64 first = addresses[__builtin_ctzll(row.lanes)];
    message.PhysicalAddress = first < line ? line : first;
    if (row.type == RubyRequestType::ST) put_values(x, access, row.lanes, line, bytes_of(message.WTData));
    if (UNLIKELY(access.crosses)) {
        return lanes_in_line(addresses, access.size, row.lanes, line, [&](u32, u32, u32 offset, u32 count) {
            mask_add(message.writeMask, offset, count);
        });
    }
    const bool atomic = access.kind == AccessKind::ATOMIC;
    const u32 size = access.size;
    u32 last = 0;
    for (u64 left = row.lanes; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u32 offset = static_cast<u32>(addresses[lane] - line);
        mask_add(message.writeMask, offset, size);
        if (!atomic) continue;
        const AtomicNode node = access_operation(x, access, lane);
        atomics_append(x, message.writeMask.atomics, last, static_cast<u16>(offset), node.kind, node.size, node.operand,
                       node.compare);
    }
}
