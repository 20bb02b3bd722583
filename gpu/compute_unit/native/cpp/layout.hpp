// The interface between Python and the issue engine: the twin of gpu/compute_unit/native/layout.py.
//
// Invariant: fields have the sizes and the order of their twins there; VERSION changes with them.

#pragma once

#include "requesters/external_view.hpp"
#include "containers.hpp"

inline constexpr u64 VERSION = 1;

// The kind of a record: what its instruction needs of the unit when it issues.
enum class RecordKind : u8 {
    BOUND,  // a vector, scalar or branch instruction that has been executed
    WAIT,   // value: limits of vm, exp and lgkm, a byte each
    END,
    BARRIER,
    INVALIDATE,
    MESSAGE,
    PRIORITY,  // value: 0 to 3
    NOTHING,   // value: cycles besides the one it takes
    FETCH_AGAIN,
    VECTOR,  // amount: cache lines
    SCALAR,
    LOCAL,      // amount: cycles; value: those that conflicts cost; banks: whether these count
    LOCAL_NOW,  // likewise, but it has to be executed when it issues
    NO_ACCESS,  // a memory instruction without an active lane
    UNKNOWN,    // uses registers that loads in flight will fill: executed when it issues
    FAILS,      // when it issues
    FAILS_NOW,  // when its turn comes
};

// One instruction of one wave, ahead of its time.
struct Record {
    u64 end;   // address behind it
    u64 next;  // of the instruction after it
    u32 value;
    u32 handle;  // Python's, of what is to be sent, executed or returned
    u32 amount;
    u16 name;  // number of the memory instruction's mnemonic
    RecordKind kind;
    u8 place;  // of its unit, as in gpu.compute_unit.program.decoded_program.UNITS
    u8 pace;   // which of the cycles until the next instruction; NO_PACE: it uses memory
    u8 flat;
    u8 banks;
    u8 unused[5];
};
static_assert(sizeof(Record) == 40);
inline constexpr u8 NO_PACE = 0xFF;

// Why a run returned.
enum class Reason : u64 {
    REACHED,      // the tick `until`
    AT_REST,      // nothing can happen without new input
    QUIET,        // many ticks without an answer
    ANSWERED,     // `list`: answers to requests of Python's, slot | kind << 32
    JUDGED,       // the engine has returned `status`
    AHEAD,        // `list`: waves without records, each with the end of its bytes
    EXECUTE,      // `wave` issues an UNKNOWN record; `address`: the end of its bytes
    PERFORM,      // `wave` issues LOCAL_NOW: `handle`
    SEND,         // `list`: waves and handles whose requests leave now
    EVENT,        // `wave` and `handle`: an event that is due
    BACK,         // `wave` has branched backwards while this is observed
    GROUP_ENDED,  // the last wave of `wave`'s group has ended
    FAILED,       // `wave` has failed
    UNMAPPED,     // `wave` continues where nothing could be fetched
    ADDRESS,      // `address`: may it be fetched by `unit`?
    SLOTS,        // no slots for fetches are left
    CATCH_UP,     // the log or the request log is long
};

// The kinds of log entries, in the order of the events.
enum class Entry : u32 {
    PERFORM,   // a wave's LDS access issued: handle
    COMPLETE,  // and returned: handle
    ENDED,     // a wave
    EXECUTED,  // a wave went back or ends: instructions since the last time
    CODE,      // a unit has fetched what it did not know: place in its table
    FORGET,    // a unit has forgotten its code
};

struct Logged {
    u32 entry;
    u32 who;
    u32 what;
};

inline constexpr u32 LOG_ROOM = 1 << 14;
inline constexpr u32 LOG_LONG = 1 << 12;
inline constexpr u32 REQUEST_LOG_LONG = 1 << 18;
inline constexpr u32 LIST_ROOM = 1 << 13;

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
    u64 ran;       // how often units have acted
    u64 fetching;  // fetches under way
    u64 pending;   // in: requests of Python's under way
    u64 logged;
    u64 listed;
    u64* list;        // at least [LIST_ROOM], and an entry for each answer that there can be
    Logged* log;      // [LOG_ROOM]
    u64* next_ticks;  // by unit; NONE: only answers wake it
    u64* addresses;   // of the lanes of all slots
    u8* bytes;        // likewise, what they load
    ExternalRequest* given;
};
