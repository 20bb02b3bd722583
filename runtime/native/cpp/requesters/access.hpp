// An access, from the instruction to its last answer, and the lists in which its parts stand.
// What a client issues is Access of runtime/requesters/port.py.
//
// Invariant: a slot is free or belongs to one access, or one request of one; everything
// names slots by number, and 0 is none. Addresses and values stay with the client.

#pragma once

#include "requesters/client.hpp"
#include "block/line_map.hpp"
#include "sim/message_buffer.hpp"
#include "system/plan.hpp"
#include "system/prelude.hpp"

// One instruction on its way, and what its requester keeps about it, after what its client keeps.
// It is free when `open` comes down to 0.
struct alignas(128) Access : ClientAccess {
    u64 sequence;
    u64 issued;
    u32 client;
    u32 open;          // parts that the requester has not answered
    u32 lanes;         // how many addresses
    u32 link;          // free, or ends in the next tick
    u32 next_release;  // of the same client, and waiting as well
    u16 size;          // bytes, of each lane
    u8 kind;
    u8 scope;
    bool crosses;  // lanes may reach into the next line
};

// What stands in a list: lanes of an access that go to one line. Lists of a line are rings that are
// known by their last element.
struct alignas(64) LineRequest {
    u64 lanes;  // bit i: address i of its access
    union {
        u64 sequence;  // the instSeqNum sent along
        u64 transfer;  // of an engine: where its bytes are
        u64 linked;    // of a sequencer: what the load-linked read
    };
    u32 access;
    u32 line;
    u32 next;
    union {
        u32 beside;  // its neighbour among the stores of the line that are not complete
        u32 done;    // of a DMA transfer: bytes
    };
    i16 type;
    bool accepted;
    bool completed;
    bool last;    // of its instruction
    bool token;   // given back with it
    u8 failures;  // of store-conditionals
};

// What a requester has outstanding for a line: ends of rings, 0: empty.
struct LineQueue {
    u32 requests;       // the first one has been sent
    u32 completing;     // stores sent and not globally performed
    u32 invalidations;  // sent; answered in advance when their access is 0
    u32 walked;         // the walk waits for it
};
static_assert(sizeof(LineQueue) == QUEUE_PLACES * sizeof(u32));

enum class Standing : u8 { NEITHER, REFUSED, GRANTED };

// What a client waits for at its requester, or what is kept for it.
struct Waiter {
    u64 tick;  // of the call
    u32 need;
    u32 previous;
    u32 next;
    Standing standing;
};

// What a requester keeps about a client. Waiters are named by 1 + REFUSED_NUM * client + reason.
struct ClientState {
    Waiter waiters[REFUSED_NUM];
    u32 writes;   // open stores and atomics
    u32 release;  // the first one that waits for them
};

struct Line {
    u32 stamp;
    u32 request;
};

struct Queue {
    u32 first;
    u32 last;
};

struct Requester {
    RequesterKind kind;
    bool walks;
    bool one_request_per_lane;
    bool full;                        // a request waits for room
    bool watching;                    // a linked requester's walk
    u8 acquire_flags, release_flags;  // of a sequencer's requests, see RubyRequest
    AtomicWay atomics;
    i32 read_type;
    i32 context;
    u32 index;
    u32 consumer;
    u32 controller;
    u32 queue;
    u32 lanes;
    u64 places;  // the first of those of its line queues
    u32 live;
    u64 next_sequence;
    Queue refused[REFUSED_NUM];
    u32 kept[REFUSED_NUM];  // granted
    u32 refusals;
    u32 grants;
    Queue granted;
    Queue ending;
    u32 count;  // lane requests, requests or transfers
    u32 max_outstanding;
    u32 tokens;
    u32 max_tokens;
    u32 coalesces_per_cycle;
    u32 coalesced;
    u64 coalesced_tick;  // + 1
    Queue uncoalesced;
    u32 walk_access;
    u32 walk_parts;
    u32 walk_owner;  // of a sequencer's walk: who is notified, + 1
    Queue watchers;  // requesters + 1
    u32 next_watcher;
    u32 first_cache, caches;
    u32 first_linked, linked;
};

inline constexpr u32 SORTED_WORDS = 256;
inline constexpr u32 MAX_TRANSFER_BYTES = 512;
// The bytes of a transfer, from the beginning of its first line on.
inline constexpr u32 TRANSFER_ROOM = MAX_TRANSFER_BYTES + LINE_BYTES;

// Transfers that the engines of a system have room for.
inline u64 transfers_of(const Capacities& c, const PlanView& plan) {
    u64 count = 0;
    for (u32 i = 0; i < c.requesters; ++i) {
        const PlanWords words = plan.requester(i);
        if (static_cast<RequesterKind>(words.word(PLAN_REQUESTER_KIND)) == RequesterKind::DMA)
            count += words.word(PLAN_REQUESTER_OUTSTANDING);
    }
    return count < c.line_requests ? count : c.line_requests;
}

struct RequesterParts {
    u32 free_access;
    u32 free_request;
    u32 accesses_used;
    u32 requests_used;
    u32 requests_live;
    u32 stamp;
    u64 lines_of;  // the access whose lines stand in `scratch`
    u32 scratch[64];
    Array<Requester> requesters;
    Array<u32> links;  // caches, then linked requesters, of each
    Array<Access> accesses;
    Array<LineRequest> requests;
    Array<ClientState> clients;
    Array<Line> marks;    // by line: what the running function knows about it
    Array<u64> sorted;    // lines of a walk
    Array<u8> transfers;  // bytes
    Array<u32> free_transfers;
    u32 transfers_used;  // the free ones stand behind so many
    u64 sort_bits[SORTED_WORDS];

    void layout(Layout& layout, const Capacities& c, const PlanView& plan) {
        layout.reserve(requesters, c.requesters);
        u64 linked = 0;
        for (u32 i = 0; i < c.requesters; ++i) {
            const PlanWords words = plan.requester(i);
            linked += words.list(0)[-1] + words.list(1)[-1];
        }
        layout.reserve(links, linked);
        layout.reserve(clients, c.agents);
        layout.reserve(marks, c.lines);
        layout.reserve(free_transfers, transfers_of(c, plan));
    }

    void unset_layout(Layout& layout, const Capacities& c, const PlanView& plan) {
        layout.reserve(accesses, c.flights + 1);
        layout.reserve(requests, c.line_requests + 1);
        layout.reserve(sorted, c.lines);
        layout.reserve(transfers, transfers_of(c, plan) * TRANSFER_ROOM);
    }
};

inline RequesterParts& requester_parts(const Context& x) { return *x.requester_parts; }
inline Requester& requester_at(const Context& x, u32 index) {
    INVARIANT(index < x.s->requesters);
    return x.requesters[index];
}
inline Access& access_at(const Context& x, u32 index) {
    INVARIANT(index <= requester_parts(x).accesses_used);
    return x.accesses[index];
}
inline LineRequest& request_at(const Context& x, u32 index) {
    INVARIANT(index <= requester_parts(x).requests_used);
    return x.requests[index];
}

inline LineQueue& line_queue(const Context& x, const Requester& r, u32 line) {
    return *reinterpret_cast<LineQueue*>(&line_place(x, r.places, line));
}

// ---------------------------------------------------------------- slots

// 0 when there is none left; the run then ends without a verdict.
inline u32 access_new(Context& x) {
    RequesterParts& parts = requester_parts(x);
    u32 index = parts.free_access;
    if (index) {
        parts.free_access = parts.accesses.at(x, index).link;
    } else if (parts.accesses_used + 1 < parts.accesses.count) {
        index = ++parts.accesses_used;
    } else {
        pool_exhausted(x, POOL_FLIGHTS, parts.accesses.count - 1);
        return 0;
    }
    clear_bytes<sizeof(Access)>(&parts.accesses.at(x, index));
    return index;
}

inline void access_free(Context& x, u32 index) {
    RequesterParts& parts = requester_parts(x);
    INVARIANT(index && parts.free_access != index);
    parts.accesses.at(x, index).link = parts.free_access;
    parts.free_access = index;
}

inline bool requests_left(Context& x, u64 need) {
    RequesterParts& parts = requester_parts(x);
    if (parts.requests_live + need < parts.requests.count) return true;
    pool_exhausted(x, POOL_LINE_REQUESTS, parts.requests.count - 1);
    return false;
}

// Only after requests_left.
inline u32 request_new(Context& x, u32 access, u32 line, i32 type, u64 lanes) {
    RequesterParts& parts = requester_parts(x);
    u32 index = parts.free_request;
    if (index) {
        parts.free_request = parts.requests.at(x, index).next;
    } else {
        index = ++parts.requests_used;
    }
    ++parts.requests_live;
    INVARIANT(access && parts.requests_live < parts.requests.count);
    LineRequest& request = parts.requests.at(x, index);
    request = LineRequest{};
    request.lanes = lanes;
    request.access = access;
    request.line = line;
    request.type = static_cast<i16>(type);
    return index;
}

inline void request_free(Context& x, u32 index) {
    RequesterParts& parts = requester_parts(x);
    INVARIANT(parts.requests_live > 0);
    INVARIANT(index && parts.free_request != index);
    --parts.requests_live;
    parts.requests.at(x, index).next = parts.free_request;
    parts.free_request = index;
}

// Requests that are linked already join the end of a queue.
inline void requests_queue(Context& x, Queue& queue, Queue requests) {
    if (queue.last) {
        request_at(x, queue.last).next = requests.first;
    } else {
        queue.first = requests.first;
    }
    queue.last = requests.last;
}

// Requests for all lines of the access, chained in the order of their first lanes. False: not enough room.
inline bool requests_of_lines(Context& x, u32 index, i32 type, Queue& chain, u32& count) {
    RequesterParts& parts = requester_parts(x);
    const u32 stamp = ++parts.stamp;
    bool enough = true;
    chain = {};
    count = 0;
    each_line(x, access_at(x, index), [&](u32 line) {
        Line& mark = parts.marks.at(x, line);
        if (mark.stamp == stamp) return true;
        mark.stamp = stamp;
        if (!(enough = requests_left(x, 1))) return false;
        const u32 request = request_new(x, index, line, type, 0);
        requests_queue(x, chain, {request, request});
        ++count;
        return true;
    });
    while (!enough && chain.first) {
        const u32 request = chain.first;
        chain.first = request_at(x, request).next;
        request_free(x, request);
    }
    return enough;
}

// ---------------------------------------------------------------- rings

inline u32 ring_first(const Context& x, u32 ring) {
    INVARIANT(ring != 0);
    return request_at(x, ring).next;
}

inline void ring_append(const Context& x, u32& ring, u32 index) {
    INVARIANT(index && index != ring);
    LineRequest& request = request_at(x, index);
    if (ring) {
        LineRequest& last = request_at(x, ring);
        request.next = last.next;
        last.next = index;
    } else {
        request.next = index;
    }
    ring = index;
}

inline u32 ring_take(const Context& x, u32& ring) {
    INVARIANT(ring != 0);
    LineRequest& last = request_at(x, ring);
    const u32 first = last.next;
    if (first == ring) {
        ring = 0;
    } else {
        last.next = request_at(x, first).next;
    }
    return first;
}

// ---------------------------------------------------------------- lanes

inline u64 all_lanes(u32 count) { return count < 64 ? (u64{1} << count) - 1 : ~u64{0}; }

// The lines of the lanes of an access, in `scratch`; false, with an error, if a lane is not in one
// line of memory. They stay there, because client and requester both want to know.
inline bool find_lines(Context& x, const u64* addresses, u32 lanes, u32 size, u64 key) {
    RequesterParts& parts = requester_parts(x);
    if (parts.lines_of == key) return true;
    const u64 offset_bits = LINE_MASK;
    const u64 last = offset_bits + 1 - size;
    u64 line = NONE;
    u32 index = 0;
    for (u32 lane = 0; lane < lanes; ++lane) {
        const u64 address = addresses[lane];
        if (UNLIKELY((address & offset_bits) > last)) {
            fail(x, ErrorKind::INDEX_RANGE);  // the client's fault: Python raises ValueError
            return false;
        }
        if ((address & ~offset_bits) != line) {
            line = address & ~offset_bits;
            index = line_index(x, line);
        }
        parts.scratch[lane] = index;
    }
    parts.lines_of = key;
    return true;
}

inline bool access_lines(Context& x, const Access& access) {
    return find_lines(x, access_addresses(x, access), access.lanes, access.size,
                      access_lines_key(access));
}

// The word of a mask in which the bit of a byte stands.
inline u64 mask_word(u64 offset) { return MASK_WORDS == 1 ? 0 : offset >> 6; }

inline void mask_add(WriteMask& mask, u32 offset, u32 size) {
    if constexpr (MASK_WORDS > 1) {
        for (u32 part; (offset & 63) + size > 64; offset += part, size -= part) {
            part = 64 - (offset & 63);
            mask.m[offset >> 6] |= all_lanes(part) << (offset & 63);
        }
    }
    if (LIKELY(size)) mask.m[mask_word(offset)] |= all_lanes(size) << (offset & 63);
}

inline const u8* bytes_of(const DataBlock& block) {
    return reinterpret_cast<const u8*>(block.data);
}
inline u8* bytes_of(DataBlock& block) { return reinterpret_cast<u8*>(block.data); }

// Where the parts of this layer are, for as long as a call runs.
inline void context_bind(Context& x) {
    x.requester_parts = x.s->requester_parts.in(x);
    x.client_parts = x.s->client_parts.in(x);
    x.requesters = x.requester_parts->requesters.in(x);
    x.accesses = x.requester_parts->accesses.in(x);
    x.requests = x.requester_parts->requests.in(x);
}
