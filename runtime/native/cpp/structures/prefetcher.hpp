// A prefetcher that finds streams of misses which are a constant number of lines apart.
//
// Invariant: it does what runtime/structures/prefetcher.py does, step by step. The lists of filters are rings;
// the oldest is looked at first and goes first.

#pragma once

#include "sim/engine.hpp"
#include "sim/message_buffer.hpp"

inline Controller& controller(const Context& x, u32 id);
// Generated: the author's enqueuePrefetch.
inline void machine_enqueue_prefetch(Context& x, Controller& c, u64 address, i32 kind);

// Of one that is used.
inline RubyPrefetcher& prefetcher_of(Context& x, u32 prefetcher) {
    unexplored(x, Unexplored::PREFETCH);  // what it has seen is part of no state
    return x.s->library.prefetchers.in(x)[prefetcher];
}

// The next prefetcher; called once for each when the system is built.
inline u32 RubyPrefetcher_create(Context& x, u32 controller) {
    const u32 prefetcher = static_cast<u32>(x.s->library.prefetchers_used++);
    x.s->library.prefetchers.in(x)[prefetcher].controller = controller;
    return prefetcher;
}

inline u64 prefetch_next(const Context&, u64 line, i64 stride) {
    return line + static_cast<u64>(stride) * LINE_BYTES;
}

inline bool prefetch_same_page(u64 one, u64 other) {
    return one >> PREFETCH_PAGE_BITS == other >> PREFETCH_PAGE_BITS;
}

// Ask for one line more; a stream ends with its page.
inline void prefetch_ask(Context& x, const RubyPrefetcher& p, PrefetchStream& stream) {
    const u64 line = prefetch_next(x, stream.address, stream.stride);
    stream.used = now(x);
    if (!prefetch_same_page(line, stream.address)) {
        stream.valid = false;
        return;
    }
    stream.address = line;
    machine_enqueue_prefetch(x, controller(x, p.controller), line, stream.kind);
}

inline PrefetchStream* prefetch_stream(RubyPrefetcher& p, u64 line) {
    for (PrefetchStream& stream : p.streams) {
        if (stream.valid && stream.address == line) return &stream;
    }
    return nullptr;
}

// Begin a stream in the place of the one used longest ago.
inline void prefetch_begin(Context& x, RubyPrefetcher& p, u64 line, i64 stride, i32 kind) {
    PrefetchStream* chosen = &p.streams[0];
    for (PrefetchStream& stream : p.streams) {
        if (!chosen->valid) break;
        if (!stream.valid || stream.used < chosen->used) chosen = &stream;
    }
    chosen->address = line;
    chosen->stride = stride;
    chosen->kind = kind;
    chosen->valid = true;
    prefetch_ask(x, p, *chosen);
}

inline PrefetchFilter& prefetch_filter(PrefetchRing& ring, u32 age) {
    return ring.filters[(ring.first + age) % PREFETCH_FILTERS];
}

inline void prefetch_append(PrefetchRing& ring, u64 address) {
    if (ring.count == PREFETCH_FILTERS) {
        ring.first = (ring.first + 1) % PREFETCH_FILTERS;
    } else {
        ring.count++;
    }
    prefetch_filter(ring, ring.count - 1) = {address, 0, 0};
}

inline bool prefetch_unit(Context& x, RubyPrefetcher& p, PrefetchRing& ring, u64 line, i64 stride,
                          i32 kind) {
    for (u32 age = 0; age < ring.count; age++) {
        PrefetchFilter& filter = prefetch_filter(ring, age);
        if (filter.address != line) continue;
        filter.address = prefetch_next(x, line, stride);
        if (++filter.hits >= PREFETCH_TRAINING) prefetch_begin(x, p, line, stride, kind);
        return true;
    }
    prefetch_append(ring, prefetch_next(x, line, stride));
    return false;
}

inline void prefetch_distance(Context& x, RubyPrefetcher& p, u64 line, i32 kind) {
    for (u32 age = 0; age < p.pages.count; age++) {
        PrefetchFilter& filter = prefetch_filter(p.pages, age);
        if (!prefetch_same_page(filter.address, line)) continue;
        const i64 distance = static_cast<i64>(line - filter.address);
        if (!distance) return;
        bool begins = false;
        if (distance == filter.stride) {
            begins = ++filter.hits > PREFETCH_TRAINING;
        } else {
            filter.hits = 0;
        }
        if (begins) filter.hits = 0;
        filter.address = line;
        filter.stride = distance;
        if (begins) prefetch_begin(x, p, line, distance / static_cast<i64>(LINE_BYTES), kind);
        return;
    }
    prefetch_append(p.pages, line);
}

// A demand missed.
inline void RubyPrefetcher_observeMiss(Context& x, u32 prefetcher, u64 address, i32 kind) {
    RubyPrefetcher& p = prefetcher_of(x, prefetcher);
    const u64 line = address & ~LINE_MASK;
    if (prefetch_stream(p, line)) return;
    if (prefetch_unit(x, p, p.ahead, line, 1, kind) || prefetch_unit(x, p, p.back, line, -1, kind))
        return;
    prefetch_distance(x, p, line, kind);
}

// A demand found a line that was fetched for it, or came while it was being fetched.
inline void RubyPrefetcher_observePfHit(Context& x, u32 prefetcher, u64 address) {
    RubyPrefetcher& p = prefetcher_of(x, prefetcher);
    if (PrefetchStream* stream = prefetch_stream(p, address)) prefetch_ask(x, p, *stream);
}
inline void RubyPrefetcher_observePfMiss(Context& x, u32 prefetcher, u64 address) {
    RubyPrefetcher_observePfHit(x, prefetcher, address);
}

// ---------------------------------------------------------------- one behind a queue

// The next proxy, for a queue; called once for each when the system is built.
inline u32 RubyPrefetcherProxy_create(Context& x, u64 queue) {
    const u32 proxy = static_cast<u32>(x.s->library.proxies_used++);
    x.s->library.proxies.in(x)[proxy].queue = static_cast<u32>(queue);
    return proxy;
}

inline PrefetcherProxy& proxy_of(Context& x, u32 proxy) {
    unexplored(x, Unexplored::PREFETCH);
    return x.s->library.proxies.in(x)[proxy];
}

inline void RubyPrefetcherProxy_regProbePoints(Context&, u32) {}
inline void RubyPrefetcherProxy_notifyPfHit(Context&, u32, u32, bool, const DataBlock&) {}
inline void RubyPrefetcherProxy_notifyPfFill(Context&, u32, u32, const DataBlock&, bool) {}

// Ask for the line that was evicted last, unless one is asked for.
inline void RubyPrefetcherProxy_notifyPfMiss(Context& x, u32 proxy, u32, bool, const DataBlock&) {
    PrefetcherProxy& p = proxy_of(x, proxy);
    if (!p.has_evicted || p.has_asked) return;
    p.has_evicted = false;
    p.has_asked = true;
    p.asked = p.evicted;
    RubyRequest& message = new_message<RubyRequest>(x);
    message.LineAddress = p.asked;
    message.PhysicalAddress = p.asked;
    message.Type = RubyRequestType::LD;
    message.Size = LINE_BYTES;
    message.Prefetch = PrefetchBit::Yes;
    MessageBuffer_enqueue(x, p.queue, message, 1);
}

inline void RubyPrefetcherProxy_notifyPfEvict(Context& x, u32 proxy, u64 address, bool, u32) {
    PrefetcherProxy& p = proxy_of(x, proxy);
    p.has_evicted = true;
    p.evicted = address;
}

inline void RubyPrefetcherProxy_completePrefetch(Context& x, u32 proxy, u64 address) {
    PrefetcherProxy& p = proxy_of(x, proxy);
    if (!p.has_asked || p.asked != address) {
        fail(x, ErrorKind::BAD_CALLBACK);
        return;
    }
    p.has_asked = false;
}
