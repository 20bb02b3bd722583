// What somebody outside of the block asks for: its lanes may be wide, and cross a line.
//
// Invariant: the arrays stay as they are from the moment a slot is given until its last answer;
// only what a load or an atomic brings back is written into them.

#pragma once

#include "requesters/external_view.hpp"
#include "requesters/base.hpp"

inline u8* outside_bytes(const Context& x, const Access& access) {
    return x.outside->bytes + u64{access.place} * OUTSIDE_LANES * OUTSIDE_BYTES;
}

// Calls `visit(lane, first byte of it, offset in the line, bytes)` for what lanes have in a line.
template <class Visit>
inline void outside_overlaps(const Context& x, const Access& access, u64 lanes, u64 line, Visit visit) {
    const u64* addresses = access_addresses(x, access);
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        const u64 address = addresses[lane];
        const u64 low = address < line ? line : address;
        const u64 end = line + LINE_MASK + 1;
        const u64 high = address + access.size < end ? address + access.size : end;
        visit(lane, static_cast<u32>(low - address), static_cast<u32>(low - line), static_cast<u32>(high - low));
    }
}

// What a row of a load or store sends along.
inline void outside_contents(Context& x, const Row& row, const Access& access, u64 line, RubyRequest& message) {
    const u64 first = access_addresses(x, access)[__builtin_ctzll(row.lanes)];
    message.PhysicalAddress = first < line ? line : first;
    const u8* from = outside_bytes(x, access);
    u8* to = row.type == RubyRequestType::ST ? bytes_of(message.WTData) : nullptr;
    outside_overlaps(x, access, row.lanes, line, [&](u32 lane, u32 byte, u32 offset, u32 count) {
        mask_add(message.writeMask, offset, count);
        if (to) __builtin_memcpy(to + offset, from + lane * access.size + byte, count);
    });
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
