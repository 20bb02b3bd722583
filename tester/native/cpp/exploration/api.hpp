// What the host may call in objects for exploration. See tester/exploration/native_search.py.
//
// Invariant: a search is the host's from open to close; one call at a time uses it.

#pragma once

#include "exploration/joint_search.hpp"
#include "exploration/random_walk.hpp"

// Behind a configuration there are for each operation kind, scope and target; for each agent requester, operations and whether
// it is relaxed; for each renaming the new numbers of controllers, lines and agents; for each invariant how
// many words it has, and these.

inline bool open_model(Model& m, const u64* plan, u64 words) {
    m.block_bytes = system_size(plan, words);
    if (!m.block_bytes) return false;
    const u64 room = (m.block_bytes + 4095) & ~u64{4095};
    m.block = static_cast<u8*>(aligned_alloc(4096, room));
    m.start_block = static_cast<u8*>(malloc(room));
    if (!m.block || !m.start_block) return false;
    __builtin_memset(m.block, 0, room);
    if (!system_start(m.block, m.block_bytes, plan, words)) return false;
    m.x = context_with(m.block, &m.agents);
    return true;
}

inline void set_bits(SlotSet& slots, const Context& x, const u64* buffers) {
    for (u32 i = 0; i < x.s->buffers; i++) {
        if (!(buffers[i >> 6] >> (i & 63) & 1)) continue;
        const u32 slot = slot_of_buffer(x, i);
        slots.add(slot);
    }
}

inline void set_rules(Model& m, const u64* config) {
    StepRules& rules = m.agents.rules;
    const Context& x = m.x;
    set_bits(rules.order, x, config + CONFIG_ORDERED);
    set_bits(rules.eager, x, config + CONFIG_EAGER);
    set_bits(prompt(m.x), x, config + CONFIG_PROMPT);
    for (u32 i = 0; i < x.s->channels.count; i++) {
        if (x.channels[i].order) rules.order.add(i);
        x.channels[i].order = 0;  // of arrivals in time
    }
    for (u32 i = 0; i < x.s->ports; i++) {
        const u32 slot = slot_of_port(x, i);
        if (x.ports[i].ordered) rules.order.add(slot);
    }
    rules.to_rest = config[CONFIG_TO_REST] != 0;
    for (u32 slot = 0; config[CONFIG_SPENT] && slot < slot_of_port(x, 0); slot++) {
        u32 target = 0;
        slot_delivery(x, slot, target);
        if (may_be_spent(m.x, target)) rules.spent.add(slot);
    }
}

// Every line is known from the start, and holds a token in each location.
inline void fill_memory(Model& m) {
    Agents& a = m.agents;
    slicc_zero_memory(m.block);
    for (u32 line = 0; line < a.coding.lines; line++)
        line_index(m.x, a.coding.base + (u64{line} << LINE_BITS));
    for (u32 line = 0; line < a.coding.lines; line++) {
        a.words[line] = a.coding.base + (u64{line + 1} << LINE_BITS) - LOCATION_BYTES;
        memory_line(m.x, a.coding.base + (u64{line} << LINE_BITS), true);
    }
    for (u32 location = 0; location < a.locations(); location++) {
        const u32 line = location / a.coding.data;
        a.addresses[location] =
            a.coding.base + (u64{line} << LINE_BITS) + location % a.coding.data * LOCATION_BYTES;
        const u32 value = a.oracle.start(location);
        slicc_write_memory(m.block, a.addresses[location], reinterpret_cast<const u8*>(&value),
                           LOCATION_BYTES);
    }
}

inline void set_agents(Model& m, const u64*& at) {
    Agents& a = m.agents;
    for (u32 i = 0; i < a.operation_count; i++, at += 3) {
        a.operations[i] = {static_cast<u8>(at[0]), static_cast<u8>(at[1]), static_cast<u8>(at[2])};
    }
    for (u32 i = 0; i < a.count; i++, at += 3) {
        Agent& agent = a.agents[i];
        agent = {static_cast<u32>(at[0]), static_cast<u32>(at[1])};
        if (at[2]) a.oracle.relaxed = static_cast<u16>(a.oracle.relaxed | 1u << i);
    }
}

inline bool set_renamings(Model& m, u64 count, const u64*& at) {
    if (!count || count > MOST_RENAMINGS) return false;
    m.renamings = static_cast<Renaming*>(calloc(count, sizeof(Renaming)));
    if (!m.renamings) return false;
    m.renaming_count = static_cast<u32>(count);
    for (u32 i = 0; i < count; i++) {
        Renaming& r = m.renamings[i];
        r.controllers.identity();
        r.lines.identity();
        r.agents.identity();
        for (u32 id = 0; id < m.x.s->controllers; id++)
            r.controllers.set(id, static_cast<u32>(*at++));
        for (u32 line = 0; line < m.agents.coding.lines; line++)
            r.lines.set(line, static_cast<u32>(*at++));
        for (u32 agent = 0; agent < m.agents.count; agent++)
            r.agents.set(agent, static_cast<u32>(*at++));
        rename_everything(m.x, r);
    }
    plan_keys(m.x, m.agents, m.renamings, m.renaming_count, m.key_plan);
    return true;
}

inline bool set_invariants(Invariants& all, u64 count, const u64* at) {
    if (count > MOST_INVARIANTS) return false;
    u64 words = 0;
    for (u64 i = 0, from = 0; i < count; i++, from += 1 + at[from]) words += at[from];
    all.words = static_cast<u64*>(calloc(words + 1, sizeof(u64)));
    if (!all.words) return false;
    for (all.count = 0; all.count < count; all.count++) {
        const u64 length = *at++;
        const u64 first = all.first[all.count];
        __builtin_memcpy(all.words + first, at, length * sizeof(u64));
        all.first[all.count + 1] = first + length;
        at += length;
    }
    return true;
}

// Transitions that a controller may make in a tick, from which on it makes all that it can: no more than
// there is room for messages.
inline constexpr i32 WHOLE_TICK = 256;

inline bool configure(Search& s, const u64* config) {
    Model& m = s.m;
    Agents& a = m.agents;
    const System& system = *m.x.s;
    a.coding.base = config[CONFIG_BASE];
    a.coding.lines = static_cast<u32>(config[CONFIG_LINES]);
    a.coding.line_bits = bits_for(a.coding.lines);
    a.coding.nodes = system.topology.nodes;
    a.coding.node_bits = bits_for(a.coding.nodes + 2);
    a.coding.data = static_cast<u32>(config[CONFIG_DATA]);
    a.coding.word = config[CONFIG_WORD] != 0;
    a.coding.increments = a.increments = static_cast<u32>(config[CONFIG_INCREMENTS]);
    a.coding.compares = config[CONFIG_COMPARES] != 0;
    a.coding.agents = a.count = static_cast<u32>(config[CONFIG_AGENTS]);
    a.bound = static_cast<u32>(config[CONFIG_BOUND]);
    a.operation_count = static_cast<u32>(config[CONFIG_OPERATIONS]);
    s.most_states = config[CONFIG_MOST_STATES];
    s.edges.most = config[CONFIG_MOST_EDGES];
    s.commuting = config[CONFIG_COMMUTING] != 0;
    m.private_caches = config[CONFIG_PRIVATE];
    const bool fits =
        slots_in_use(m.x) < WHEEL && system.topology.nodes <= 32 && system.engine.consumers < 64 &&
        system.engine.words == 1 && a.count <= MOST_AGENTS && a.locations() <= MOST_LOCATIONS &&
        a.coding.lines <= MAX_LINES && a.operation_count <= MOST_OPERATIONS &&
        a.coding.data + a.coding.word <= LOCATIONS && system.buffers <= MAX_NAMED &&
        system.caches <= MAX_NAMED && system.tables_used <= MAX_NAMED &&
        system.directories_used <= MAX_NAMED && system.library.perfect_used <= MAX_NAMED &&
        system.library.timers_used <= MAX_NAMED && system.ports <= MAX_NAMED;
    if (!fits) return false;
    a.coding.belongings = belongings_of(m.x);
    const u64* at = config + CONFIG_WORDS;
    set_agents(m, at);
    set_rules(m, config);
    fill_memory(m);
    for (u32 id = 0; id < system.controllers; id++) {
        Controller& c = controller(m.x, id);
        // Where it may wait for room, something else may come between.
        const bool waits = c.has_memory && MessageBuffer_capacity(m.x, c.memory_request);
        if (c.transitions_per_cycle >= WHOLE_TICK && !waits) a.rules.whole |= u64{1} << id;
        c.transitions_per_cycle = 1;
        c.limit = c.max_transitions = 1;
        if (c.has_memory) m.memories |= u64{1} << id;
    }
    if (system.trouble || !set_renamings(m, config[CONFIG_RENAMINGS], at)) return false;
    if (!set_invariants(m.invariants, config[CONFIG_INVARIANTS], at)) return false;
    u32 engines = 0;
    for (u32 i = 0; i < a.count; i++)
        engines += requester_at(m.x, a.agents[i].requester).kind == RequesterKind::DMA;
    m.regions = state_regions(m.x, engines);
    if (m.regions.overflow) return false;
    m.start_state = static_cast<u8*>(malloc(m.regions.bytes));
    s.hit_count = system.counts.count;
    s.hits = static_cast<FirstHit*>(calloc(s.hit_count, sizeof(FirstHit)));
    if (!m.start_state || !s.hits || !s.own_visited.start(config[CONFIG_WIDE] != 0)) return false;
    m.regions.save(m.block, m.start_state);
    __builtin_memcpy(m.start_block, m.block, m.block_bytes);
    m.start_agents = a;
    return true;
}

SLICC_API void slicc_explore_close(void* search) {
    Search* s = static_cast<Search*>(search);
    free(s->m.block);
    free(s->m.start_block);
    free(s->m.start_state);
    free(s->m.kept_state);
    free(s->m.renamings);
    free(s->m.invariants.words);
    free(s->hits);
    s->outcomes.close();
    s->own_visited.close();
    s->parents.close();
    s->ways.close();
    s->level.close();
    s->next_level.close();
    s->arrivals.close();
    s->edges.close();
    free(s);
}

// A search at its first state; null: not enough memory, or more of something than fits.
SLICC_API void* slicc_explore_open(const u64* plan, u64 words, const u64* config) {
    void* const room = aligned_alloc(64, (sizeof(Search) + 63) & ~u64{63});
    if (!room) return nullptr;
    __builtin_memset(room, 0, sizeof(Search));
    Search& s = *static_cast<Search*>(room);
    s.m.x.recent_address = NONE;
    s.visited = &s.own_visited;
    s.leader = &s;
    if (!open_model(s.m, plan, words) || !configure(s, config) || !search_begin(s)) {
        slicc_explore_close(&s);
        return nullptr;
    }
    return &s;
}

// ---------------------------------------------------------------- scripts

// Behind the head of a script there are for each agent how many steps it has, and for each step the
// words of `ActionWord`, and what it needs of each agent.

// Let a search that has not run yet follow programs. False: they are too long, or no memory.
SLICC_API u64 slicc_explore_script(void* search, const u64* words) {
    Search& s = *static_cast<Search*>(search);
    Model& m = s.m;
    Script script = {};
    script.used = true;
    script.prepares = words[THREAD_PREPARES] != 0;
    script.registers = static_cast<u8>(words[THREAD_REGISTER_COUNT]);
    if (words[THREAD_REGISTER_COUNT] > THREAD_REGISTERS) return 0;
    bool acts = false;
    const u64* at = words + THREAD_WORDS;
    for (u32 agent = 0; agent < m.agents.count; agent++) {
        const u64 length = *at++;
        if (length > THREAD_STEPS) return 0;
        script.length[agent] = static_cast<u8>(length);
        for (u64 i = 0; i < length; i++) {
            ScriptStep& step = script.steps[agent][i];
            step.address = m.agents.coding.base + at[ACTION_OFFSET];
            step.value = at[ACTION_VALUE];
            step.compare = at[ACTION_COMPARE];
            step.op = static_cast<u8>(at[ACTION_OPERATION]);
            step.where = static_cast<u8>(at[ACTION_WHERE]);
            step.size = static_cast<u8>(at[ACTION_SIZE]);
            step.reg = static_cast<u8>(at[ACTION_REGISTER]);
            step.overlaps = at[ACTION_OVERLAP] != 0;
            step.way = static_cast<u8>(at[ACTION_WAY]);
            acts |= step.op == SCRIPT_ATOMIC;
            at += ACTION_WORDS;
            for (u32 other = 0; other < m.agents.count; other++)
                step.needs[other] = static_cast<u8>(*at++);
        }
    }
    m.agents.coding.plain = true;
    m.agents.coding.turned = acts ? 0 : TURNED_BITS;
    model_start_state(m);
    const u32 zero = static_cast<u32>(m.agents.coding.turned);
    for (u32 location = 0; location < m.agents.locations(); location++) {
        slicc_write_memory(m.block, m.agents.addresses[location],
                           reinterpret_cast<const u8*>(&zero), LOCATION_BYTES);
    }
    m.regions.save(m.block, m.start_state);
    __builtin_memcpy(m.start_block, m.block, m.block_bytes);
    m.agents.script = script;
    m.agents.operations[SCRIPT_ATOMIC].target = TARGET_LOCATION;
    s.parents.count = s.ways.count = s.level.count = s.next_level.count = 0;
    s.waiting = s.code_bytes = s.edges.prints.count = 0;
    return search_begin(s);
}

// The outcomes so far: THREAD_REGISTERS values and a state each.
SLICC_API u64 slicc_explore_outcomes(void* search, u64* registers, u32* states, u64 room) {
    const Search& s = *static_cast<Search*>(search);
    for (u64 i = 0; i < s.outcomes.count && i < room; i++) {
        __builtin_memcpy(registers + i * THREAD_REGISTERS, s.outcomes.items[i].registers,
                         sizeof s.outcomes.items[i].registers);
        states[i] = s.outcomes.items[i].state;
    }
    return s.outcomes.count;
}

inline void write_statistics(const Search& s, u64* stats) {
    stats[STAT_STATES] = s.visited->added;
    stats[STAT_STEPS] = s.steps;
    stats[STAT_MADE] = s.made;
    stats[STAT_DEPTH] = s.depth ? s.depth - 1 : 0;
    stats[STAT_WAITING] = s.visited->added - s.expanded;
    stats[STAT_CODE_BYTES] = s.code_bytes;
    stats[STAT_VISITED_BYTES] =
        s.visited->bytes() + s.parents.count * sizeof(u32) + s.ways.count * sizeof(u16);
    stats[STAT_BYTES] =
        stats[STAT_VISITED_BYTES] + s.level.room + s.next_level.room + s.edges.bytes();
    stats[STAT_UNDER_WAY] = s.most_under_way;
    stats[STAT_WITHHELD] = s.withheld;
    stats[STAT_FRONTIER] = s.frontier_peak;
    stats[STAT_STATE] = s.expanded;
    stats[STAT_REGION_BYTES] = s.m.regions.bytes;
}

SLICC_API i64 slicc_explore_run(void* search, u64 budget, u64* stats) {
    Search& s = *static_cast<Search*>(search);
    const SearchEnd end = search_run(s, budget);
    write_statistics(s, stats);
    return end;
}

// ---------------------------------------------------------------- several searches

// A search at its first state helps another one from now on: each helper runs `slicc_explore_work` in
// a thread of the host, until all of them return SEARCH_COMPLETE. The leader itself does not.
SLICC_API void slicc_explore_help(void* helper, void* leader) {
    Search& s = *static_cast<Search*>(helper);
    s.leader = static_cast<Search*>(leader);
    s.visited = s.leader->visited;
    s.visited->shared = true;
    s.parents.count = s.ways.count = s.next_level.count = 0;
    s.code_bytes = s.waiting = 0;
    s.edges.prints.count = 0;
}

SLICC_API i64 slicc_explore_work(void* search, u64 budget) {
    return search_work(*static_cast<Search*>(search), budget);
}

// No thread works on the level any more: `complete` says that all have returned SEARCH_COMPLETE.
SLICC_API i64 slicc_explore_level(void* leader, void* const* helpers, u64 count, u64 complete,
                                  u64* stats) {
    Search& s = *static_cast<Search*>(leader);
    for (u64 i = 0; i < count; i++) {
        Search& helper = *static_cast<Search*>(helpers[i]);
        if (!s.end) s.end = helper.end;
        if (helper.m.refused && !s.m.refused) s.m.refused = helper.m.refused;
        merge_counts(s, helper);
    }
    if ((complete || s.end) && !merge_found(s, helpers, count)) s.end = SEARCH_MEMORY;
    if (!s.end && complete && !next_level(s)) s.end = SEARCH_COMPLETE;
    write_statistics(s, stats);
    return s.end;
}

// The first state that `first_stuck` finds, NONE_STUCK, or NOT_JUDGED. For a search that
// has ended: it forgets steps by that.
SLICC_API i64 slicc_explore_stuck(void* search) {
    Edges& edges = static_cast<Search*>(search)->edges;
    if (!edges.most) return NOT_JUDGED;
    const i64 stuck = first_stuck(edges.to.items, edges.from.items, edges.prints.items,
                                  edges.to.count, edges.prints.count);
    edges.drop();
    return stuck;
}

// Why a state could not be written; nothing if none was refused.
SLICC_API const char* slicc_explore_refusal(void* search) {
    return static_cast<Search*>(search)->m.refused;
}

// kind, state, choice, whether it was found at rest.
SLICC_API void slicc_explore_found(void* search, u64* out) {
    const Search& s = *static_cast<Search*>(search);
    out[0] = s.m.agents.finding;
    out[1] = s.found_state;
    out[2] = s.found_choice;
    out[3] = s.found_at_rest;
}

// The choices that lead to a state, the last one first. Returns how many.
SLICC_API u64 slicc_explore_way(void* search, u64 state, u16* ways, u64 room) {
    const Search& s = *static_cast<Search*>(search);
    u64 count = 0;
    for (; state; state = s.parents.items[state]) {
        if (count < room) ways[count] = s.ways.items[state];
        count++;
    }
    return count;
}

// By cell of all controllers: the state + 1 and the choice with which it was hit first, 0: never.
SLICC_API u64 slicc_explore_hits(void* search, u32* states, u16* choices, u64 room) {
    const Search& s = *static_cast<Search*>(search);
    for (u64 i = 0; i < s.hit_count && i < room; i++) {
        states[i] = s.hits[i].state;
        choices[i] = s.hits[i].choice;
    }
    return s.hit_count;
}

SLICC_API u64 slicc_explore_first_cell(void* search, u64 id) {
    return controller(static_cast<Search*>(search)->m.x, static_cast<u32>(id)).counts;
}

// ---------------------------------------------------------------- one state at a time

// Back to the first state.
SLICC_API void slicc_explore_restart(void* search) {
    model_start_state(static_cast<Search*>(search)->m);
}

inline void describe(const Context& x, Choice choice, u64* out) {
    out[CHOICE_PACKED] = packed(choice);
    out[CHOICE_KIND] = choice.kind;
    out[CHOICE_WHAT] = choice.what;
    out[CHOICE_WHICH] = choice.which;
    out[CHOICE_WHERE] = choice.where;
    out[CHOICE_TYPE] = out[CHOICE_LINE] = out[CHOICE_TARGET] = NONE;
    if (choice.kind == ChoiceKind::ALARM) {
        out[CHOICE_LINE] = line_address_of(x, choice.which);
        out[CHOICE_TARGET] = timer_table(x, choice.what).consumer;
    }
    if (choice.kind != ChoiceKind::DELIVER) return;
    u32 handle = x.wheel[choice.what].head;
    for (u32 i = 0; i < choice.which && handle; i++) handle = of_handle<Message>(x, handle).next;
    if (!handle) return;
    const Message& message = of_handle<Message>(x, handle);
    u32 target = 0;
    const Delivery delivery = slot_delivery(x, choice.what, target);
    out[CHOICE_TYPE] = message.type;
    out[CHOICE_LINE] = message_line_address(message);
    if (delivery != DELIVER_TO_BUS) out[CHOICE_TARGET] = target;
}

// What may happen now, CHOICE_WORDS each. Returns how many.
SLICC_API u64 slicc_explore_choices(void* search, u64* out, u64 room) {
    Search& s = *static_cast<Search*>(search);
    Choice choices[MOST_CHOICES];
    const u32 count = model_choices(s.m, choices);
    for (u32 i = 0; i < count && i < room; i++)
        describe(s.m.x, choices[i], out + u64{i} * CHOICE_WORDS);
    return count;
}

// Let it happen; transitions are written as slicc_run_traced does. Returns what was found.
SLICC_API u64 slicc_explore_apply(void* search, u64 choice, u64* steps, u64 room, u64* written) {
    Search& s = *static_cast<Search*>(search);
    model_apply(s.m, unpacked(static_cast<u16>(choice)));
    const u64 count = s.m.x.steps_written < room ? s.m.x.steps_written : room;
    __builtin_memcpy(steps, s.m.steps, count * STEP_WORDS * sizeof(u64));
    *written = count;
    return s.m.agents.finding;
}

// What is wrong with the state as it stands, if nothing is under way.
SLICC_API u64 slicc_explore_rest(void* search) {
    Search& s = *static_cast<Search*>(search);
    Choice choices[MOST_CHOICES];
    if (moves(s.m.x, s.m.agents.rules, choices, MOST_CHOICES)) return FOUND_NOTHING;
    return model_judge_rest(s.m);
}

// The code of the state as it stands, and which renaming it is under. Returns its length.
SLICC_API u64 slicc_explore_code(void* search, u8* bytes, u64 room, u64* renaming) {
    Search& s = *static_cast<Search*>(search);
    Code code;
    *renaming = model_save(s.m, code);
    __builtin_memcpy(bytes, code.bytes, code.count < room ? code.count : room);
    return code.count;
}

// The choices of a way, as those of one system that is never read: states take the place of those
// that they are equal to, and there the same choices have other numbers. Returns how many there are.
SLICC_API u64 slicc_explore_concrete(void* search, const u16* ways, u64 count, u16* out) {
    return concrete_way(static_cast<Search*>(search)->m, ways, count, out);
}

// agent, location or line, value of what was found last; then the error as slicc_error writes it.
SLICC_API void slicc_explore_judgement(void* search, u64* out) {
    const Search& s = *static_cast<Search*>(search);
    out[0] = s.m.agents.found_agent;
    out[1] = s.m.agents.found_where;
    out[2] = s.m.agents.found_value;
    slicc_error(s.m.block, out + 3);
}

// ---------------------------------------------------------------- checks of our own

SLICC_API i64 slicc_explore_first_stuck(u64* to, const u32* from, const u64* prints, u64 steps,
                                        u64 states) {
    return first_stuck(to, from, prints, steps, states);
}

SLICC_API u64 slicc_explore_random_walk(void* search, u64 seed, u64 steps, u64* out) {
    Search& s = *static_cast<Search*>(search);
    return random_walk(s.m, seed, steps, out);
}
