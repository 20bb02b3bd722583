// What the host may call in every object; runtime/native/ctypes_api.py calls it. The block is the
// host's.
//
// Invariant: no call keeps a pointer, and a block is used by one call at a time.

#pragma once

#include "system/system.hpp"

#define SLICC_API extern "C" __attribute__((visibility("default")))

// `view`: what the clients of this object have outside of the block.
inline Context context_with(void* block, void* view) {
    Context x = context_of(block);
    x.client_view = view;
    return x;
}

inline i64 run_status(Context& x, u64 until) {
    System& s = *x.s;
    const RunEnd end = run(x, until);
    if (s.pool.name) return STATUS_EXHAUSTED;
    if (s.error.kind || s.finding) return STATUS_FINDING;
    return end == RUN_IDLE ? STATUS_IDLE : STATUS_UNTIL;
}

// How much is left in a system at rest that should be empty.
inline u64 system_leaks(Context& x) {
    System& s = *x.s;
    u64 found = s.messages.live + requesters_leaking(x);
    for (u64 table = 0; table < s.tables_used; table++) found += s.tables.at(x, table).count;
    for (u32 id = 0; id < s.controllers; id++) {
        const Controller& c = controller(x, id);
        found += c.locked;
        if (c.waiting == NIL) continue;
        for (u32 line = 0; line < s.lines.used; line++) {
            found += controller_parts(x).waiting.at(x, c.waiting + line) != 0;
        }
    }
    return found;
}

// ---------------------------------------------------------------- building and running

SLICC_API u64 slicc_abi() { return SLICC_ABI; }

SLICC_API u64 slicc_constant(u64 which) {
    const u64 constants[] = {LINE_BYTES, NODE_WORDS, sizeof(AnyMessage), CONTROLLER_STRIDE};
    return which < sizeof constants / sizeof constants[0] ? constants[which] : 0;
}

SLICC_API u64 slicc_system_size(const u64* plan, u64 words) { return system_size(plan, words); }

SLICC_API i64 slicc_start(void* block, u64 bytes, const u64* plan, u64 words) {
    return system_start(block, bytes, plan, words) ? 0 : -1;
}

SLICC_API i64 slicc_run(void* block, void* view, u64 until) {
    Context x = context_with(block, view);
    return run_status(x, until);
}

// The same as slicc_run; transitions are also written to `steps`, STEP_WORDS each, while there is room.
SLICC_API i64 slicc_run_traced(void* block, void* view, u64 until, u64* steps, u64 room,
                               u64* written) {
    Context x = context_with(block, view);
    x.steps = steps;
    x.steps_room = room;
    const i64 status = run_status(x, until);
    *written = x.steps_written;
    return status;
}

// ---------------------------------------------------------------- memory

// From now on memory that was never written is zero.
SLICC_API void slicc_zero_memory(void* block) { static_cast<System*>(block)->memory.zeroed = 1; }

// Whether memory echoed a request: then its bytes are not what the system holds.
SLICC_API u64 slicc_memory_echoes(void* block) {
    return static_cast<System*>(block)->memory.echoes;
}

// Write memory itself; 1 if there was not enough room for its lines.
SLICC_API i64 slicc_write_memory(void* block, u64 address, const u8* bytes, u64 count) {
    Context x = context_of(block);
    while (count) {
        const u64 offset = address & LINE_MASK;
        const u64 room = LINE_MASK + 1 - offset;
        const u64 part = count < room ? count : room;
        u8* line = reinterpret_cast<u8*>(memory_line(x, address - offset, true));
        if (x.s->pool.name) return 1;
        __builtin_memcpy(line + offset, bytes, part);
        address += part;
        bytes += part;
        count -= part;
    }
    return 0;
}

// Read memory itself; 1 if there was not enough room for its lines.
SLICC_API i64 slicc_read_memory(void* block, u64 address, u8* bytes, u64 count) {
    Context x = context_of(block);
    while (count) {
        const u64 offset = address & LINE_MASK;
        const u64 room = LINE_MASK + 1 - offset;
        const u64 part = count < room ? count : room;
        const u8* line = reinterpret_cast<const u8*>(memory_line(x, address - offset, false));
        if (x.s->pool.name) return 1;
        __builtin_memcpy(bytes, line + offset, part);
        address += part;
        bytes += part;
        count -= part;
    }
    return 0;
}

// ---------------------------------------------------------------- counting

// From now on, what runs in this object is counted in these words; null: it is not.
SLICC_API void slicc_count(i64* words) { counter_words = wanted_words = words; }

// ---------------------------------------------------------------- asking

SLICC_API i64 slicc_next_tick(void* block) {
    const u64 tick = next_tick(context_of(block));
    if (tick == NONE) return -1;
    return tick >> 63 ? INT64_MAX : static_cast<i64>(tick);
}

SLICC_API u64 slicc_now(void* block) { return static_cast<const System*>(block)->engine.now; }

SLICC_API u64 slicc_trace_hash(void* block) {
    return static_cast<const System*>(block)->trace.value;
}

SLICC_API u64 slicc_transitions(void* block) {
    return static_cast<const System*>(block)->trace.count;
}

SLICC_API void slicc_error(void* block, u64* out) {
    const ErrorRecord& error = static_cast<const System*>(block)->error;
    out[ERROR_KIND] = error.kind;
    out[ERROR_SITE] = error.site;
    out[ERROR_CONTROLLER] = error.controller == NIL ? NONE : error.controller;
    out[ERROR_TICK] = error.tick;
    out[ERROR_ADDRESS] = error.event < 0 ? NONE : error.address;
    out[ERROR_STATE] = static_cast<u64>(i64{error.state});
    out[ERROR_EVENT] = static_cast<u64>(i64{error.event});
    out[ERROR_ACTION] = error.action;
}

SLICC_API void slicc_pool(void* block, u64* out) {
    const PoolRecord& pool = static_cast<const System*>(block)->pool;
    out[0] = pool.name;
    out[1] = pool.capacity;
}

SLICC_API u64 slicc_leaks(void* block) {
    Context x = context_of(block);
    return system_leaks(x);
}

// Where the counts of a controller's transitions stand: offset, how many, how many of a state.
SLICC_API void slicc_counts(void* block, u64 id, u64* out) {
    const Context x = context_of(block);
    const Controller& c = controller(x, static_cast<u32>(id));
    out[0] = x.s->counts.offset + sizeof(u64) * c.counts;
    out[1] = counts_of(c.machine);
    out[2] = MACHINE_SHAPES[c.machine].events + 1;
}

// The lines that were written in memory, ascending: addresses and bytes of the first `room` of
// them. Returns how many there are.
SLICC_API u64 slicc_written_lines(void* block, u64* addresses, u8* bytes, u64 room) {
    Context x = context_of(block);
    const System& s = *x.s;
    u64 count = 0;
    for (u32 line = 0; line < s.lines.used; line++) {
        if (s.memory.state.at(x, line) != MEMORY_WRITTEN) continue;
        if (count < room) addresses[count] = line_address_of(x, line);
        count++;
    }
    const u64 written = count < room ? count : room;
    heap_sort(addresses, written);
    for (u64 i = 0; i < written; i++) {
        __builtin_memcpy(bytes + i * LINE_BYTES, memory_line(x, addresses[i], false), LINE_BYTES);
    }
    return count;
}
