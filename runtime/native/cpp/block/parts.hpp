// The parts of a system: what engine, buffers, network, caches, tables and memory consist of.
//
// What is looked up by number has a size that the number is shifted by (alignas): a power of two.
// Invariant: plain structs of numbers. Tables by line stand together, line by line in the order
// of first use (LineMap): each line has places, one for each cache, table and directory and for
// each random delay, and stall lists.

#pragma once

#include "block/layout.hpp"
#include "types/enumerations.hpp"
#include "types/message.hpp"
#include "types/values.hpp"

inline constexpr u32 WHEEL = 256;  // ticks that the engine holds without sorting
inline constexpr u32 MACHINE_TYPES = MachineType::NUM;

// ---------------------------------------------------------------- engine

struct WheelSlot {
    u32 head;  // messages in the order of sending
    u32 tail;  // wheel_front() of an empty one
};

// Slots of the wheel, a bit each.
struct SlotSet {
    u64 bits[WHEEL / 64];

    bool has(u32 slot) const { return bits[slot >> 6] >> (slot & 63) & 1; }
    void add(u32 slot) { bits[slot >> 6] |= u64{1} << (slot & 63); }
    bool meets(const SlotSet& other) const {
        u64 both = 0;
        for (u32 word = 0; word < WHEEL / 64; word++) both |= bits[word] & other.bits[word];
        return both;
    }
    void remove(u32 slot) { bits[slot >> 6] &= ~(u64{1} << (slot & 63)); }

    // How many places behind this slot the next one of the set stands, the first ones behind the last;
    // 0: it is one itself, WHEEL: there is none.
    TINY u64 distance(u32 slot) const {
        u64 left = bits[slot >> 6] >> (slot & 63);
        if (LIKELY(left)) return static_cast<u64>(__builtin_ctzll(left));
        for (u32 ahead = 64 - (slot & 63); ahead <= WHEEL; ahead += 64) {
            left = bits[(slot + ahead) % WHEEL >> 6];
            if (left) return ahead + static_cast<u64>(__builtin_ctzll(left));
        }
        return WHEEL;
    }

    // In ascending order.
    template <class F>
    TINY void each(F visit) const {
        for (u32 word = 0; word < WHEEL / 64; word++) {
            for (u64 left = bits[word]; left; left &= left - 1)
                visit(word << 6 | static_cast<u32>(__builtin_ctzll(left)));
        }
    }
};

struct FarItem {
    u64 tick;
    u64 order;
    u32 item;  // a message, or a consumer
    u32 wake;
};

// `flags`: consumers that still run in this round; `pending`: in the next round of this tick.
struct EngineState {
    u64 now;
    u64 sequence;
    u32 running;
    u32 stopped;
    u32 words;  // of a mask of consumers
    u32 consumers;
    u64 max_rounds;
    SlotSet occupied;  // slots that have an item or wake a consumer
    u64 far_count;
    u64 far_order;
    Array<WheelSlot> wheel;
    Array<u64> wakes;  // `words` for each slot of the wheel
    Array<u64> flags;
    Array<u64> pending;
    Array<FarItem> far;  // a heap
    u64 wakeups;         // made so far
    u64 look_wakeups;    // when the watchdog looks
    u64 look_sequence;
};

// What looks for runaways: see system/watchdog.hpp.
struct Watchdog {
    u64 messages;  // limits: see runtime.sim.engine.Limits
    u64 work;
    u64 credit;
    u64 paid;
    u64 completed;
    u64 since;  // NONE: nothing is suspicious
    u64 wakeups_before;
    u64 transitions_before;
    Array<u64> before;  // counts of transitions
};

// Slots that the running wake-up may still look at, and the last one where that is needed:
// LIMBO_FRONT (context.hpp) if there is none.
struct alignas(8) Limbo {
    u32 messages, last_message;
    u32 entries;
    u32 records;
};

// ---------------------------------------------------------------- lines and nodes

// Lines near the first one that was asked for stand in the window, one element for each, known
// or not; all stand in the hash table.
struct LineMap {
    u64 start;  // address where the window begins
    u32 used;
    u32 capacity;
    u32 shift;             // of the hash
    Array<u32> window;     // index + 1, 0: unknown
    Array<u64> addresses;  // by index
    Array<u32> table;      // index + 1, 0: empty
};

struct TopologyState {
    u32 count[MACHINE_TYPES];
    u32 first[MACHINE_TYPES];
    u8 interleaved[MACHINE_TYPES];
    u8 interleave_bit[MACHINE_TYPES];
    u32 nodes;
    Array<MachineID> machine_of;  // by node
};

// ---------------------------------------------------------------- buffers and network

struct StallList {
    u32 head;
    u32 tail;
};

// What every message needs comes first, in one line of the processor's cache.
struct alignas(128) MessageBuffer {
    u32 head;
    u32 tail;
    u32 count;
    u32 consumer;
    u32 capacity;  // 0: unlimited
    u32 delays;    // place of their states, NIL: no delays
    u32 near;      // first of its consumer's places
    u32 stalls;    // number among the stall lists of a line
    u32 stalled_lines;
    bool ordered;
    bool strict;   // a message due before the last one is a mistake
    bool special;  // limited, ordered, or without consumer
    bool awaited;  // the bus has a message for which there was no room
    u64 last_arrival;
    i64 last_due;
    u64 delay_key;
    u64 delay_start;
    u32 taken;
    u32 freed;  // in tick freed_tick
    u64 freed_tick;
    u32 waiting;  // messages that the network holds back for want of room, oldest first
    u32 last_waiting;
};

// A message that is delayed, and no other of the same channel, line and number.
struct ScriptedDelay {
    u64 channel;  // hash of its name
    u64 line;     // address
    u64 message;  // number on the line, from 1
    u64 cycles;
};

struct alignas(64) Channel {
    u64 last_arrival;  // 0 where it does not matter
    u64 order;         // all bits if the channel is ordered, else none
    u64 delay_key;
    u64 delay_start;
    u32 delays;
    u32 near;  // first of its receiver's places
    u32 buffer;
    u32 port;
    bool limited;
};

struct alignas(64) NetworkPort {
    u32 capacity;
    u32 taken;
    u32 freed;
    u32 latency;
    u64 freed_tick;
    u32 routes;  // first of its row in the routes: a channel + 1 for each node, 0: none
    u32 owner;
    u32 bus;  // its virtual network + 1 if that is on the bus, else 0
    bool ordered;
    // Of a port towards the bus.
    u32 delays;  // as those of a channel
    u32 near;
    u64 delay_key;
    u64 delay_start;
    u64 last_due;
};

// What waits for the bus: see network/bus.hpp.
struct Bus {
    u32 head;  // messages that are due, the oldest first
    u32 tail;
    u64 free;  // the first tick in which the bus is not taken
    u64 next;  // the tick of the last arbitration that was asked for
};

// How many copies of a multicast still hold their sender's slot.
struct Flight {
    u32 left;
    u32 next;
};

// ---------------------------------------------------------------- storage

struct BankState {
    u64 start;
    u64 until;  // last busy tick + 1, 0: never used
    u64 index;
};

struct AluStart {
    u64 tick;
    u64 line;
};

struct BankedArray {
    u64 banks;  // offset of BankState
    u32 count;
    u32 latency;
};

struct alignas(256) CacheMemory {
    u64 visible;  // its place in the rows of lines
    u64 frames;   // offsets: handle of an entry by set and way
    u64 free;     // u32 by set
    u64 touched;  // u64: by set and way (lru) or by set (tree)
    u64 paths;    // tree: by way, nodes on the path and those that a touch sets
    u64 clock;
    u64 sets;
    u64 set_mask;  // sets - 1, or 0 where sets are no power of two
    u32 ways;
    u32 hidden;  // entries in a way that are NotPresent
    u32 start_index_bit;
    u32 tree_words;  // 0: lru
    u32 controller;
    u32 machine;
    u32 tag_latency;
    u32 data_latency;
    bool resource_stalls;
    BankedArray tags;
    BankedArray data;
    u64 alu_starts;  // offset of AluStart
    u32 alu_count;
    u32 alu_latency;
    u32 alu_used;
    u32 alu_room;
    u64 counts[5];  // accesses by CacheRequestType
};

struct TBETable {
    u64 records;  // its place in the rows of lines
    u32 machine;
    u32 capacity;
    u32 count;
};

struct DirectoryMemory {
    u64 records;  // its place in the rows of lines
    u32 machine;
    u32 interleaved;
    i32 type;
    u32 num;
};

struct MemoryState {
    u64 run_key;
    u64 latency;
    u64 zeroed;        // what was never written is zero, not hashed
    u64 echoes;        // a request was echoed: this is not what the system holds
    Array<u64> image;  // LINE_WORDS by line
    Array<u8> state;   // by line
};

struct TraceState {
    u64 value;
    u64 count;
};
