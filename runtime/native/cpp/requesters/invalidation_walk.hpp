// The walk through private caches that makes an acquire: everything resident is thrown out.
//
// Invariant: a walk is over exactly when every REPLACEMENT it sent has been answered, in its own
// cache line by line, in each linked cache as a whole. A coalescer has at most one walk.

#pragma once

#include "requesters/sequencer.hpp"

inline void Coalescer_walk_over(Context& x, Requester& r, u32 access);
inline void Coalescer_offer_walk(Context& x, Requester& r);

inline Requester& linked_at(const Context& x, const Requester& r, u32 i) {
    RequesterParts& parts = requester_parts(x);
    return parts.requesters.at(x, parts.links.at(x, r.first_linked + i));
}

// Whether a walk would have to wait, for the own cache or a linked one.
inline bool AcquireWalk_busy(const Context& x, const Requester& r) {
    if (r.walk_access) return true;
    for (u32 i = 0; i < r.linked; ++i) {
        if (linked_at(x, r, i).walk_parts) return true;
    }
    return false;
}

// Send the replacements; false when nothing is resident and so nothing will be answered. The walk
// counts as under way in either case, until it has ended or AcquireWalk_nothing.
inline bool AcquireWalk_begin(Context& x, Requester& r, u32 access) {
    const u32 count = resident_lines(x, r);
    const u64* lines = requester_parts(x).sorted.in(x);
    INVARIANT(!r.walk_parts && !r.walk_access);
    r.walk_access = access;
    for (u32 i = 0; i < count; ++i) line_queue(x, r, line_index(x, lines[i])).walked = 1;
    r.walk_parts = count;
    send_replacements(x, r, count);
    for (u32 i = 0; i < r.linked; ++i) {
        if (Sequencer_begin_walk(x, linked_at(x, r, i), r.index)) ++r.walk_parts;
    }
    return r.walk_parts > 0;
}

// End a walk that had nothing to do.
inline void AcquireWalk_nothing(Requester& r) { r.walk_access = 0; }

inline void AcquireWalk_part_done(Context& x, Requester& r) {
    INVARIANT(r.walk_parts > 0 && r.walk_access);
    if (--r.walk_parts) return;
    const u32 access = r.walk_access;
    r.walk_access = 0;
    Coalescer_walk_over(x, r, access);
}

// The own cache has thrown the line out. A verdict if the walk did not ask for that.
inline void AcquireWalk_line_done(Context& x, Requester& r, u64 address) {
    if (!(address & LINE_MASK)) {
        LineQueue& queue = line_queue(x, r, line_index(x, address));
        if (queue.walked) {
            queue.walked = 0;
            return AcquireWalk_part_done(x, r);
        }
    }
    fail(x, ErrorKind::BAD_CALLBACK);
}

// Go on when a linked cache that is in the way is free again. The own walk needs no watching.
inline void AcquireWalk_watch(Context& x, Requester& r) {
    if (r.watching || r.walk_access) return;
    for (u32 i = 0; i < r.linked; ++i) {
        Requester& other = linked_at(x, r, i);
        if (!other.walk_parts) continue;
        r.watching = true;
        return Sequencer_watch_walk(x, other, r);
    }
}

inline void AcquireWalk_linked_ended(Context& x, Requester& r) {
    r.watching = false;
    if (AcquireWalk_busy(x, r)) {
        AcquireWalk_watch(x, r);
    } else {
        Coalescer_offer_walk(x, r);
    }
}
