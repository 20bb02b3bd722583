// The port of a DMA engine: transfers of one byte to several lines, one line at a time.
//
// Invariants: a transfer has at most one line in flight; of each line at most one transfer is in
// flight, later ones queue; data is reported once, when the last line has arrived. A request is one
// lane's transfer, `line` where it is now, `done` its bytes so far, `transfer` their place.

#pragma once

#include "requesters/base.hpp"

inline u64 Dma_address(const Context& x, const LineRequest& request) {
    return access_addresses(x, access_at(x, request.access))[__builtin_ctzll(request.lanes)];
}

// The bytes of a transfer, from the beginning of its first line on.
inline u8* Dma_bytes(const Context& x, const LineRequest& request) {
    return requester_parts(x).transfers.in(x) + request.transfer * TRANSFER_ROOM;
}

struct Part {
    u32 offset;
    u32 length;
    u32 place;  // of its first byte among those of the transfer
};

// Offset in the current line and length of the part of the transfer that lies there.
inline Part Dma_part(const Context& x, const LineRequest& request) {
    const u64 address = Dma_address(x, request);
    const u64 offset = address + request.done - line_address_of(x, request.line);
    const u64 room = LINE_MASK + 1 - offset;
    const u64 left = access_at(x, request.access).size - request.done;
    const u64 place = (address & LINE_MASK) + request.done;
    return {static_cast<u32>(offset), static_cast<u32>(room < left ? room : left),
            static_cast<u32>(place)};
}

inline void Dma_send(Context& x, Requester& r, const LineRequest& request) {
    const Part part = Dma_part(x, request);
    SequencerMsg& message = new_message<SequencerMsg>(x);
    message.LineAddress = line_address_of(x, request.line);
    message.PhysicalAddress = message.LineAddress + part.offset;
    message.Len = static_cast<i32>(part.length);
    mask_add(message.writeMask, part.offset, part.length);
    i32 type = RubyRequestType::LD;
    message.Type = SequencerRequestType::LD;
    if (access_at(x, request.access).kind == AccessKind::STORE) {
        type = RubyRequestType::ST;
        message.Type = SequencerRequestType::ST;
        __builtin_memcpy(bytes_of(message.DataBlk) + part.offset,
                         Dma_bytes(x, request) + part.place, part.length);
    }
    MessageBuffer_enqueue(x, r.queue, message, mandatory_latency(x, r, type));
}

// The transfer wants its current line.
inline void Dma_enter(Context& x, Requester& r, u32 index) {
    const LineRequest& request = request_at(x, index);
    u32& ring = line_queue(x, r, request.line).requests;
    const bool first = !ring;
    ring_append(x, ring, index);
    if (first) Dma_send(x, r, request);
}

inline bool Dma_issue_transfers(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    if (!requests_left(x, access.lanes)) return false;
    if (!Requester_may_take(x, r, access.client, REFUSED_ROOM, access.lanes)) return false;
    Requester_accept(x, r, access, access.lanes);
    r.count += access.lanes;
    const u64* addresses = access_addresses(x, access);
    RequesterParts& parts = requester_parts(x);
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        const u32 line = line_index(x, addresses[lane] & ~LINE_MASK);
        const u32 number = request_new(x, index, line, 0, u64{1} << lane);
        LineRequest& request = request_at(x, number);
        request.transfer = parts.free_transfers.at(x, parts.transfers_used++);
        if (access.kind == AccessKind::STORE) {
            put_value(x, access, lane, Dma_bytes(x, request) + (addresses[lane] & LINE_MASK));
        }
        Dma_enter(x, r, number);
    }
    return true;
}

inline bool Dma_issue(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    switch (access.kind) {
        case AccessKind::LOAD:
        case AccessKind::STORE: return Dma_issue_transfers(x, r, index);
        case AccessKind::RELEASE: return Requester_release(x, r, index);
        case AccessKind::ACQUIRE:
            Requester_accept(x, r, access, 1);
            Requester_end_next_tick(x, r, index);
            return true;
        default: fail(x, ErrorKind::INDEX_RANGE); return false;
    }
}

// ---------------------------------------------------------------- callbacks of protocols

inline void Dma_over(Context& x, Requester& r, u32 index) {
    const LineRequest& request = request_at(x, index);
    const u32 number = request.access;
    Access& access = access_at(x, number);
    const u32 line = line_index(x, Dma_address(x, request) & ~LINE_MASK);
    INVARIANT(r.count > 0);
    --r.count;
    RequesterParts& parts = requester_parts(x);
    INVARIANT(parts.transfers_used > 0);
    parts.free_transfers.at(x, --parts.transfers_used) = static_cast<u32>(request.transfer);
    if (access.kind == AccessKind::LOAD) {
        client_loaded(x, access, request.lanes, line, Dma_bytes(x, request));
    } else {
        client_stored(x, access, request.lanes, line);
        client_store_completed(x, access, request.lanes, line);
    }
    request_free(x, index);
    Requester_close_part(x, r, number);
    Requester_offer(x, r, REFUSED_ROOM);
}

// Leave the line to the next transfer; go on with the next line, or be done.
inline void Dma_advance(Context& x, Requester& r, u32 index, u32 length) {
    LineRequest& request = request_at(x, index);
    u32& ring = line_queue(x, r, request.line).requests;
    ring_take(x, ring);
    if (ring) Dma_send(x, r, request_at(x, ring_first(x, ring)));
    INVARIANT(length && request.done + length <= access_at(x, request.access).size);
    request.done += length;
    if (request.done == access_at(x, request.access).size) return Dma_over(x, r, index);
    request.line = line_index(x, line_address_of(x, request.line) + LINE_MASK + 1);
    Dma_enter(x, r, index);
}

// The transfer in flight in the line of `address`; 0, with a verdict, if it is none of that kind.
inline u32 Dma_in_flight(Context& x, const Requester& r, u64 address, u32 kind) {
    const u32 index = head_of(x, r, address & ~LINE_MASK);
    if (!index || access_at(x, request_at(x, index).access).kind == kind) return index;
    fail(x, ErrorKind::BAD_CALLBACK);
    return 0;
}

// The line's bytes have arrived for the transfer in flight there.
inline void DMASequencer_dataCallback(Context& x, u32 requester, const DataBlock& data,
                                      u64 address) {
    Requester* r = called(x, requester);
    const u32 index = r ? Dma_in_flight(x, *r, address, AccessKind::LOAD) : 0;
    if (!index) return;
    const LineRequest& request = request_at(x, index);
    const Part part = Dma_part(x, request);
    __builtin_memcpy(Dma_bytes(x, request) + part.place, bytes_of(data) + part.offset, part.length);
    Dma_advance(x, *r, index, part.length);
}

// The line's bytes have been written for the transfer in flight there.
inline void DMASequencer_ackCallback(Context& x, u32 requester, u64 address) {
    Requester* r = called(x, requester);
    const u32 index = r ? Dma_in_flight(x, *r, address, AccessKind::STORE) : 0;
    if (index) Dma_advance(x, *r, index, Dma_part(x, request_at(x, index)).length);
}

// DMA atomics are never asked for.
inline void DMASequencer_atomicCallback(Context& x, u32 requester, const DataBlock&, u64) {
    if (called(x, requester)) fail(x, ErrorKind::BAD_CALLBACK);
}

inline void DMASequencer_recordRequestType(Context& x, u32 requester, i32) { called(x, requester); }
