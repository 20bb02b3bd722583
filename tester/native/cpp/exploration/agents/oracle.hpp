// What values a load may return, decided while states are explored.
//
// Every store writes a token of its own. Of a token only what future judgements ask for is kept: whether
// it is established (its store, or a load of it, has ended), whether it is over (another token comes
// after it for everyone who begins now), which pending stores come after it, which agents
// may still return it, and of which loads it was established before they began. With that, the answers
// to coherent agents are linearizable location by location: a load that returns v puts everything that
// was established before it began in front of v, and a token that comes before an established one
// is over. A relaxed agent may return what was not over at its last acquire.
//
// Invariant: a token that is not pending and that no agent may return is dead; its values are
// all the same, and returning one is a finding for any agent.

#pragma once

#include "untimed/coder.hpp"

inline constexpr u32 FIRST_TOKEN = 2;  // tokens begin behind CLEARED and DEAD
inline constexpr u8 NO_AGENT = 0xff;

// A location's number once lines, of `data` locations each, have changed places.
inline u32 renamed_place(const Renaming& r, u32 location, u32 data) {
    if (LIKELY(r.same_lines)) return location;
    return r.lines.to[location / data] * data + location % data;
}

struct Token {
    u8 location;
    u8 owner;  // whose store of it is pending
    bool used;
    bool established;
    bool over;
    u16 older;   // agents whose pending store comes after it
    u16 may;     // agents that may return it: in their load under way, or at any time
    u16 before;  // coherent agents with a load under way before which it was established
};

struct Oracle {
    Token tokens[MAX_TOKENS];
    u64 used;  // which of them are, a bit each
    u32 locations;
    u16 relaxed;   // agents that are
    u16 loading;   // coherent agents with a load under way ...
    u8 loads[16];  // ... of this location

    Token& at(u32 value) { return tokens[value]; }

    bool live(const Token& t) const {
        return t.used && (t.owner != NO_AGENT || t.may || (t.established && !t.over));
    }

    // A new token; 0: there is none left. One that is dead may still lie about, so none is used twice
    // between two readings of a state.
    u32 fresh(u32 location) {
        for (u32 value = FIRST_TOKEN; value < MAX_TOKENS; value++) {
            if (tokens[value].used) continue;
            tokens[value] = {static_cast<u8>(location), NO_AGENT, true, false, false, 0, 0, 0};
            used |= u64{1} << value;
            return value;
        }
        return 0;
    }

    template <class F>
    void each(u32 location, F f) {
        for (u64 left = used; left; left &= left - 1) {
            Token& t = tokens[__builtin_ctzll(left)];
            if (t.location == location && live(t)) f(t);
        }
    }

    u32 start(u32 location) {
        const u32 value = fresh(location);
        tokens[value].established = true;
        tokens[value].may = relaxed;
        return value;
    }

    // The token of a new store; 0: there are too many.
    u32 begin_store(u32 agent, u32 location) {
        const u16 bit = static_cast<u16>(1u << agent);
        const u32 value = fresh(location);
        if (!value) return 0;
        each(location, [&](Token& t) {
            if (t.established) t.older = static_cast<u16>(t.older | bit);
        });
        Token& mine = tokens[value];
        mine.owner = static_cast<u8>(agent);
        mine.older = 0;
        mine.may = relaxed;
        for (u32 a = 0; a < MAX_AGENTS; a++) {
            if (loading >> a & 1 && loads[a] == location)
                mine.may = static_cast<u16>(mine.may | 1u << a);
        }
        return value;
    }

    u32 pending(u32 agent, u32 location) const {
        for (u64 left = used; left; left &= left - 1) {
            const u32 value = static_cast<u32>(__builtin_ctzll(left));
            if (tokens[value].owner == agent && tokens[value].location == location) return value;
        }
        return 0;
    }

    // The agent's own loads no longer return what its store comes after.
    void store_accepted(u32 agent, u32 location) {
        const u16 bit = static_cast<u16>(1u << agent);
        if (!(relaxed & bit)) return;
        each(location, [&](Token& t) {
            if (t.older & bit) t.may = static_cast<u16>(t.may & ~bit);
        });
    }

    void establish(Token& t) {
        if (t.established) return;
        t.established = true;
        if (t.owner == NO_AGENT) return;
        const u16 bit = static_cast<u16>(1u << t.owner);
        each(t.location, [&](Token& other) {
            if (!(other.older & bit)) return;
            other.older = static_cast<u16>(other.older & ~bit);
            other.over = true;
        });
    }

    void store_performed(u32 agent, u32 location) {
        const u32 value = pending(agent, location);
        if (!value) return;
        establish(tokens[value]);
        tokens[value].owner = NO_AGENT;
    }

    void begin_load(u32 agent, u32 location) {
        const u16 bit = static_cast<u16>(1u << agent);
        if (relaxed & bit) return;
        loading = static_cast<u16>(loading | bit);
        loads[agent] = static_cast<u8>(location);
        each(location, [&](Token& t) {
            if (t.over) return;
            t.may = static_cast<u16>(t.may | bit);
            if (t.established) t.before = static_cast<u16>(t.before | bit);
        });
    }

    // Whether the load may end with that value.
    bool end_load(u32 agent, u32 location, u32 value) {
        const u16 bit = static_cast<u16>(1u << agent);
        const bool known = value >= FIRST_TOKEN && value < MAX_TOKENS && live(tokens[value]);
        const bool right = known && tokens[value].location == location && tokens[value].may & bit;
        if (relaxed & bit || !right) return right;
        Token& got = tokens[value];
        // Stores of relaxed agents are ordered when they are performed, not when they are seen.
        if (!got.established && got.owner != NO_AGENT && relaxed >> got.owner & 1) {
            end(bit);
            return true;
        }
        establish(got);
        const u16 later = got.before;  // loads that began when `got` was established
        each(location, [&](Token& t) {
            if (&t == &got || !(t.before & bit)) return;
            t.over = true;
            t.may = static_cast<u16>(t.may & ~later);
        });
        end(bit);
        return true;
    }

    // A coherent agent has no load under way any more.
    void end(u16 bit) {
        for (u64 left = used; left; left &= left - 1) {
            Token& t = tokens[__builtin_ctzll(left)];
            t.may = static_cast<u16>(t.may & ~bit);
            t.before = static_cast<u16>(t.before & ~bit);
        }
        loading = static_cast<u16>(loading & ~bit);
    }

    void acquire(u32 agent) {
        const u16 bit = static_cast<u16>(1u << agent);
        if (!(relaxed & bit)) return;
        for (u64 left = used; left; left &= left - 1) {
            Token& t = tokens[__builtin_ctzll(left)];
            if (t.over) t.may = static_cast<u16>(t.may & ~bit);
        }
    }

    // Everything about a token that any judgement asks for, renamed.
    u64 signature(const Token& t, const Renaming& r, u32 data) const {
        const auto agents = [&](u16 set) {
            if (LIKELY(r.same)) return u64{set};
            u64 renamed = 0;
            for (u32 rest = set; rest; rest &= rest - 1)
                renamed |= u64{1} << r.agents.to[__builtin_ctz(rest)];
            return renamed;
        };
        const u32 location = renamed_place(r, t.location, data);
        const u32 owner = t.owner == NO_AGENT ? 15u : r.agents.to[t.owner];
        // Behind a token that is over, only an agent's own stores still matter, to its own loads.
        const u16 older = t.over ? static_cast<u16>(t.older & t.may & relaxed) : t.older;
        return u64{location} << 58 | u64{owner} << 54 | u64{t.established} << 53 |
               u64{t.over} << 52 | agents(older) << 32 | agents(t.may) << 16 | agents(t.before);
    }
};
