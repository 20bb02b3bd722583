// Requesters, agents and the checker on a flat memory behind controllers that answer by a script,
// for tests/tester/native/test_requesters.py: the same script runs on the Python runtime.

#include "core_types.hpp"

#include "system/core.hpp"

inline Controller& controller(const Context& x, u32 id);
inline u64 machine_mandatory_queue_latency(Context& x, Controller& c, i32 type);

#include "requesters/registry.hpp"

#include "execution/flush.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct ControllerParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};

inline u64 machine_mandatory_queue_latency(Context&, Controller&, i32) { return 1; }
inline void message_mark(Context& x, Marker& marker, const Message& message) {
    if (message.type == RubyRequest::TYPE)
        mark_value(x, marker, static_cast<const RubyRequest&>(message).writeMask);
}
inline void entry_mark(Context&, Marker&, u32, const AbstractCacheEntry&) {}
inline void record_mark(Context&, Marker&, u32, const TbeHeader&) {}
inline void machine_mark(Context&, Controller&, Marker&) {}
inline void machine_enqueue_prefetch(Context&, Controller&, u64, i32) {}
inline void entry_invalidate(Context&, u32, AbstractCacheEntry&) {}
inline void controller_memory_respond(Context&, u32, Message&) {}
inline void controller_memory_offer(Context&, u32) {}
inline void machine_wakeup(Context& x, Controller& c);
inline void machine_start(Context&, Controller&, const PlanView&) {}

#include "system/system.hpp"

enum FaultKind : u64 {
    NO_FAULT,
    WRONG_BYTE,
    LOST_COMPLETION,
    DOUBLE_COMPLETION,
    DOUBLE_ATOMIC,
    IDLE_ATOMIC,
    WRONG_CALLBACK,
    SHORT_LOG,
    FOREIGN_ATOMIC,
    LOST_STORE,
    LOST_ANSWER,
    BACKWARD_ATOMIC,
    LOST_WALK,
    WRONG_ADDRESS,
    WRONG_END,
};

// The script: what decides, and what goes wrong when.
struct Script {
    u64 seed;
    u64 slow;  // of 4 messages so many are recycled
    u64 fault;
    u64 fault_at;
    u64 seen;
    u64 turns[64];
    const ProgramView* programs[8];
};

static Script script;

static bool faulty(u64 kind) { return kind == script.fault && ++script.seen == script.fault_at; }

static DataBlock block_of(Context& x, u64 line) {
    DataBlock block = {};
    __builtin_memcpy(block.data, memory_line(x, line, false), LINE_BYTES);
    return block;
}

static void keep(Context& x, u64 line, const DataBlock& block) {
    __builtin_memcpy(memory_line(x, line, true), block.data, LINE_BYTES);
    for (u32 i = 0; i < requester_parts(x).requesters.count; ++i) {
        if (requester_at(x, i).kind == RequesterKind::SEQUENCER)
            Sequencer_evictionCallback(x, i, line);
    }
}

static void reside(Context& x, u32 cache, u64 line, u64 h) {
    if (h % 3 || CacheMemory_isTagPresent(x, cache, line) ||
        !CacheMemory_cacheAvail(x, cache, line))
        return;
    CacheMemory_allocate(x, cache, line, new_entry(x, 0));
}

static void spoil(const RubyRequest& request, DataBlock& block) {
    if (!faulty(WRONG_BYTE)) return;
    bytes_of(block)[request.PhysicalAddress - request.LineAddress] ^= 1;
}

static void spoil_end(u64 end, DataBlock& block) {
    if (faulty(WRONG_END)) bytes_of(block)[end - 1] ^= 1;
}

static void later(Context& x, u32 c, u64 line, u64 sequence, u32 what, u64 h) {
    Ping& ping = new_message<Ping>(x);
    ping.addr = line;
    ping.value = static_cast<u32>(sequence);
    ping.hops = what;
    MessageBuffer_enqueue(x, 2 * c + 1, ping, 1 + static_cast<i64>((h >> 8) % 60));
}

static void complete(Context& x, u32 c, u64 line, u64 sequence) {
    if (faulty(LOST_COMPLETION)) return;
    VIPERCoalescer_writeCompleteCallback(x, c, line, sequence);
    if (faulty(DOUBLE_COMPLETION)) VIPERCoalescer_writeCompleteCallback(x, c, line, sequence);
}

static void atomic(Context& x, u32 c, const RubyRequest& request) {
    const u64 line = request.LineAddress;
    const bool returns = request.Type == RubyRequestType::ATOMIC_RETURN;
    DataBlock block = block_of(x, line);
    DataBlock result = block;
    if (!faulty(IDLE_ATOMIC)) {
        DataBlock_atomicPartial(x, result, block, request.writeMask, !returns);
        block = result;
    } else {
        DataBlock_atomicPartial(x, result, block, request.writeMask, !returns);
    }
    const u64 offset = request.PhysicalAddress - line;
    u32 word;
    __builtin_memcpy(&word, bytes_of(block) + offset, 4);
    if (faulty(DOUBLE_ATOMIC)) ++word;
    if (faulty(FOREIGN_ATOMIC)) word ^= 1u << 30;
    if (faulty(BACKWARD_ATOMIC)) word -= 3;
    __builtin_memcpy(bytes_of(block) + offset, &word, 4);
    keep(x, line, block);
    if (returns && faulty(SHORT_LOG)) result.logged--;
    if (faulty(LOST_ANSWER)) return;
    VIPERCoalescer_atomicCallback(x, c, line, 0, result);
}

static void serve_coalescer(Context& x, u32 c, const RubyRequest& request, u64 h) {
    const u64 line = request.LineAddress;
    DataBlock block = block_of(x, line);
    if (request.Type == RubyRequestType::LD) {
        reside(x, c, line, h);
        spoil(request, block);
        if (faulty(LOST_ANSWER)) return;
        if (faulty(WRONG_CALLBACK)) return GPUCoalescer_writeCallback(x, c, line, 0, block);
        GPUCoalescer_readCallback(x, c, faulty(WRONG_ADDRESS) ? line + 4 : line, 0, block);
    } else if (request.Type == RubyRequestType::ST) {
        reside(x, c, line, h);
        if (!faulty(LOST_STORE)) {
            DataBlock_copyPartial(x, block, request.WTData, request.writeMask);
            keep(x, line, block);
        }
        const u64 sequence = request.instSeqNum;
        const u64 mode = (h >> 4) % 4;
        if (mode & 1) complete(x, c, line, sequence);
        if (mode < 3) {
            GPUCoalescer_writeCallback(x, c, line, 0, block);
        } else {
            later(x, c, line, sequence, 1, h);
        }
        if (mode == 0) complete(x, c, line, sequence);
        if (mode == 2) later(x, c, line, sequence, 0, h);
    } else if (request.Type == RubyRequestType::REPLACEMENT) {
        CacheMemory_deallocate(x, c, line);
        if (!faulty(LOST_WALK)) VIPERCoalescer_invTCPCallback(x, c, line);
    } else if (request.Type == RubyRequestType::InvL2) {
        VIPERCoalescer_invTCCCallback(x, c, line);
    } else if (request.Type == RubyRequestType::FLUSH) {
        GPUCoalescer_writeCallback(x, c, line, 0, block);
    } else {
        atomic(x, c, request);
    }
}

static void serve_sequencer(Context& x, u32 c, const RubyRequest& request, u64 h) {
    const u64 line = request.LineAddress;
    DataBlock block = block_of(x, line);
    if (request.Type == RubyRequestType::REPLACEMENT) {
        CacheMemory_deallocate(x, c, line);
        if (!faulty(LOST_WALK)) Sequencer_invL1Callback(x, c);
    } else if (request.Type == RubyRequestType::ATOMIC_RETURN ||
               request.Type == RubyRequestType::ATOMIC_NO_RETURN) {
        const DataBlock old = block;
        DataBlock_atomicPartial(x, block, old, request.writeMask, false);
        DataBlock_clearAtomicLogEntries(x, block);
        keep(x, line, block);
        if (!faulty(LOST_ANSWER)) Sequencer_atomicCallback(x, c, line, old);
    } else if (request.Type == RubyRequestType::LD || request.Type == RubyRequestType::IFETCH) {
        reside(x, c, line, h);
        spoil(request, block);
        spoil_end(request.PhysicalAddress - line + static_cast<u64>(request.Size), block);
        if (faulty(LOST_ANSWER)) return;
        if (faulty(WRONG_CALLBACK)) return Sequencer_writeCallback(x, c, line, block);
        Sequencer_readCallback(x, c, line, block);
    } else {
        const AtomicWay way = requester_at(x, c).atomics;
        const bool linked = way == AtomicWay::LINKED || way == AtomicWay::CONDITIONAL;
        if (linked && h % 7 == 0 && Sequencer_llscCheckMonitor(x, c, line)) {
            Sequencer_writeCallbackScFail(x, c, line, block);
        } else if (h % 4 || linked) {
            Sequencer_writeCallback(x, c, line, block);
        } else {
            Sequencer_writeUniqueCallback(x, c, line, block);
        }
        if (!faulty(LOST_STORE)) keep(x, line, block);
    }
}

static void serve_dma(Context& x, u32 c, const SequencerMsg& request) {
    DataBlock block = block_of(x, request.LineAddress);
    if (faulty(LOST_ANSWER)) return;
    if (request.Type == SequencerRequestType::LD) {
        spoil_end(request.PhysicalAddress - request.LineAddress + static_cast<u64>(request.Len),
                  block);
        DMASequencer_dataCallback(x, c, block, request.PhysicalAddress);
    } else {
        if (!faulty(LOST_STORE)) {
            DataBlock_copyPartial(x, block, request.DataBlk, request.writeMask);
            keep(x, request.LineAddress, block);
        }
        DMASequencer_ackCallback(x, c, request.LineAddress);
    }
}

inline void machine_wakeup(Context& x, Controller& c) {
    const u32 done = 2 * c.id + 1;
    while (MessageBuffer_isReady(x, done)) {
        const Ping& ping = static_cast<const Ping&>(*MessageBuffer_peek(x, done, Ping::TYPE));
        MessageBuffer_dequeue(x, done);
        DataBlock block = block_of(x, ping.addr);
        if (ping.hops) {
            GPUCoalescer_writeCallback(x, c.id, ping.addr, 0, block);
        } else {
            complete(x, c.id, ping.addr, ping.value);
        }
        if (x.s->trouble) return;
    }
    const u32 queue = 2 * c.id;
    const RequesterKind kind = requester_at(x, c.id).kind;
    while (MessageBuffer_isReady(x, queue)) {
        const u64 h = hash64(script.seed, c.id, script.turns[c.id]++);
        if (h % 4 < script.slow) {
            MessageBuffer_recycle(x, queue, 1 + static_cast<i64>((h >> 8) % 20));
            continue;
        }
        const u16 type = kind == RequesterKind::DMA ? SequencerMsg::TYPE : RubyRequest::TYPE;
        const Message& message = *MessageBuffer_peek(x, queue, type);
        MessageBuffer_dequeue(x, queue);
        if (kind == RequesterKind::COALESCER) {
            serve_coalescer(x, c.id, static_cast<const RubyRequest&>(message), h >> 16);
        } else if (kind == RequesterKind::SEQUENCER) {
            serve_sequencer(x, c.id, static_cast<const RubyRequest&>(message), h >> 16);
        } else {
            serve_dma(x, c.id, static_cast<const SequencerMsg&>(message));
        }
        if (x.s->trouble) return;
    }
}

static ProgramView views[8];

static Context context_for(void* block) {
    Context x = context_of(block);
    x.client_view = views;
    return x;
}

EXPORT u64 t_size(const u64* plan, u64 words) { return system_size(plan, words); }
EXPORT u64 t_start(void* block, u64 bytes, const u64* plan, u64 words) {
    return system_start(block, bytes, plan, words);
}
EXPORT void t_script(u64 seed, u64 slow, u64 fault, u64 fault_at) {
    script = {};
    script.seed = seed;
    script.slow = slow;
    script.fault = fault;
    script.fault_at = fault_at;
}
EXPORT u64 t_seen() { return script.seen; }
EXPORT i64 t_add_driver(void* block, const ProgramView* program, u64 role, const u32* requesters,
                        const u8* steps, u64 identity) {
    Context x = context_for(block);
    views[client_parts(x).driver_count] = *program;
    return Driver_add(x, *program, static_cast<u8>(role), requesters, steps, identity);
}
EXPORT i64 t_add_flusher(void* block, u64 requester, const u64* lines, u64 count, u64 identity) {
    Context x = context_for(block);
    return Flusher_add(x, static_cast<u32>(requester), lines, count, identity);
}
EXPORT u64 t_run(void* block, u64 until) {
    Context x = context_for(block);
    return run(x, until);
}
EXPORT u64 t_next_tick(void* block) { return next_tick(context_for(block)); }
EXPORT u64 t_overdue(void* block, u64 limit) {
    Context x = context_for(block);
    return Checker_overdue(x, limit);
}
EXPORT u64 t_finish(void* block) {
    Context x = context_for(block);
    return Checker_finish(x);
}
// Everything that both engines must agree about.
EXPORT void t_state(void* block, u64* out) {
    Context x = context_for(block);
    const ClientParts& parts = client_parts(x);
    const Finding& f = parts.finding;
    const u64 finding[] = {f.verdict, f.tick, f.identity, static_cast<u64>(f.index),
                           f.address, f.size, f.expected, f.got,
                           f.role,    f.kind};
    const u64 rest[] = {now(x),
                        x.s->engine.sequence,
                        x.s->error.kind,
                        x.s->error.tick,
                        x.s->pool.name,
                        parts.lane_accesses,
                        requesters_leaking(x),
                        parts.flushers_left,
                        static_cast<u64>(Driver_refused(x))};
    for (u64 word : finding) *out++ = word;
    for (u64 word : rest) *out++ = word;
    for (u32 i = 0; i < 2; ++i) {
        const Driver& d = parts.drivers[i];
        const u64 words[] = {d.completed,  d.live, d.live_time, d.handover_time,
                             d.agent_time, d.end,  d.running,   d.identity};
        for (u64 word : words) *out++ = word;
    }
}
EXPORT u64 t_byte(void* block, u64 address) {
    Context x = context_for(block);
    const u64 offset = address & LINE_MASK;
    return reinterpret_cast<const u8*>(memory_line(x, address - offset, false))[offset];
}

// ---------------------------------------------------------------- the checker alone

EXPORT void t_now(void* block, u64 tick) { static_cast<System*>(block)->engine.now = tick; }
EXPORT u64 t_issued(void* block, u64 agent, u64 role, u64 kind, u64 place, u64 scope) {
    Context x = context_for(block);
    const ProgramView& program = views[0];
    const bool action =
        kind <= AccessKind::STORE || (kind == AccessKind::ATOMIC && role == Role::ACTION);
    const i64 first = kind == AccessKind::ATOMIC ? program.first_word[place] : 0;
    const i64 lanes = kind == AccessKind::ATOMIC ? program.first_word[place + 1] - first : 0;
    const Source source = kind == AccessKind::ATOMIC ? Source::WORDS : Source::NOTHING;
    Agent& a = agent_at(x, static_cast<u32>(agent));
    const u32 index =
        action ? Agent_action_access(x, a, static_cast<u8>(role), static_cast<u8>(kind), place)
               : Agent_access(x, a, static_cast<u8>(role), static_cast<u8>(kind), source, place,
                              first, lanes);
    Access& access = access_at(x, index);
    access.issued = now(x);
    access.scope = static_cast<u8>(scope);
    Checker_issued(x, access, index);
    return index;
}
EXPORT void t_answered(void* block, u64 index, u64 what, u64 lanes, u64 line, const u8* bytes,
                       const u64* old, u64 values) {
    Context x = context_for(block);
    Access& access = access_at(x, static_cast<u32>(index));
    const u32 number = line_index(x, line);
    switch (what) {
        case 0: return Checker_loaded(x, access, lanes, number, bytes);
        case 1: return Checker_accepted(x, access, lanes, number);
        case 2: return Checker_completed(x, access, lanes, number);
        case 3: return Checker_returned(x, access, lanes, old, static_cast<u32>(values));
        default: return Checker_synchronized(x, access);
    }
}
