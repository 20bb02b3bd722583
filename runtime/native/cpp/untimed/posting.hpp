// `post` and `schedule` where there is no time: what is sent waits in its channel, its buffer or its
// port of the bus until a choice delivers it. Included by sim/engine.hpp in the place of its own.
//
// Invariant: a slot of the wheel is a channel, a buffer behind all channels, or a port of the bus
// behind all buffers; its list has the messages under way there, in the order of sending. A
// controller that asks for a later cycle has its bit in the first wake mask.

#pragma once

// Consumers that were woken since the step began, a bit each.
inline u64& woken(Context& x) { return x.wakes[1]; }

// Slots with messages under way that another one, sent in this step, need not wait for.
inline SlotSet& overtaken(Context& x) { return *reinterpret_cast<SlotSet*>(x.wakes + 2); }

// Slots in which what has no latency comes before what was sent earlier with one. Set when the system
// is built.
inline SlotSet& prompt(Context& x) { return *reinterpret_cast<SlotSet*>(x.wakes + 8); }

inline u32 slot_of_buffer(const Context& x, u32 buffer) {
    return static_cast<u32>(x.s->channels.count) + buffer;
}
inline u32 slot_of_port(const Context& x, u32 port) {
    return static_cast<u32>(x.s->channels.count) + x.s->buffers + port;
}

inline void channel_overtaken(Context& x, u32 slot) {
    if (x.wheel[slot].head) overtaken(x).add(slot);
}
inline void buffer_overtaken(Context& x, u32 buffer) {
    channel_overtaken(x, slot_of_buffer(x, buffer));
}
inline void port_overtaken(Context& x, u32 port) { channel_overtaken(x, slot_of_port(x, port)); }

inline u32 slots_in_use(const Context& x) { return slot_of_port(x, x.s->ports); }

inline void flight_add(Context& x, Message& item, u64 tick, u32 slot) {
    const EngineState& e = x.s->engine;
    // What has no latency is there at once, if nothing is under way that it must not overtake. Whether
    // that is so depends on others, so the step counts as one that reached all.
    if (tick <= e.now && e.running) {
        if (!x.wheel[slot].head || prompt(x).has(slot)) {
            deliver(x, item);
            return;
        }
        woken(x) = ~u64{0};
    }
    wheel_append(x, slot, item);
}

inline void post(Context& x, Message& item, u64 tick) {
    switch (item.delivery) {
        case DELIVER_APPEND:
        case DELIVER_INSERT: {
            // Of a link between two controllers, the sender changes when the next one may arrive.
            const u32 consumer = x.buffers[item.target].consumer;
            if (consumer < x.s->controllers) woken(x) |= u64{1} << consumer;
            return flight_add(x, item, tick, slot_of_buffer(x, item.target));
        }
        case DELIVER_TO_BUS: return wheel_append(x, slot_of_port(x, item.target), item);
        default: fail(x, ErrorKind::UNDELIVERABLE);  // limited buffers: the host refuses them
    }
}

// Through a channel, or NIL.
inline void post(Context& x, Message& item, u64 tick, u32 channel) {
    if (channel == NIL) return post(x, item, tick);
    flight_add(x, item, tick, channel);
}

// An alarm goes off when a choice says so.
inline u64 alarm_tick(Context&, u32, u64) { return NONE; }

// Requesters and clients always continue at once: no other controller sees what they do next.
inline void schedule(Context& x, u32 consumer, u64) {
    if (consumer < x.s->controllers) {
        x.wakes[0] |= u64{1} << consumer;
    } else {
        flag_consumer(x, consumer);
    }
}
