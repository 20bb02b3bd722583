// What the code generator makes for a protocol, by hand and tiny: one message class, one machine.

#pragma once

#include "system/prelude.hpp"

struct Ping : Message {
    static constexpr u16 TYPE = MessageType::FIRST_OF_PROTOCOL;
    u64 addr;
    NetDest Destination;
    DataBlock data;
    u32 value;
    u32 hops;
};

struct Entry : AbstractCacheEntry {
    DataBlock data;
};

struct TBE : TbeHeader {
    u64 value;
};

struct Retry {
    i32 number;
    bool isNonSync;
};

inline void mark_value(Context&, Marker&, const Retry&) {}

struct Machine : Controller {
    u32 table;
    u32 directory;
    u32 timers[2];
    u32 persistent;
    u32 perfect;
    u32 prefetcher;
    u64 asked;  // hash of the lines that it has asked for
    u32 storages[2];
    TriggerQueue<i32> queues[2];
    ExpectedMap expected;
    MN_TBEStorage<Retry> partitions;
};

union AnyMessage {
    RubyRequest ruby_request;
    SequencerMsg sequencer_msg;
    MemoryMsg memory_msg;
    Ping ping;
};

inline constexpr u32 CONTROLLER_STRIDE = sizeof(Machine);
inline constexpr u32 MACHINES = 1;
inline constexpr bool ATOMIC_LOG = true;
inline constexpr u32 TRIGGER_BYTES = sizeof(TriggerItem<Retry>);
inline constexpr MachineShape MACHINE_SHAPES[] = {
    {sizeof(Machine), sizeof(Entry), sizeof(TBE), 1, 1, 1, 2, 1, 1, 3, 2, "TSS"},
};

inline constexpr u16 MESSAGE_KIND[MessageType::FIRST_OF_PROTOCOL + 1] = {};  // nothing is counted
inline constexpr u16 MESSAGE_SIZE[MessageType::FIRST_OF_PROTOCOL + 1] = {};

inline void set_defaults(Context&, Ping& m) {
    __builtin_memset(reinterpret_cast<u8*>(&m) + sizeof(Message), 0, sizeof m - sizeof(Message));
}

inline void set_defaults(Context&, Entry& e) { e.data = {}; }

inline void message_default(Context& x, Message& message, u16 type) {
    if (type == Ping::TYPE) set_defaults(x, static_cast<Ping&>(message));
}

inline u64 message_line_address(const Message& message) {
    return message.type == Ping::TYPE ? static_cast<const Ping&>(message).addr : 0;
}

inline NetDest* message_destination(Message& message) {
    return message.type == Ping::TYPE ? &static_cast<Ping&>(message).Destination : nullptr;
}
