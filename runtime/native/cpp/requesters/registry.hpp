// All requesters of a system: which of the three kinds does what, and how they are built.
//
// Invariant: everything below this header calls a requester through the functions here, and only
// protocols call one of a known kind.

#pragma once

#include "requesters/coalescer.hpp"
#include "requesters/dma_sequencer.hpp"
#include "block/gc_marking.hpp"
#include "system/plan.hpp"

// Take the access, or refuse it and call client_retry later.
inline bool Requester_issue(Context& x, u32 requester, u32 access) {
    Requester& r = requester_at(x, requester);
    switch (r.kind) {
        case RequesterKind::COALESCER: return Coalescer_issue(x, r, access);
        case RequesterKind::SEQUENCER: return Sequencer_issue(x, r, access);
        case RequesterKind::DMA: break;
    }
    return Dma_issue(x, r, access);
}

inline i64 Requester_free(Context& x, const Requester& r, RefusalReason reason) {
    switch (r.kind) {
        case RequesterKind::COALESCER: return Coalescer_free(x, r, reason);
        case RequesterKind::SEQUENCER: return Sequencer_free(r, reason);
        case RequesterKind::DMA: break;
    }
    return i64{r.max_outstanding} - r.count;
}

inline void Requester_ended(Context& x, Requester& r, u32 access) {
    if (r.kind == RequesterKind::COALESCER) Coalescer_ended(x, r, access);
}

inline void requester_wakeup(Context& x, u32 requester) {
    Requester& r = requester_at(x, requester);
    if (r.kind == RequesterKind::COALESCER) {
        Coalescer_wakeup(x, r);
    } else {
        Requester_wakeup(x, r);
    }
}

// Nothing here holds a value whose log or operations are collected.
inline void requesters_mark(Context&, Marker&) {}

// How many requests were taken and are answered; one with many lanes may count as many.
inline u64 requesters_completed(const Context& x) {
    const RequesterParts& parts = requester_parts(x);
    u64 found = 0;
    for (u32 i = 0; i < parts.requesters.count; ++i) {
        const Requester& r = parts.requesters.at(x, i);
        found += r.next_sequence - r.live;
    }
    return found;
}

// How many requesters have something outstanding.
inline u64 requesters_leaking(Context& x) {
    RequesterParts& parts = requester_parts(x);
    u64 found = 0;
    for (u32 i = 0; i < parts.requesters.count; ++i) {
        const Requester& r = parts.requesters.at(x, i);
        bool left = r.live || r.refusals || r.walk_parts || r.tokens != r.max_tokens;
        for (u32 line = 0; line < x.s->lines.used && !left; ++line)
            left = line_queue(x, r, line).invalidations != 0;
        found += left;
    }
    return found;
}

// Enter a list of numbers; returns where it begins.
inline u32 copy_links(Context& x, const u64* list, u32& used) {
    const u32 first = used;
    for (u64 i = 0; i < list[-1]; ++i)
        requester_parts(x).links.at(x, used++) = static_cast<u32>(list[i]);
    return first;
}

inline void requesters_start(Context& x, const PlanView& plan) {
    RequesterParts& parts = requester_parts(x);
    u32 used = 0;
    for (u32 i = 0; i < parts.free_transfers.count; ++i) parts.free_transfers.at(x, i) = i;
    for (u32 i = 0; i < parts.requesters.count; ++i) {
        const PlanWords words = plan.requester(i);
        Requester& r = parts.requesters.at(x, i);
        r.kind = static_cast<RequesterKind>(words.word(PLAN_REQUESTER_KIND));
        r.index = i;
        r.consumer = x.s->controllers + i;
        r.controller = words.handle(PLAN_REQUESTER_CONTROLLER);
        r.queue = words.handle(PLAN_REQUESTER_QUEUE);
        r.lanes = words.handle(PLAN_REQUESTER_LANES);
        r.walks = words.word(PLAN_REQUESTER_WALK) != 0;
        r.read_type =
            words.word(PLAN_REQUESTER_FETCH) ? RubyRequestType::IFETCH : RubyRequestType::LD;
        r.max_outstanding = words.handle(PLAN_REQUESTER_OUTSTANDING);
        r.max_tokens = r.kind == RequesterKind::COALESCER ? words.handle(PLAN_REQUESTER_TOKENS) : 0;
        r.tokens = r.max_tokens;
        r.coalesces_per_cycle = words.handle(PLAN_REQUESTER_COALESCES_PER_CYCLE);
        r.one_request_per_lane = words.word(PLAN_REQUESTER_ONE_REQUEST_PER_LANE) != 0;
        r.context = static_cast<i32>(words.word(PLAN_REQUESTER_CONTEXT));
        r.atomics = static_cast<AtomicWay>(words.word(PLAN_REQUESTER_ATOMICS));
        r.acquire_flags = static_cast<u8>(words.word(PLAN_REQUESTER_ACQUIRE_FLAGS));
        r.release_flags = static_cast<u8>(words.word(PLAN_REQUESTER_RELEASE_FLAGS));
        r.next_sequence = 1;
        r.places = x.s->line_queues.at(x, i);
        r.caches = static_cast<u32>(words.list(PLAN_CACHES)[-1]);
        r.first_cache = copy_links(x, words.list(PLAN_CACHES), used);
        r.linked = static_cast<u32>(words.list(PLAN_LINKED)[-1]);
        r.first_linked = copy_links(x, words.list(PLAN_LINKED), used);
    }
}
