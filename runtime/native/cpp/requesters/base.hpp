// What all requesters share: the table of outstanding accesses, refusals with a promise, releases.
//
// Invariants: an access is outstanding from the moment it is taken until its last part has been
// answered; a client stands in at most one of the lists of refused and of granted ones for each
// reason, and a refused one has not been called since.

#pragma once

#include "structures/cache_memory.hpp"
#include "requesters/access.hpp"

inline Controller& controller(const Context& x, u32 id);                          // system.hpp
inline u64 machine_mandatory_queue_latency(Context& x, Controller& c, i32 kind);  // generated

// ---------------------------------------------------------------- outstanding accesses

// Enter an access that ends after `parts` answers; it takes `numbers` sequence numbers.
inline void Requester_accept(Context& x, Requester& r, Access& access, u32 parts, u32 numbers = 1) {
    access.sequence = r.next_sequence;
    access.issued = now(x);
    access.open = parts;
    r.next_sequence += numbers;
    ++r.live;
    if (access.kind == AccessKind::STORE || access.kind == AccessKind::ATOMIC) {
        ++requester_parts(x).clients.at(x, access.client).writes;
    }
}

inline void Requester_over(Context& x, Requester& r, u32 index) {
    INVARIANT(r.live > 0);
    --r.live;
    access_free(x, index);
}

inline void Requester_write_closed(Context& x, Requester& r, const Access& access) {
    ClientState& client = requester_parts(x).clients.at(x, access.client);
    INVARIANT(client.writes > 0);
    --client.writes;
    if (LIKELY(!client.release)) return;
    u32 before = 0;
    for (u32 waiting = client.release; waiting;) {
        Access& release = access_at(x, waiting);
        const u32 next = release.next_release;
        INVARIANT(release.open > 0 && release.client == access.client);
        if (access.sequence >= release.sequence || --release.open) {
            before = waiting;
            waiting = next;
            continue;
        }
        (before ? access_at(x, before).next_release : client.release) = next;
        client_synchronized(x, release);
        Requester_over(x, r, waiting);
        waiting = next;
    }
}

// One part has been answered. Call after the client has been notified.
inline void Requester_close_part(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    INVARIANT(access.open > 0);
    if (--access.open) return;
    if (access.kind == AccessKind::STORE || access.kind == AccessKind::ATOMIC) {
        Requester_write_closed(x, r, access);
    }
    Requester_over(x, r, index);
}

// ---------------------------------------------------------------- refusal and retry

// How much of a resource is free (the requesters' own).
inline i64 Requester_free(Context& x, const Requester& r, RefusalReason reason);

inline u32 waiter_name(u32 client, RefusalReason reason) {
    return 1 + REFUSED_NUM * client + reason;
}

inline Waiter& waiter_at(const Context& x, u32 name) {
    return requester_parts(x)
        .clients.at(x, (name - 1) / REFUSED_NUM)
        .waiters[(name - 1) % REFUSED_NUM];
}

inline void waiter_append(const Context& x, Queue& queue, u32 name, Standing standing) {
    Waiter& waiter = waiter_at(x, name);
    INVARIANT(waiter.standing == Standing::NEITHER && standing != Standing::NEITHER);
    waiter.standing = standing;
    waiter.previous = queue.last;
    waiter.next = 0;
    if (queue.last) {
        waiter_at(x, queue.last).next = name;
    } else {
        queue.first = name;
    }
    queue.last = name;
}

inline void waiter_remove(const Context& x, Queue& queue, u32 name) {
    Waiter& waiter = waiter_at(x, name);
    INVARIANT(waiter.standing != Standing::NEITHER);
    waiter.standing = Standing::NEITHER;
    if (waiter.previous) {
        waiter_at(x, waiter.previous).next = waiter.next;
    } else {
        queue.first = waiter.next;
    }
    if (waiter.next) {
        waiter_at(x, waiter.next).previous = waiter.previous;
    } else {
        queue.last = waiter.previous;
    }
}

inline void grant_remove(const Context& x, Requester& r, u32 name) {
    waiter_remove(x, r.granted, name);
    INVARIANT(r.kept[(name - 1) % REFUSED_NUM] >= waiter_at(x, name).need);
    r.kept[(name - 1) % REFUSED_NUM] -= waiter_at(x, name).need;
    INVARIANT(r.grants > 0);
    --r.grants;
}

inline bool fits(Context& x, const Requester& r, RefusalReason reason, u32 need) {
    return i64{need} + r.kept[reason] <= Requester_free(x, r, reason);
}

inline void refuse(const Context& x, Requester& r, RefusalReason reason, u32 name, u32 need) {
    waiter_at(x, name).need = need;
    waiter_append(x, r.refused[reason], name, Standing::REFUSED);
    ++r.refusals;
}

// Whether the client may take `need` of a resource now; if not, a retry is promised.
//
// First come, first served: no client overtakes one that was refused, and what was offered to
// one is kept for it for a tick.
inline bool Requester_may_take(Context& x, Requester& r, u32 client, RefusalReason reason,
                               u32 need = 1) {
    const u32 name = waiter_name(client, reason);
    if (LIKELY(!r.refusals && !r.grants)) {
        if (i64{need} <= Requester_free(x, r, reason)) return true;
        refuse(x, r, reason, name, need);
        return false;
    }
    Waiter& waiter = waiter_at(x, name);
    const bool granted = waiter.standing == Standing::GRANTED;
    if (granted) grant_remove(x, r, name);
    if (granted || !r.refused[reason].first) {
        if (fits(x, r, reason, need)) return true;
        if (granted) schedule(x, r.consumer, now(x) + 1);  // others may do with less
    }
    if (waiter.standing != Standing::REFUSED) {
        refuse(x, r, reason, name, need);
    } else if (need < waiter.need) {
        waiter.need = need;
    }
    return false;
}

// Some of a resource became free: call back those whom it satisfies, in order.
inline COLD void Requester_call_back(Context& x, Requester& r, RefusalReason reason) {
    i64 taken = r.kept[reason];
    const i64 free = Requester_free(x, r, reason);
    const u64 tick = now(x);
    u32 first = 0;
    u32 name = r.refused[reason].first;
    while (name) {
        Waiter& waiter = waiter_at(x, name);
        if (taken + waiter.need > free) break;
        taken += waiter.need;
        const u32 next = waiter.next;
        waiter_remove(x, r.refused[reason], name);
        INVARIANT(r.refusals > 0);
        --r.refusals;
        waiter.tick = tick;
        waiter_append(x, r.granted, name, Standing::GRANTED);
        r.kept[reason] += waiter.need;
        ++r.grants;
        if (!first) first = name;
        name = next;
    }
    if (!first) return;
    schedule(x, r.consumer, tick + 2);
    for (; first; first = waiter_at(x, first).next) client_retry(x, (first - 1) / REFUSED_NUM);
}

inline void Requester_offer(Context& x, Requester& r, RefusalReason reason) {
    if (UNLIKELY(r.refused[reason].first != 0)) Requester_call_back(x, r, reason);
}

// Offer again what no client has taken; call from a wake-up.
inline void Requester_settle(Context& x, Requester& r) {
    const u64 tick = now(x);
    for (u32 name = r.granted.first; name;) {
        const Waiter& waiter = waiter_at(x, name);
        const u32 next = waiter.next;
        if (waiter.tick + 2 <= tick) grant_remove(x, r, name);
        name = next;
    }
    for (u32 reason = REFUSED_TOKENS; reason < REFUSED_NUM; ++reason)
        Requester_offer(x, r, static_cast<RefusalReason>(reason));
}

// ---------------------------------------------------------------- synchronisation

// There was nothing to do: answer in the next tick, never within the issue.
inline void Requester_end_next_tick(Context& x, Requester& r, u32 index) {
    access_at(x, index).link = 0;
    if (r.ending.last) {
        access_at(x, r.ending.last).link = index;
    } else {
        r.ending.first = index;
    }
    r.ending.last = index;
    schedule(x, r.consumer, now(x) + 1);
}

// RELEASE: ends with the last earlier store or atomic of the client.
inline bool Requester_release(Context& x, Requester& r, u32 index) {
    Access& access = access_at(x, index);
    ClientState& client = requester_parts(x).clients.at(x, access.client);
    Requester_accept(x, r, access, client.writes);
    if (client.writes) {
        u32 last = client.release;
        while (last && access_at(x, last).next_release) last = access_at(x, last).next_release;
        (last ? access_at(x, last).next_release : client.release) = index;
    } else {
        Requester_end_next_tick(x, r, index);
    }
    return true;
}

// An access that had nothing to do is about to be answered.
inline void Requester_ended(Context& x, Requester& r, u32 index);

inline void Requester_end_due(Context& x, Requester& r) {
    const u64 tick = now(x);
    while (r.ending.first) {
        const u32 index = r.ending.first;
        Access& access = access_at(x, index);
        if (access.issued >= tick) return;  // the list is in the order of issue
        r.ending.first = access.link;
        if (!r.ending.first) r.ending.last = 0;
        Requester_ended(x, r, index);
        client_synchronized(x, access);
        Requester_over(x, r, index);
    }
}

inline void Requester_wakeup(Context& x, Requester& r) {
    if (r.ending.first) Requester_end_due(x, r);
    if (r.refusals || r.grants) Requester_settle(x, r);
}

// ---------------------------------------------------------------- walks

inline i64 mandatory_latency(Context& x, const Requester& r, i32 type) {
    return static_cast<i64>(machine_mandatory_queue_latency(x, controller(x, r.controller), type));
}

inline void sort_far(u64* lines, u32 count) {
    u32 gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3) {
        for (u32 i = gap; i < count; ++i) {
            const u64 line = lines[i];
            u32 place = i;
            for (; place >= gap && lines[place - gap] > line; place -= gap)
                lines[place] = lines[place - gap];
            lines[place] = line;
        }
    }
}

// Ascending order of different line addresses: a bit for each if they are near each other.
inline void sort_lines(const Context& x, u64* lines, u32 count) {
    u64 low = NONE, high = 0;
    for (u32 i = 0; i < count; ++i) {
        if (lines[i] < low) low = lines[i];
        if (lines[i] > high) high = lines[i];
    }
    const u32 shift = LINE_BITS;
    u64(&bits)[SORTED_WORDS] = requester_parts(x).sort_bits;
    const u64 words = count ? ((high - low) >> shift >> 6) + 1 : 0;
    if (words > SORTED_WORDS || count < 8) return sort_far(lines, count);
    for (u32 i = 0; i < count; ++i) {
        const u64 bit = (lines[i] - low) >> shift;
        bits[bit >> 6] |= u64{1} << (bit & 63);
    }
    for (u64 word = 0; word < words; ++word) {
        for (u64 left = bits[word]; left; left &= left - 1) {
            *lines++ = low + (((word << 6) + static_cast<u64>(__builtin_ctzll(left))) << shift);
        }
        bits[word] = 0;
    }
}

// The lines held in any state by the requester's caches, cache by cache, ascending, each once.
// They stand in `sorted`; returns how many.
inline u32 resident_lines(Context& x, const Requester& r) {
    RequesterParts& parts = requester_parts(x);
    u64* found = parts.sorted.in(x);
    const u32 stamp = ++parts.stamp;
    u32 count = 0;
    for (u32 i = 0; i < r.caches; ++i) {
        const u32 first = count;
        cache_each(x, cache_memory(x, parts.links.at(x, r.first_cache + i)),
                   [&](const AbstractCacheEntry& entry) {
                       if (r.caches > 1) {
                           Line& mark = parts.marks.at(x, line_index(x, entry.address));
                           if (mark.stamp == stamp) return;
                           mark.stamp = stamp;
                       }
                       INVARIANT(count < parts.sorted.count);
                       found[count++] = entry.address;
                   });
        sort_lines(x, found + first, count - first);
    }
    return count;
}

// One REPLACEMENT for each of the first `count` lines of `sorted`, all in this tick.
inline void send_replacements(Context& x, const Requester& r, u32 count) {
    const i64 latency = mandatory_latency(x, r, RubyRequestType::REPLACEMENT);
    const u64* lines = requester_parts(x).sorted.in(x);
    for (u32 i = 0; i < count; ++i) {
        RubyRequest& message = new_message<RubyRequest>(x);
        message.LineAddress = lines[i];
        message.PhysicalAddress = lines[i];
        message.Type = RubyRequestType::REPLACEMENT;
        MessageBuffer_enqueue(x, r.queue, message, latency);
    }
}

// ---------------------------------------------------------------- callbacks

// The requester that a protocol calls, or null with a verdict if there is none.
inline Requester* called(Context& x, u32 requester) {
    if (LIKELY(requester != NIL)) return &requester_at(x, requester);
    fail(x, ErrorKind::NULL_DEREFERENCE);
    return nullptr;
}

// The first request of a line; 0, with a verdict, if none is in flight there.
inline u32 head_of(Context& x, const Requester& r, u64 address) {
    if (LIKELY(!(address & LINE_MASK))) {
        const u32 ring = line_queue(x, r, line_index(x, address)).requests;
        if (LIKELY(ring != 0)) return ring_first(x, ring);
    }
    fail(x, ErrorKind::BAD_CALLBACK);
    return 0;
}
