// What messages, cache entries and transaction records have in front, whatever the protocol.
//
// Invariant: a slot of a pool is in one place only: free, in limbo (looked at by the running
// wake-up, reclaimed when it is over), or where `next` links it. A free message has type 0.

#pragma once

#include "block/base.hpp"

// How the engine hands an item over when its tick has come.
enum Delivery : u8 {
    DELIVER_APPEND,     // into buffer `target`, behind what is there
    DELIVER_INSERT,     // into buffer `target`, where its age says
    DELIVER_TAKE,       // channel `target` takes it from its sender's buffer, if there is room
    DELIVER_HAND_OVER,  // no message: buffer `target` has room for what waits
    DELIVER_RESPOND,    // the memory of controller `target` has its answer
    DELIVER_OFFER,      // no message: controller `target` has room for answers
    DELIVER_TO_BUS,     // it is due at the bus, from port `target`
    DELIVER_ARBITRATE,  // no message: the bus is not taken any more
};

struct Message {
    u64 arrival;   // the tick from which its receiver may see it
    u64 sequence;  // grows with every enqueue of the system
    u32 next;      // handle of the message behind it, 0: none
    u32 self;      // its own handle
    u16 type;      // MessageType, 0: free
    u8 delivery;
    u8 touched;  // its Destination was set, if only to an empty set
    u32 target;  // of its delivery
    u32 flight;  // of a multicast with a slot: what counts its copies, 0: none
    u32 line;    // of its address, once it was delayed at random; only for looking ahead
};

// Base of every entry structure. Detached: in no cache and no directory.
struct AbstractCacheEntry {
    u64 address;
    u32 next;  // free list or limbo
    u32 self;  // its own handle
    i32 permission;
    i32 locked_by;  // the sequencer that holds a load-linked reservation, -1: none
    u32 cache;      // NIL: detached, DIRECTORY_CACHE: in a directory
    u32 set;
    u32 way;
    u16 machine;  // whose pool it is from, counted as in the protocol
    u8 limbo;     // stands in the limbo list
    u8 live;      // is not free
    bool read_set;
    bool write_set;
};

inline constexpr u32 DIRECTORY_CACHE = NIL - 1;

// Base of every transaction record.
struct TbeHeader {
    u64 address;
    u32 next;  // free list or limbo
    u32 self;  // its own handle
    u16 machine;
    bool used;  // stands in its table
    u8 live;    // is not free
    u32 table;
};

// Generated: numbers of the library's messages are fixed, those of a protocol follow.
namespace MessageType {
inline constexpr i32 RubyRequest = 1, SequencerMsg = 2, MemoryMsg = 3, FIRST_OF_PROTOCOL = 4;
}

// What the generated code says of a machine of the protocol, by its number in the IR
// (`inline constexpr MachineShape MACHINE_SHAPES[]`).
struct MachineShape {
    u32 controller_bytes;
    u32 entry_bytes;  // of its largest entry structure, 0: none
    u32 tbe_bytes;    // of its largest record structure, 0: none
    u32 tables;       // TBETable objects
    u32 directories;  // DirectoryMemory parameters
    u32 perfect_tables;
    u32 timers;
    u32 persistent_tables;
    u32 prefetchers;
    u32 states;  // without NUM
    u32 events;
    const char*
        objects;  // a letter for each: T table of records, S storage of slots, P proxy of a prefetcher,
                  // . another
};
