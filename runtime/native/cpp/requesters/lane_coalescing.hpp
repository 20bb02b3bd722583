// Grouping the lanes of one instruction by line.
//
// Invariant: requests stand in the order in which their lines are first mentioned, lanes in lane order
// inside a request, and every lane is in exactly one request, or in two if it crosses a line.

#pragma once

#include "requesters/base.hpp"

// The requests of a load, store or atomic; with `alone` every lane has a request of its own. Returns how
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
    LineRequest* requests = parts.requests.in(x);
    const u32 stamp = ++parts.stamp;
    const u32 near = message_buffer(x, r.queue).near;
    u32 count = 0;
    u32 request = 0;
    u32 line = NIL;
    chain = {};
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        const u64 bit = u64{1} << lane;
        if (parts.scratch[lane] == line && !alone) {
            requests[request].lanes |= bit;
            continue;
        }
        line = parts.scratch[lane];
        if (!alone && marks[line].stamp == stamp) {
            request = marks[line].request;
            requests[request].lanes |= bit;
            continue;
        }
        // Looked at when the request is admitted, and by the controller.
        __builtin_prefetch(&line_queue(x, r, line), 1);
        expect_places(x, near, line);
        request = request_new(x, index, line, type, bit);
        if (!alone) marks[line] = {stamp, request};
        if (chain.last) {
            requests[chain.last].next = request;
        } else {
            chain.first = request;
        }
        chain.last = request;
        ++count;
    }
    return count;
}

// As coalesce() does, for lanes of which some cross a line: these are in two requests.
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
                request_at(x, mark.request).lanes |= u64{1} << lane;
                continue;
            }
            const u32 request = request_new(x, index, line, type, u64{1} << lane);
            mark = {stamp, request};
            requests_queue(x, chain, {request, request});
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
        visit(lane, static_cast<u32>(low - address), static_cast<u32>(low - line),
              static_cast<u32>(high - low));
    }
}

// What a request sends along: the bytes that its lanes name, and what stores and atomics do to them.
inline void row_contents(Context& x, const LineRequest& request, const Access& access, u64 line,
                         RubyRequest& message) {
    const u64* addresses = access_addresses(x, access);
    const u64 first = addresses[__builtin_ctzll(request.lanes)];
    message.PhysicalAddress = first < line ? line : first;
    if (request.type == RubyRequestType::ST)
        put_values(x, access, request.lanes, line, bytes_of(message.WTData));
    if (UNLIKELY(access.crosses)) {
        return lanes_in_line(
            addresses, access.size, request.lanes, line,
            [&](u32, u32, u32 offset, u32 count) { mask_add(message.writeMask, offset, count); });
    }
    const bool atomic = access.kind == AccessKind::ATOMIC;
    const u32 size = access.size;
    u32 last = 0;
    for (u64 left = request.lanes; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        const u32 offset = static_cast<u32>(addresses[lane] - line);
        mask_add(message.writeMask, offset, size);
        if (!atomic) continue;
        const AtomicNode node = access_operation(x, access, lane);
        atomics_append(x, message.writeMask.atomics, last, static_cast<u16>(offset), node.kind,
                       node.size, node.operand, node.compare);
    }
}
