// What every controller has in front of its machine's own parameters and objects.
//
// Invariant: plain numbers; set once from the plan, except for those below "running".

#pragma once

#include "block/base.hpp"
#include "types/values.hpp"

inline constexpr u32 MAX_PORTS = 64;  // in-ports of a machine
inline constexpr u8 NO_PLACE = 0xff;  // of a buffer whose messages never wait

// A line that a locked access holds for a queue.
struct LineLock {
    u64 line;
    u32 queue;
};

// What a port body came to.
enum Poll : u32 {
    POLL_NOTHING,    // it ran to its end
    POLL_RAN,        // a transition ran
    POLL_UNCOUNTED,  // the ports are to be polled again without a transition
};

// What is seldom looked at stands in front; what runs stands last, beside the machine's own members.
struct Controller {
    u8 rank_of_port[MAX_PORTS];    // place of the port's rank among the machine's
    u8 buffer_of_port[MAX_PORTS];  // place of its buffer among those whose messages may wait
    u32 port_buffer[MAX_PORTS];    // those buffers, by place
    u64 recycle_latency;
    u64 mandatory_queue_latency;
    u32 id;  // as a consumer
    u32 machine;
    u32 version;
    u32 clusterID;
    MachineID machineID;
    i32 number_of_TBEs;
    i32 transitions_per_cycle;
    i32 buffer_size;
    u32 max_transitions;  // in one tick
    u32 limit;            // the smaller of the two
    u32 mandatory_queue;  // buffers, or NIL
    u32 memory_request;
    u32 memory_response;
    u32 counts;      // first of its cells in System::counts
    u32 waiting;     // first of its rows in ControllerParts::waiting, NIL: nothing ever waits
    u32 tracked;     // first of its bytes in ControllerParts::tracked
    u32 neighbours;  // first of its nodes in ControllerParts::neighbours
    u16 downstream;  // of those, then so many
    u16 upstream;
    u8 ports;    // in-ports
    u8 buffers;  // different buffers behind them whose messages may wait
    bool ranked;
    bool has_memory;
    bool arrays;  // request types are to be checked
    // running
    u64 busy_tick;
    u64 memory_tick;
    u32 left;     // transitions that it may still make in busy_tick
    u32 current;  // in-port being polled, NIL outside of a wake-up
    u32 held;     // answers of memory that wait for room: handles of the first and the last
    u32 last_held;
    i32 transition_state;
    i32 transition_event;
    i32 stall_state;  // of the transition that stalled last, and when that was
    i32 stall_event;
    u64 stall_tick;
    u32 locked;  // lines that are locked for a queue
    bool woken;  // a message was woken since the last complete pass over the ports
};
