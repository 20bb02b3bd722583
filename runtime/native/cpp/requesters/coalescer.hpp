// The port of a compute unit: lanes of one instruction become one request per line.
//
// Life of an instruction: it takes a token and waits in a queue; the coalescer, at the end of a
// tick, turns the oldest instructions into rows, one per line, and gives the token back; a row
// goes to the controller when no older row holds its line; a callback answers its lanes.
//
// Invariant: of the admitted rows of a line exactly the first has been sent. A store's row is
// answered twice, when the first-level cache takes it and when it is globally performed.

#pragma once

#include "requesters/invalidation_walk.hpp"
#include "requesters/lane_coalescing.hpp"

// ---------------------------------------------------------------- issue

inline void Coalescer_queue(Context& x, Requester& r, const Queue& chain, bool token) {
    row_at(x, chain.last).last = true;
    row_at(x, chain.last).token = token;
    rows_queue(x, r.uncoalesced, chain);
    schedule(x, r.consumer, now(x));
}

inline bool Coalescer_issue_vector(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    const u32 need = r.one_request_per_lane ? access.lanes : 1;
    if (!rows_left(x, access.lanes << access.crosses)) return false;
    if (!Requester_may_take(x, r, access.client, REFUSED_TOKENS, need)) return false;
    if (!access.crosses && !access_lines(x, access)) return false;
    Queue chain;
    const u32 rows = access.crosses ? coalesce_across(x, index, chain)
                                    : coalesce(x, r, index, r.one_request_per_lane, chain);
    r.tokens -= need;
    Requester_accept(x, r, access, rows, need);
    u64 sequence = access.sequence;
    for (u32 row = chain.first; row; row = row_at(x, row).next) {
        Row& one = row_at(x, row);
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
    if (!rows_of_lines(x, index, RubyRequestType::FLUSH, chain, count)) return false;
    Requester_accept(x, r, access, count);
    if (!count) {
        Requester_end_next_tick(x, r, index);
        return true;
    }
    for (u32 row = chain.first; row; row = row_at(x, row).next) row_at(x, row).sequence = access.sequence;
    Coalescer_queue(x, r, chain, false);
    return true;
}

inline bool Coalescer_issue_invalidation(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    Queue chain;
    u32 count;
    if (!rows_of_lines(x, index, RubyRequestType::InvL2, chain, count)) return false;
    Requester_accept(x, r, access, count);
    if (!count) Requester_end_next_tick(x, r, index);
    const i64 latency = mandatory_latency(x, r, RubyRequestType::InvL2);
    for (u32 row = chain.first; row;) {
        const u32 next = row_at(x, row).next;
        const u32 line = row_at(x, row).line;
        ring_append(x, book_of(x, r, line).invalidations, row);
        RubyRequest& message = new_message<RubyRequest>(x);
        message.LineAddress = message.PhysicalAddress = line_address_of(x, line);
        message.Type = RubyRequestType::InvL2;
        message.contextId = r.context;
        MessageBuffer_enqueue(x, r.queue, message, latency);
        row = next;
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

// ---------------------------------------------------------------- rows

inline void Coalescer_send(Context& x, Requester& r, u32 index) {
    const Row& row = row_at(x, index);
    const Access& access = access_at(x, row.access);
    const u64 line = line_address_of(x, row.line);
    RubyRequest& message = new_message<RubyRequest>(x);
    message.LineAddress = line;
    message.Type = row.type;
    message.Size = access.size;
    message.contextId = r.context;
    message.instSeqNum = row.sequence;
    if (row.lanes) {
        row_contents(x, row, access, line, message);
    } else {
        message.PhysicalAddress = line;
        WriteMask_fillMask(x, message.writeMask);
    }
    if (row.type == RubyRequestType::ST) {
        LineBook& book = book_of(x, r, row.line);
        Row& store = row_at(x, index);
        if (book.completing) {
            Row& newest = row_at(x, book.completing);
            store.beside = newest.beside;
            newest.beside = index;
        } else {
            store.beside = index;
        }
        book.completing = index;
    }
    message.isGLCSet = access.scope & Scope::GLC;
    message.isSLCSet = (access.scope & Scope::SLC) != 0;
    MessageBuffer_enqueue(x, r.queue, message, mandatory_latency(x, r, row.type));
}

inline void Coalescer_admit(Context& x, Requester& r, u32 index) {
    u32& ring = book_of(x, r, row_at(x, index).line).rows;
    const bool first = !ring;
    ++r.count;
    ring_append(x, ring, index);
    if (first) Coalescer_send(x, r, index);
}

// Admit rows of the oldest instruction while there is room; false if there is not enough.
inline bool Coalescer_admit_instruction(Context& x, Requester& r, bool& token) {
    while (r.count < r.max_outstanding) {
        const u32 index = r.uncoalesced.first;
        const Row& row = row_at(x, index);
        const bool last = row.last;
        token = row.token;
        if (index == r.uncoalesced.last) {
            r.uncoalesced = {};
        } else {
            r.uncoalesced.first = row.next;
        }
        Coalescer_admit(x, r, index);
        if (last) return true;
    }
    return false;
}

// Make rows of the oldest instructions, as many as a cycle allows.
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
            r.full = true;  // goes on when a row is done
            room = false;
            break;
        }
        ++r.coalesced;
        if (!token) continue;
        ++r.tokens;
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

// Take the answered head row out and send the next one of its line.
inline void Coalescer_finish(Context& x, Requester& r, const Row& row) {
    u32& ring = book_of(x, r, row.line).rows;
    ring_take(x, ring);
    if (ring) Coalescer_send(x, r, ring_first(x, ring));
    --r.count;
    if (!r.full) return;
    r.full = false;
    schedule(x, r.consumer, now(x));
}

inline void Coalescer_over(Context& x, Requester& r, u32 index) {
    const u32 access = row_at(x, index).access;
    row_free(x, index);
    Requester_close_part(x, r, access);
}

// ---------------------------------------------------------------- callbacks of protocols

// The store that stands before `before` among those of its line is globally performed.
inline void Coalescer_complete(Context& x, Requester& r, u32 before) {
    u32& newest = book_of(x, r, row_at(x, before).line).completing;
    const u32 index = row_at(x, before).beside;
    const Row& row = row_at(x, index);
    if (index == before) {
        newest = 0;
    } else {
        row_at(x, before).beside = row.beside;
        if (newest == index) newest = before;
    }
    client_store_completed(x, access_at(x, row.access), row.lanes, row.line);
    Coalescer_over(x, r, index);
}

inline void Coalescer_stored(Context& x, Requester& r, u32 index) {
    Row& row = row_at(x, index);
    Coalescer_finish(x, r, row);
    row.accepted = true;
    client_stored(x, access_at(x, row.access), row.lanes, row.line);
    if (!row.completed) return;
    u32 before = book_of(x, r, row.line).completing;
    while (row_at(x, before).beside != index) before = row_at(x, before).beside;
    Coalescer_complete(x, r, before);
}

// The old values of a returning atomic are read from, and removed from, the log of `data`.
inline void Coalescer_atomic_done(Context& x, Requester& r, u32 index, u64 line, DataBlock& data) {
    const Row& row = row_at(x, index);
    Access& access = access_at(x, row.access);
    const bool returns = row.type == RubyRequestType::ATOMIC_RETURN;
    const u32 expected = returns ? static_cast<u32>(__builtin_popcountll(row.lanes)) : 0;
    if (data.logged != expected) return fail(x, ErrorKind::BAD_CALLBACK);
    u64 old[64];
    if (expected) {
        // The log is newest first, so lanes are taken from the last one down.
        const u64* addresses = access_addresses(x, access);
        u64 left = row.lanes;
        u32 node = data.log;
        for (u32 place = expected; place--;) {
            const u32 lane = 63 - static_cast<u32>(__builtin_clzll(left));
            const LogNode& before = of_handle<LogNode>(x, node);
            const u8* bytes = reinterpret_cast<const u8*>(before.data);
            left ^= u64{1} << lane;
            old[place] = load_bytes(bytes + (addresses[lane] - line), access.size);
            node = before.next;
        }
        data.log = data.logged = 0;
    }
    Coalescer_finish(x, r, row);
    client_atomic_done(x, access, row.lanes, old, expected);
    Coalescer_over(x, r, index);
}

// The line's first request, a load, has its data.
template <class... Statistics>
inline void GPUCoalescer_readCallback(Context& x, u32 requester, u64 address, i32, const DataBlock& data, Statistics...) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const Row& row = row_at(x, index);
    if (row.type != RubyRequestType::LD) return fail(x, ErrorKind::BAD_CALLBACK);
    Coalescer_finish(x, *r, row);
    client_loaded(x, access_at(x, row.access), row.lanes, row.line, bytes_of(data));
    Coalescer_over(x, *r, index);
}

inline void GPUCoalescer_readCallback_plain(Context& x, u32 requester, u64 address, const DataBlock& data) {
    GPUCoalescer_readCallback(x, requester, address, 0, data);
}

// The line's first request has been taken: a store, a flush, an atomic past the cache. Writes
// nothing into `data`: the protocol took the bytes from WTData itself.
template <class... Statistics>
inline void GPUCoalescer_writeCallback(Context& x, u32 requester, u64 address, i32, DataBlock& data, Statistics...) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const Row& row = row_at(x, index);
    if (row.type == RubyRequestType::ST) return Coalescer_stored(x, *r, index);
    if (row.type == RubyRequestType::LD) return fail(x, ErrorKind::BAD_CALLBACK);
    if (row.type != RubyRequestType::FLUSH) return Coalescer_atomic_done(x, *r, index, address, data);
    Access& access = access_at(x, row.access);
    Coalescer_finish(x, *r, row);
    if (access.open == 1) client_synchronized(x, access);
    Coalescer_over(x, *r, index);
}

inline void GPUCoalescer_writeCallback_plain(Context& x, u32 requester, u64 address, DataBlock& data) {
    GPUCoalescer_writeCallback(x, requester, address, 0, data);
}

// A line left the cache: nothing here watches lines.
inline void GPUCoalescer_evictionCallback(Context& x, u32 requester, u64) { called(x, requester); }

// The line's first request, an atomic, is done; its old values are in the log of `data`.
inline void VIPERCoalescer_atomicCallback(Context& x, u32 requester, u64 address, i32, DataBlock& data) {
    Requester* r = called(x, requester);
    const u32 index = r ? head_of(x, *r, address) : 0;
    if (!index) return;
    const i32 type = row_at(x, index).type;
    if (type != RubyRequestType::ATOMIC_RETURN && type != RubyRequestType::ATOMIC_NO_RETURN) {
        return fail(x, ErrorKind::BAD_CALLBACK);
    }
    Coalescer_atomic_done(x, *r, index, address, data);
}

// The store of instruction `sequence` to this line is globally performed.
inline void VIPERCoalescer_writeCompleteCallback(Context& x, u32 requester, u64 address, u64 sequence) {
    Requester* r = called(x, requester);
    if (!r) return;
    const u32 newest = address & LINE_MASK ? 0 : book_of(x, *r, line_index(x, address)).completing;
    if (!newest) return fail(x, ErrorKind::BAD_CALLBACK);
    u32 before = newest;  // answers come mostly in the order of sending: oldest first
    Row* row = &row_at(x, row_at(x, before).beside);
    while (row->sequence != sequence) {
        before = row_at(x, before).beside;
        if (before == newest) return fail(x, ErrorKind::BAD_CALLBACK);
        row = &row_at(x, row->beside);
    }
    if (row->completed) return fail(x, ErrorKind::BAD_CALLBACK);
    row->completed = true;
    if (row->accepted) Coalescer_complete(x, *r, before);
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

// One line of the walk is gone from the cache.
inline void VIPERCoalescer_invTCPCallback(Context& x, u32 requester, u64 address) {
    Requester* r = called(x, requester);
    if (r) AcquireWalk_line_done(x, *r, address);
}

// The shared cache has dropped the line: answers everyone who waits for that. What was sent more
// often stays in the ring without an access, until it is answered itself.
inline void VIPERCoalescer_invTCCCallback(Context& x, u32 requester, u64 address) {
    Requester* r = called(x, requester);
    if (!r) return;
    LineBook* book = address & LINE_MASK ? nullptr : &book_of(x, *r, line_index(x, address));
    if (!book || !book->invalidations) return fail(x, ErrorKind::BAD_CALLBACK);
    const u32 newest = book->invalidations;
    u32 index = newest;
    do {
        index = row_at(x, index).next;
        const u32 access = row_at(x, index).access;
        if (!access) continue;
        row_at(x, index).access = 0;
        if (access_at(x, access).open == 1) client_synchronized(x, access_at(x, access));
        Requester_close_part(x, *r, access);
    } while (index != newest);
    row_free(x, ring_take(x, book->invalidations));
}
