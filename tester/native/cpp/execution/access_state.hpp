// What the tester's agents and its checker record about an access: what
// tester/execution/agent.py has in attributes.
//
// Invariant: nothing here depends on a protocol.

#pragma once

#include "block/base.hpp"

// Where the addresses of an access are stored.
enum class Source : u8 {
    NOTHING,
    ACTION,  // lanes of action `place` of the program
    PIECES,  // of its only lane; in keys of `find_lines` only
    WORDS,   // fetch-adds of episode `place`
    LOADS,   // the lines of the loads of episode `place`
    STORES,  // the lines of its stores
    BATCH,   // lines `place` and following of the flushers
};

// `pending` and `uncompleted` have a bit for each lane without data, acceptance or old value, and
// for each whose store is not globally performed.
struct ClientAccess {
    u64 identity;
    u64 progress;  // the last answer to a part
    u64 pending;
    u64 uncompleted;
    u64 first;  // of its lanes in the program's arrays
    u32 place;
    u32 older;  // open requests in the order of their issue, for the checker; 0: none
    u32 newer;
    u8 role;
    Source source;
    u8 driver;
    u8 pieces;    // entries of its only lane in the program's arrays; 0: one for each lane
    bool shared;  // lanes ask for the same bytes
    bool listed;  // the checker waits for it
};
