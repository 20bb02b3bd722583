// Building a system from a plan, and waking its consumers.
//
// Invariant: what stands where follows from the plan alone, so two blocks of one plan can be
// compared and copied byte by byte.

#pragma once

#include "system/core.hpp"
#include "system/watchdog.hpp"
#include "block/line_slots.hpp"

// What the parts of other layers add to the block: layout() what has to be zero at first,
// unset_layout() the rest.
struct SystemParts {
    ControllerParts controllers;
    RequesterParts requesters;
    ClientParts clients;
};

// ---------------------------------------------------------------- consumers

inline Controller& controller(const Context& x, u32 id) {
    INVARIANT(id < x.s->controllers);
    return *reinterpret_cast<Controller*>(x.controllers + u64{id} * CONTROLLER_STRIDE);
}

inline void consumer_wakeup(Context& x, u32 consumer) {
    const System& s = *x.s;
    if (consumer < s.controllers) {
        machine_wakeup(x, controller(x, consumer));
        return;
    }
    x.controller = NIL;
    consumer -= s.controllers;
    if (consumer < s.requesters) {
        requester_wakeup(x, consumer);
    } else {
        client_wakeup(x, consumer - s.requesters);
    }
}

enum RunEnd : u32 { RUN_IDLE, RUN_UNTIL, RUN_TROUBLE, RUN_EXHAUSTED };

// Run until nothing is pending, stop() was called, or the next tick is beyond `until` (NONE:
// no limit), or something went wrong.
inline APART RunEnd run(Context& x, u64 until) {
    System& s = *x.s;
    s.engine.stopped = 0;
    if (s.pool.name) return RUN_EXHAUSTED;
    if (s.trouble) return RUN_TROUBLE;
    while (!s.engine.stopped) {
        const u64 tick = next_tick(x);
        if (tick == NONE) return RUN_IDLE;
        if (tick > until) return RUN_UNTIL;
        run_tick(x, tick);
        if (UNLIKELY(s.engine.wakeups >= s.engine.look_wakeups ||
                     s.engine.sequence >= s.engine.look_sequence)) {
            watchdog_look(x);
        }
        if (UNLIKELY(s.trouble)) return s.pool.name ? RUN_EXHAUSTED : RUN_TROUBLE;
        if (UNLIKELY(s.logs.live > s.logs_limit || s.atomics.live > s.atomics_limit ||
                     s.triggers.live > s.triggers_limit)) {
            collect_garbage(x);
        }
    }
    return next_tick(x) == NONE ? RUN_IDLE : RUN_UNTIL;
}

// ---------------------------------------------------------------- sizes

struct MachineTotals {
    u64 controllers, entries, records, tables, directories;
    LibraryTotals library;
};

inline MachineTotals machine_totals(const PlanView& plan, u32 machine) {
    const Capacities& room = plan.capacities;
    const MachineShape& shape = MACHINE_SHAPES[machine];
    MachineTotals totals = {};
    PlanWords c = plan.controller(0);
    for (u32 id = 0; id < room.controllers; id++, c = PlanView::after(c, PLAN_CONTROLLER_LISTS)) {
        if (c.word(PLAN_CONTROLLER_MACHINE) != machine) continue;
        totals.controllers++;
        totals.tables += shape.tables;
        totals.directories += shape.directories;
        totals.entries += (shape.directories + shape.perfect_tables) * room.lines;
        totals.library.timers += shape.timers;
        totals.library.persistent += shape.persistent_tables;
        totals.library.perfect += shape.perfect_tables;
        totals.library.prefetchers += shape.prefetchers;
        const u64* objects = c.list(PLAN_OBJECTS);
        for (u64 i = 0; i < objects[-1]; i++) {
            if (shape.objects[i] == 'T')
                totals.records += objects[i] < room.lines ? objects[i] : room.lines;
            totals.library.proxies += shape.objects[i] == 'P';
            if (shape.objects[i] != 'S') continue;
            totals.library.storages++;
            totals.library.slots += 2 * objects[i];
        }
        for (u32 cache = 0; cache < room.caches; cache++) {
            const u64* words = plan.caches + cache * PLAN_CACHE_WORDS;
            if (words[PLAN_CACHE_CONTROLLER] == id)
                totals.entries += words[PLAN_CACHE_SETS] * words[PLAN_CACHE_WAYS];
        }
    }
    // What a wake-up gives up is free again only after it.
    totals.entries += 64;
    totals.records += 64;
    return totals;
}

inline u64 counts_of(u32 machine) {
    return u64{MACHINE_SHAPES[machine].states + 1} * (MACHINE_SHAPES[machine].events + 1);
}

template <class T>
inline u64 reserve_bytes(Layout& layout, u64 count) {
    Array<T> array;
    layout.reserve(array, count);
    return array.offset;
}

inline u32 tree_words(const u64* cache) {
    const bool tree = cache[PLAN_CACHE_REPLACEMENT] == REPLACEMENT_TREE_PLRU;
    return tree ? static_cast<u32>((cache[PLAN_CACHE_WAYS] + 63) / 64) : 0;
}

inline void cache_layout(Layout& layout, CacheMemory& c, const u64* words) {
    c.controller = static_cast<u32>(words[PLAN_CACHE_CONTROLLER]);
    c.sets = words[PLAN_CACHE_SETS];
    c.ways = static_cast<u32>(words[PLAN_CACHE_WAYS]);
    c.set_mask = c.sets & (c.sets - 1) ? 0 : c.sets - 1;
    c.start_index_bit = static_cast<u32>(words[PLAN_CACHE_START_INDEX_BIT]);
    c.tree_words = tree_words(words);
    c.resource_stalls = words[PLAN_CACHE_RESOURCE_STALLS] != 0;
    c.tag_latency = static_cast<u32>(words[PLAN_CACHE_TAG_LATENCY]);
    c.data_latency = static_cast<u32>(words[PLAN_CACHE_DATA_LATENCY]);
    c.tags = {0, static_cast<u32>(words[PLAN_CACHE_TAG_BANKS]), c.tag_latency};
    c.data = {0, static_cast<u32>(words[PLAN_CACHE_DATA_BANKS]), c.data_latency};
    c.alu_count = static_cast<u32>(words[PLAN_CACHE_ALUS]);
    c.alu_latency = static_cast<u32>(words[PLAN_CACHE_ALU_LATENCY]);
    c.frames = reserve_bytes<u32>(layout, c.sets * c.ways);
    c.free = reserve_bytes<u32>(layout, c.sets);
    c.touched = reserve_bytes<u64>(layout, c.sets * (c.tree_words ? c.tree_words : c.ways));
    if (c.tree_words == 1) c.paths = reserve_bytes<TreePath>(layout, c.ways);
    if (!c.resource_stalls) return;
    c.tags.banks = reserve_bytes<BankState>(layout, c.tags.count);
    c.data.banks = reserve_bytes<BankState>(layout, c.data.count);
    c.alu_room = 4 * (c.alu_count + 1) * (c.alu_latency + 2);
    c.alu_starts = reserve_bytes<AluStart>(layout, c.alu_room);
}

// Give everything a place that has to be zero at first, but caches. Returns where those begin.
inline u64 system_layout(System& s, SystemParts& parts, const PlanView& plan) {
    const Capacities& room = plan.capacities;
    Layout layout = {sizeof(System)};
    EngineState& e = s.engine;
    e.consumers = room.consumers;
    e.words = (room.consumers + 63) / 64;
    layout.reserve(e.flags, e.words);
    layout.reserve(e.pending, e.words);
    layout.reserve(e.wheel, WHEEL);
    layout.reserve(e.wakes, u64{WHEEL} * e.words);
    layout.reserve(s.message_buffers, room.buffers);
    layout.reserve(s.network_ports, room.ports);
    layout.reserve(s.channels, plan.channels);
    layout.reserve(s.script, plan.scripted);
    layout.reserve(s.routes, u64{room.ports} * NODE_WORDS * 64);
    layout.reserve(s.cache_memories, room.caches);
    layout.reserve(s.topology.machine_of, room.nodes);
    layout.reserve(s.controller_bytes, u64{room.controllers} * CONTROLLER_STRIDE);

    u64 tables = 0;
    u64 directories = 0;
    u64 counts = 0;
    LibraryTotals library = {};
    for (u32 machine = 0; machine < MACHINES; machine++) {
        const MachineTotals totals = machine_totals(plan, machine);
        tables += totals.tables;
        directories += totals.directories;
        counts += totals.controllers * counts_of(machine);
        library.timers += totals.library.timers;
        library.persistent += totals.library.persistent;
        library.perfect += totals.library.perfect;
        library.prefetchers += totals.library.prefetchers;
        library.proxies += totals.library.proxies;
        library.storages += totals.library.storages;
        library.slots += totals.library.slots;
    }
    layout.reserve(s.tables, tables);
    layout.reserve(s.directories, directories);
    layout.reserve(s.entries, MACHINES);
    layout.reserve(s.records, MACHINES);
    layout.reserve(s.counts, counts);
    layout.reserve(s.controller_parts, 1);
    layout.reserve(s.requester_parts, 1);
    layout.reserve(s.client_parts, 1);

    s.lines.capacity = static_cast<u32>(room.lines);
    s.lines.shift = 63;
    while ((u64{1} << (64 - s.lines.shift)) < 2 * room.lines) s.lines.shift--;
    layout.reserve(s.lines.table, u64{1} << (64 - s.lines.shift));
    layout.reserve(s.lines.window, LINE_WINDOW * room.lines);
    s.stall_rows = room.buffers;
    const u64 keyed = room.caches + tables + directories + library.timers + library.perfect +
                      QUEUE_PLACES * room.requesters;
    // What is left free before the places of a node is less than those.
    const u64 most = 2 * (keyed + delayed_channels(plan));
    s.places.count = room.lines * (places_stride(most) / sizeof(u32));
    layout.reserve(s.line_queues, room.requesters);
    layout.reserve(s.memory.state, room.lines);
    s.library.layout(layout, library, room.lines);

    parts.controllers.layout(layout, room, plan);
    parts.requesters.layout(layout, room, plan);
    parts.clients.layout(layout, room, plan);
    return layout.size;
}

// What is written before it is read, so that it need not be zero.
inline u64 unset_layout(u64 size, System& s, SystemParts& parts, const PlanView& plan) {
    const Capacities& room = plan.capacities;
    Layout layout = {size};
    layout.reserve(s.watchdog.before, s.counts.count);
    layout.reserve(s.lines.addresses, room.lines);
    layout.reserve(s.places, s.places.count);
    layout.reserve(s.stalls, room.lines * s.stall_rows);
    layout.reserve(s.memory.image, room.lines * LINE_WORDS);
    layout.reserve(s.engine.far, room.far);
    parts.controllers.unset_layout(layout, room, plan);
    parts.requesters.unset_layout(layout, room, plan);
    parts.clients.unset_layout(layout, room, plan);
    return layout.size;
}

// The end of the layout: pools, of which a system at tick 0 has taken nothing.
inline u64 pools_layout(u64 size, System& s, const Capacities& room) {
    Layout layout = {size};
    layout.reserve(s.events, POOL_EVENTS, sizeof(Message), room.events);
    layout.reserve(s.flights, POOL_FLIGHTS, sizeof(Flight), room.flights);
    layout.reserve(s.atomics, POOL_ATOMICS, sizeof(AtomicNode), room.atomics);
    layout.reserve(s.logs, POOL_LOGS, sizeof(LogNode), room.logs);
    layout.reserve(s.triggers, POOL_TRIGGERS, TRIGGER_BYTES, TRIGGER_BYTES ? room.triggers : 0);
    layout.reserve(s.messages, POOL_MESSAGES, sizeof(AnyMessage), room.messages);
    return (layout.size + 63) & ~u64{63};
}

// Where caches stand. `array` is where their descriptions are, or nullptr if only the size is asked for.
inline u64 caches_layout(u64 size, const PlanView& plan, CacheMemory* caches) {
    Layout layout = {size};
    for (u32 cache = 0; cache < plan.capacities.caches; cache++) {
        CacheMemory c = {};
        cache_layout(layout, c, plan.caches + cache * PLAN_CACHE_WORDS);
        if (caches) caches[cache] = c;
    }
    return layout.size;
}

// The same for the pools of machines.
inline u64 machine_pools_layout(u64 size, const PlanView& plan, Pool* entries, Pool* records) {
    Layout layout = {size};
    for (u32 machine = 0; machine < MACHINES; machine++) {
        const MachineTotals totals = machine_totals(plan, machine);
        const MachineShape& shape = MACHINE_SHAPES[machine];
        Pool pool = {};
        layout.reserve(pool, POOL_TABLES, shape.entry_bytes,
                       shape.entry_bytes ? totals.entries : 0);
        if (entries) entries[machine] = pool;
        pool = {};
        layout.reserve(pool, POOL_TABLES, shape.tbe_bytes, shape.tbe_bytes ? totals.records : 0);
        if (records) records[machine] = pool;
    }
    return layout.size;
}

// Whether this object can run such a system.
inline bool plan_fits(const PlanView& plan) {
    if (plan.line_bits > 31 || (u64{1} << plan.line_bits) != LINE_BYTES) return false;
    return plan.capacities.nodes <= NODE_WORDS * 64 && plan.type_count <= MACHINE_TYPES;
}

// Bytes of a block. Only so many at its beginning have to be zero when a system is built in it.
struct BlockSize {
    u64 zeroed;
    u64 all;
};

inline BlockSize block_size(const PlanView& plan) {
    System s = {};
    SystemParts parts = {};
    const u64 zeroed = caches_layout(system_layout(s, parts, plan), plan, nullptr);
    const u64 unset = unset_layout(zeroed, s, parts, plan);
    const u64 machines = machine_pools_layout(unset, plan, nullptr, nullptr);
    return {zeroed, pools_layout(machines, s, plan.capacities)};
}

// The size of the block for a plan; 0 for words that are no plan for us.
inline u64 system_size(const u64* words, u64 count) {
    PlanView plan;
    return read_plan(words, count, plan) && plan_fits(plan) ? block_size(plan).all : 0;
}

// ---------------------------------------------------------------- construction

inline Context context_of(void* block) {
    Context x;
    x.base = static_cast<u8*>(block);
    x.s = static_cast<System*>(block);
    if (x.s->magic) {
        core_bind(x);
        context_bind(x);
    }
    return x;
}

inline void topology_start(Context& x, const PlanView& plan) {
    TopologyState& t = x.s->topology;
    t.nodes = plan.capacities.nodes;
    u32 node = 0;
    for (u32 type = 0; type < plan.type_count; type++) {
        const u64* words = plan.types + PLAN_TYPE_WORDS * type;
        t.count[type] = static_cast<u32>(words[PLAN_TYPE_COUNT]);
        t.first[type] = static_cast<u32>(words[PLAN_TYPE_FIRST_NODE]);
        const u64 bit = words[PLAN_TYPE_INTERLEAVE_BIT];
        t.interleaved[type] = bit != NONE;
        t.interleave_bit[type] = static_cast<u8>(bit == NONE ? 0 : bit);
        for (u32 num = 0; num < t.count[type]; num++)
            t.machine_of.at(x, node++) = {static_cast<i32>(type), num};
    }
}

inline void buffers_start(Context& x, const PlanView& plan) {
    System& s = *x.s;
    for (u32 i = 0; i < s.buffers; i++) {
        const u64* words = plan.buffers + i * PLAN_BUFFER_WORDS;
        MessageBuffer& b = message_buffer(x, i);
        b.capacity = static_cast<u32>(words[PLAN_BUFFER_CAPACITY]);
        b.ordered = words[PLAN_BUFFER_ORDERED] != 0;
        b.strict = words[PLAN_BUFFER_STRICT] != 0;
        b.consumer = static_cast<u32>(words[PLAN_BUFFER_CONSUMER]);
        b.special = b.capacity || b.ordered || b.consumer == NIL;
        b.stalls = i;
        b.delays = NIL;
        if (words[PLAN_BUFFER_DELAY])
            channel_delays_start(s, words[PLAN_BUFFER_DELAY], b.delay_key, b.delay_start);
    }
    const u64* words = plan.ports;
    u32 index = 0;
    for (u32 i = 0; i < s.ports; i++) {
        NetworkPort& port = network_port(x, i);
        port.capacity = static_cast<u32>(words[PLAN_PORT_CAPACITY]);
        port.ordered = words[PLAN_PORT_ORDERED] != 0;
        port.latency = static_cast<u32>(words[PLAN_PORT_LATENCY]);
        port.owner = static_cast<u32>(words[PLAN_PORT_OWNER]);
        port.bus = static_cast<u32>(words[PLAN_PORT_BUS]);
        port.delays = NIL;
        if (words[PLAN_PORT_DELAY])
            channel_delays_start(s, words[PLAN_PORT_DELAY], port.delay_key, port.delay_start);
        port.routes = i * NODE_WORDS * 64;
        const u64 channels = words[PLAN_PORT_CHANNELS];
        words += PLAN_PORT_WORDS;
        for (u64 j = 0; j < channels; j++, words += PLAN_CHANNEL_WORDS, index++) {
            Channel& channel = s.channels.at(x, index);
            channel.buffer = static_cast<u32>(words[PLAN_CHANNEL_BUFFER]);
            const MessageBuffer& b = message_buffer(x, channel.buffer);
            channel.port = i;
            channel.order = port.ordered && b.ordered ? ~u64{0} : 0;
            channel.limited = port.capacity || b.capacity;
            channel.delays = NIL;
            if (words[PLAN_CHANNEL_DELAY])
                channel_delays_start(s, words[PLAN_CHANNEL_DELAY], channel.delay_key,
                                     channel.delay_start);
            s.routes.at(x, port.routes + words[PLAN_CHANNEL_NODE]) = index + 1;
        }
    }
}

inline void script_start(Context& x, const PlanView& plan) {
    const u64* words = plan.script;
    for (u64 i = 0; i < plan.scripted; i++, words += PLAN_SCRIPT_WORDS) {
        x.s->script.at(x, i) = {words[PLAN_SCRIPT_CHANNEL], words[PLAN_SCRIPT_LINE],
                                words[PLAN_SCRIPT_MESSAGE], words[PLAN_SCRIPT_CYCLES]};
    }
}

inline void storage_start(Context& x, const PlanView& plan) {
    System& s = *x.s;
    for (u32 i = 0; i < s.caches; i++) {
        CacheMemory& c = cache_memory(x, i);
        c.machine = static_cast<u32>(plan.controller(c.controller).word(PLAN_CONTROLLER_MACHINE));
        for (u64 set = 0; set < c.sets; set++) in_block<u32>(x, c.free)[set] = c.ways;
        replacement_start(x, c);
    }
    places_start(x, plan);
    s.logs_limit = s.logs.capacity / 2;
    s.atomics_limit = s.atomics.capacity / 2;
    s.triggers_limit = s.triggers.capacity / 2;
}

inline void controllers_start(Context& x, const PlanView& plan) {
    for (u32 id = 0; id < x.s->controllers; id++) {
        Controller& c = controller(x, id);
        c.id = id;
        c.machine = static_cast<u32>(plan.controller(id).word(PLAN_CONTROLLER_MACHINE));
        machine_start(x, c, plan);
    }
}

// Build a system in a block that is large enough, whose bytes up to `size.zeroed` are zero.
inline void system_start(void* block, const BlockSize& size, const PlanView& plan) {
    count_from_start();
    Context x = context_of(block);
    System& s = *x.s;
    SystemParts parts = {};
    u64 end = system_layout(s, parts, plan);
    end = caches_layout(end, plan, s.cache_memories.in(x));
    end = unset_layout(end, s, parts, plan);
    end = machine_pools_layout(end, plan, s.entries.in(x), s.records.in(x));
    pools_layout(end, s, plan.capacities);
    s.controller_parts.at(x, 0) = parts.controllers;
    s.requester_parts.at(x, 0) = parts.requesters;
    s.client_parts.at(x, 0) = parts.clients;
    core_bind(x);
    context_bind(x);
    s.magic = PLAN_MAGIC;
    s.bytes = size.all;
    s.run_key = plan.run_key;
    s.delay_policy = static_cast<u32>(plan.delay_policy);
    s.controllers = plan.capacities.controllers;
    s.requesters = plan.capacities.requesters;
    s.caches = plan.capacities.caches;
    s.buffers = plan.capacities.buffers;
    s.ports = plan.capacities.ports;
    s.memory.run_key = plan.run_key;
    s.memory.latency = plan.memory_latency;
    s.engine.max_rounds = plan.max_rounds;
    s.watchdog.messages = plan.max_messages;
    s.watchdog.work = plan.max_work;
    s.watchdog.credit = plan.credit;
    watchdog_start(x);
    wheel_start(x);
    s.limbo.last_message = LIMBO_FRONT;
    topology_start(x, plan);
    buffers_start(x, plan);
    script_start(x, plan);
    storage_start(x, plan);
    controllers_start(x, plan);
    requesters_start(x, plan);
    limbo_release(x);
}

// Build a system in a block of zeros. False if the block is too small or begins where none may, or
// the plan is none.
inline bool system_start(void* block, u64 bytes, const u64* words, u64 count) {
    PlanView plan;
    if (!read_plan(words, count, plan) || !plan_fits(plan)) return false;
    const BlockSize size = block_size(plan);
    if (bytes < size.all || reinterpret_cast<u64>(block) % BLOCK_ALIGNMENT) return false;
    system_start(block, size, plan);
    return true;
}
