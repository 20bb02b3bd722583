// The interface between Python and the issue engine: the twin of gpu/compute_unit/native/layout.py.
//
// Invariant: fields have the sizes and the order of their twins there; VERSION changes with them.

#pragma once

#include "requesters/external_view.hpp"
#include "containers.hpp"
#include "shared_numbers.hpp"

// One instruction of one wave, ahead of its time.
struct Record {
    u64 end;   // address behind it
    u64 next;  // of the instruction after it; LOCAL_HELD and the like: of what is held
    u32 value;
    u32 handle;  // Python's, of what is to be sent, executed or returned
    u32 amount;
    u16 name;  // number of the memory instruction's mnemonic
    RecordKind kind;
    u8 place;  // of its unit, as in gpu.compute_unit.program.decoded_program.UNITS
    u8 pace;   // which of the cycles until the next instruction; NO_PACE: it uses memory
    u8 flat;
    u8 banks;
    u8 most_vm;  // vector memory instructions of a wave that may be outstanding
    u8 unused[4];
};
static_assert(sizeof(Record) == 40);

struct Logged {
    u32 entry;
    u32 who;
    u32 what;
};

inline constexpr u32 LOG_LONG = 1 << 12;
inline constexpr u32 REQUEST_LOG_LONG = 1 << 18;

// Shared with Python, which owns it.
struct State {
    u64 now;      // the tick in which units act next
    u64 tick;     // the last one in which the engine had anything to do
    u64 due;      // the engine's next one, or NONE
    u64 until;    // in: no further than this tick; NONE: no limit
    u64 at_once;  // in: Python has answers for this tick
    u64 observe;  // in: return when a wave branches backwards
    i64 budget;   // instructions of waves that branch backwards until Python is notified
    u64 status;
    u64 unit;
    u64 wave;
    u64 handle;
    u64 address;
    u64 behind;    // likewise, the end of a range
    u64 ran;       // how often units have acted
    u64 asked;     // requests of the issue engine under way, ...
    u64 fetching;  // ... and how many of them are fetches
    u64 pending;   // in: requests of Python's under way
    u64 rung;      // in: return when memory has run
    u64 logged;
    u64 listed;
    u64 notices;      // of waves, that Python has not taken
    u64* list;        // at least [LIST_ROOM], and an entry for each answer that there can be
    Logged* log;      // [LOG_ROOM]
    u64* next_ticks;  // by unit; NONE: only answers wake it
    u64* addresses;   // of the lanes of all slots
    u8* bytes;        // likewise, what they load
    ExternalRequest* given;
};
