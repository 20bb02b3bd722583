// The block that is a whole simulated system, and what a running call knows about it.
//
// Invariant: System stands at the start of the block and has everything in it or counted from
// it. Context lives on the C stack for one call; only it may hold pointers.

#pragma once

#include "block/errors.hpp"
#include "structures/library_tables.hpp"
#include "block/parts.hpp"

struct Controller;       // controller.hpp
struct ControllerParts;  // what controllers keep beside their own structs
struct RequesterParts;   // requesters: all that they need, as one part
struct Requester;
struct Access;
struct LineRequest;
struct ClientParts;  // clients of requesters: likewise
struct RowChange;    // row_change.hpp

struct System {
    u64 magic;
    u64 bytes;    // size of the block
    u32 trouble;  // an error or a finding was recorded: leave at the next check
    u32 finding;
    u32 mutant;          // of an object compiled with mutants: which one runs; 0 is the original
    u32 mutant_machine;  // the machine that it changes, counted from 1; 0 for the original
    ErrorRecord error;
    PoolRecord pool;
    u64 run_key;
    u32 delay_policy;
    u32 controllers;
    u32 requesters;  // consumers [controllers, controllers + requesters)
    u32 caches;
    u32 buffers;
    u32 ports;
    EngineState engine;
    Watchdog watchdog;
    TraceState trace;
    Limbo limbo;
    LineMap lines;
    TopologyState topology;
    MemoryState memory;
    Pool messages;
    Pool events;
    Pool logs;
    Pool atomics;
    Pool flights;
    Pool triggers;
    u64 logs_limit;  // collect garbage when more are live
    u64 atomics_limit;
    u64 triggers_limit;
    Array<Pool> entries;  // by machine of the protocol
    Array<Pool> records;
    Array<MessageBuffer> message_buffers;
    Array<NetworkPort> network_ports;
    Bus bus;
    Array<u32> routes;
    Array<Channel> channels;
    Array<ScriptedDelay> script;  // sorted
    u32 place_stride;             // bytes of a line's places
    u32 stall_rows;
    u32 zero_delays_used;
    Array<u32> places;       // by line: see places.hpp
    Array<u64> line_queues;  // by requester: the first of the four places of a LineQueue
    u64 zero_delays[16];     // offsets of those delay states that are 0 and not unused
    Array<StallList> stalls;
    Array<CacheMemory> cache_memories;
    Array<TBETable> tables;
    Array<DirectoryMemory> directories;
    u64 tables_used;
    u64 directories_used;
    LibraryTables library;
    Array<u8> controller_bytes;               // CONTROLLER_STRIDE for each
    Array<u64> counts;                        // transitions, of all controllers
    Array<ControllerParts> controller_parts;  // one element
    Array<RequesterParts> requester_parts;    // one element
    Array<ClientParts> client_parts;          // one element
};

// What stands in front of the first message in limbo, as if it were one.
inline constexpr u32 LIMBO_FRONT = static_cast<u32>(
    (offsetof(System, limbo) + offsetof(Limbo, messages) - offsetof(Message, next)) >> 3);

struct Context {
    u8* base;
    System* s;
    // What generated code reads and writes all the time stands in the first 128 bytes, where its
    // instructions are shorter. Where in the protocol the run is, for verdicts:
    u32 site = 0;
    u32 action = 0;
    i32 state = -1;
    i32 event = -1;
    u64 address = 0;
    u32 controller = NIL;
    // The line that was asked for last (lines.hpp).
    u32 recent_line = 0;
    u64 recent_address = NONE;
    u32* recent_places = nullptr;
    // What is looked at most (core_bind), so that it is one step away.
    MessageBuffer* buffers = nullptr;
    CacheMemory* caches = nullptr;
    TBETable* tables = nullptr;
    NetworkPort* ports = nullptr;
    u64* counts = nullptr;
    u64* pending = nullptr;
    // The parts that every request passes through (context_bind), so that they are one step away.
    Access* accesses = nullptr;
    LineRequest* requests = nullptr;
    RequesterParts* requester_parts = nullptr;
    ClientParts* client_parts = nullptr;
    Requester* requesters = nullptr;
    Channel* channels = nullptr;
    WheelSlot* wheel = nullptr;
    u64* wakes = nullptr;
    u32* window = nullptr;
    u64* line_addresses = nullptr;
    u8* places = nullptr;
    u64 place_stride = 0;
    u32* routes = nullptr;
    u8* controllers = nullptr;
    void* client_view = nullptr;  // what clients have outside of the block
    // A traced run writes its transitions here.
    u64* steps = nullptr;
    u64 steps_room = 0;
    u64 steps_written = 0;
    RowChange* change = nullptr;        // of a run with another row
    alignas(8) u8 scratch_bytes[8192];  // what null pointers are replaced by
};

template <class T>
inline T* Array<T>::in(const Context& x) const {
    return reinterpret_cast<T*>(x.base + offset);
}

template <class T>
inline T* in_block(const Context& x, u64 offset) {
    return reinterpret_cast<T*>(x.base + offset);
}

template <class T>
inline u64 offset_of(const Context& x, const T& thing) {
    return static_cast<u64>(reinterpret_cast<const u8*>(&thing) - x.base);
}

// The thing that a handle names; the handle is not 0.
template <class T>
inline T& of_handle(const Context& x, u32 handle) {
    INVARIANT((u64{handle} << 3) < x.s->bytes);
    return *reinterpret_cast<T*>(x.base + (u64{handle} << 3));
}

// The thing that a handle names, or null. Which of both cannot be predicted, so there is no branch.
template <class T>
inline T* or_null(const Context& x, u32 handle) {
    INVARIANT((u64{handle} << 3) < x.s->bytes);
    const u64 thing = reinterpret_cast<u64>(x.base + (u64{handle} << 3));
    return reinterpret_cast<T*>(thing & -u64{handle != 0});
}

// A writable T of zeros for code that continues after an error.
template <class T>
inline COLD T& scratch(Context& x) {
    static_assert(sizeof(T) <= sizeof x.scratch_bytes);
    __builtin_memset(x.scratch_bytes, 0, sizeof x.scratch_bytes);
    return *reinterpret_cast<T*>(x.scratch_bytes);
}

inline void core_bind(Context& x) {
    x.buffers = x.s->message_buffers.in(x);
    x.ports = x.s->network_ports.in(x);
    x.channels = x.s->channels.in(x);
    x.caches = x.s->cache_memories.in(x);
    x.tables = x.s->tables.in(x);
    x.pending = x.s->engine.pending.in(x);
    x.wheel = x.s->engine.wheel.in(x);
    x.wakes = x.s->engine.wakes.in(x);
    x.window = x.s->lines.window.in(x);
    x.line_addresses = x.s->lines.addresses.in(x);
    x.places = reinterpret_cast<u8*>(x.s->places.in(x));
    x.place_stride = x.s->place_stride;
    x.routes = x.s->routes.in(x);
    x.counts = x.s->counts.in(x);
    x.controllers = x.s->controller_bytes.in(x);
}

inline u64 now(const Context& x) { return x.s->engine.now; }

// What controllers take for the time. Where there is none it stands still: what is to come after a
// latency has not come, however many steps are made.
#ifdef SLICC_UNTIMED
inline constexpr u64 STANDING_CLOCK = 1;
inline u64 controllers_clock(const Context&) { return STANDING_CLOCK; }
#else
inline u64 controllers_clock(const Context& x) { return now(x); }
#endif

inline void fail(Context& x, ErrorKind kind) { fail(x, kind, x.site); }

inline COLD void fail(Context& x, ErrorKind kind, u32 site) {
    System& s = *x.s;
    if (s.error.kind) return;
    s.trouble = 1;
    s.error.kind = static_cast<u32>(kind);
    s.error.site = site;
    s.error.action = x.action;
    s.error.controller = x.controller;
    s.error.tick = s.engine.now;
    s.error.address = x.address;
    s.error.state = x.state;
    s.error.event = x.event;
}

inline COLD void pool_exhausted(Context& x, u32 name, u64 capacity) {
    System& s = *x.s;
    if (s.pool.name) return;
    s.trouble = 1;
    s.pool.name = name;
    s.pool.capacity = static_cast<u32>(capacity);
}

inline void pool_exhausted(Context& x, u32 name) { pool_exhausted(x, name, 0); }

// What exploration does not follow where it happens; its numbers stand where those of pools do.
enum class Unexplored : u32 { PREFETCH = 64, DISTRIBUTION };

inline void unexplored([[maybe_unused]] Context& x, [[maybe_unused]] Unexplored what) {
#ifdef SLICC_UNTIMED
    pool_exhausted(x, static_cast<u32>(what));
#endif
}
