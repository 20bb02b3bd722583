// How messages get from one controller to another.
//
// Invariant: nothing but the channel, the line and the count of earlier messages decides when a
// message arrives; a channel both of whose buffers are ordered delivers in the order of sending.
// What is sent on a bus goes another way: network/bus.hpp.

#pragma once

#include "sim/message_buffer.hpp"

inline NetDest* message_destination(Message& message);  // generated; null: has no Destination
inline void controller_memory_respond(Context& x, u32 controller, Message& response);
inline void controller_memory_offer(Context& x, u32 controller);

inline COLD void bus_arbitrate(Context& x);
inline COLD void bus_request(Context& x, Message& message);
inline COLD void bus_send(Context& x, u32 port, Message& message, i64 latency, bool bypass);

inline NetworkPort& network_port(const Context& x, u32 port) {
    INVARIANT(port < x.s->ports);
    return x.ports[port];
}

inline bool NetworkPort_areNSlotsAvailable(const Context& x, u32 port, i64 count) {
    return slots_available(x, network_port(x, port), count);
}

inline u32 NetworkPort_capacity(const Context& x, u32 port) {
    return network_port(x, port).capacity;
}

// ---------------------------------------------------------------- limited buffers

// The network has taken a message: its slot is free once no copy is left.
inline void channel_handed_over(Context& x, NetworkPort& port, Message& message) {
    if (!port.capacity) return;
    if (message.flight) {
        Flight& flight = of_handle<Flight>(x, message.flight);
        message.flight = 0;
        INVARIANT(flight.left > 0);
        if (--flight.left) return;
        pool_give(x, x.s->flights, flight);
    }
    slots_release(x, port);
}

inline void channel_hand_over(Context& x, Message& message) {
    INVARIANT(message.target < x.s->channels.count);
    const Channel& channel = x.channels[message.target];
    NetworkPort& port = network_port(x, channel.port);
    if (!slots_take(x, message_buffer(x, channel.buffer), 1)) return;
    channel_handed_over(x, port, message);
    message.arrival = now(x) + port.latency;
    message.delivery = DELIVER_APPEND;
    message.target = channel.buffer;
    post(x, message, message.arrival);
}

// The message is due to leave its buffer: hand it over, or hold it back.
inline COLD void channel_take(Context& x, Message& message) {
    MessageBuffer& b = message_buffer(x, x.channels[message.target].buffer);
    if (!b.waiting && slots_available(x, b, 1)) {
        channel_hand_over(x, message);
        return;
    }
    message.next = 0;
    if (b.waiting) {
        of_handle<Message>(x, b.last_waiting).next = message.self;
    } else {
        b.waiting = message.self;
    }
    b.last_waiting = message.self;
}

// Hand over what was held back for want of room, in the order of waiting.
inline COLD void buffer_admit(Context& x, u32 buffer) {
    MessageBuffer& b = message_buffer(x, buffer);
    while (b.waiting && slots_available(x, b, 1)) {
        Message& message = of_handle<Message>(x, b.waiting);
        b.waiting = message.next;
        channel_hand_over(x, message);
    }
    if (b.awaited && slots_available(x, b, 1)) {
        b.awaited = false;
        bus_arbitrate(x);
    }
}

// ---------------------------------------------------------------- sending

inline void channel_send(Context& x, u32 index, NetworkPort& port, Message& message, i64 latency,
                         bool bypass) {
    EngineState& e = x.s->engine;
    INVARIANT(index < x.s->channels.count);
    Channel& channel = x.channels[index];
    message.sequence = e.sequence++;
    if (UNLIKELY(latency < 0)) {
        fail(x, ErrorKind::NEGATIVE_LATENCY);
        return;
    }
    u64 tick = e.now + static_cast<u64>(latency) + port.latency;
    if (channel.delays != NIL) {
        tick += next_delay(x, channel, message);
    }
    // Which channels are ordered, and which messages would overtake, cannot be predicted, so there
    // is no branch.
    const u64 latest = tick > channel.last_arrival ? tick : channel.last_arrival;
    channel.last_arrival = latest & channel.order;
    if (UNLIKELY(bypass)) {
        channel_overtaken(x, index);
    } else {
        tick = latest;
    }
    message.arrival = tick;
    if (UNLIKELY(channel.limited)) {
        message.delivery = DELIVER_TAKE;
        message.target = index;
        post(x, message, tick - port.latency);
        return;
    }
    message.delivery = DELIVER_APPEND;
    message.target = channel.buffer;
    post(x, message, tick, index);
}

inline COLD void network_send_none(Context& x, Message& message) {
    if (!message.touched) fail(x, ErrorKind::MESSAGE_WITHOUT_DESTINATION);
    message_to_limbo(x, message);
}

inline void network_multicast(Context& x, NetworkPort& port, Message& message, const NetDest& to,
                              i64 latency, bool bypass) {
    const u32* routes = x.routes + port.routes;
    const NetDest destination = to;
    u32 count = 0;
    for (u32 word = 0; word < NODE_WORDS; word++) {
        for (u64 bits = destination.w[word]; bits; bits &= bits - 1) {
            count++;
            if (UNLIKELY(!routes[word * 64 + __builtin_ctzll(bits)])) {
                fail(x, ErrorKind::UNDELIVERABLE);
                return;
            }
        }
    }
    INVARIANT(count > 1);
    if (UNLIKELY(port.capacity)) {
        if (!slots_take(x, port, 1)) return;
        Flight& flight = pool_take<Flight>(x, x.s->flights);
        flight.left = count;
        message.flight = handle_of(x, flight);
    }
    for (u32 word = 0; word < NODE_WORDS; word++) {
        for (u64 bits = destination.w[word]; bits; bits &= bits - 1) {
            const u32 node = word * 64 + static_cast<u32>(__builtin_ctzll(bits));
            Message* copy = &message;
            if (--count) {
                copy = &pool_take<Message>(x, x.s->messages);
                const u32 self = handle_of(x, *copy);
                __builtin_memcpy(static_cast<void*>(copy), &message, x.s->messages.stride);
                copy->self = self;
            }
            NetDest& only = *message_destination(*copy);
            only = {};
            NetDest_add_node(only, node);
            channel_send(x, routes[node] - 1, port, *copy, latency, bypass);
        }
    }
}

// Send to the message's Destination, arriving after `latency`, the network's latency and the
// channel's delay. Several destinations get a copy each, in node order.
inline void NetworkPort_enqueue(Context& x, u32 port, Message& message, i64 latency,
                                bool bypass = false) {
    NetworkPort& p = network_port(x, port);
    const NetDest* to = message_destination(message);
    if (UNLIKELY(!to)) {
        fail(x, ErrorKind::WRONG_MESSAGE);
        return;
    }
    const i32 node = NetDest_lowest(*to);
    if (UNLIKELY(node < 0)) {
        network_send_none(x, message);
        return;
    }
    count_sent(port, message, *to);
    if (UNLIKELY(p.bus)) {
        bus_send(x, port, message, latency, bypass);
        return;
    }
    NetDest rest = *to;
    rest.w[node >> 6] &= rest.w[node >> 6] - 1;
    if (UNLIKELY(!NetDest_isEmpty(x, rest))) {
        network_multicast(x, p, message, *to, latency, bypass);
        return;
    }
    const u32 route = x.routes[p.routes + static_cast<u32>(node)];
    if (UNLIKELY(!route)) {
        fail(x, ErrorKind::UNDELIVERABLE);
        return;
    }
    if (UNLIKELY(p.capacity) && !slots_take(x, p, 1)) return;
    channel_send(x, route - 1, p, message, latency, bypass);
}

// ---------------------------------------------------------------- arriving

// An event is free again before it takes effect, so that it may be posted anew.
inline COLD void deliver_event(Context& x, Message& event) {
    const u8 delivery = event.delivery;
    const u32 target = event.target;
    pool_give(x, x.s->events, event);
    if (delivery == DELIVER_HAND_OVER) {
        buffer_admit(x, target);
    } else if (delivery == DELIVER_ARBITRATE) {
        bus_arbitrate(x);
    } else {
        controller_memory_offer(x, target);
    }
}

inline void deliver(Context& x, Message& item) {
    if (LIKELY(item.delivery <= DELIVER_INSERT)) {
        MessageBuffer& b = message_buffer(x, item.target);
        if (LIKELY(item.delivery == DELIVER_APPEND)) {
            expect_entry(x, b.near, item.line);
            queue_append(x, b, item);
        } else {
            queue_insert(x, b, item);
        }
        flag_consumer(x, b.consumer);
    } else if (item.delivery == DELIVER_TAKE) {
        channel_take(x, item);
    } else if (item.delivery == DELIVER_RESPOND) {
        controller_memory_respond(x, item.target, item);
    } else if (item.delivery == DELIVER_TO_BUS) {
        bus_request(x, item);
    } else {
        deliver_event(x, item);
    }
}
