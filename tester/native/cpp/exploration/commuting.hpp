// Steps that need not be made, because other orders of the same steps are.
//
// Two steps out of a state commute if they reach different consumers and ask for values of different
// places: neither changes anything that the other looks at. Let a stand before b among the choices of a
// state s, and let b be the first step that finds t. Then a is asleep in t: it is not made there, because
// it leads to the state to which b leads from where a led out of s. What is asleep in t stays asleep behind a step
// that commutes with it. (P. Godefroid: Using partial orders to improve automatic verification methods,
// CAV 1990, calls these sleep sets.)
//
// Invariant: where a step that is asleep in t leads, another one, made or asleep, leads from a state that
// was found before t. Going back like that ends at a step that is made, in no later level: no state is
// lost, and none is found later or by a longer way. Transitions and errors of a step that is asleep are
// those that it had where it was made.

#pragma once

#include "exploration/model.hpp"

// A step, and what it reached.
struct Reach {
    u64 consumers;   // a bit each; MEMORY: main memory
    u16 places;      // whose values were asked for: locations, and behind them words; a bit each
    i16 messages;    // how many more there are after it
    u16 choice;      // packed
    bool completed;  // whether it completed a request

    static constexpr u64 MEMORY = u64{1} << 63;

    bool meets(const Reach& other) const {
        return (consumers & other.consumers) != 0 || (places & other.places) != 0;
    }
};
static_assert(sizeof(Reach) == 16);

inline bool of_the_bus(const Context& x, Choice choice) {
    return choice.kind == ChoiceKind::DELIVER && choice.what >= slot_of_port(x, 0);
}

// What the last step reached. `before`: messages under way in front of it.
inline Reach reach_of(Model& m, Choice choice, u64 before) {
    u64 consumers = woken(m.x) | m.origin.touched;
    if (m.origin.touched & m.memories) consumers |= Reach::MEMORY;
    // Within a tick of a controller, steps of others are not possible.
    if (of_the_bus(m.x, choice) || in_a_tick(m.x, m.agents.rules)) consumers = ~u64{0};
    const i64 messages = static_cast<i64>(m.x.s->messages.live) - static_cast<i64>(before);
    return {consumers, m.agents.asked, static_cast<i16>(messages), packed(choice),
            m.agents.completed};
}

// Whether it is known which choice of the state as it stands, once that was written and read, is this one
// of the state before: of several messages without order, it is not.
inline bool stays_the_same(const Model& m, Choice choice) {
    switch (choice.kind) {
        case ChoiceKind::DELIVER: {
            if (of_the_bus(m.x, choice)) return false;
            const WheelSlot& list = m.x.wheel[choice.what];
            return list.head == list.tail || m.agents.rules.order.has(choice.what);
        }
        case ChoiceKind::WAKE: return true;
        case ChoiceKind::ISSUE: return !m.agents.script.used;
        default: return false;
    }
}

inline Choice renamed_choice(const Agents& a, const Renaming& r, Choice choice) {
    if (choice.kind == ChoiceKind::DELIVER) {
        return {choice.kind, r.slots.to[choice.what], 0, 0};
    }
    if (choice.kind == ChoiceKind::WAKE) {
        return {choice.kind, r.controllers.to[choice.what], 0, 0};
    }
    INVARIANT(choice.kind == ChoiceKind::ISSUE);
    choice.what = r.agents.to[choice.what];
    const u8 target = a.operations[choice.which].target;
    if (target == TARGET_LOCATION)
        choice.where = static_cast<u8>(renamed_location(a, r, choice.where));
    else if (target != TARGET_NOTHING)
        choice.where = r.lines.to[choice.where];
    return choice;
}

// Of a step that is asleep, which therefore did not reach all.
inline Reach renamed_reach(const Context& x, const Agents& a, const Renaming& r, Reach reach) {
    if (r.same) return reach;
    const u32 requesters = x.s->controllers;
    const u32 clients = requesters + x.s->requesters;
    u64 consumers = reach.consumers & Reach::MEMORY;
    for (u64 left = reach.consumers & ~Reach::MEMORY; left; left &= left - 1) {
        const u32 id = static_cast<u32>(__builtin_ctzll(left));
        const u32 renamed = id < requesters ? r.controllers.to[id]
                            : id < clients  ? requesters + r.requesters.to[id - requesters]
                                            : clients + r.agents.to[id - clients];
        consumers |= u64{1} << renamed;
    }
    u32 places = 0;
    for (u32 left = reach.places; left; left &= left - 1) {
        const u32 place = static_cast<u32>(__builtin_ctz(left));
        const u32 renamed = place < WORD_PLACE ? renamed_location(a, r, place)
                                               : WORD_PLACE + r.lines.to[place - WORD_PLACE];
        places |= 1u << renamed;
    }
    reach.consumers = consumers;
    reach.places = static_cast<u16>(places);
    reach.choice = packed(renamed_choice(a, r, unpacked(reach.choice)));
    return reach;
}

// The steps out of one state, in the order of its choices, as far as sets have bits.
struct Siblings {
    static constexpr u32 MOST = 64;
    Choice choices[MOST_CHOICES];
    u32 count;
    Reach reach[MOST];  // of those that were made, or are asleep
    u64 asleep;         // choices that are, a bit each

    // What is asleep in the state.
    void begin(const u8* list, u32 sleeping) {
        asleep = 0;
        for (u32 i = 0; i < sleeping; i++) {
            Reach one;
            __builtin_memcpy(&one, list + i * sizeof one, sizeof one);
            for (u32 which = 0; which < count && which < MOST; which++) {
                if (packed(choices[which]) != one.choice) continue;
                asleep |= u64{1} << which;
                reach[which] = one;
            }
        }
    }
    bool is_asleep(u32 which) const { return which < MOST && asleep >> which & 1; }

    // One was made, out of a state with so many messages under way. Returns those in front of it that
    // are asleep where it led to, a bit each.
    u64 made(Model& m, u32 which, u64 messages_before) {
        if (which >= MOST) return 0;
        u64 resting = 0;
        const Choice choice = choices[which];
        const Reach mine = reach[which] = reach_of(m, choice, messages_before);
        for (u32 other = 0; other < which; other++) {
            if (mine.meets(reach[other]) || !stays_the_same(m, choices[other])) continue;
            // It has to be possible behind the other one, too.
            const i64 there = static_cast<i64>(messages_before) + reach[other].messages;
            if (choice.kind == ChoiceKind::ISSUE && m.agents.bound && there >= m.agents.bound)
                continue;
            resting |= u64{1} << other;
        }
        return resting;
    }
};
