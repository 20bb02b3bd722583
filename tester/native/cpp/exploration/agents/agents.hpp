// The agents of an exploration: what is outstanding, and what answers mean.
//
// An agent waits for the answer to what it began; a store of a relaxed agent that was accepted
// completes beside later accesses. Invariant: everything that is known here is written with the
// state (coding.hpp).

#pragma once

#include "exploration/agents/oracle.hpp"
#include "exploration/agents/script.hpp"
#include "requesters/registry.hpp"
#include "untimed/steps.hpp"

inline constexpr u32 MOST_AGENTS = 8;
inline constexpr u32 MOST_LOCATIONS = 8;
inline constexpr u32 AGENT_SLOTS = 1 + MOST_LOCATIONS;
inline constexpr u32 MOST_OPERATIONS = 16;
inline constexpr u64 RELEASE_SEQUENCE = u64{1} << 40;  // behind all stores of its agent

// Places whose values are asked for: locations, and behind them the words of lines.
inline constexpr u32 WORD_PLACE = MOST_LOCATIONS;
inline constexpr u16 ALL_PLACES = 0xffff;
static_assert(WORD_PLACE + MAX_LINES <= 16);

struct Operation {
    u8 kind;  // AccessKind
    u8 scope;
    u8 target;  // Target
};

struct Agent {
    u32 requester;
    u32 operations;  // a bit each
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
    u16 asked;       // places whose values it asked for, or told of: a bit each

    void ask(u32 place) { asked = static_cast<u16>(asked | 1u << place); }
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
    // The last step of a kind that an agent has begun; null: none, or there is no script.
    const ScriptStep* last(u32 agent, u8 op) const {
        for (u32 i = done.at[agent]; i--;) {
            if (script.steps[agent][i].op == op) return &script.steps[agent][i];
        }
        return nullptr;
    }
    u8 size_of(u32 agent, u8 op) const {
        const ScriptStep* step = last(agent, op);
        return step ? step->size : static_cast<u8>(LOCATION_BYTES);
    }
    u32 locations() const { return coding.lines * coding.data; }
};

// How many tokens there are up to the last one that is used.
inline u32 tokens_to_last(u64 used) {
    return MAX_TOKENS - static_cast<u32>(__builtin_clzll(used | 1));
}

// Whether the same is known of all values, as far as can be seen quickly.
inline bool same_tokens(const Oracle& one, const Oracle& other) {
    return one.used == other.used &&
           !__builtin_memcmp(one.tokens, other.tokens, tokens_to_last(one.used) * sizeof(Token));
}

// Make `to` what `from` is, but for what a step begins with. Tokens that are not used are empty in both.
inline void agents_copy(const Agents& a, const AgentsState& from, AgentsState& to) {
    const u32 tokens = tokens_to_last(from.oracle.used | to.oracle.used);
    __builtin_memcpy(to.oracle.tokens, from.oracle.tokens, tokens * sizeof(Token));
    to.oracle.used = from.oracle.used;
    to.oracle.loading = from.oracle.loading;
    __builtin_memcpy(to.oracle.loads, from.oracle.loads, sizeof to.oracle.loads);
    __builtin_memcpy(to.access, from.access, a.count * sizeof to.access[0]);
    __builtin_memcpy(to.current, from.current, sizeof to.current);
    if (UNLIKELY(a.coding.word))
        __builtin_memcpy(to.word, from.word, a.coding.lines * sizeof to.word[0]);
    if (UNLIKELY(a.script.used)) to.done = from.done;
}

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
    if (UNLIKELY(a.script.used)) {
        if (const ScriptStep* step = a.last(access.agent, access.op)) return &step->address;
    }
    switch (a.operations[access.op].target) {
        case TARGET_LOCATION: return &a.addresses[access.where];
        case TARGET_LINE: return &a.addresses[access.where * a.coding.data];
        default: return &a.words[access.where];
    }
}

inline u64 access_lines_key(const Access& access) { return 1 + (access.op << 8 | access.where); }

inline u64 stored_value(const Agents& a, const Access& access) {
    if (LIKELY(!a.script.used)) return a.oracle.pending(access.agent, access.where);
    const ScriptStep* step = a.last(access.agent, access.op);
    return (step ? step->value : 0) ^ a.coding.turned;
}

inline void put_value(const Context& x, const Access& access, u32, u8* to) {
    store_bytes(to, stored_value(agents_of(x), access), access.size);
}

inline void put_values(const Context& x, const Access& access, u64, u64 line, u8* bytes) {
    put_value(x, access, 0, bytes + (access_addresses(x, access)[0] - line));
}

inline AtomicNode access_operation(const Context& x, const Access& access, u32) {
    const Agents& a = agents_of(x);
    AtomicNode node = {};
    node.size = static_cast<u8>(access.size);
    if (UNLIKELY(a.script.used)) {
        if (const ScriptStep* step = a.last(access.agent, SCRIPT_ATOMIC)) {
            node.kind = step->way;
            node.operand = step->value;
            node.compare = step->compare;
        }
        return node;
    }
    const u32 begun = a.word[access.where].begun[access.agent];
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

// What a load or an atomic operation of a program got; before all programs there are only zeroes.
inline void script_got(Agents& a, const Access& access, u64 stored) {
    const u64 value = stored ^ (a.coding.turned & (~u64{0} >> (64 - 8 * access.size)));
    const ScriptStep* step = a.last(access.agent, access.op);
    if (!step) {
        if (value) found(a, FOUND_VALUE, access.agent, access.where, 0);
    } else if (step->reg != NO_REGISTER) {
        a.done.registers[step->reg] = value;
    }
}

inline void client_loaded(Context& x, Access& access, u64, u32, const u8* bytes) {
    Agents& a = agents_of(x);
    a.ask(access.where);
    const u64 got = load_bytes(bytes + (access_addresses(x, access)[0] & LINE_MASK), access.size);
    const u32 value = static_cast<u32>(got);
    if (UNLIKELY(a.script.used)) {
        script_got(a, access, got);
    } else if (!a.oracle.end_load(access.agent, access.where, value)) {
        found(a, FOUND_VALUE, access.agent, access.where, value);
    }
    access_ended(x, access);
}

inline void client_stored(Context& x, Access& access, u64, u32) {
    Agents& a = agents_of(x);
    a.ask(access.where);
    a.oracle.store_accepted(access.agent, access.where);
    if (a.oracle.relaxed >> access.agent & 1 && a.current[access.agent] == access.slot + 1)
        a.current[access.agent] = 0;
}

inline void client_store_completed(Context& x, Access& access, u64, u32) {
    Agents& a = agents_of(x);
    a.ask(access.where);
    a.oracle.store_performed(access.agent, access.where);
    access_ended(x, access);
}

inline void client_atomic_done(Context& x, Access& access, u64, const u64* old, u32 values) {
    Agents& a = agents_of(x);
    if (UNLIKELY(a.script.used)) {
        if (values) script_got(a, access, old[0]);
        return access_ended(x, access);
    }
    a.ask(WORD_PLACE + access.where);
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
