// The port of a CPU thread, and of instruction and scalar caches.
//
// Requests to one line form a list; its head has been sent to the controller, the others wait and
// mostly complete with it, because a line that serves the head serves them, too.
//
// Invariant: of the requests of a line exactly the first has been sent. Data lives in the cache:
// a callback's DataBlock is the line, stores are written into it and loads read from it, in the
// order of the list. A request is one lane's request; one without lanes is a flush.

#pragma once

#include "requesters/base.hpp"

inline void AcquireWalk_part_done(Context& x, Requester& r);
inline void AcquireWalk_linked_ended(Context& x, Requester& r);

// ---------------------------------------------------------------- issue

inline void Sequencer_send(Context& x, Requester& r, const LineRequest& request) {
    const Access& access = access_at(x, request.access);
    const u64 line = line_address_of(x, request.line);
    RubyRequest& message = new_message<RubyRequest>(x);
    message.LineAddress = line;
    message.PhysicalAddress = line;
    message.Type = request.type;
    message.contextId = r.context;
    message.instSeqNum = access.sequence;
    if (request.lanes) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(request.lanes));
        const u64 address = access_addresses(x, access)[lane];
        const u32 offset = static_cast<u32>(address - line);
        message.PhysicalAddress = address;
        message.Size = access.size;
        mask_add(message.writeMask, offset, access.size);
        if (access.kind == AccessKind::STORE) {
            put_value(x, access, lane, bytes_of(message.WTData) + offset);
        }
    }
    message.isGLCSet = access.scope & Scope::GLC;
    message.isSLCSet = (access.scope & Scope::SLC) != 0;
    MessageBuffer_enqueue(x, r.queue, message, mandatory_latency(x, r, request.type));
}

inline void Sequencer_enter(Context& x, Requester& r, u32 index) {
    const LineRequest& request = request_at(x, index);
    u32& ring = line_queue(x, r, request.line).requests;
    const bool first = !ring;
    ++r.count;
    ring_append(x, ring, index);
    if (first) Sequencer_send(x, r, request);
}

inline bool Sequencer_issue_lanes(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    if (!requests_left(x, access.lanes)) return false;
    if (!Requester_may_take(x, r, access.client, REFUSED_ROOM, access.lanes)) return false;
    if (!access_lines(x, access)) return false;
    Requester_accept(x, r, access, access.lanes);
    const i32 read = access.scope & Scope::INSTRUCTION ? RubyRequestType::IFETCH : r.read_type;
    const i32 type = access.kind == AccessKind::LOAD ? read : RubyRequestType::ST;
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        const u32 line = requester_parts(x).scratch[lane];
        Sequencer_enter(x, r, request_new(x, index, line, type, u64{1} << lane));
    }
    return true;
}

// Never refused: a flush is one instruction, whatever the number of its lines.
inline bool Sequencer_issue_flush(Context& x, Requester& r, u32 index) {
    Queue chain;
    u32 count;
    if (!requests_of_lines(x, index, RubyRequestType::FLUSH, chain, count)) return false;
    Requester_accept(x, r, access_at(x, index), count);
    if (!count) Requester_end_next_tick(x, r, index);
    for (u32 request = chain.first; request;) {
        const u32 next = request_at(x, request).next;
        Sequencer_enter(x, r, request);
        request = next;
    }
    return true;
}

inline i64 Sequencer_free(const Requester& r, RefusalReason reason) {
    if (reason == REFUSED_ROOM) return i64{r.max_outstanding} - r.count;
    return r.walk_parts ? 0 : 1;
}

// ---------------------------------------------------------------- acquire: the walk

// Send a REPLACEMENT for every resident line and notify requester `owner` when all are answered.
// False when nothing is resident; `owner` is not notified then. One walk at a time.
inline bool Sequencer_begin_walk(Context& x, Requester& r, u32 owner) {
    const u32 count = resident_lines(x, r);
    if (!count) return false;
    r.walk_parts = count;
    r.walk_owner = owner + 1;
    send_replacements(x, r, count);
    return true;
}

// Notify `watcher` once, when the walk that is under way has ended.
inline void Sequencer_watch_walk(const Context& x, Requester& r, Requester& watcher) {
    watcher.next_watcher = 0;
    if (r.watchers.last) {
        requester_at(x, r.watchers.last - 1).next_watcher = watcher.index + 1;
    } else {
        r.watchers.first = watcher.index + 1;
    }
    r.watchers.last = watcher.index + 1;
}

inline bool Sequencer_issue_acquire(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    if (r.walks && !Requester_may_take(x, r, access.client, REFUSED_WALK)) return false;
    Requester_accept(x, r, access, 1);
    if (r.walks && Sequencer_begin_walk(x, r, r.index)) {
        r.walk_access = index;
    } else {
        Requester_end_next_tick(x, r, index);
    }
    return true;
}

inline void Sequencer_invL1Callback(Context& x, u32 requester) {
    Requester* r = called(x, requester);
    if (!r) return;
    if (!r->walk_parts) return fail(x, ErrorKind::BAD_CALLBACK);
    if (--r->walk_parts) return;
    Requester& owner = requester_at(x, r->walk_owner - 1);
    u32 watcher = r->watchers.first;
    r->watchers = {};
    if (&owner == r) {
        const u32 access = r->walk_access;
        r->walk_access = 0;
        client_synchronized(x, access_at(x, access));
        Requester_close_part(x, *r, access);
    } else {
        AcquireWalk_part_done(x, owner);
    }
    Requester_offer(x, *r, REFUSED_WALK);
    while (watcher) {
        Requester& waiting = requester_at(x, watcher - 1);
        watcher = waiting.next_watcher;
        AcquireWalk_linked_ended(x, waiting);
    }
}

inline bool Sequencer_issue(Context& x, Requester& r, u32 index) {
    switch (access_at(x, index).kind) {
        case AccessKind::ACQUIRE: return Sequencer_issue_acquire(x, r, index);
        case AccessKind::RELEASE: return Requester_release(x, r, index);
        case AccessKind::FLUSH: return Sequencer_issue_flush(x, r, index);
        case AccessKind::INVALIDATE_L2: fail(x, ErrorKind::INDEX_RANGE); return false;
        default: return Sequencer_issue_lanes(x, r, index);
    }
}

// ---------------------------------------------------------------- callbacks of protocols

inline void Sequencer_finish(Context& x, Requester& r, u32 index) {
    const u32 access = request_at(x, index).access;
    INVARIANT(r.count > 0);
    --r.count;
    request_free(x, index);
    Requester_close_part(x, r, access);
}

inline void Sequencer_complete_read(Context& x, Requester& r, u32 index, const u8* bytes) {
    const LineRequest& request = request_at(x, index);
    client_loaded(x, access_at(x, request.access), request.lanes, request.line, bytes);
    Sequencer_finish(x, r, index);
}

// Move the data of one request and notify the client. `bytes` is the line.
inline void Sequencer_complete(Context& x, Requester& r, u32 index, u64 line, u8* bytes) {
    const LineRequest& request = request_at(x, index);
    Access& access = access_at(x, request.access);
    if (access.kind == AccessKind::LOAD) return Sequencer_complete_read(x, r, index, bytes);
    if (access.kind == AccessKind::FLUSH) {
        if (access.open == 1) client_synchronized(x, access);
    } else {
        const u32 lane = static_cast<u32>(__builtin_ctzll(request.lanes));
        u8* place = bytes + (access_addresses(x, access)[lane] - line);
        if (access.kind == AccessKind::STORE) {
            put_value(x, access, lane, place);
            client_stored(x, access, request.lanes, request.line);
            client_store_completed(x, access, request.lanes, request.line);
        } else {
            const u64 old = load_bytes(place, access.size);
            store_bytes(place, atomic_apply(access_operation(x, access, lane), old), access.size);
            client_atomic_done(x, access, request.lanes, &old, access.scope & Scope::QUIET ? 0 : 1);
        }
    }
    Sequencer_finish(x, r, index);
}

// Some requests of a line are answered: send the next one, offer the room.
inline void Sequencer_go_on(Context& x, Requester& r, u32 ring) {
    if (ring) Sequencer_send(x, r, request_at(x, ring_first(x, ring)));
    Requester_offer(x, r, REFUSED_ROOM);
}

inline bool is_read(const LineRequest& request) {
    return request.type == RubyRequestType::LD || request.type == RubyRequestType::IFETCH;
}

// The ring whose head a callback is for; null, with a verdict, if the head is of another kind.
inline u32* Sequencer_ring(Context& x, const Requester& r, u64 address, bool read) {
    const u32 head = head_of(x, r, address);
    if (!head) return nullptr;
    const LineRequest& request = request_at(x, head);
    if (is_read(request) == read) return &line_queue(x, r, request.line).requests;
    fail(x, ErrorKind::BAD_CALLBACK);
    return nullptr;
}

// The line can be read: completes the head and the reads that follow it directly.
template <class... Statistics>
inline void Sequencer_readCallback(Context& x, u32 requester, u64 address, const DataBlock& data,
                                   Statistics...) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, true) : nullptr;
    if (!ring) return;
    do {
        Sequencer_complete_read(x, *r, ring_take(x, *ring), bytes_of(data));
    } while (*ring && is_read(request_at(x, ring_first(x, *ring))));
    Sequencer_go_on(x, *r, *ring);
}

// The line can be written: completes the whole list, in order, on `data` itself. A flush
// completes alone: what follows it cannot rely on a line that was given away.
template <class... Statistics>
inline void Sequencer_writeCallback(Context& x, u32 requester, u64 address, DataBlock& data,
                                    Statistics...) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    const bool flush = request_at(x, ring_first(x, *ring)).type == RubyRequestType::FLUSH;
    do {
        Sequencer_complete(x, *r, ring_take(x, *ring), address, bytes_of(data));
    } while (!flush && *ring && request_at(x, ring_first(x, *ring)).type != RubyRequestType::FLUSH);
    Sequencer_go_on(x, *r, *ring);
}

// The head's store is done elsewhere: completes it alone, the next one is sent anew.
inline void Sequencer_writeUniqueCallback(Context& x, u32 requester, u64 address, DataBlock& data) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    Sequencer_complete(x, *r, ring_take(x, *ring), address, bytes_of(data));
    Sequencer_go_on(x, *r, *ring);
}

// What was never asked for: far atomics, store conditionals, requests without an address.
inline void Sequencer_never(Context& x, u32 requester) {
    if (called(x, requester)) fail(x, ErrorKind::BAD_CALLBACK);
}

template <class... Rest>
inline void Sequencer_atomicCallback(Context& x, u32 requester, u64, DataBlock&, Rest...) {
    Sequencer_never(x, requester);
}

inline void Sequencer_writeCallbackScFail(Context& x, u32 requester, u64, DataBlock&) {
    Sequencer_never(x, requester);
}

template <class... Rest>
inline void Sequencer_unaddressedCallback(Context& x, u32 requester, u64, Rest...) {
    Sequencer_never(x, requester);
}

// No load-linked is ever sent, so no line is ever monitored.
inline bool Sequencer_llscCheckMonitor(Context& x, u32 requester, u64) {
    called(x, requester);
    return false;
}

inline void Sequencer_llscClearLocalMonitor(Context& x, u32 requester) { called(x, requester); }

// A line left the cache. Requests in flight keep their place; nothing watches lines.
inline void Sequencer_evictionCallback(Context& x, u32 requester, u64) { called(x, requester); }

inline void Sequencer_recordRequestType(Context& x, u32 requester, i32) { called(x, requester); }

// A sequencer for protocols with hardware transactions; starts none.
inline void HTMSequencer_htmCallback(Context& x, u32 requester, u64, i32, i32) {
    Sequencer_never(x, requester);
}
