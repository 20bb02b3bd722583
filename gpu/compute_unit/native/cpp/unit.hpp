// The state of an issue engine: compute units, their SIMDs, the waves and groups in them.
//
// Invariant: `ready` of a wave is NONE exactly while something must happen before it can issue
// again, and `waiting` says what. A wave is named by its number and its serial: numbers are reused,
// serials never.

#pragma once

#include "held.hpp"
#include "layout.hpp"

inline constexpr u32 MOST_SIMDS = 8;
inline constexpr u32 MOST_PORTS = 64;  // compute units
inline constexpr u32 MOST_UNITS = 16;  // kinds of them
inline constexpr u32 PACES = MOST_UNITS + 1;
inline constexpr u32 LGKM_MAX = 15;

// The order of gpu.compute_unit.native.layout.STALLS; the first are those of `Waiting`.
enum class Stall : u8 { NOTHING, FETCH, COUNTERS, FULL, BARRIER, END, TAKEN, BUSY, PIPELINE };
inline constexpr u32 STALLS = 9;

using OnHeld = void (*)(Held* held);

struct Config {
    u64 units;
    u64 simds;
    u64 vector_alu;  // their places
    u64 vector_memory;
    u64 names;  // of memory instructions
    u64 fetch_bytes;
    u64 buffer_bytes;
    u64 lines_per_cycle;
    u64 memory_queue;
    u64 address_cycles;
    u64 lds_cycles;
    u64 scalar_memory_cycles;
    u64 scalar_cycles;
    u64 message_cycles;
    u64 round_robin;
    u64 slice;      // ticks after which a run returns
    u64 line_bits;  // the logarithm of the bytes of a line
    u64 cycles[PACES];
    u64 vector_ports[MOST_PORTS];  // by unit
    u64 scalar_ports[MOST_PORTS];
    u64 fetch_ports[MOST_PORTS];
    OnHeld perform;  // of moves: gpu/isa/native/cpp/moves.hpp
    OnHeld complete;
};

// A vector memory instruction that has issued; those of one wave return in order.
struct Outstanding {
    Held* held;  // null: Python carries it out
    bool flat;
    bool done;  // only registers are left to be written
};

struct Wave {
    u64 pc;
    u64 fetched;   // end of the bytes that it has from `pc` on
    u64 fetching;  // address of a fetch under way, or NONE
    u64 ready;
    u64 since;
    u64 executed;
    u64 watched;
    u32 serial;
    u32 group;
    u32 simd;
    u32 unit;
    u32 age;
    u32 retired;  // of its vector memory instructions
    u8 vm, exp, lgkm;
    u8 most_vm, most_exp, most_lgkm;  // of the last wait
    u8 priority;
    Stall waiting;
    bool queued;
    bool unmapped;
    bool ended;
    bool starved;  // Python has no more records for it
    bool at_barrier;
    bool returned;  // something that is held, since Python was notified
    Queue<Record> records;
    Queue<Outstanding> outstanding;
};

struct WaveName {
    u32 number;
    u32 serial;
};

struct Group {
    List<u32> waves;
    u32 live;
    u32 arrived;
};

struct Simd {
    List<u32> waves;  // in the order of their start
    u64 busy;
    i64 last;  // age of the wave that issued last
};

// What an event is: for Python to carry out, a move in LDS that returns, scalars to be loaded.
enum class Then : u8 { PYTHON, RETURN, LOAD };

struct Event {
    u64 tick;
    u64 number;
    WaveName wave;
    u32 handle;  // LOAD: bits of Scope
    Then then;
    void* held;  // RETURN: Held; LOAD: HeldScalars
};
inline bool before(const Event& a, const Event& b) {
    return a.tick != b.tick ? a.tick < b.tick : a.number < b.number;
}

struct Sending {
    u64 tick;
    WaveName wave;
    u32 handle;  // bits of Scope, if it is held
    u32 order;   // among the vector memory instructions of its wave
    Held* held;  // null: Python sends it
};

// Bytes that a unit has fetched.
struct Code {
    u64 address;
    u32 epoch;
    u8 bytes[64];
};

struct Counts {
    u64 by_unit[MOST_UNITS];
    u64 stalls[STALLS];
    u64 stalled[STALLS];  // how often
    u64 bank_cycles;
    u64 bank_conflicts;
    u64 fetches;
};

enum class Stage : u8 { DONE, EVENTS, SENDS, FETCH, LOOK, ISSUE };

struct Unit {
    u32 number;
    u64 next_tick;
    u64 turns[MOST_SIMDS];
    Simd simds[MOST_SIMDS];
    Heap<Event> events;
    u64 event_number;
    Queue<Sending> sending;
    u64 vector_free;
    u64 local_free;
    Queue<WaveName> wanting;  // a fetch
    List<Code> code;
    List<u32> code_places;  // hashed by address: place in `code`, plus 1
    u32 epoch;
    Counts counts;
    List<u64> memory;  // by mnemonic
    List<u64> lines;   // instructions by how many lines they touch
    // A turn that is interrupted resumes where it stopped.
    Stage stage;
    List<WaveName> ready;
    u32 position;
    u64 taken;
    bool allowed;      // the resources of the record at this position are free
    Record performed;  // LOCAL_NOW: it has issued, and Python has carried it out
};

enum class Asked : u8 { CODE, SCALARS, LANES };

// What a slot is used for.
struct Asking {
    WaveName wave;
    u64 address;  // of the first lane
    u64 since;
    u32 port;
    u32 order;   // LANES: as in Sending
    void* held;  // Held or HeldScalars
    Asked what;
    u8 kind;
    u8 lanes;
    bool ours;  // not one of Python's slots
    bool under_way;
};

// Memory that requests may be made of without asking Python, and what is kept about its lines: see
// gpu/memory/coherent/line_tracking.py.
struct Place {
    u64 start;
    u64 limit;   // behind the last byte that may be accessed
    u8* cached;  // by line
    u8* stored;
    bool writable;
    u8 scope;  // bits of every request
};

// Addresses that may be fetched, and how: the scope of the request.
struct Known {
    u64 address;
    u8 scope;
};

enum class Phase : u8 { UNITS, MEMORY };

using RunExternal = i64 (*)(void* block, ExternalView* view, u64 when, u64 until);

struct IssueEngine {
    Config config;
    State* state;
    List<Unit> units;
    List<Wave> waves;
    List<u32> free_waves;
    List<Group> groups;
    List<u32> free_groups;
    Phase phase;
    u32 at;               // which unit acts
    u64 when;             // the tick for which requests are given
    bool begun;           // the engine has run in this phase
    bool replayed;        // the run was replayed into another engine
    u64 end;              // of the run: the tick in which a unit or Python acts next, or NONE
    u64 limit;            // the last tick that the engine may run
    List<u32> slots;      // that are free
    List<Asking> asking;  // by slot
    List<u64> answers;    // slot | kind << 32, not yet looked at
    List<Place> places;
    u32 place;             // that was found last
    List<WaveName> ended;  // the last waves of their groups: Python is still to be notified
    List<WaveName> heads;  // likewise, waves whose next instruction to return is Python's
    List<Known> known;
    List<u32> known_places;
    ExternalView* view;     // while it runs
    bool logging;           // keep the request log
    List<u64> request_log;  // the runs of the protocol's engine, to replay
    u64 request_log_parts;  // requests of Python's in it
};

inline Wave* wave_of(IssueEngine& f, WaveName name) {
    Wave& w = f.waves[name.number];
    return w.serial == name.serial && !w.ended ? &w : nullptr;
}

inline u32 number_of(const IssueEngine& f, const Wave& w) {
    return static_cast<u32>(&w - f.waves.items);
}
inline WaveName name_of(const IssueEngine& f, const Wave& w) { return {number_of(f, w), w.serial}; }

inline void note(IssueEngine& f, Entry entry, u32 who, u32 what) {
    State& s = *f.state;
    if (s.logged < LOG_ROOM) s.log[s.logged] = {static_cast<u32>(entry), who, what};
    ++s.logged;
}

inline void wanted(Unit& u, u64 tick) {
    if (tick < u.next_tick) u.next_tick = tick;
}

inline void later(Unit& u, u64 tick, WaveName wave, u32 handle, Then then, void* held = nullptr) {
    INVARIANT(tick != NONE);
    u.events.add({tick, ++u.event_number, wave, handle, then, held});
    wanted(u, tick);
}

inline void stall(Unit& u, Stall why, u64 cycles) {
    u.counts.stalls[static_cast<u32>(why)] += cycles;
    ++u.counts.stalled[static_cast<u32>(why)];
}

inline void block(Wave& w, Stall why, u64 now) {
    INVARIANT(w.waiting == Stall::NOTHING && !w.ended);
    w.waiting = why;
    w.since = now;
    w.ready = NONE;
}

inline bool within(const Wave& w, u8 vm, u8 exp, u8 lgkm) {
    return w.vm <= vm && w.exp <= exp && w.lgkm <= lgkm;
}

// The condition that the wave waited for holds.
inline void wake(IssueEngine& f, Wave& w, u64 tick) {
    Unit& u = f.units[w.unit];
    INVARIANT(w.waiting != Stall::NOTHING && w.ready == NONE && tick >= w.since);
    stall(u, w.waiting, tick - w.since);
    w.waiting = Stall::NOTHING;
    w.ready = tick;
    const u64 simds = f.config.simds;
    const u64 turn = tick + (w.simd + simds - tick % simds) % simds;
    if (turn < u.turns[w.simd]) {
        u.turns[w.simd] = turn;
        wanted(u, turn);
    }
}

// ---------------------------------------------------------------- barriers and ends

inline void open_barrier(IssueEngine& f, Group& group, u64 now) {
    for (u32 i = 0; i < group.waves.count; ++i) {
        Wave& w = f.waves[group.waves[i]];
        if (w.waiting == Stall::BARRIER) wake(f, w, now + 1);
    }
}

inline bool opens(IssueEngine& f, Group& group) {
    if (group.arrived < group.live) return false;
    group.arrived = 0;
    for (u32 i = 0; i < group.waves.count; ++i) f.waves[group.waves[i]].at_barrier = false;
    return true;
}

inline void arrive(IssueEngine& f, Wave& w, u64 now) {
    Group& group = f.groups[w.group];
    if (group.waves.count > 1) {
        w.at_barrier = true;
        INVARIANT(group.arrived < group.live);
        ++group.arrived;
        if (!opens(f, group)) return;
    }
    open_barrier(f, group, now);
}

inline void leave(Simd& simd, u32 number) {
    u32 kept = 0;
    for (u32 i = 0; i < simd.waves.count; ++i) {
        if (simd.waves[i] != number) simd.waves[kept++] = simd.waves[i];
    }
    simd.waves.count = kept;
}

// The wave's program is over and everything has returned. Whether its group is over, too.
inline bool end(IssueEngine& f, Wave& w, u64 now) {
    Group& group = f.groups[w.group];
    w.ready = NONE;
    w.waiting = Stall::NOTHING;
    w.ended = true;
    leave(f.units[w.unit].simds[w.simd], number_of(f, w));
    note(f, Entry::ENDED, number_of(f, w), 0);
    INVARIANT(group.live > 0 && within(w, 0, 0, 0));
    --group.live;
    if (group.arrived && opens(f, group)) open_barrier(f, group, now);
    return !group.live;
}

// Counters of the wave are lower; it may wait for that. Whether its group is over.
inline bool counted_down(IssueEngine& f, Wave& w, u64 now) {
    switch (w.waiting) {
        case Stall::FULL: wake(f, w, now); return false;
        case Stall::COUNTERS:
            if (within(w, w.most_vm, w.most_exp, w.most_lgkm)) wake(f, w, now);
            return false;
        case Stall::END: return within(w, 0, 0, 0) && end(f, w, now);
        default: return false;
    }
}
