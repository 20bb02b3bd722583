// The port of a CPU thread, and of instruction and scalar caches.
//
// Requests to one line form a list; its head has been sent to the controller, the others wait and
// mostly complete with it, because a line that serves the head serves them, too.
//
// Invariant: of the requests of a line exactly the first has been sent. Data lives in the cache:
// a callback's DataBlock is the line, stores are written into it and loads read from it, in the
// order of the list. A request is one lane's request; one without lanes is a flush.
//
// Atomic operations are done in the way that the requester was built for (AtomicWay). A pair of
// load-linked and store-conditional keeps the head of the list until the store succeeds. The line is
// reserved from the one to the other: in its cache entry, which loses the reservation with its
// permission or its frame, and until the protocol says that the line left the cache.

#pragma once

#include "requesters/base.hpp"

inline void AcquireWalk_part_done(Context& x, Requester& r);
inline void AcquireWalk_linked_ended(Context& x, Requester& r);

// ---------------------------------------------------------------- issue

inline bool is_read(const LineRequest& request) {
    return request.type == RubyRequestType::LD || request.type == RubyRequestType::IFETCH;
}

// Whether the machine must see the request itself, whatever the one before it has found.
inline bool is_fence(const Context& x, const LineRequest& request) {
    return access_at(x, request.access).scope & (Scope::ACQUIRES | Scope::RELEASES);
}

inline bool is_far(const LineRequest& request) {
    return request.type == RubyRequestType::ATOMIC_RETURN ||
           request.type == RubyRequestType::ATOMIC_NO_RETURN;
}

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
        } else if (is_far(request)) {
            const AtomicNode node = access_operation(x, access, lane);
            u32 last = 0;
            atomics_append(x, message.writeMask.atomics, last, static_cast<u16>(offset), node.kind,
                           node.size, node.operand, node.compare);
        }
    }
    message.isGLCSet = access.scope & Scope::GLC;
    message.isSLCSet = (access.scope & Scope::SLC) != 0;
    if (access.scope & Scope::ACQUIRES) message.flags |= r.acquire_flags;
    if (access.scope & Scope::RELEASES) message.flags |= r.release_flags;
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

// Of the first request that is sent for an access to memory.
inline i32 Sequencer_first_type(const Requester& r, const Access& access) {
    if (access.kind == AccessKind::LOAD) {
        return access.scope & Scope::INSTRUCTION ? RubyRequestType::IFETCH : r.read_type;
    }
    if (access.kind == AccessKind::STORE || r.atomics == AtomicWay::LINE)
        return RubyRequestType::ST;
    if (r.atomics != AtomicWay::FAR) return RubyRequestType::LD;
    return access.scope & Scope::QUIET ? RubyRequestType::ATOMIC_NO_RETURN
                                       : RubyRequestType::ATOMIC_RETURN;
}

inline bool Sequencer_issue_lanes(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    if (!requests_left(x, access.lanes)) return false;
    if (!Requester_may_take(x, r, access.client, REFUSED_ROOM, access.lanes)) return false;
    if (!access_lines(x, access)) return false;
    Requester_accept(x, r, access, access.lanes);
    const i32 type = Sequencer_first_type(r, access);
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
    INVARIANT(!r.walk_parts);
    const u32 count = resident_lines(x, r);
    if (!count) return false;
    r.walk_parts = count;
    r.walk_owner = owner + 1;
    send_replacements(x, r, count);
    return true;
}

// Notify `watcher` once, when the walk that is under way has ended.
inline void Sequencer_watch_walk(const Context& x, Requester& r, Requester& watcher) {
    INVARIANT(r.walk_parts > 0);
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
    INVARIANT(r->walk_owner > 0);
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

inline bool is_atomic(const Context& x, const LineRequest& request) {
    return access_at(x, request.access).kind == AccessKind::ATOMIC;
}

// Whether the request that has been sent for a line is a store-conditional.
inline bool is_conditional(const Context& x, const Requester& r, const LineRequest& head) {
    const bool linked = r.atomics == AtomicWay::LINKED || r.atomics == AtomicWay::CONDITIONAL;
    return linked && is_atomic(x, head) && !is_read(head) && head.failures < LINKED_TRIES;
}

// The entries of a line in the caches of this processor.
template <class F>
inline void each_entry(Context& x, const Requester& r, u64 line, F visit) {
    for (u32 i = 0; i < r.caches; ++i) {
        const u32 cache = requester_parts(x).links.at(x, r.first_cache + i);
        AbstractCacheEntry* entry = CacheMemory_lookup(x, cache, line);
        if (entry) visit(*entry);
    }
}

inline bool is_reserved(Context& x, const Requester& r, u64 line) {
    bool found = false;
    each_entry(x, r, line, [&](const AbstractCacheEntry& entry) {
        found |= entry.locked_by == static_cast<i32>(r.index);
    });
    return found;
}

inline void unreserve(Context& x, const Requester& r, u64 line) {
    each_entry(x, r, line, [&](AbstractCacheEntry& entry) {
        if (entry.locked_by == static_cast<i32>(r.index)) entry.locked_by = -1;
    });
}

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
            u64 old = load_bytes(place, access.size);
            if (UNLIKELY(is_conditional(x, r, request))) {
                old = request.linked;
                unreserve(x, r, line);
            }
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

// The ring whose head a callback is for; null, with a verdict, if the head is of another kind.
inline u32* Sequencer_ring(Context& x, const Requester& r, u64 address, bool read) {
    const u32 head = head_of(x, r, address);
    if (!head) return nullptr;
    const LineRequest& request = request_at(x, head);
    if (is_read(request) == read) return &line_queue(x, r, request.line).requests;
    fail(x, ErrorKind::BAD_CALLBACK);
    return nullptr;
}

// If a read is a load-linked: it has its data, and the store-conditional is next.
inline bool Sequencer_link(Context& x, const Requester& r, u32 index, const u8* bytes) {
    LineRequest& request = request_at(x, index);
    if (LIKELY(!is_atomic(x, request))) return false;
    const Access& access = access_at(x, request.access);
    const u32 lane = static_cast<u32>(__builtin_ctzll(request.lanes));
    const u64 offset = access_addresses(x, access)[lane] & LINE_MASK;
    request.linked = load_bytes(bytes + offset, access.size);
    each_entry(x, r, line_address_of(x, request.line),
               [&](AbstractCacheEntry& entry) { entry.locked_by = static_cast<i32>(r.index); });
    request.type = RubyRequestType::ST;
    if (r.atomics == AtomicWay::CONDITIONAL) request.type = RubyRequestType::Store_Conditional;
    return true;
}

// The store-conditional at the head has failed: begin again.
inline void Sequencer_fail_conditional(Context& x, Requester& r, u32 ring) {
    LineRequest& head = request_at(x, ring_first(x, ring));
    head.type = RubyRequestType::ST;
    if (++head.failures < LINKED_TRIES) head.type = RubyRequestType::LD;
    unreserve(x, r, line_address_of(x, head.line));
    Sequencer_go_on(x, r, ring);
}

// The line can be read: completes the head and the reads that follow it directly, up to a
// load-linked, whose store-conditional is sent before anything else, or a fence.
template <class... Statistics>
inline void Sequencer_readCallback(Context& x, u32 requester, u64 address, const DataBlock& data,
                                   Statistics...) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, true) : nullptr;
    if (!ring) return;
    do {
        if (Sequencer_link(x, *r, ring_first(x, *ring), bytes_of(data))) break;
        Sequencer_complete_read(x, *r, ring_take(x, *ring), bytes_of(data));
    } while (*ring && is_read(request_at(x, ring_first(x, *ring))) &&
             !is_fence(x, request_at(x, ring_first(x, *ring))));
    Sequencer_go_on(x, *r, *ring);
}

// Whether the first request of a ring is done with the one before it, when the line can be written.
inline bool Sequencer_follows(Context& x, const Requester& r, u32 ring, const u8* bytes) {
    const u32 index = ring_first(x, ring);
    const LineRequest& request = request_at(x, index);
    if (request.type == RubyRequestType::FLUSH || is_far(request) || is_fence(x, request))
        return false;
    return !is_read(request) || !Sequencer_link(x, r, index, bytes);
}

// The line can be written: completes the list, in order, on `data` itself, up to what needs a request
// of its own. A flush completes alone: what follows it cannot rely on a line that was given away.
template <class... Statistics>
inline void Sequencer_writeCallback(Context& x, u32 requester, u64 address, DataBlock& data,
                                    Statistics...) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    const LineRequest& head = request_at(x, ring_first(x, *ring));
    if (is_far(head)) return fail(x, ErrorKind::BAD_CALLBACK);
    if (is_conditional(x, *r, head) && !is_reserved(x, *r, address))
        return Sequencer_fail_conditional(x, *r, *ring);
    const bool alone = head.type == RubyRequestType::FLUSH;
    do {
        Sequencer_complete(x, *r, ring_take(x, *ring), address, bytes_of(data));
    } while (!alone && *ring && Sequencer_follows(x, *r, *ring, bytes_of(data)));
    Sequencer_go_on(x, *r, *ring);
}

// The head's store is done elsewhere: completes it alone, the next one is sent anew.
inline void Sequencer_writeUniqueCallback(Context& x, u32 requester, u64 address, DataBlock& data) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    const LineRequest& head = request_at(x, ring_first(x, *ring));
    if (is_far(head) || is_conditional(x, *r, head)) return fail(x, ErrorKind::BAD_CALLBACK);
    Sequencer_complete(x, *r, ring_take(x, *ring), address, bytes_of(data));
    Sequencer_go_on(x, *r, *ring);
}

// The head's operation is done, here or elsewhere; `data` is the line before it.
template <class... Statistics>
inline void Sequencer_atomicCallback(Context& x, u32 requester, u64 address, const DataBlock& data,
                                     Statistics...) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    const LineRequest& head = request_at(x, ring_first(x, *ring));
    if (!is_far(head)) return fail(x, ErrorKind::BAD_CALLBACK);
    Access& access = access_at(x, head.access);
    const u32 lane = static_cast<u32>(__builtin_ctzll(head.lanes));
    const u64 offset = access_addresses(x, access)[lane] - address;
    const u64 old = load_bytes(bytes_of(data) + offset, access.size);
    client_atomic_done(x, access, head.lanes, &old, access.scope & Scope::QUIET ? 0 : 1);
    Sequencer_finish(x, *r, ring_take(x, *ring));
    Sequencer_go_on(x, *r, *ring);
}

// The head's store-conditional has failed, as the controller found by itself.
inline void Sequencer_writeCallbackScFail(Context& x, u32 requester, u64 address,
                                          const DataBlock&) {
    Requester* r = called(x, requester);
    u32* ring = r ? Sequencer_ring(x, *r, address, false) : nullptr;
    if (!ring) return;
    if (!is_conditional(x, *r, request_at(x, ring_first(x, *ring))))
        return fail(x, ErrorKind::BAD_CALLBACK);
    Sequencer_fail_conditional(x, *r, *ring);
}

// What was never asked for: requests without an address, hardware transactions.
inline void Sequencer_never(Context& x, u32 requester) {
    if (called(x, requester)) fail(x, ErrorKind::BAD_CALLBACK);
}

template <class... Rest>
inline void Sequencer_unaddressedCallback(Context& x, u32 requester, u64, Rest...) {
    Sequencer_never(x, requester);
}

// Whether a store-conditional to the line would succeed now.
inline bool Sequencer_llscCheckMonitor(Context& x, u32 requester, u64 address) {
    const Requester* r = called(x, requester);
    return r && is_reserved(x, *r, address);
}

// No line is reserved any more.
inline void Sequencer_llscClearLocalMonitor(Context& x, u32 requester) {
    const Requester* r = called(x, requester);
    for (u32 line = 0; r && line < x.s->lines.used; ++line) {
        if (line_queue(x, *r, line).requests) unreserve(x, *r, line_address_of(x, line));
    }
}

// A line left the cache. Requests in flight keep their place, a reservation is lost.
inline void Sequencer_evictionCallback(Context& x, u32 requester, u64 address) {
    const Requester* r = called(x, requester);
    if (!r) return;
    if (r->atomics != AtomicWay::LINE) unreserve(x, *r, address);
    client_line_lost(x, r->index, line_of(x, address));
}

inline void Sequencer_recordRequestType(Context& x, u32 requester, i32) { called(x, requester); }

// A sequencer for protocols with hardware transactions; starts none.
inline void HTMSequencer_htmCallback(Context& x, u32 requester, u64, i32, i32) {
    Sequencer_never(x, requester);
}
