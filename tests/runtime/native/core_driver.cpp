// The runtime core with controllers that follow a script instead of a protocol, for
// tests/native/test_core_*.py: the same script runs on the Python runtime.

#include "core_types.hpp"

#include "system/core.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct ControllerParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};
struct RequesterParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};
struct ClientParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};

inline void message_mark(Context& x, Marker& marker, const Message& message) {
    if (message.type == Ping::TYPE) mark_value(x, marker, static_cast<const Ping&>(message).data);
}
inline void entry_mark(Context& x, Marker& marker, u32, const AbstractCacheEntry& entry) {
    mark_value(x, marker, static_cast<const Entry&>(entry).data);
}
inline void record_mark(Context&, Marker&, u32, const TbeHeader&) {}
inline void machine_mark(Context& x, Controller& c, Marker& marker) {
    const Machine& m = static_cast<Machine&>(c);
    for (const TriggerQueue<i32>& queue : m.queues) mark_value(x, marker, queue);
    mark_value(x, marker, m.partitions);
}
inline void machine_enqueue_prefetch(Context&, Controller& c, u64 address, i32 kind) {
    Machine& m = static_cast<Machine&>(c);
    m.asked = mix64(m.asked + address + static_cast<u64>(kind));
}
inline void entry_invalidate(Context&, u32, AbstractCacheEntry&) {}
inline void requesters_mark(Context&, Marker&) {}
inline void context_bind(Context&) {}
inline void requesters_start(Context&, const PlanView&) {}
inline void requester_wakeup(Context&, u32) {}
inline u64 requesters_completed(const Context&) { return 0; }
inline void client_wakeup(Context&, u32) {}
inline void controller_memory_respond(Context&, u32, Message&) {}
inline void controller_memory_offer(Context&, u32) {}
inline void machine_wakeup(Context& x, Controller& c);

inline void machine_start(Context& x, Controller& c, const PlanView& plan) {
    const PlanWords words = plan.controller(c.id);
    Machine& m = static_cast<Machine&>(c);
    m.machineID = {static_cast<i32>(words.word(PLAN_CONTROLLER_MACHINE_TYPE)),
                   words.handle(PLAN_CONTROLLER_MACHINE_VERSION)};
    m.table = TBETable_create(x, 0, words.list(PLAN_OBJECTS)[0]);
    m.directory = DirectoryMemory_create(x, 0, m.machineID, true);
    for (u32& timer : m.timers) timer = TimerTable_create(x, c.id);
    m.persistent = PersistentTable_create(x);
    m.perfect = PerfectCacheMemory_create(x, 0);
    m.prefetcher = RubyPrefetcher_create(x, c.id);
    for (u32 i = 0; i < 2; i++)
        m.storages[i] = TBEStorage_create(x, words.list(PLAN_OBJECTS)[1 + i]);
    MN_TBEStorage_start(m.partitions, m.storages[0], m.storages[1]);
}

#include "system/system.hpp"

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
        if (MessageBuffer_areNSlotsAvailable(x, buffer, 1))
            MessageBuffer_enqueue(x, buffer, ping, latency, bypass);
        return;
    }
    const u32 port = c * (x.s->ports / x.s->controllers) +
                     static_cast<u32>((h >> 31) % (x.s->ports / x.s->controllers));
    if (!NetworkPort_areNSlotsAvailable(x, port, 1)) return;
    const u64 all = (u64{1} << x.s->topology.nodes) - 1;
    ping.Destination =
        nodes_of((h >> 36) % 4 ? u64{1} << (h >> 50) % x.s->topology.nodes : (h >> 50) & all);
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
EXPORT u64 t_start(void* block, u64 bytes, const u64* plan, u64 words) {
    return system_start(block, bytes, plan, words);
}
EXPORT void t_log(Log* log) { log_of = log; }
EXPORT void t_put(void* block, u64 buffer, u64 addr, u64 value, u64 hops, u64 latency) {
    Context x = context_of(block);
    MessageBuffer_enqueue(x, static_cast<u32>(buffer), make_ping(x, addr, value, hops),
                          static_cast<i64>(latency));
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

// ---------------------------------------------------------------- storage

EXPORT u64 t_mistake(void* block) {
    System& s = *static_cast<System*>(block);
    const u64 kind = s.error.kind;
    s.error = {};
    s.trouble = 0;
    return kind;
}

EXPORT void t_end_wakeup(void* block) {
    Context x = context_of(block);
    limbo_release(x);
}

EXPORT void t_tick(void* block, u64 tick) { static_cast<System*>(block)->engine.now = tick; }

EXPORT u64 t_cache(void* block, u64 op, u64 index, u64 address, u64 number) {
    Context x = context_of(block);
    const u32 cache = static_cast<u32>(index);
    switch (op) {
        case 0: {
            AbstractCacheEntry* entry = number == 77 ? nullptr : new_entry(x, 0);
            CacheMemory_allocate(x, cache, address, entry);
            return 0;
        }
        case 1: CacheMemory_deallocate(x, cache, address); return 0;
        case 2: {
            const AbstractCacheEntry* entry = CacheMemory_lookup(x, cache, address);
            return entry ? entry->address + 1 : 0;
        }
        case 3: return CacheMemory_isTagPresent(x, cache, address);
        case 4: return CacheMemory_cacheAvail(x, cache, address);
        case 5: return CacheMemory_cacheProbe(x, cache, address);
        case 6: CacheMemory_setMRU(x, cache, address); return 0;
        case 7:
            CacheMemory_setMRU_entry(x, cache, CacheMemory_lookup(x, cache, line_of(x, address)));
            return 0;
        case 8: {
            AbstractCacheEntry* entry = CacheMemory_lookup(x, cache, line_of(x, address));
            if (entry) AbstractCacheEntry_changePermission(x, *entry, static_cast<i32>(number % 8));
            return entry != nullptr;
        }
        case 9: return CacheMemory_getAddressAtIdx(x, cache, static_cast<i64>(number));
        case 10:
            CacheMemory_recordRequestType(x, cache, static_cast<i32>(number % 5), address);
            return 0;
        case 11:
            return CacheMemory_checkResourceAvailable(x, cache, static_cast<i32>(number % 3),
                                                      address);
    }
    return 0;
}

// Keep an entry that is NotPresent from one call to the next, as a protocol's pointer would.
EXPORT u64 t_show(void* block, u64 index, u64 frame, u64 permission) {
    Context x = context_of(block);
    const u32 handle = in_block<u32>(x, cache_memory(x, static_cast<u32>(index)).frames)[frame];
    if (!handle) return 0;
    AbstractCacheEntry_changePermission(x, of_handle<AbstractCacheEntry>(x, handle),
                                        static_cast<i32>(permission));
    return 1;
}

EXPORT u64 t_lines(void* block, u64 index, u64* out, u64 room) {
    Context x = context_of(block);
    return CacheMemory_visible_lines(x, static_cast<u32>(index), out, room);
}

EXPORT u64 t_records(void* block, u64 op, u64 index, u64 address, u64 number) {
    Context x = context_of(block);
    const u32 table = static_cast<Machine&>(controller(x, static_cast<u32>(index))).table;
    switch (op) {
        case 0: static_cast<TBE*>(TBETable_allocate(x, table, address))->value = number; return 0;
        case 1: TBETable_deallocate(x, table, address); return 0;
        case 2: {
            const TbeHeader* record = TBETable_lookup(x, table, address);
            return record ? static_cast<const TBE*>(record)->value + 1 : 0;
        }
        case 3: return TBETable_isPresent(x, table, address);
        case 4: return TBETable_areNSlotsAvailable(x, table, static_cast<i64>(number));
    }
    return 0;
}

EXPORT u64 t_directory(void* block, u64 op, u64 index, u64 address) {
    Context x = context_of(block);
    const u32 directory = static_cast<Machine&>(controller(x, static_cast<u32>(index))).directory;
    switch (op) {
        case 0: DirectoryMemory_allocate(x, directory, address, new_entry(x, 0)); return 0;
        case 1: DirectoryMemory_deallocate(x, directory, address); return 0;
        case 2: {
            const AbstractCacheEntry* entry = DirectoryMemory_lookup(x, directory, address);
            return entry ? entry->address + 1 : 0;
        }
        case 3: return DirectoryMemory_isPresent(x, directory, address);
    }
    return 0;
}

#include "core_tables.hpp"

EXPORT u64 t_memory(void* block, u64 type, u64 address, u64 length, u64* data) {
    Context x = context_of(block);
    MemoryMsg& request = new_message<MemoryMsg>(x);
    request.addr = address;
    request.Type = static_cast<i32>(type);
    request.Len = static_cast<i32>(length);
    __builtin_memcpy(request.DataBlk.data, data, sizeof request.DataBlk.data);
    MemoryMsg& response = Memory_access(x, request, {MachineType::Cache, 0});
    __builtin_memcpy(data, response.DataBlk.data, sizeof response.DataBlk.data);
    const u64 kind = static_cast<u64>(response.Type) << 8 | static_cast<u64>(response.MessageSize);
    message_to_limbo(x, request);
    message_to_limbo(x, response);
    limbo_release(x);
    return kind;
}

// Give blocks of entries logs, drop some, and see what garbage collection leaves of them.
EXPORT u64 t_garbage(void* block, u64 rounds) {
    Context x = context_of(block);
    Entry* kept[8];
    for (Entry*& entry : kept) {
        entry = static_cast<Entry*>(new_entry(x, 0));
        entry->data = {};
    }
    for (u64 i = 0; i < rounds; i++) {
        Entry& entry = *kept[hash64(i) % 8];
        const u64 action = hash64(i, 1) % 4;
        const u64 value[LINE_WORDS] = {i};
        if (action < 3) DataBlock_log(x, entry.data, value);
        if (action == 3 || entry.data.logged > 6) DataBlock_clearAtomicLogEntries(x, entry.data);
        if (x.s->logs.live > x.s->logs_limit) collect_garbage(x);
        if (x.s->trouble) return i;
    }
    u64 sum = 0;
    for (Entry* entry : kept) {
        while (entry->data.logged) {
            u64 front[LINE_WORDS];
            DataBlock_popAtomicLogEntryFront(x, entry->data, front);
            sum = hash64(sum, front[0]);
        }
    }
    limbo_release(x);
    return sum;
}
