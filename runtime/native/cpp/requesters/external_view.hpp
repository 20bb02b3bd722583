// What the host and external clients share: requests by slot, answers, and what a client keeps about
// an access. The host is runtime/native/external_requester.py, or code that it hands this view.
//
// Invariant: nothing here depends on a protocol, so that code which is not compiled with one can
// drive it.

#pragma once

#include "block/shared_numbers.hpp"

// One request for a port; what its lanes say stands in the arrays of its slot.
struct ExternalRequest {
    u32 slot;
    u32 port;
    u8 kind;  // AccessKind
    u8 size;
    u8 lanes;
    u8 scope;    // GLC, SLC, QUIET, INSTRUCTION
    u8 crosses;  // some lane reaches into the next line
    u8 unused[3];
};

// Arrays by slot. The bytes of lane i of a slot begin at i times the size.
struct ExternalView {
    const u64* address;   // [slots][64], of the lanes
    const u64* value;     // likewise: operands of atomics ...
    const u64* expected;  // ... and what a CAS compares with
    const u8* op;         // [slots]: AtomicKind
    u8* bytes;            // [slots][64 * 16]: what is stored; what was loaded, or old values
    const ExternalRequest* given;
    u64 given_count;
    u64*
        answers;  // slot | kind of answer << 32; a load: | lines that were hits << 40 | misses << 48
    u64 room;
    u64 answered;
    u64 now;   // after a run: the last tick that had anything to do
    u64 next;  // likewise: the next one; NONE if nothing is pending
};

// What an external client keeps about an access: see external_requester.hpp.
struct ClientAccess {
    u64 pending;      // bytes that are still to come, or to be accepted
    u64 uncompleted;  // bytes whose store is not globally performed
    u32 slot;
    u8 hits;    // of a load's lines: answered by the transition that took the request, ...
    u8 misses;  // ... or later
};
