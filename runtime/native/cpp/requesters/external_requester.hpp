// Clients that act for an agent outside of the block: each issues what it is given, in order, and
// writes down what was answered. Lanes may be wide, and cross a line. The agent is in Python:
// runtime/native/external_requester.py.
//
// Invariant: a client issues only in its own wake-ups; what its requester refuses stays at the front
// until the requester calls back. A tick with answers is the last one of a run. The arrays of a slot
// stay as they are from the moment it is given until its last answer; only what a load or an atomic
// brings back is written into them.

#pragma once

#include "requesters/external_view.hpp"
#include "requesters/registry.hpp"

struct ExternalClient {
    u32 number;
    u32 consumer;
    u32 requester;
    Queue waiting;  // accesses: what it was given
};

struct ClientParts {
    u32 used;
    Array<ExternalClient> clients;

    void layout(Layout& layout, const Capacities& c, const PlanView&) {
        layout.reserve(clients, c.agents);
    }

    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};

inline ExternalView& external_view(const Context& x) {
    return *static_cast<ExternalView*>(x.client_view);
}

inline u8* external_bytes(const Context& x, const Access& access) {
    return external_view(x).bytes + u64{access.slot} * EXTERNAL_LANES * EXTERNAL_LANE_BYTES;
}

// ---------------------------------------------------------------- about an access

inline const u64* access_addresses(const Context& x, const Access& access) {
    return external_view(x).address + u64{access.slot} * EXTERNAL_LANES;
}

// Slots are used again, so client_wakeup clears `lines_of`.
inline u64 access_lines_key(const Access& access) { return u64{access.slot} + 1; }

inline void put_value(const Context& x, const Access& access, u32 lane, u8* to) {
    __builtin_memcpy(to, external_bytes(x, access) + lane * access.size, access.size);
}

inline void put_values(const Context& x, const Access& access, u64 lanes, u64 line, u8* bytes) {
    const u8* from = external_bytes(x, access);
    const u64* addresses = access_addresses(x, access);
    lanes_in_line(addresses, access.size, lanes, line,
                  [&](u32 lane, u32 byte, u32 offset, u32 count) {
                      __builtin_memcpy(bytes + offset, from + lane * access.size + byte, count);
                  });
}

inline AtomicNode access_operation(const Context& x, const Access& access, u32 lane) {
    const ExternalView& view = external_view(x);
    const u64 place = u64{access.slot} * EXTERNAL_LANES + lane;
    AtomicNode node = {};
    node.size = static_cast<u8>(access.size);
    node.kind = view.op[access.slot];
    node.operand = view.value[place];
    node.compare = node.kind == AtomicKind::CAS ? view.expected[place] : 0;
    return node;
}

template <class Visit>
inline void each_line(Context& x, const Access& access, Visit visit) {
    const u64* addresses = access_addresses(x, access);
    for (u32 lane = 0; lane < access.lanes; ++lane) {
        if (!visit(line_index(x, line_of(x, addresses[lane])))) return;
    }
}

// ---------------------------------------------------------------- requests

// Add a client of a requester. Returns its number; -1: no room.
inline i64 External_add(Context& x, u32 requester) {
    ClientParts& parts = *x.client_parts;
    if (parts.used == parts.clients.count) return -1;
    const u32 number = parts.used++;
    parts.clients.at(x, number) = {
        number, x.s->controllers + x.s->requesters + number, requester, {}};
    return number;
}

// Queue a request at its port, which acts at `tick`.
inline void External_give(Context& x, const ExternalRequest& given, u64 tick) {
    const u32 index = access_new(x);
    if (UNLIKELY(!index)) return;
    ExternalClient& t = x.client_parts->clients.at(x, given.port);
    Access& access = access_at(x, index);
    access.client = t.number;
    access.slot = given.slot;
    access.kind = given.kind;
    access.size = given.size;
    access.lanes = given.lanes;
    access.scope = given.scope;
    access.crosses = given.crosses;
    access.pending = access.uncompleted = u64{access.lanes} * access.size;
    if (t.waiting.last) {
        access_at(x, t.waiting.last).link = index;
    } else {
        t.waiting.first = index;
    }
    t.waiting.last = index;
    schedule(x, t.consumer, tick);
}

inline void client_wakeup(Context& x, u32 client) {
    ExternalClient& t = x.client_parts->clients.at(x, client);
    while (t.waiting.first && !x.s->trouble) {
        const u32 index = t.waiting.first;
        const u32 next = access_at(x, index).link;
        requester_parts(x).lines_of = 0;  // slots are used again
        if (!Requester_issue(x, t.requester, index)) return;
        t.waiting.first = next;
        if (!next) t.waiting.last = 0;
    }
}

inline void client_retry(Context& x, u32 client) {
    const ExternalClient& t = x.client_parts->clients.at(x, client);
    if (t.waiting.first) schedule(x, t.consumer, now(x) + 1);
}

// ---------------------------------------------------------------- answers

inline void External_answer(Context& x, const Access& access, AnswerKind kind) {
    ExternalView& view = external_view(x);
    if (view.answered < view.room)
        view.answers[view.answered] = access.slot | static_cast<u64>(kind) << 32 |
                                      u64{access.hits} << 40 | u64{access.misses} << 48;
    ++view.answered;
    stop(x);
}

// Whether the cache answers a load in the transition that takes it, in the tick in which it arrives:
// it is at the head of the queue, and of a line only one load has been sent.
inline bool External_hit(const Context& x, const Access& access, u64 line) {
    const Requester& r = requester_at(x, x.client_parts->clients.at(x, access.client).requester);
    const Message* head = MessageBuffer_head(x, r.queue);
    if (!head || head->type != MessageType::RubyRequest || head->arrival != now(x)) return false;
    const RubyRequest& request = static_cast<const RubyRequest&>(*head);
    const i32 type = request.Type;
    return request.LineAddress == line &&
           (type == RubyRequestType::LD || type == RubyRequestType::IFETCH);
}

inline void client_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes) {
    ++(External_hit(x, access, line_address_of(x, line)) ? access.hits : access.misses);
    const u64* addresses = access_addresses(x, access);
    u8* to = external_bytes(x, access);
    lanes_in_line(addresses, access.size, lanes, line_address_of(x, line),
                  [&](u32 lane, u32 byte, u32 offset, u32 count) {
                      __builtin_memcpy(to + lane * access.size + byte, bytes + offset, count);
                      INVARIANT(access.pending >= count);
                      access.pending -= count;
                  });
    if (!access.pending) External_answer(x, access, AnswerKind::LOADED);
}

inline u64 external_count(const Context& x, const Access& access, u64 lanes, u32 line) {
    const u64* addresses = access_addresses(x, access);
    u64 total = 0;
    lanes_in_line(addresses, access.size, lanes, line_address_of(x, line),
                  [&](u32, u32, u32, u32 count) { total += count; });
    return total;
}

inline void client_stored(Context& x, Access& access, u64 lanes, u32 line) {
    access.pending -= external_count(x, access, lanes, line);
    if (!access.pending) External_answer(x, access, AnswerKind::ACCEPTED);
}

inline void client_store_completed(Context& x, Access& access, u64 lanes, u32 line) {
    INVARIANT(access.uncompleted >= external_count(x, access, lanes, line));
    access.uncompleted -= external_count(x, access, lanes, line);
    if (!access.uncompleted) External_answer(x, access, AnswerKind::PERFORMED);
}

inline void client_atomic_done(Context& x, Access& access, u64 lanes, const u64* old, u32 values) {
    u8* to = external_bytes(x, access);
    u32 place = 0;
    for (; lanes; lanes &= lanes - 1, ++place) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        if (values) store_bytes(to + lane * access.size, old[place], access.size);
        INVARIANT(access.pending >= access.size);
        access.pending -= access.size;
    }
    if (access.pending) return;
    const bool quiet = access.scope & Scope::QUIET;
    External_answer(x, access, quiet ? AnswerKind::PERFORMED : AnswerKind::OLD_VALUES);
}

// Clients outside keep no values.
inline void client_line_lost(Context&, u32, u64) {}

inline void client_synchronized(Context& x, Access& access) {
    External_answer(x, access, AnswerKind::SYNCHRONIZED);
}
