// The runtime core with controllers that follow a script instead of a protocol, for
// tests/native/test_core_*.py: the same script runs on the Python runtime.

#include "core_types.hpp"

#include "runtime/native/core.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct ControllerParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
};
struct RequesterParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
};
struct AgentParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
};

inline void message_mark(Context& x, Marker& marker, const Message& message) {
    if (message.type == Ping::TYPE) mark_value(x, marker, static_cast<const Ping&>(message).data);
}
inline void entry_mark(Context& x, Marker& marker, u32, const AbstractCacheEntry& entry) {
    mark_value(x, marker, static_cast<const Entry&>(entry).data);
}
inline void record_mark(Context&, Marker&, u32, const TbeHeader&) {}
inline void machine_mark(Context&, Controller&, Marker&) {}
inline void requesters_mark(Context&, Marker&) {}
inline void requesters_start(Context&, const PlanView&) {}
inline void requester_wakeup(Context&, u32) {}
inline void agent_wakeup(Context&, u32) {}
inline void controller_memory_respond(Context&, u32, Message&) {}
inline void controller_memory_offer(Context&, u32) {}
inline void machine_wakeup(Context& x, Controller& c);

inline void machine_start(Context& x, Controller& c, const PlanView& plan) {
    const PlanWords words = plan.controller(c.id);
    Machine& m = static_cast<Machine&>(c);
    m.machineID = {static_cast<i32>(words.word(PLAN_MACHINE_TYPE)), words.handle(PLAN_MACHINE_VERSION)};
    m.table = TBETable_create(x, 0, words.list(PLAN_OBJECTS)[0]);
    m.directory = DirectoryMemory_create(x, 0, m.machineID, true);
}

#include "runtime/native/system.hpp"

// What the script did: (tick, controller, buffer, value, action) each.
struct Log {
    u64 words[5 << 16];
    u64 count;
    u64 next_value;
};

static Log* log_of;  // the driver's alone; the runtime has no such thing

static void log_step(Context& x, u32 c, u32 buffer, u64 value, u64 action) {
    if (log_of->count == sizeof log_of->words / sizeof(u64) / 5) return;
    u64* step = log_of->words + 5 * log_of->count++;
    step[0] = now(x);
    step[1] = c;
    step[2] = buffer;
    step[3] = value;
    step[4] = action;
}

static NetDest nodes_of(u64 bits) {
    NetDest set = {};
    set.w[0] = bits;
    return set;
}

static Ping& make_ping(Context& x, u64 addr, u64 value, u64 hops) {
    Ping& ping = new_message<Ping>(x);
    ping.addr = addr;
    ping.value = static_cast<u32>(value);
    ping.hops = static_cast<u32>(hops);
    return ping;
}

// Pass a message on with something new in it: through a port, or into a buffer.
static void forward(Context& x, u32 c, u64 addr, u64 hops, u64 h) {
    Ping& ping = make_ping(x, (addr + (h >> 40) % 3 * 64) % 1024, log_of->next_value++, hops - 1);
    const i64 latency = (h >> 13) % 16 == 0 ? 1500 : static_cast<i64>((h >> 20) % 6);
    const bool bypass = (h >> 33) % 8 == 0;
    if ((h >> 29) % 3 == 0) {
        const u32 buffer = static_cast<u32>((h >> 48) % x.s->buffers);
        if (MessageBuffer_areNSlotsAvailable(x, buffer, 1)) MessageBuffer_enqueue(x, buffer, ping, latency, bypass);
        return;
    }
    const u32 port = c * (x.s->ports / x.s->controllers) + static_cast<u32>((h >> 31) % (x.s->ports / x.s->controllers));
    if (!NetworkPort_areNSlotsAvailable(x, port, 1)) return;
    const u64 all = (u64{1} << x.s->topology.nodes) - 1;
    ping.Destination = nodes_of((h >> 36) % 4 ? u64{1} << (h >> 50) % x.s->topology.nodes : (h >> 50) & all);
    ping.touched = 1;
    NetworkPort_enqueue(x, port, ping, latency, bypass);
}

inline void machine_wakeup(Context& x, Controller& c) {
    u32 budget = 6;
    for (u32 buffer = 0; buffer < x.s->buffers; buffer++) {
        if (message_buffer(x, buffer).consumer != c.id) continue;
        while (budget && MessageBuffer_isReady(x, buffer)) {
            budget--;
            const Ping& ping = static_cast<const Ping&>(*MessageBuffer_peek(x, buffer, Ping::TYPE));
            const u64 h = hash64(ping.value, now(x));
            const u64 action = h % 8;
            log_step(x, c.id, buffer, ping.value, action);
            const u64 addr = ping.addr;
            const u64 hops = ping.hops;
            if (action == 0) {
                MessageBuffer_recycle(x, buffer, 1 + static_cast<i64>((h >> 8) % 5));
            } else if (action == 1) {
                MessageBuffer_stall(x, buffer, addr);
            } else if (action == 2) {
                MessageBuffer_delay_head(x, buffer, 1 + static_cast<i64>((h >> 8) % 4));
            } else {
                if (action == 7) MessageBuffer_wake(x, buffer, addr);
                if (action == 6 && (h >> 8) % 4 == 0) MessageBuffer_wake_all(x, buffer);
                MessageBuffer_dequeue(x, buffer);
                if (hops) forward(x, c.id, addr, hops, h);
                if (hops && (h >> 60) > 9) forward(x, c.id, addr, hops, mix64(h));
            }
        }
    }
    if (!budget) schedule(x, c.id, now(x) + 1);
}

EXPORT u64 t_size(const u64* plan, u64 words) { return system_size(plan, words); }
EXPORT u64 t_start(void* block, u64 bytes, const u64* plan, u64 words) { return system_start(block, bytes, plan, words); }
EXPORT void t_log(Log* log) { log_of = log; }
EXPORT void t_put(void* block, u64 buffer, u64 addr, u64 value, u64 hops, u64 latency) {
    Context x = context_of(block);
    MessageBuffer_enqueue(x, static_cast<u32>(buffer), make_ping(x, addr, value, hops), static_cast<i64>(latency));
}
EXPORT u64 t_run(void* block, u64 until) {
    Context x = context_of(block);
    return run(x, until);
}
EXPORT u64 t_now(void* block) { return static_cast<System*>(block)->engine.now; }
EXPORT u64 t_sequence(void* block) { return static_cast<System*>(block)->engine.sequence; }
EXPORT u64 t_error(void* block) { return static_cast<System*>(block)->error.kind; }
EXPORT u64 t_pool(void* block) { return static_cast<System*>(block)->pool.name; }
EXPORT u64 t_live(void* block) { return static_cast<System*>(block)->messages.live; }
EXPORT void t_buffer(void* block, u64 buffer, u64* out) {
    Context x = context_of(block);
    const MessageBuffer& b = message_buffer(x, static_cast<u32>(buffer));
    out[0] = b.count;
    out[1] = b.stalled_lines;
    out[2] = b.taken;
    out[3] = static_cast<u64>(MessageBuffer_getSize(x, static_cast<u32>(buffer)));
}
