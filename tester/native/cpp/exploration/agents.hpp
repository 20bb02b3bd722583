// The agents of an exploration: what they may begin, what is outstanding, and what answers mean.
//
// An agent waits for the answer to what it began; a store of a relaxed agent that was accepted
// completes beside later accesses. An access begins when its request arrives at its controller:
// nothing but its requester could notice that it was under way before, and a later beginning only
// allows less. Invariant: everything that is known here is written with the state.

#pragma once

#include "exploration/oracle.hpp"
#include "exploration/script.hpp"
#include "requesters/registry.hpp"
#include "untimed/steps.hpp"

inline constexpr u32 MOST_AGENTS = 8;
inline constexpr u32 MOST_LOCATIONS = 8;
inline constexpr u32 AGENT_SLOTS = 1 + MOST_LOCATIONS;
inline constexpr u32 MOST_OPERATIONS = 16;
inline constexpr u64 RELEASE_SEQUENCE = u64{1} << 40;  // behind all stores of its agent

enum Target : u8 { NOTHING, LOCATION, WORD, WHOLE_LINE };

struct Operation {
    u8 kind;  // AccessKind
    u8 scope;
    u8 target;
};

struct Agent {
    u32 requester;
    u32 operations;  // a bit each
};

enum FindingKind : u32 {
    FOUND_NOTHING,
    FOUND_ERROR,      // what the protocol did is one on the timed engines, too
    FOUND_VALUE,      // a load
    FOUND_OLD_VALUE,  // a fetch-add
    FOUND_DEADLOCK,
    FOUND_LEAK,
    FOUND_TWO_WRITERS,
    FOUND_INVARIANT,  // of the author
    FOUND_NO_END,     // steps that never come to rest
};

struct Words {
    u8 begun[MOST_AGENTS];  // fetch-adds of each agent
    u32 done;
    u32 counts;               // how many increments were in results: a bit each
    u32 needed[MOST_AGENTS];  // what must be in the result that an agent waits for
};

// What steps change, besides the block.
struct AgentsState {
    u32 access[MOST_AGENTS][AGENT_SLOTS];
    u8 current[MOST_AGENTS];  // slot + 1 of what the agent waits for
    Oracle oracle;
    Words word[MAX_LINES];
    ScriptState done;  // of the script
    // What a step came to.
    u32 finding;
    u32 found_agent, found_where, found_value;
    bool out_of_tokens;
    bool completed;  // a request
};

struct Agents : AgentsState {
    Coding coding;
    StepRules rules;
    u32 count;
    u32 operation_count;
    u32 increments;  // that an agent may do to one word
    u32 bound;       // messages under way beyond which nothing is begun, 0: none
    Agent agents[MOST_AGENTS];
    Operation operations[MOST_OPERATIONS];
    u64 addresses[MOST_LOCATIONS];  // of locations
    u64 words[MAX_LINES];           // of the words of lines
    Script script;

    AgentsState& state() { return *this; }
    // The last step of a kind that an agent has begun.
    const ScriptStep* last(u32 agent, u8 op) const {
        for (u32 i = done.at[agent]; i--;) {
            if (script.steps[agent][i].op == op) return &script.steps[agent][i];
        }
        return nullptr;
    }
    u32 locations() const { return coding.lines * coding.data; }
};

inline Agents& agents_of(const Context& x) { return *static_cast<Agents*>(x.client_view); }

inline void found(Agents& a, FindingKind kind, u32 agent, u32 where, u32 value) {
    if (a.finding) return;
    a.finding = kind;
    a.found_agent = agent;
    a.found_where = where;
    a.found_value = value;
}

// ---------------------------------------------------------------- about an access

inline const u64* access_addresses(const Context& x, const Access& access) {
    const Agents& a = agents_of(x);
    switch (a.operations[access.op].target) {
        case LOCATION: return &a.addresses[access.where];
        case WHOLE_LINE: return &a.addresses[access.where * a.coding.data];
        default: return &a.words[access.where];
    }
}

inline u64 access_lines_key(const Access& access) { return 1 + (access.op << 8 | access.where); }

inline u32 stored_value(const Agents& a, const Access& access) {
    if (LIKELY(!a.script.used)) return a.oracle.pending(access.agent, access.where);
    const ScriptStep* step = a.last(access.agent, 1);
    return step ? step->value : FIRST_TOKEN;
}

inline void put_value(const Context& x, const Access& access, u32, u8* to) {
    const u32 value = stored_value(agents_of(x), access);
    __builtin_memcpy(to, &value, LOCATION_BYTES);
}

inline void put_values(const Context& x, const Access& access, u64, u64 line, u8* bytes) {
    put_value(x, access, 0, bytes + (access_addresses(x, access)[0] - line));
}

inline AtomicNode access_operation(const Context& x, const Access& access, u32) {
    const Agents& a = agents_of(x);
    const u32 begun = a.word[access.where].begun[access.agent];
    AtomicNode node = {};
    node.size = LOCATION_BYTES;
    node.kind = AtomicKind::ADD;
    node.operand = u64{1} << (access.agent * a.increments + begun - 1);
    return node;
}

template <class Visit>
inline void each_line(Context& x, const Access& access, Visit visit) {
    visit(line_index(x, line_of(x, access_addresses(x, access)[0])));
}

// ---------------------------------------------------------------- answers

inline void access_ended(const Context& x, const Access& access) {
    Agents& a = agents_of(x);
    a.completed = true;
    a.access[access.agent][access.slot] = 0;
    if (a.current[access.agent] == access.slot + 1) a.current[access.agent] = 0;
}

inline void client_wakeup(Context&, u32) {}

// Nothing is begun that would be refused.
inline void client_retry(Context& x, u32) { fail(x, ErrorKind::BAD_CALLBACK); }

inline void client_loaded(Context& x, Access& access, u64, u32, const u8* bytes) {
    Agents& a = agents_of(x);
    u32 value;
    __builtin_memcpy(&value, bytes + (access_addresses(x, access)[0] & LINE_MASK), LOCATION_BYTES);
    if (UNLIKELY(a.script.used)) {
        const ScriptStep* step = a.last(access.agent, 0);
        if (value < FIRST_TOKEN || value >= FIRST_TOKEN + a.script.tokens)
            found(a, FOUND_VALUE, access.agent, access.where, value);
        else if (step && step->reg != NO_REGISTER)
            a.done.registers[step->reg] = static_cast<u8>(value);
    } else if (!a.oracle.end_load(access.agent, access.where, value)) {
        found(a, FOUND_VALUE, access.agent, access.where, value);
    }
    access_ended(x, access);
}

inline void client_stored(Context& x, Access& access, u64, u32) {
    Agents& a = agents_of(x);
    a.oracle.store_accepted(access.agent, access.where);
    if (a.oracle.relaxed >> access.agent & 1 && a.current[access.agent] == access.slot + 1)
        a.current[access.agent] = 0;
}

inline void client_store_completed(Context& x, Access& access, u64, u32) {
    agents_of(x).oracle.store_performed(access.agent, access.where);
    access_ended(x, access);
}

inline void client_atomic_done(Context& x, Access& access, u64, const u64* old, u32 values) {
    Agents& a = agents_of(x);
    Words& word = a.word[access.where];
    const u32 mine = static_cast<u32>(access_operation(x, access, 0).operand);
    u32 begun = 0;
    for (u32 agent = 0; agent < a.count; agent++)
        begun |= ((1u << word.begun[agent]) - 1) << (agent * a.increments);
    if (values) {
        const u32 got = static_cast<u32>(old[0]);
        const u32 size = static_cast<u32>(__builtin_popcount(got));
        if (got & mine || got & ~begun || word.needed[access.agent] & ~got ||
            word.counts >> size & 1)
            found(a, FOUND_OLD_VALUE, access.agent, access.where, got);
        word.counts |= 1u << size;
    }
    word.done |= mine;
    word.needed[access.agent] = 0;
    access_ended(x, access);
}

inline void client_synchronized(Context& x, Access& access) { access_ended(x, access); }

// What has been loaded is not kept.
inline void client_line_lost(Context&, u32, u64) {}

// ---------------------------------------------------------------- beginning

inline bool port_is_free(Context& x, const Requester& r, u32 kind) {
    if (kind == AccessKind::ACQUIRE) {
        if (r.kind == RequesterKind::COALESCER) return !AcquireWalk_busy(x, r);
        return !r.walk_parts;
    }
    if (kind == AccessKind::RELEASE || kind == AccessKind::FLUSH) return true;
    if (r.kind == RequesterKind::COALESCER) return r.tokens && r.count < r.max_outstanding;
    return r.count < r.max_outstanding;
}

inline bool may_begin(Context& x, const Agents& a, u32 agent, u32 op, u32 where) {
    const Operation& o = a.operations[op];
    const Requester& r = requester_at(x, a.agents[agent].requester);
    if (o.kind == AccessKind::STORE && a.access[agent][1 + where]) return false;
    if (o.target == WORD && a.word[where].begun[agent] == a.increments) return false;
    if (r.queue != NIL && o.kind != AccessKind::ACQUIRE && o.kind != AccessKind::RELEASE) {
        // In a queue that keeps its order, what is under way arrives first.
        const u32 slot = slot_of_buffer(x, r.queue);
        if (a.rules.order.bits[slot >> 6] >> (slot & 63) & 1 && x.wheel[slot].head) return false;
    }
    return port_is_free(x, r, o.kind);
}

inline u32 places_of(const Agents& a, u32 op) {
    switch (a.operations[op].target) {
        case LOCATION: return a.locations();
        case NOTHING: return 1;
        default: return a.coding.lines;
    }
}

inline bool idle(const Agents& a, u32 agent) {
    for (u32 slot = 0; slot <= a.locations(); slot++) {
        if (a.access[agent][slot]) return false;
    }
    return true;
}

// Whether others have completed what a step waits for.
inline bool script_needs_met(const Agents& a, const ScriptStep& step) {
    for (u32 other = 0; other < a.count; other++) {
        const u32 need = step.needs[other];
        if (!need) continue;
        if (a.done.at[other] < need || (a.done.at[other] == need && !idle(a, other))) return false;
    }
    return true;
}

// Whether any program has begun.
inline bool script_begun(const Agents& a) {
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.done.at[agent]) return true;
    }
    return false;
}

// Loads and stores of zeroes, one at a time, before all programs.
inline u32 script_preparations(Context& x, const Agents& a, Choice* out, u32 room) {
    u32 count = 0;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (!a.script.length[agent]) continue;
        for (u32 op = 0; op < 2; op++) {
            for (u32 where = 0; where < a.locations() && count < room; where++) {
                if (!may_begin(x, a, agent, op, where)) continue;
                out[count++] = {Choice::ISSUE, static_cast<u8>(agent), static_cast<u8>(op),
                                static_cast<u8>(where | BEFOREHAND)};
            }
        }
    }
    return count;
}

// What programs may do next.
inline u32 script_beginnings(Context& x, const Agents& a, Choice* out, u32 room) {
    const Script& script = a.script;
    u32 count = 0;
    if (!script_begun(a)) {
        if (x.s->messages.live || x.wakes[0]) return 0;
        if (script.prepares) count = script_preparations(x, a, out, room);
    }
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.done.at[agent] == script.length[agent] || count == room) continue;
        const ScriptStep& step = script.steps[agent][a.done.at[agent]];
        const bool free = idle(a, agent) || (step.overlaps && !a.access[agent][0]);
        if (free && script_needs_met(a, step) && may_begin(x, a, agent, step.op, step.where))
            out[count++] = {Choice::ISSUE, static_cast<u8>(agent), step.op, step.where};
    }
    return count;
}

// Everything that may be begun. Returns how many.
inline u32 beginnings(Context& x, const Agents& a, Choice* out, u32 room) {
    if (UNLIKELY(a.script.used)) return script_beginnings(x, a, out, room);
    u32 count = 0;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.current[agent]) continue;
        for (u32 op = 0; op < a.operation_count; op++) {
            if (!(a.agents[agent].operations >> op & 1)) continue;
            const u32 places = places_of(a, op);
            for (u32 where = 0; where < places && count < room; where++) {
                if (!may_begin(x, a, agent, op, where)) continue;
                out[count++] = {Choice::ISSUE, static_cast<u8>(agent), static_cast<u8>(op),
                                static_cast<u8>(where)};
            }
        }
    }
    return count;
}

inline void note_beginning(Agents& a, const Access& access) {
    const u32 agent = access.agent;
    if (UNLIKELY(a.script.used)) return;
    switch (access.kind) {
        case AccessKind::LOAD: a.oracle.begin_load(agent, access.where); break;
        case AccessKind::STORE:
            if (!a.oracle.begin_store(agent, access.where)) a.out_of_tokens = true;
            break;
        case AccessKind::ACQUIRE: a.oracle.acquire(agent); break;
        case AccessKind::ATOMIC: {
            Words& word = a.word[access.where];
            word.begun[agent]++;
            word.needed[agent] = word.done;
            break;
        }
        default: break;
    }
}

inline u32 list_length(const Context& x, u32 slot) {
    u32 count = 0;
    for (u32 h = x.wheel[slot].head; h; h = of_handle<Message>(x, h).next) count++;
    return count;
}

// The least number that no access of the requester has: numbers tell accesses apart, and should
// depend on nothing but the state.
inline u64 free_sequence(const Context& x, const Agents& a, u32 requester) {
    u64 taken = 1;
    for (u32 agent = 0; agent < a.count; agent++) {
        if (a.agents[agent].requester != requester) continue;
        for (u32 slot = 0; slot <= a.locations(); slot++) {
            if (!a.access[agent][slot]) continue;
            const u64 number = access_at(x, a.access[agent][slot]).sequence;
            if (number < 64) taken |= u64{1} << number;
        }
    }
    return static_cast<u64>(__builtin_ctzll(~taken));
}

// Begin an access; its request arrives at once.
inline void begin(Context& x, Agents& a, Choice choice) {
    const u32 agent = choice.what;
    if (UNLIKELY(a.script.used)) {
        if (!(choice.where & BEFOREHAND)) a.done.at[agent]++;
        choice.where &= BEFOREHAND - 1;
    }
    const Operation& o = a.operations[choice.which];
    Requester& r = requester_at(x, a.agents[agent].requester);
    step_begin(x);
    const u32 index = access_new(x);
    Access& access = access_at(x, index);
    access.agent = static_cast<u8>(agent);
    access.op = choice.which;
    access.where = choice.where;
    access.slot = o.kind == AccessKind::STORE ? static_cast<u8>(1 + choice.where) : 0;
    access.client = agent;
    access.kind = o.kind;
    access.scope = o.scope;
    access.size = LOCATION_BYTES;
    access.lanes = o.target == NOTHING ? 0 : 1;
    a.access[agent][access.slot] = index;
    a.current[agent] = static_cast<u8>(access.slot + 1);
    note_beginning(a, access);
    r.next_sequence =
        o.kind == AccessKind::RELEASE ? RELEASE_SEQUENCE : free_sequence(x, a, r.index);
    requester_parts(x).lines_of = 0;
    const u32 slot = r.queue == NIL ? 0 : slot_of_buffer(x, r.queue);
    const u32 before = r.queue == NIL ? 0 : list_length(x, slot);
    if (!Requester_issue(x, r.index, index)) fail(x, ErrorKind::BAD_CALLBACK);
    run_clients(x);
    limbo_release(x);
    const bool one = o.kind != AccessKind::ACQUIRE && o.kind != AccessKind::RELEASE;
    if (one && r.queue != NIL && list_length(x, slot) == before + 1)
        flight_deliver(x, slot, before);
    step_end(x, a.rules);
}

// ---------------------------------------------------------------- writing and reading

inline u32 access_number(const Context& x, u32 access) {
    const Access& it = access_at(x, access);
    return it.agent * AGENT_SLOTS + it.slot;
}

inline u32 access_of_number(const Context& x, u32 number) {
    return agents_of(x).access[number / AGENT_SLOTS][number % AGENT_SLOTS];
}

// A location's number once lines have changed places.
inline u32 renamed_location(const Agents& a, const Renaming& r, u32 location) {
    if (LIKELY(r.same_lines)) return location;
    return r.lines.to[location / a.coding.data] * a.coding.data + location % a.coding.data;
}
inline u32 old_location(const Agents& a, const Renaming& r, u32 location) {
    if (LIKELY(r.same_lines)) return location;
    return r.lines.from[location / a.coding.data] * a.coding.data + location % a.coding.data;
}

template <class Code>
inline void code_access_number(Code& code, u32& number) {
    u32 agent = number / AGENT_SLOTS;
    u32 slot = number % AGENT_SLOTS;
    if constexpr (!Code::READS) {
        agent = code.renaming.agents.to[agent];
        if (slot) slot = 1 + renamed_location(agents_of(code.x), code.renaming, slot - 1);
    }
    code.bits(agent, 3);
    code.small(slot);
    number = agent * AGENT_SLOTS + slot;
}

// Values of which the same is known, and of which no judgement asks which one it is, are of one
// kind. Kinds are in the order of what is known.
inline void classify_values(Coder<Writer>& code) {
    Agents& a = agents_of(code.x);
    Values& known = code.values;
    u64 signatures[MAX_TOKENS];
    u8 order[MAX_TOKENS];
    u32 count = 0;
    known.kind[CLEARED] = CLEARED;
    __builtin_memset(known.kind + DEAD, DEAD, MAX_TOKENS - DEAD);
    if (UNLIKELY(a.script.used)) {  // every value is itself
        for (u32 i = 0; i < a.script.tokens; i++) {
            const u8 value = static_cast<u8>(FIRST_TOKEN + i);
            known.kind[value] = known.number[value] = known.kind_of[value] = value;
        }
        return;
    }
    for (u64 left = a.oracle.used; left; left &= left - 1) {
        const u32 value = static_cast<u32>(__builtin_ctzll(left));
        const Token& t = a.oracle.tokens[value];
        if (!a.oracle.live(t)) continue;
        signatures[value] = a.oracle.signature(t, code.renaming, a.coding.data);
        u32 at = count++;
        for (; at && signatures[order[at - 1]] > signatures[value]; at--) order[at] = order[at - 1];
        order[at] = static_cast<u8>(value);
    }
    const bool all_relaxed = a.oracle.relaxed == (1u << a.count) - 1;
    u32 groups = DEAD;
    for (u32 i = 0; i < count; i++) {
        const Token& t = a.oracle.tokens[order[i]];
        const u64 signature = signatures[order[i]];
        const bool alike = t.owner == NO_AGENT && (all_relaxed || (t.over && !t.before));
        const bool same = i && signature == signatures[order[i - 1]];
        if (!same) groups++;
        if (!same || !alike) {
            const u32 kind = ++known.kinds;
            known.group[kind] = static_cast<u8>(groups);
            known.signature[kind] = signature;
            known.owed[kind] = t.owner != NO_AGENT || !t.over;
        }
        known.kind[order[i]] = static_cast<u8>(known.kinds);
    }
}

// What is known about the values that were written, and about those that were not but matter: what
// is over and nowhere any more does not.
inline void code_knowledge(Coder<Writer>& outer) {
    const Agents& a = agents_of(outer.x);
    if (UNLIKELY(a.script.used)) return;
    Coder<Writer> code = outer;
    Values& known = code.values;
    for (u32 kind = DEAD + 1; kind <= known.kinds; kind++) {
        if (known.owed[kind]) known.number_of(kind);
    }
    u32 count = known.numbers - FIRST_TOKEN;
    code.small(count);
    const u64 agents = (1u << a.count) - 1;
    for (u32 number = FIRST_TOKEN; number < known.numbers; number++) {
        const u64 signature = known.signature[known.kind_of[number]];
        code.out.put(signature >> 52 | (signature & agents) << 12, 12 + a.count);
        code.out.put((signature >> 16 & agents) | (signature >> 32 & agents) << a.count,
                     2 * a.count);
    }
    outer.resume(code);
}

inline void code_knowledge(Coder<Reader>& code) {
    Agents& a = agents_of(code.x);
    if (UNLIKELY(a.script.used)) return;
    u32 count = 0;
    code.small(count);
    for (u64 left = a.oracle.used; left; left &= left - 1)
        a.oracle.tokens[__builtin_ctzll(left)] = {};
    a.oracle.used = ((u64{1} << count) - 1) << FIRST_TOKEN;
    for (u32 i = 0; i < count; i++) {
        Token& t = a.oracle.tokens[FIRST_TOKEN + i];
        const u64 high = code.in.get(12);
        t.used = true;
        t.location = static_cast<u8>(high >> 6);
        const u32 owner = high >> 2 & 15;
        t.owner = owner == 15 ? NO_AGENT : static_cast<u8>(owner);
        t.established = high >> 1 & 1;
        t.over = high & 1;
        t.before = static_cast<u16>(code.in.get(a.count));
        t.may = static_cast<u16>(code.in.get(a.count));
        t.older = static_cast<u16>(code.in.get(a.count));
    }
}

template <class Code>
TINY inline void code_access(Code& code, u32 agent, u32 slot, Access& access) {
    const Agents& a = agents_of(code.x);
    u32 op = access.op;
    u32 where = access.where;
    if constexpr (!Code::READS) {
        const u8 target = a.operations[op].target;
        if (target == LOCATION)
            where = renamed_location(a, code.renaming, where);
        else if (target != NOTHING)
            where = code.renaming.lines.to[where];
    }
    static_assert(MOST_OPERATIONS <= 16 && MOST_LOCATIONS <= 8);
    u32 what = op << 3 | where;
    code.bits(what, 7);
    code.small(access.open);
    const Operation& o = a.operations[Code::READS ? what >> 3 : op];
    if constexpr (Code::READS) {
        access.agent = static_cast<u8>(agent);
        access.slot = static_cast<u8>(slot);
        access.op = static_cast<u8>(what >> 3);
        access.where = what & 7;
        access.client = agent;
        access.kind = o.kind;
        access.scope = o.scope;
        access.size = LOCATION_BYTES;
        access.lanes = o.target == NOTHING ? 0 : 1;
        access.sequence = RELEASE_SEQUENCE;
        requester_at(code.x, a.agents[agent].requester).live++;
    }
    if (o.kind != AccessKind::RELEASE) code.small(access.sequence);
}

// The slots of an agent's accesses, a bit each, once lines have changed places.
inline u32 renamed_slots(const Agents& a, const Renaming& r, u32 slots) {
    if (LIKELY(r.same_lines)) return slots;
    u32 renamed = slots & 1;
    for (u32 left = slots >> 1; left; left &= left - 1)
        renamed |= 2u << renamed_location(a, r, static_cast<u32>(__builtin_ctz(left)));
    return renamed;
}

template <class Code>
inline void code_agent(Code& outer, u32 place) {
    Code code = outer;
    Context& x = code.x;
    Agents& a = agents_of(x);
    const u32 agent = old_number(code, &Renaming::agents, place);
    ClientState& client = requester_parts(x).clients.at(x, agent);
    u32* const accesses = a.access[agent];
    u32 current = a.current[agent];
    u32 slots = 0;
    if constexpr (!Code::READS) {
        if (current > 1) current = 2 + renamed_location(a, code.renaming, current - 2);
        for (u32 slot = 0; slot <= a.locations(); slot++) slots |= u32{accesses[slot] != 0} << slot;
        slots = renamed_slots(a, code.renaming, slots);
    }
    static_assert(AGENT_SLOTS < 16);
    u32 known = current | u32{client.release != 0} << 4 | slots << 5;
    code.bits(known, 5 + 1 + a.locations());
    slots = known >> 5;
    if constexpr (Code::READS) {
        a.current[agent] = known & 15;
        for (u32 slot = 0; slot <= a.locations(); slot++) accesses[slot] = 0;
    }
    for (; slots; slots &= slots - 1) {
        u32 slot = static_cast<u32>(__builtin_ctz(slots));
        if constexpr (Code::READS)
            accesses[slot] = access_new(x);
        else if (slot)
            slot = 1 + old_location(a, code.renaming, slot - 1);
        code_access(code, agent, slot, access_at(x, accesses[slot]));
    }
    code.small(client.writes);
    if (known >> 4 & 1) {
        client.release = accesses[0];
        if (access_at(x, client.release).next_release) code.refuse("two releases of one agent");
    }
    outer.resume(code);
}

template <class Code>
inline void code_words(Code& code) {
    Agents& a = agents_of(code.x);
    if (!a.coding.word) return;
    for (u32 place = 0; place < a.coding.lines; place++) {
        Words& word = a.word[old_number(code, &Renaming::lines, place)];
        for (u32 i = 0; i < a.count; i++) {
            const u32 agent = old_number(code, &Renaming::agents, i);
            code.word(word.begun[agent]);
            code.increments(word.needed[agent]);
        }
        code.increments(word.done);
        code.small(word.counts);
    }
}

template <class Code>
inline void code_script(Code& code) {
    Agents& a = agents_of(code.x);
    if (LIKELY(!a.script.used)) return;
    for (u32 agent = 0; agent < a.count; agent++) code.word(a.done.at[agent]);
    for (u32 i = 0; i < a.script.registers; i++) code.word(a.done.registers[i]);
}

template <class Code>
inline void code_clients(Code& code) {
    Agents& a = agents_of(code.x);
    code_script(code);
    if constexpr (Code::READS) {
        a.oracle.loading = 0;
        a.finding = 0;
    }
    for (u32 place = 0; place < a.count; place++) code_agent(code, place);
    code_words(code);
    if constexpr (Code::READS) {
        for (u32 agent = 0; agent < a.count; agent++) {
            if (a.current[agent] != 1 || a.oracle.relaxed >> agent & 1) continue;
            const Access& access = access_at(code.x, a.access[agent][0]);
            if (access.kind != AccessKind::LOAD) continue;
            a.oracle.loading = static_cast<u16>(a.oracle.loading | 1u << agent);
            a.oracle.loads[agent] = access.where;
        }
    }
}
