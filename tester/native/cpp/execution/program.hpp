// What a driver executes: the arrays of a program, which lie outside of the block. They are made by
// tester/native/program.py.
//
// Invariant: read-only but for `observed`, and alive while a call is running. Episodes and actions are numbered as
// in the program; only lanes that take part are listed, in lane order, and every action has one.

#pragma once

#include "block/context.hpp"
#include "execution/shared_numbers.hpp"

// `episode_scope` has bits of Scope and EPISODE_BARE (no fetch-adds), EPISODE_RACING_LOAD (a racing
// load of what it waits for), EPISODE_FLUSHES (it flushes what it stored), EPISODE_PLAIN (neither
// acquire nor release); with Scope::QUIET its closing fetch-adds ask for no old values. CAS_FAILS,
// beside AtomicKind::CAS: it compares with another value than the one in memory, and fails.
struct ProgramView {
    u64 agents, episodes, actions, lanes_total, words_total, waits, run_key, line_bits;
    const i64* agent_first;    // [agents + 1]: the episodes of an agent in agent_episode
    const i32* agent_episode;  // [episodes]
    const u8* episode_scope;   // [episodes]
    const i64* first_action;   // [episodes + 1]
    const i64* first_word;     // [episodes + 1]: fetch-adds, one for each lane that makes them
    const u8* word_lane;
    const u64* word_address;
    const i64* first_wait;  // [episodes + 1]: until wait_count episodes of wait_thread ended
    const i32* wait_thread;
    const i32* wait_count;
    const u8* action_kind;  // [actions]: AccessKind::LOAD, STORE or ATOMIC
    const u16* action_size;
    const u8* action_scope;
    const i64* first_lane;  // [actions + 1]: its lanes, or the pieces of its only one
    const u8* lane;
    const u64* address;
    const u64* value;
    const u64* expected;
    u64 groups;
    const u32* word_group;        // beside word_address
    const u64* group_word;        // [groups]: address; no two groups share a word
    const u64* group_increments;  // [groups]: fetch-adds of that word in all
    const u8* action_op;          // [actions]: of an ATOMIC, AtomicKind, perhaps with CAS_FAILS
    const u8* action_pieces;      // [actions]: how many make up one access; 0: it has none
    // Beside `expected`, which it starts as: what agents without checks got; or null.
    u64* observed;
    u64 judges_early;  // whether racing loads are judged
    u64 versions;      // stores to bytes of racing loads, by byte, then by action
    const u64* version_byte;
    const i64* version_action;
    const u8* version_value;
    const u32* version_episode;
    const u32* version_agent;
};
