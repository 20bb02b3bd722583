// What a controller knows and can be asked, apart from its table: the loop over its ports, the
// rows behind stall_and_wait, line locks, the memory port, and what the language offers. In Python:
// runtime/controller/base.py and runtime/controller/wakeup.py.
//
// Invariant: a message that waits is noted in a row until it is woken. Polling starts again from
// the first port after every transition (generated code), so early ports have priority.

#pragma once

#include "controller/controller_state.hpp"
#include "controller/row_change.hpp"
#include "system/core.hpp"

inline Controller& controller(const Context& x, u32 id);  // system.hpp

// Generated: a switch over the machines of the protocol.
inline void machine_start(Context& x, Controller& c, const PlanView& plan);
inline void machine_wakeup(Context& x, Controller& c);
inline u64 machine_mandatory_queue_latency(Context& x, Controller& c, i32 kind);

// The rows of a controller have a bit for each pair of a rank and a buffer: who waits for the
// line, and of which rank was the port that made it wait.
struct ControllerParts {
    Array<WaitRow> waiting;  // by controller that stalls, and line
    Array<u32> neighbours;   // nodes: downstream, then upstream, of each controller
    Array<LineLock> locks;   // `lock_room` for each controller
    u64 lock_room;
    Array<u8> tracked;  // by controller that notes its transactions, and line: a bit a kind
    u64 tracked_used;
    u64 waiting_used;
    u64 neighbours_used;

    void layout(Layout& layout, const Capacities& capacities, const PlanView& plan) {
        u64 rows = 0;
        u64 tracks = 0;
        u64 nodes = 0;
        PlanWords words = plan.controller(0);
        for (u64 id = 0; id < capacities.controllers; id++) {
            if (MACHINE_WAITS[words.word(PLAN_CONTROLLER_MACHINE)]) rows += capacities.lines;
            if (MACHINE_TRACKS[words.word(PLAN_CONTROLLER_MACHINE)]) tracks += capacities.lines;
            nodes += words.list(PLAN_DOWNSTREAM)[-1] + words.list(PLAN_UPSTREAM)[-1];
            words = PlanView::after(words, 4);
        }
        layout.reserve(waiting, rows);
        layout.reserve(neighbours, nodes);
        layout.reserve(tracked, tracks);
        lock_room = capacities.line_requests;
    }

    void unset_layout(Layout& layout, const Capacities& capacities, const PlanView&) {
        layout.reserve(locks, capacities.controllers * lock_room);
    }
};

inline ControllerParts& controller_parts(const Context& x) { return *x.s->controller_parts.in(x); }

// ---------------------------------------------------------------- construction

inline void controller_neighbours(Context& x, Controller& c, const PlanWords& words) {
    ControllerParts& parts = controller_parts(x);
    c.neighbours = static_cast<u32>(parts.neighbours_used);
    for (u32 which = PLAN_DOWNSTREAM; which <= PLAN_UPSTREAM; which++) {
        const u64* nodes = words.list(which);
        for (u64 i = 0; i < nodes[-1]; i++) {
            parts.neighbours.at(x, parts.neighbours_used++) = static_cast<u32>(nodes[i]);
        }
        (which == PLAN_DOWNSTREAM ? c.downstream : c.upstream) = static_cast<u16>(nodes[-1]);
    }
}

// Everything that does not depend on the machine. Controllers are started in ascending order.
inline void controller_start(Context& x, Controller& c, const PlanWords& words) {
    const u32 id = c.id;
    c.machine = words.handle(PLAN_CONTROLLER_MACHINE);
    c.version = words.handle(PLAN_CONTROLLER_MACHINE_VERSION);
    c.machineID = {static_cast<i32>(words.word(PLAN_CONTROLLER_MACHINE_TYPE)), c.version};
    c.clusterID = words.handle(PLAN_CONTROLLER_CLUSTER);
    c.transitions_per_cycle = static_cast<i32>(words.word(PLAN_CONTROLLER_TRANSITIONS_PER_CYCLE));
    c.max_transitions = words.handle(PLAN_CONTROLLER_TRANSITIONS_PER_TICK);
    const u32 wanted = static_cast<u32>(c.transitions_per_cycle);
    c.limit = wanted < c.max_transitions ? wanted : c.max_transitions;
    c.recycle_latency = words.word(PLAN_CONTROLLER_RECYCLE_LATENCY);
    c.number_of_TBEs = static_cast<i32>(words.word(PLAN_CONTROLLER_NUMBER_OF_TBES));
    c.mandatory_queue_latency = words.word(PLAN_CONTROLLER_MANDATORY_LATENCY);
    c.buffer_size = static_cast<i32>(words.word(PLAN_CONTROLLER_BUFFER_SIZE));
    c.has_memory = words.word(PLAN_CONTROLLER_MEMORY) != 0;
    c.mandatory_queue = words.handle(PLAN_CONTROLLER_MANDATORY_QUEUE);
    c.memory_request = words.handle(PLAN_CONTROLLER_MEMORY_REQUEST);
    c.memory_response = words.handle(PLAN_CONTROLLER_MEMORY_RESPONSE);
    c.arrays = words.word(PLAN_CONTROLLER_ARRAYS) != 0;
    c.busy_tick = NONE;
    c.stall_tick = NONE;
    c.memory_tick = NONE;
    c.current = NIL;
    c.waiting = NIL;
    if (id) {
        const Controller& before = controller(x, id - 1);
        const MachineShape& shape = MACHINE_SHAPES[before.machine];
        c.counts = before.counts + (shape.states + 1) * (shape.events + 1);
    }
    if (MACHINE_WAITS[c.machine]) {
        ControllerParts& parts = controller_parts(x);
        c.waiting = static_cast<u32>(parts.waiting_used);
        parts.waiting_used += x.s->lines.capacity;
    }
    if (MACHINE_TRACKS[c.machine]) {
        ControllerParts& parts = controller_parts(x);
        c.tracked = static_cast<u32>(parts.tracked_used);
        parts.tracked_used += x.s->lines.capacity;
    }
    controller_neighbours(x, c, words);
}

// The next in-port, in polling order. Buffers get places in the order of their first port; NIL
// stands for one whose messages never wait.
inline void controller_port(Controller& c, u32 buffer, u32 rank) {
    INVARIANT(c.ports < MAX_PORTS);
    u32 place = 0;
    while (place < c.buffers && c.port_buffer[place] != buffer) place++;
    if (place == c.buffers && buffer != NIL) c.port_buffer[c.buffers++] = buffer;
    c.buffer_of_port[c.ports] = buffer == NIL ? NO_PLACE : static_cast<u8>(place);
    c.rank_of_port[c.ports] = static_cast<u8>(rank);
    if (c.ports && c.rank_of_port[0] != rank) c.ranked = true;
    c.ports++;
}

// A system without an object that the machine uses unasked is not for this engine: the host does
// not hand one in.
inline void required(Context& x, u32 object) {
    if (object == NIL) fail(x, ErrorKind::NULL_DEREFERENCE, 0);
}

// A new entry of class T: default fields, in no cache yet.
template <class T>
inline T* new_entry(Context& x, const Controller& c) {
    T* entry = static_cast<T*>(new_entry(x, c.machine));
    set_defaults(x, *entry);
    return entry;
}

// A new record of class T with default fields, in a table.
template <class T>
inline void new_record(Context& x, u32 table, u64 address) {
    set_defaults(x, static_cast<T&>(*TBETable_allocate(x, table, address)));
}

// ---------------------------------------------------------------- verdicts

inline bool troubled(const Context& x) { return x.s->trouble != 0; }

// What a pointer points to; something harmless if that is nothing.
template <class T>
inline T& valid(Context& x, T* pointer, u32 site) {
    if (LIKELY(pointer != nullptr)) return *pointer;
    fail(x, ErrorKind::NULL_DEREFERENCE, site);
    return scratch<T>(x);
}

// Whether the system has the object that a parameter stands for.
inline bool present(Context& x, u32 object, u32 site) {
    if (LIKELY(object != NIL)) return true;
    fail(x, ErrorKind::NULL_DEREFERENCE, site);
    return false;
}

template <u32 STATES>
inline i32 permission_of(Context& x, const i32 (&permissions)[STATES], i32 state, u32 site) {
    if (LIKELY(static_cast<u32>(state) < STATES)) return permissions[state];
    fail(x, ErrorKind::INDEX_RANGE, site);
    return AccessPermission::NotPresent;
}

// No row of the table fits. True, so that the body that triggered it is left.
inline COLD bool undefined_transition(Context& x, i32 states, i32 events) {
    const bool known = x.state >= 0 && x.state < states && x.event >= 0 && x.event < events;
    x.action = 0;
    fail(x, known ? ErrorKind::UNDEFINED_TRANSITION : ErrorKind::ENUM_RANGE);
    return true;
}

// ---------------------------------------------------------------- time, addresses and machines

inline u64 controller_clockEdge(const Context& x, const Controller&, u64 cycles = 0) {
    return controllers_clock(x) + cycles;
}
inline u64 controller_curCycle(const Context& x, const Controller&) { return controllers_clock(x); }
inline u64 controller_curTick(const Context& x, const Controller&) { return controllers_clock(x); }
inline u64 controller_cyclesToTicks(const Context&, const Controller&, u64 cycles) {
    return cycles;
}
inline u64 controller_ticksToCycles(const Context&, const Controller&, u64 ticks) { return ticks; }

inline void controller_scheduleEvent(Context& x, const Controller& c, i64 cycles) {
    const i64 tick = static_cast<i64>(now(x)) + cycles;
    schedule(x, c.id, tick < 0 ? 0 : static_cast<u64>(tick));
}

inline u64 controller_makeLineAddress(const Context&, const Controller&, u64 address) {
    return address & ~LINE_MASK;
}
inline i32 controller_getOffset(const Context&, const Controller&, u64 address) {
    return static_cast<i32>(address & LINE_MASK);
}
inline u64 controller_makeNextStrideAddress(const Context&, const Controller&, u64 address,
                                            i64 stride) {
    return (address & ~LINE_MASK) + static_cast<u64>(stride) * LINE_BYTES;
}
inline i32 controller_getBlockSizeBits(const Context&, const Controller&) {
    return static_cast<i32>(LINE_BITS);
}
inline i32 controller_getBlockSizeBytes(const Context&, const Controller&) {
    return static_cast<i32>(LINE_BYTES);
}

inline MachineID controller_mapAddressToMachine(const Context& x, const Controller&, u64 address,
                                                i32 type) {
    return topology_map_address(x, type, address);
}

inline MachineID controller_neighbour(Context& x, const Controller& c, u32 i) {
    return machine_of_node(x, controller_parts(x).neighbours.at(x, c.neighbours + i));
}

// Of machines that are interleaved the one whose range has the address; others share the lines out.
inline MachineID controller_mapAddressToDownstreamMachine(Context& x, const Controller& c,
                                                          u64 address, i32 type = -1) {
    u32 alike = 0;
    for (u32 i = 0; i < c.downstream; i++) {
        const MachineID machine = controller_neighbour(x, c, i);
        if (type != -1 && type != machine.type) continue;
        if (!topology_interleaved(x, machine.type))
            alike++;
        else if (topology_owns(x, machine, address))
            return machine;
    }
    u64 wanted = alike ? (address >> LINE_BITS) % alike : 0;
    for (u32 i = 0; alike && i < c.downstream; i++) {
        const MachineID machine = controller_neighbour(x, c, i);
        if ((type == -1 || type == machine.type) && !wanted--) return machine;
    }
    fail(x, ErrorKind::UNDELIVERABLE);
    return INVALID_MACHINE;
}

// Number = bits [low, low + bits) of the address, within the cluster's group.
inline MachineID controller_mapAddressToRange(Context& x, const Controller&, u64 address, i32 type,
                                              i64 low, i64 bits, u64 cluster = 0) {
    if (UNLIKELY(low < 0 || low >= 64 || bits < 0 || bits >= 64)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return INVALID_MACHINE;
    }
    const u64 num = (address >> low & ((u64{1} << bits) - 1)) + (cluster << bits);
    return topology_machine_id(x, type, static_cast<u32>(num));
}

inline i32 controller_machineCount(const Context& x, const Controller&, i32 type) {
    return static_cast<i32>(topology_count(x, type));
}
inline MachineID controller_createMachineID(const Context& x, const Controller&, i32 type,
                                            u32 num) {
    return topology_machine_id(x, type, num);
}
inline bool controller_respondsTo(const Context& x, const Controller& c, u64 address) {
    return topology_owns(x, c.machineID, address);
}
inline NetDest controller_broadcast(Context& x, const Controller&, i32 type) {
    return topology_mask(x, type);
}
inline NetDest controller_allUpstreamDest(Context& x, const Controller& c) {
    NetDest found = {};
    for (u32 i = 0; i < c.upstream; i++) {
        NetDest_add_node(found,
                         controller_parts(x).neighbours.at(x, c.neighbours + c.downstream + i));
    }
    return found;
}

inline i32 controller_curTransitionEvent(const Context&, const Controller& c) {
    return c.transition_event;
}
// The state that the running transition started from, as in the reference.
inline i32 controller_curTransitionNextState(const Context&, const Controller& c) {
    return c.transition_state;
}
inline void controller_profileMsgDelay(const Context&, const Controller&, i64, u64) {}

// Transactions under way: requests of others and own ones, by address or by an id.
inline void controller_track(Context& x, const Controller& c, u64 key, u32 kind, bool starts) {
    u8& kinds = controller_parts(x).tracked.in(x)[c.tracked + line_index(x, key)];
    if (UNLIKELY((kinds >> kind & 1) == starts)) {
        fail(x, ErrorKind::ASSERTION);
        return;
    }
    kinds = static_cast<u8>(kinds ^ 1u << kind);
}
inline void controller_incomingTransactionStart(Context& x, const Controller& c, u64 address, i32,
                                                i32, bool, bool by_address = true) {
    controller_track(x, c, address, by_address ? 0 : 1, true);
}
inline void controller_incomingTransactionEnd(Context& x, const Controller& c, u64 address, i32,
                                              bool by_address = true) {
    controller_track(x, c, address, by_address ? 0 : 1, false);
}
inline void controller_outgoingTransactionStart(Context& x, const Controller& c, u64 address, i32,
                                                bool by_address = true) {
    controller_track(x, c, address, by_address ? 2 : 3, true);
}
inline void controller_outgoingTransactionEnd(Context& x, const Controller& c, u64 address, bool,
                                              bool by_address = true) {
    controller_track(x, c, address, by_address ? 2 : 3, false);
}

// ---------------------------------------------------------------- stalling and waking

inline WaitRow& wait_row(Context& x, const Controller& c, u64 line) {
    INVARIANT(c.waiting != NIL);
    return controller_parts(x).waiting.in(x)[c.waiting + line_index(x, line)];
}

// The bits of one buffer, whatever the rank.
inline WaitBits wait_bits_of_buffer(const Controller& c, u32 place) {
    WaitBits bits = 0;
    for (u32 bit = place; bit < 8 * sizeof(WaitRow); bit += c.buffers) bits |= WaitBits{1} << bit;
    return bits;
}

// Put the head of a port aside until something wakes the line.
inline void controller_stall_and_wait(Context& x, Controller& c, u32 port, u64 address) {
    if (UNLIKELY(address & LINE_MASK)) {
        fail(x, ErrorKind::MISALIGNED);
        return;
    }
    const u32 place = c.buffer_of_port[port];
    INVARIANT(place < c.buffers);
    MessageBuffer_stall(x, c.port_buffer[place], address);
    const u32 rank = c.current == NIL ? 0 : c.rank_of_port[c.current];
    INVARIANT(rank * c.buffers + place < 8 * sizeof(WaitRow));
    WaitRow& row = wait_row(x, c, address);
    row = static_cast<WaitRow>(row | WaitBits{1} << (rank * c.buffers + place));
}

inline void controller_look_again(Context& x, Controller& c) {
    c.woken = true;
    if (c.current == NIL) schedule(x, c.id, now(x));
}

// Wake the line in every buffer that has a bit.
inline void controller_wake_bits(Context& x, Controller& c, WaitBits bits, u64 address) {
    u64 places = 0;
    for (; bits; bits >>= c.buffers)
        places |= static_cast<u64>(bits & ((WaitBits{1} << c.buffers) - 1));
    for (; places; places &= places - 1) {
        const u32 buffer = c.port_buffer[__builtin_ctzll(places)];
        if (MessageBuffer_wake(x, buffer, address)) controller_look_again(x, c);
    }
}

// Wake what waits for the line at ports of lower rank than the current one; in a machine whose
// ports all have one rank, at all ports but the current one. The rest keeps waiting.
inline void controller_wakeUpBuffers(Context& x, Controller& c, u64 address) {
    if (c.waiting == NIL || address & LINE_MASK) return;
    WaitRow& row = wait_row(x, c, address);
    if (!row) return;
    WaitBits lower = ~WaitBits{0};
    if (c.current != NIL) {
        if (c.ranked) {
            lower = (WaitBits{1} << (c.rank_of_port[c.current] * c.buffers)) - 1;
        } else {
            lower = ~wait_bits_of_buffer(c, c.buffer_of_port[c.current]);
        }
    }
    const WaitBits bits = row & lower;
    row = static_cast<WaitRow>(row & ~lower);
    controller_wake_bits(x, c, bits, address);
}

inline void controller_wakeUpAllBuffers(Context& x, Controller& c, u64 address) {
    if (c.waiting == NIL || address & LINE_MASK) return;
    WaitRow& row = wait_row(x, c, address);
    const WaitBits bits = row;
    row = 0;
    controller_wake_bits(x, c, bits, address);
}

inline void controller_wakeUpAllBuffers(Context& x, Controller& c) {
    if (c.waiting == NIL) return;
    WaitRow* rows = controller_parts(x).waiting.in(x) + c.waiting;
    WaitBits bits = 0;
    for (u32 line = 0; line < x.s->lines.used; line++) {
        bits |= rows[line];
        rows[line] = 0;
    }
    for (u32 place = 0; place < c.buffers; place++) {
        if (!(bits & wait_bits_of_buffer(c, place))) continue;
        if (MessageBuffer_wake_all(x, c.port_buffer[place])) controller_look_again(x, c);
    }
}

inline void controller_wakeup_port(Context& x, Controller& c, u32 port, u64 address) {
    const u32 place = c.buffer_of_port[port];
    if (place == NO_PLACE) return;
    if (c.waiting != NIL && !(address & LINE_MASK)) {
        WaitRow& row = wait_row(x, c, address);
        row = static_cast<WaitRow>(row & ~wait_bits_of_buffer(c, place));
    }
    if (MessageBuffer_wake(x, c.port_buffer[place], address)) controller_look_again(x, c);
}

// ---------------------------------------------------------------- locked lines

inline LineLock* controller_locks(const Context& x, const Controller& c) {
    const ControllerParts& parts = controller_parts(x);
    return parts.locks.in(x) + c.id * parts.lock_room;
}

inline LineLock* controller_lock(const Context& x, const Controller& c, u64 line) {
    if (LIKELY(!c.locked)) return nullptr;
    LineLock* locks = controller_locks(x, c);
    for (u32 i = 0; i < c.locked; i++) {
        if (locks[i].line == line) return &locks[i];
    }
    return nullptr;
}

// Lock a line for one queue: a locked read has completed.
inline void controller_block_line(Context& x, Controller& c, u64 address, u32 queue = NIL) {
    if (queue == NIL) queue = c.mandatory_queue;
    LineLock* lock = controller_lock(x, c, address);
    if (!lock) {
        const u64 room = controller_parts(x).lock_room;
        if (UNLIKELY(c.locked == room)) {
            pool_exhausted(x, POOL_LINE_REQUESTS, room);
            return;
        }
        lock = &controller_locks(x, c)[c.locked++];
    }
    *lock = {address, queue};
}

inline void controller_unblock_line(Context& x, Controller& c, u64 address) {
    if (LineLock* lock = controller_lock(x, c, address)) *lock = controller_locks(x, c)[--c.locked];
}

// Whether the line is locked for another buffer than this.
inline bool controller_is_blocked(Context& x, Controller& c, u64 address, u32 buffer) {
    const LineLock* lock = controller_lock(x, c, address);
    return lock && lock->queue != buffer;
}

inline bool controller_is_locked_by(Context& x, Controller& c, u64 address, u32 buffer) {
    const LineLock* lock = controller_lock(x, c, address);
    return lock && lock->queue == buffer;
}

// ---------------------------------------------------------------- memory

// Let answers of memory that wait enter the response queue as far as it has room.
inline void controller_memory_offer(Context& x, u32 id) {
    Controller& c = controller(x, id);
    while (c.held && MessageBuffer_areNSlotsAvailable(x, c.memory_response, 1)) {
        Message& response = of_handle<Message>(x, c.held);
        c.held = response.next;
        MessageBuffer_enqueue(x, c.memory_response, response, 1);
    }
}

// The memory has its answer; a full response queue makes it wait.
inline void controller_memory_respond(Context& x, u32 id, Message& response) {
    Controller& c = controller(x, id);
    response.next = 0;
    if (c.held) {
        of_handle<Message>(x, c.last_held).next = response.self;
    } else {
        c.held = response.self;
    }
    c.last_held = response.self;
    controller_memory_offer(x, id);
}

// Hand the oldest memory request to the memory: one in each cycle.
inline APART void controller_service_memory(Context& x, Controller& c) {
    if (!c.has_memory || c.memory_tick == now(x)) return;
    c.memory_tick = now(x);
    const Message* head = MessageBuffer_peek(x, c.memory_request, MemoryMsg::TYPE);
    if (troubled(x)) return;
    MemoryMsg& response = Memory_access(x, static_cast<const MemoryMsg&>(*head), c.machineID);
    if (troubled(x)) return;
    MessageBuffer_dequeue(x, c.memory_request);
    if (MessageBuffer_isReady(x, c.memory_request)) schedule(x, c.id, now(x) + 1);
    if (c.memory_response == NIL) {
        fail(x, ErrorKind::BAD_MEMORY_REQUEST);
        return;
    }
    const u64 latency = x.s->memory.latency;
    if (MessageBuffer_capacity(x, c.memory_response)) {
        response.delivery = DELIVER_RESPOND;
        response.target = c.id;
        post(x, response, now(x) + latency, NIL);
    } else {
        MessageBuffer_enqueue(x, c.memory_response, response, static_cast<i64>(latency) + 1);
    }
}

// Remove the head of the response queue and let the memory use its slot.
inline void controller_dequeueMemRespQueue(Context& x, Controller& c) {
    if (c.memory_response == NIL) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return;
    }
    MessageBuffer_dequeue(x, c.memory_response);
    if (c.held) post_event(x, DELIVER_OFFER, c.id, now(x) + 1);
}

// ---------------------------------------------------------------- running

// The message at the head of a buffer, which must be of that class.
template <class T>
inline const T& peek(Context& x, u32 buffer) {
    return static_cast<const T&>(*MessageBuffer_peek(x, buffer, T::TYPE));
}

// The wake-up begins: what transitions it may make.
inline u32 controller_begin(Context& x, Controller& c) {
    INVARIANT(c.current == NIL);
    x.controller = c.id;
    x.event = x.state = -1;
    x.site = x.action = 0;
    x.address = 0;
    if (c.memory_request != NIL && MessageBuffer_isReady(x, c.memory_request)) {
        controller_service_memory(x, c);
    }
    if (c.busy_tick == now(x)) return c.left;
    c.busy_tick = now(x);
    return c.limit;
}

// The transition that was tried has stalled: it is tried again in the next cycle.
inline COLD void controller_stalled(Context& x, Controller& c) {
    c.stall_tick = now(x);
    c.stall_state = x.state;
    c.stall_event = x.event;
    schedule(x, c.id, now(x) + 1);
    x.event = x.state = -1;
}

// Whether there may be one more pass over the ports of this wake-up because messages were woken.
inline bool controller_pass(Context& x, Controller& c, u64& passes) {
    if (LIKELY(!c.woken)) return false;
    c.woken = false;
    if (LIKELY(++passes <= x.s->engine.max_rounds)) return true;
    fail(x, ErrorKind::TOO_MANY_TRANSITIONS, 0);
    return false;
}

// A body is about to be polled.
inline void controller_poll(Context& x, Controller& c, u32 port, u32 action) {
    c.current = port;
    x.event = x.state = -1;
    x.address = 0;
    x.action = action;
}

inline COLD void controller_exhausted(Context& x, Controller& c) {
    if (static_cast<u32>(c.transitions_per_cycle) > c.max_transitions) {
        x.event = x.state = -1;
        x.site = x.action = 0;
        fail(x, ErrorKind::TOO_MANY_TRANSITIONS);
        return;
    }
    schedule(x, c.id, now(x) + 1);
}

inline void controller_end(Context& x, Controller& c, u32 left) {
    c.left = left;
    c.current = NIL;
    if (UNLIKELY(!left) && !troubled(x)) controller_exhausted(x, c);
    x.controller = NIL;
}
