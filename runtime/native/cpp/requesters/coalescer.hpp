// The port of a compute unit: lanes of one instruction become one request per line.
//
// Life of an instruction: it takes a token and waits in a queue; the coalescer, at the end of a
// tick, turns the oldest instructions into requests, one per line, and gives the token back; a request
// goes to the controller when no older request holds its line; a callback answers its lanes.
//
// Invariant: of the admitted requests of a line exactly the first has been sent. A store's request is
// answered twice, when the first-level cache takes it and when it is globally performed.

#pragma once

#include "requesters/invalidation_walk.hpp"
#include "requesters/lane_coalescing.hpp"

// ---------------------------------------------------------------- issue

inline void Coalescer_queue(Context& x, Requester& r, const Queue& chain, bool token) {
    INVARIANT(chain.first && chain.last);
    request_at(x, chain.last).last = true;
    request_at(x, chain.last).token = token;
    requests_queue(x, r.uncoalesced, chain);
    schedule(x, r.consumer, now(x));
}

inline bool Coalescer_issue_vector(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    const u32 need = r.one_request_per_lane ? access.lanes : 1;
    if (!requests_left(x, access.lanes << access.crosses)) return false;
    if (!Requester_may_take(x, r, access.client, REFUSED_TOKENS, need)) return false;
    if (!access.crosses && !access_lines(x, access)) return false;
    Queue chain;
    const u32 requests = access.crosses ? coalesce_across(x, index, chain)
                                        : coalesce(x, r, index, r.one_request_per_lane, chain);
    INVARIANT(r.tokens >= need);
    r.tokens -= need;
    Requester_accept(x, r, access, requests, need);
    u64 sequence = access.sequence;
    for (u32 request = chain.first; request; request = request_at(x, request).next) {
        LineRequest& one = request_at(x, request);
        one.sequence = sequence;
        if (!r.one_request_per_lane) continue;
        ++sequence;
        one.last = one.token = true;
    }
    Coalescer_queue(x, r, chain, true);
    return true;
}

inline bool Coalescer_issue_flush(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    Queue chain;
    u32 count;
    if (!requests_of_lines(x, index, RubyRequestType::FLUSH, chain, count)) return false;
    Requester_accept(x, r, access, count);
    if (!count) {
        Requester_end_next_tick(x, r, index);
        return true;
    }
    for (u32 request = chain.first; request; request = request_at(x, request).next)
        request_at(x, request).sequence = access.sequence;
    Coalescer_queue(x, r, chain, false);
    return true;
}

inline bool Coalescer_issue_invalidation(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    Queue chain;
    u32 count;
    if (!requests_of_lines(x, index, RubyRequestType::InvL2, chain, count)) return false;
    Requester_accept(x, r, access, count);
    if (!count) Requester_end_next_tick(x, r, index);
    const i64 latency = mandatory_latency(x, r, RubyRequestType::InvL2);
    for (u32 request = chain.first; request;) {
        const u32 next = request_at(x, request).next;
        const u32 line = request_at(x, request).line;
        ring_append(x, line_queue(x, r, line).invalidations, request);
        RubyRequest& message = new_message<RubyRequest>(x);
        message.LineAddress = message.PhysicalAddress = line_address_of(x, line);
        message.Type = RubyRequestType::InvL2;
        message.contextId = r.context;
        MessageBuffer_enqueue(x, r.queue, message, latency);
        request = next;
    }
    return true;
}

inline bool Coalescer_issue_acquire(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    if (!Requester_may_take(x, r, access.client, REFUSED_WALK)) {
        AcquireWalk_watch(x, r);
        return false;
    }
    Requester_accept(x, r, access, 1);
    if (!AcquireWalk_begin(x, r, index)) Requester_end_next_tick(x, r, index);
    return true;
}

inline bool Coalescer_issue(Context& x, Requester& r, u32 index) {
    switch (access_at(x, index).kind) {
        case AccessKind::ACQUIRE: return Coalescer_issue_acquire(x, r, index);
        case AccessKind::RELEASE: return Requester_release(x, r, index);
        case AccessKind::FLUSH: return Coalescer_issue_flush(x, r, index);
        case AccessKind::INVALIDATE_L2: return Coalescer_issue_invalidation(x, r, index);
        default: return Coalescer_issue_vector(x, r, index);
    }
}

// ---------------------------------------------------------------- requests

inline void Coalescer_send(Context& x, Requester& r, u32 index) {
    const LineRequest& request = request_at(x, index);
    const Access& access = access_at(x, request.access);
    const u64 line = line_address_of(x, request.line);
    RubyRequest& message = new_message<RubyRequest>(x);
    message.LineAddress = line;
    message.Type = request.type;
    message.Size = access.size;
    message.contextId = r.context;
    message.instSeqNum = request.sequence;
    if (request.lanes) {
        row_contents(x, request, access, line, message);
    } else {
        message.PhysicalAddress = line;
        WriteMask_fillMask(x, message.writeMask);
    }
    if (request.type == RubyRequestType::ST) {
        LineQueue& queue = line_queue(x, r, request.line);
        LineRequest& store = request_at(x, index);
        if (queue.completing) {
            LineRequest& newest = request_at(x, queue.completing);
            store.beside = newest.beside;
            newest.beside = index;
        } else {
            store.beside = index;
        }
        queue.completing = index;
    }
    message.isGLCSet = access.scope & Scope::GLC;
    message.isSLCSet = (access.scope & Scope::SLC) != 0;
    MessageBuffer_enqueue(x, r.queue, message, mandatory_latency(x, r, request.type));
}

inline void Coalescer_admit(Context& x, Requester& r, u32 index) {
    u32& ring = line_queue(x, r, request_at(x, index).line).requests;
    const bool first = !ring;
    INVARIANT(r.count < r.max_outstanding);
    ++r.count;
    ring_append(x, ring, index);
    if (first) Coalescer_send(x, r, index);
}

// Admit requests of the oldest instruction while there is room; false if there is not enough.
inline bool Coalescer_admit_instruction(Context& x, Requester& r, bool& token) {
    while (r.count < r.max_outstanding) {
        const u32 index = r.uncoalesced.first;
        const LineRequest& request = request_at(x, index);
        const bool last = request.last;
        token = request.token;
        if (index == r.uncoalesced.last) {
            r.uncoalesced = {};
        } else {
            r.uncoalesced.first = request.next;
        }
        Coalescer_admit(x, r, index);
        if (last) return true;
    }
    return false;
}

// Make requests of the oldest instructions, as many as a cycle allows.
inline void Coalescer_admit_instructions(Context& x, Requester& r) {
    const u64 tick = now(x);
    if (tick + 1 != r.coalesced_tick) {
        r.coalesced_tick = tick + 1;
        r.coalesced = 0;
    }
    bool returned = false;
    bool room = true;
    while (r.uncoalesced.first && r.coalesced < r.coalesces_per_cycle) {
        bool token = false;
        if (!Coalescer_admit_instruction(x, r, token)) {
            r.full = true;  // coalescing continues when one is complete
            room = false;
            break;
        }
        ++r.coalesced;
        if (!token) continue;
        ++r.tokens;
        INVARIANT(r.tokens <= r.max_tokens);
        returned = true;
    }
    if (r.uncoalesced.first && room) schedule(x, r.consumer, tick + 1);
    if (returned) Requester_offer(x, r, REFUSED_TOKENS);
}

inline void Coalescer_wakeup(Context& x, Requester& r) {
    Requester_wakeup(x, r);
    if (r.uncoalesced.first) Coalescer_admit_instructions(x, r);
}

inline i64 Coalescer_free(Context& x, const Requester& r, RefusalReason reason) {
    if (reason == REFUSED_TOKENS) return r.tokens;
    return AcquireWalk_busy(x, r) ? 0 : 1;
}

// Take the answered head request out and send the next one of its line.
inline void Coalescer_finish(Context& x, Requester& r, const LineRequest& request) {
    u32& ring = line_queue(x, r, request.line).requests;
    INVARIANT(&request == &request_at(x, ring_first(x, ring)));
    ring_take(x, ring);
    if (ring) Coalescer_send(x, r, ring_first(x, ring));
    INVARIANT(r.count > 0);
    --r.count;
    if (!r.full) return;
    r.full = false;
    schedule(x, r.consumer, now(x));
}

inline void Coalescer_over(Context& x, Requester& r, u32 index) {
    const u32 access = request_at(x, index).access;
    request_free(x, index);
    Requester_close_part(x, r, access);
}

// ---------------------------------------------------------------- callbacks of protocols

// The store that stands before `before` among those of its line is globally performed.
inline void Coalescer_complete(Context& x, Requester& r, u32 before) {
    u32& newest = line_queue(x, r, request_at(x, before).line).completing;
    const u32 index = request_at(x, before).beside;
    const LineRequest& request = request_at(x, index);
    if (index == before) {
        newest = 0;
    } else {
        request_at(x, before).beside = request.beside;
        if (newest == index) newest = before;
    }
    INVARIANT(request.accepted && request.completed);
    client_store_completed(x, access_at(x, request.access), request.lanes, request.line);
    Coalescer_over(x, r, index);
}

inline void Coalescer_stored(Context& x, Requester& r, u32 index) {
    LineRequest& request = request_at(x, index);
    Coalescer_finish(x, r, request);
    request.accepted = true;
    client_stored(x, access_at(x, request.access), request.lanes, request.line);
    if (!request.completed) return;
    u32 before = line_queue(x, r, request.line).completing;
    while (request_at(x, before).beside != index) before = request_at(x, before).beside;
    Coalescer_complete(x, r, before);
}

// The old values of a returning atomic are read from, and removed from, the log of `data`.
inline void Coalescer_logged(Context& x, const LineRequest& request, const Access& access, u64 line,
                             DataBlock& data, u32 expected, u64* old) {
    // The log is newest first, so lanes are taken from the last one down.
    const u64* addresses = access_addresses(x, access);
    u64 left = request.lanes;
    u32 node = data.log;
    for (u32 place = expected; place--;) {
        INVARIANT(left != 0);
        const u32 lane = 63 - static_cast<u32>(__builtin_clzll(left));
        const LogNode& before = of_handle<LogNode>(x, node);
        const u8* bytes = reinterpret_cast<const u8*>(before.data);
        left ^= u64{1} << lane;
        old[place] = load_bytes(bytes + (addresses[lane] - line), access.size);
        node = before.next;
    }
    data.log = data.logged = 0;
}

// Without a log, they are computed from the line before the first operation.
inline void Coalescer_computed(Context& x, const LineRequest& request, const Access& access,
                               u64 line, const DataBlock& data, u64* old) {
    u64 image[LINE_WORDS];
    __builtin_memcpy(image, data.data, sizeof image);
    u8* bytes = reinterpret_cast<u8*>(image);
    for (u64 left = request.lanes; left; left &= left - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(left));
        u8* word = bytes + (access_addresses(x, access)[lane] - line);
        *old = load_bytes(word, access.size);
        const u64 value = atomic_apply(access_operation(x, access, lane), *old++);
        __builtin_memcpy(word, &value, access.size);
    }
}

inline void Coalescer_atomic_done(Context& x, Requester& r, u32 index, u64 line, DataBlock& data) {
    const LineRequest& request = request_at(x, index);
    Access& access = access_at(x, request.access);
    const bool returns = request.type == RubyRequestType::ATOMIC_RETURN;
    const u32 expected = returns ? static_cast<u32>(count_bits(request.lanes)) : 0;
    u64 old[64];
    if constexpr (ATOMIC_LOG) {
        if (data.logged != expected) return fail(x, ErrorKind::BAD_CALLBACK);
        if (expected) Coalescer_logged(x, request, access, line, data, expected, old);
    } else if (expected) {
        Coalescer_computed(x, request, access, line, data, old);
    }
    Coalescer_finish(x, r, request);
    client_atomic_done(x, access, request.lanes, old, expected);
    Coalescer_over(x, r, index);
}

// The line's first request, a load, has its data.
template <class... Statistics>
inline void GPUCoalescer_readCallback(Context& x, u32 requester, u64 address, i32,
                                      const DataBlock& data, Statistics...) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const LineRequest& request = request_at(x, index);
    if (request.type != RubyRequestType::LD) return fail(x, ErrorKind::BAD_CALLBACK);
    Coalescer_finish(x, *r, request);
    client_loaded(x, access_at(x, request.access), request.lanes, request.line, bytes_of(data));
    Coalescer_over(x, *r, index);
}

inline void GPUCoalescer_readCallback_plain(Context& x, u32 requester, u64 address,
                                            const DataBlock& data) {
    GPUCoalescer_readCallback(x, requester, address, 0, data);
}

// The line's first request has been taken: a store, a flush, an atomic past the cache. Writes
// nothing into `data`: the protocol took the bytes from WTData itself.
template <class... Statistics>
inline void GPUCoalescer_writeCallback(Context& x, u32 requester, u64 address, i32, DataBlock& data,
                                       Statistics...) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const LineRequest& request = request_at(x, index);
    if (request.type == RubyRequestType::ST) return Coalescer_stored(x, *r, index);
    if (request.type == RubyRequestType::LD) return fail(x, ErrorKind::BAD_CALLBACK);
    if (request.type != RubyRequestType::FLUSH)
        return Coalescer_atomic_done(x, *r, index, address, data);
    Access& access = access_at(x, request.access);
    Coalescer_finish(x, *r, request);
    if (access.open == 1) client_synchronized(x, access);
    Coalescer_over(x, *r, index);
}

inline void GPUCoalescer_writeCallback_plain(Context& x, u32 requester, u64 address,
                                             DataBlock& data) {
    GPUCoalescer_writeCallback(x, requester, address, 0, data);
}

// A line left the cache: nothing here watches lines.
inline void GPUCoalescer_evictionCallback(Context& x, u32 requester, u64) { called(x, requester); }

// The line's first request, an atomic, is done; its old values are in the log of `data`.
inline void VIPERCoalescer_atomicCallback(Context& x, u32 requester, u64 address, i32,
                                          DataBlock& data) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const i32 type = request_at(x, index).type;
    if (type != RubyRequestType::ATOMIC_RETURN && type != RubyRequestType::ATOMIC_NO_RETURN) {
        return fail(x, ErrorKind::BAD_CALLBACK);
    }
    Coalescer_atomic_done(x, *r, index, address, data);
}

// The store of instruction `sequence` to this line is globally performed.
inline void VIPERCoalescer_writeCompleteCallback(Context& x, u32 requester, u64 address,
                                                 u64 sequence) {
    Requester* r = called(x, requester);
    if (!r) return;
    const u32 newest =
        address & LINE_MASK ? 0 : line_queue(x, *r, line_index(x, address)).completing;
    if (!newest) return fail(x, ErrorKind::BAD_CALLBACK);
    u32 before = newest;  // answers come mostly in the order of sending: oldest first
    LineRequest* request = &request_at(x, request_at(x, before).beside);
    while (request->sequence != sequence) {
        before = request_at(x, before).beside;
        if (before == newest) return fail(x, ErrorKind::BAD_CALLBACK);
        request = &request_at(x, request->beside);
    }
    if (request->completed) return fail(x, ErrorKind::BAD_CALLBACK);
    request->completed = true;
    if (request->accepted) Coalescer_complete(x, *r, before);
}

// ---------------------------------------------------------------- acquire: the walk

inline void Coalescer_offer_walk(Context& x, Requester& r) {
    Requester_offer(x, r, REFUSED_WALK);
    AcquireWalk_watch(x, r);  // a linked cache may be in another's walk by now
}

inline void Coalescer_walk_over(Context& x, Requester& r, u32 access) {
    client_synchronized(x, access_at(x, access));
    Requester_close_part(x, r, access);
    Coalescer_offer_walk(x, r);
}

inline void Coalescer_ended(Context& x, Requester& r, u32 index) {
    if (index != r.walk_access) return;
    AcquireWalk_nothing(r);
    Coalescer_offer_walk(x, r);
}

// One line of the walk has been invalidated.
inline void VIPERCoalescer_invTCPCallback(Context& x, u32 requester, u64 address) {
    Requester* r = called(x, requester);
    if (r) AcquireWalk_line_done(x, *r, address);
}

// The shared cache has dropped the line: answers everyone who waits for that. What was sent more
// often stays in the ring without an access, until it is answered itself.
inline void VIPERCoalescer_invTCCCallback(Context& x, u32 requester, u64 address) {
    Requester* r = called(x, requester);
    if (!r) return;
    LineQueue* queue = address & LINE_MASK ? nullptr : &line_queue(x, *r, line_index(x, address));
    if (!queue || !queue->invalidations) return fail(x, ErrorKind::BAD_CALLBACK);
    const u32 newest = queue->invalidations;
    u32 index = newest;
    do {
        index = request_at(x, index).next;
        const u32 access = request_at(x, index).access;
        if (!access) continue;
        request_at(x, index).access = 0;
        if (access_at(x, access).open == 1) client_synchronized(x, access_at(x, access));
        Requester_close_part(x, *r, access);
    } while (index != newest);
    request_free(x, ring_take(x, queue->invalidations));
}
