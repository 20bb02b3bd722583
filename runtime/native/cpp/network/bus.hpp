// A bus: what is sent on it gets one order, in which all receivers see it.
//
// Invariant: the bus carries at most one message a tick, and that one is in the buffers of all its
// receivers before the first consumer of the tick runs; runtime/network/bus.py says why.

#pragma once

#include "network/network.hpp"

inline MessageBuffer& bus_receiver(const Context& x, const NetworkPort& port, u32 node) {
    INVARIANT(x.routes[port.routes + node]);
    return message_buffer(x, x.channels[x.routes[port.routes + node] - 1].buffer);
}

// Call `f(node)` for each destination, in ascending order, while it gives true.
template <class F>
inline bool each_destination(const NetDest& to, F f) {
    for (u32 word = 0; word < NODE_WORDS; word++) {
        for (u64 bits = to.w[word]; bits; bits &= bits - 1) {
            if (!f(word * 64 + static_cast<u32>(__builtin_ctzll(bits)))) return false;
        }
    }
    return true;
}

inline COLD void bus_send(Context& x, u32 index, Message& message, i64 latency, bool bypass) {
    NetworkPort& port = network_port(x, index);
    EngineState& e = x.s->engine;
    const bool listens = each_destination(
        *message_destination(message), [&](u32 node) { return x.routes[port.routes + node] != 0; });
    if (!listens) {
        fail(x, ErrorKind::UNDELIVERABLE);
        return;
    }
    if (!slots_take(x, port, 1)) return;
    message.sequence = e.sequence++;
    if (latency < 0) {
        fail(x, ErrorKind::NEGATIVE_LATENCY);
        return;
    }
    u64 due = e.now + static_cast<u64>(latency) + port.latency;
    if (port.delays != NIL) due += next_delay(x, port, message);
    if (port.ordered) {
        if (due >= port.last_due) {
            port.last_due = due;
        } else if (!bypass) {
            due = port.last_due;
        }
    }
    if (bypass) port_overtaken(x, index);
    message.arrival = due;
    message.delivery = DELIVER_TO_BUS;
    message.target = index;
    post(x, message, due);
}

// Whether all receivers can take the message now; the first that cannot is waited for.
inline bool bus_has_room(Context& x, const NetworkPort& port, Message& message) {
    return each_destination(*message_destination(message), [&](u32 node) {
        MessageBuffer& b = bus_receiver(x, port, node);
        if (slots_available(x, b, 1)) return true;
        b.awaited = true;
        return false;
    });
}

// Put the message into all its receivers' buffers, in the current tick.
inline void bus_transfer(Context& x, NetworkPort& port, Message& message) {
    const NetDest to = *message_destination(message);
    channel_handed_over(x, port, message);
    message.arrival = now(x);
    message.delivery = DELIVER_APPEND;
    NetDest rest = to;
    each_destination(to, [&](u32 node) {
        rest.w[node >> 6] &= rest.w[node >> 6] - 1;
        Message* received = &message;
        if (!NetDest_isEmpty(x, rest)) {
            received = &pool_take<Message>(x, x.s->messages);
            const u32 self = handle_of(x, *received);
            __builtin_memcpy(static_cast<void*>(received), &message, x.s->messages.stride);
            received->self = self;
        }
        NetDest& only = *message_destination(*received);
        only = {};
        NetDest_add_node(only, node);
        const u32 buffer = x.channels[x.routes[port.routes + node] - 1].buffer;
        INVARIANT(slots_available(x, message_buffer(x, buffer), 1));
        if (!slots_take(x, message_buffer(x, buffer), 1)) return false;
        received->target = buffer;
        post(x, *received, received->arrival);
        return true;
    });
}

// The oldest message that can go, taken out of those that wait; null: none can. A message for
// which a receiver has no room holds back the later ones of its virtual network.
inline Message* bus_take(Context& x) {
    Bus& bus = x.s->bus;
    for (u32 before = 0, h = bus.head; h; before = h, h = of_handle<Message>(x, h).next) {
        Message& message = of_handle<Message>(x, h);
        const NetworkPort& port = network_port(x, message.target);
        bool held = false;
        for (u32 other = bus.head; other != h && !held;) {
            const Message& older = of_handle<Message>(x, other);
            held = network_port(x, older.target).bus == port.bus;
            other = older.next;
        }
        if (held || !bus_has_room(x, port, message)) continue;
        (before ? of_handle<Message>(x, before).next : bus.head) = message.next;
        if (bus.tail == h) bus.tail = before;
        return &message;
    }
    return nullptr;
}

// Let the oldest message that can go have the bus, if it is not taken in this tick.
inline COLD void bus_arbitrate(Context& x) {
    Bus& bus = x.s->bus;
    if (now(x) >= bus.free) {
        Message* const message = bus_take(x);
        if (!message) return;
        bus.free = now(x) + 1;
        bus_transfer(x, network_port(x, message->target), *message);
    }
    if (bus.head && bus.next != bus.free) {
        bus.next = bus.free;
        post_event(x, DELIVER_ARBITRATE, 0, bus.free);
    }
}

// The message is due.
inline COLD void bus_request(Context& x, Message& message) {
    Bus& bus = x.s->bus;
    INVARIANT((bus.head == 0) == (bus.tail == 0));
    message.next = 0;
    (bus.tail ? of_handle<Message>(x, bus.tail).next : bus.head) = message.self;
    bus.tail = message.self;
    bus_arbitrate(x);
}
