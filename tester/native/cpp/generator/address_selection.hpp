// Which location each lane of an action gets, and where inside of it its access goes, as compiled code.
//
// Invariant: equal to AddressSelector in tester/generator/address_selection.py; the reasons are given
// there.
#pragma once

#include "address_map.hpp"
#include "reservation.hpp"

enum { LANE_BITS = 6, NAME_LENGTH_BITS = 12, ATTEMPTS = 6 };

// What the lanes of an action have in common in what they request first.
struct Habit {
    u64 start;  // of a pattern: its place, drawn
    bool hot, patterned, by_line;
    u8 stride;
};

struct Selection {
    // the block
    i64 lanes;
    const i64* identity;  // [episodes]
    const i64* first;     // [episodes + 1] first action
    i64 repeat_percent, hot_percent, hot_cells, pattern_percent, stream_percent;
    // keys of random streams
    u64 episode_key, action_key, slot_key, first_key, own_key, stream_key, attempt_key[ATTEMPTS];
    // the map
    i64 locations;
    const i64* group_first;
    const i64* reach;  // [groups * 4]
    const u8* location_size;
    const i64* location_address;
    i64 line_size;
    const i64* line_start;
    const u8* is_whole;  // see ByteRow
    // who holds its locations
    Claim* claim;
    // of the present episode: its actions' habits; what each lane has so far, and stores to: how many, and
    // where, at most as many as actions
    Habit* habit;
    i32* owns[2];  // [lanes]
    i32* owned[2];
    i64 longest;
};

// One lane of an action.
struct Pick {
    i64 identity;  // counters for random numbers
    i64 group;
    i64 choices;  // how many locations of the group it may choose from
    i64 size;     // index: 1, 2, 4 or 8 bytes
    Holder holder;
    bool whole_line;  // it will take the whole line of its location
};

static inline bool may_go(const Selection& s, const Pick& p, i64 location) {
    return !p.whole_line || s.is_whole[location];
}

static inline i64 action_name(const Selection& s, i64 episode, i64 number) {
    return shifted(s.identity[episode], NAME_LENGTH_BITS) | number;
}

static inline Habit habit_of(const Selection& s, i64 episode, i64 number) {
    const i64 name = action_name(s, episode, number);
    Habit made{};
    made.hot = s.hot_percent && draw_percent(s.action_key, word(name, 8, 4), s.hot_percent);
    made.patterned =
        s.pattern_percent && draw_percent(s.action_key, word(name, 8, 5), s.pattern_percent);
    if (!made.patterned) return made;
    const i64 shape = draw_below(s.action_key, word(name, 8, 6), 4);
    made.stride = shape == 0 ? 0 : shape == 3 ? 2 : 1;
    made.by_line = shape == 2;
    made.start = shape & 1 ? draw_word(s.action_key, word(name, 8, 7))
                           : draw_word(s.episode_key, ~s.identity[episode]);
    return made;
}

// Index within the group's locations that a lane requests first, with the habit of action `source`.
static inline i64 first_choice(const Selection& s, i64 episode, i64 source, i64 lane, i64 group,
                               bool is_store, i64 choices) {
    const Habit& habit = s.habit[source];
    const i64 name = action_name(s, episode, source);
    i64 index = draw_below(s.first_key, shifted(name, LANE_BITS) | lane, choices);
    if (habit.hot) {
        const i64 few = choices < s.hot_cells ? choices : s.hot_cells;
        index = index % few * (choices / few);
    }
    if (habit.patterned) {
        const i64 stride = is_store && !habit.stride ? 1 : habit.stride;
        i64 start = scaled(habit.start, choices);
        if (habit.by_line) {
            const i64 first = s.group_first[group];
            const i64 place = first + start < s.locations - 1 ? first + start : s.locations - 1;
            start = s.line_start[place] > first ? s.line_start[place] - first : 0;
        }
        index = (start + lane * stride) % choices;
    }
    return index;
}

// Begins an episode. Returns the widest of its actions.
static inline u8 begin_episode(const Selection& s, i64 episode, const u8* action_size) {
    u8 widest = 0;
    for (i64 a = s.first[episode]; a < s.first[episode + 1]; a++) {
        if (action_size[a] > widest) widest = action_size[a];
        s.habit[a - s.first[episode]] = habit_of(s, episode, a - s.first[episode]);
    }
    for (i64 lane = 0; lane < s.lanes; lane++) s.owns[0][lane] = s.owns[1][lane] = 0;
    return widest;
}

// The location that a pick gets of those it tries, or -1: each is taken. `number`: of its action.
static inline i64 free_location(const Selection& s, const Pick& p, i64 episode, i64 number) {
    if (!p.choices) return -1;
    i64 source = number;
    if (draw_percent(s.slot_key, word(p.identity, 2, 1), s.repeat_percent))
        source = draw_below(s.action_key, word(p.identity, 8, 3), number);
    const bool any_location =
        source == number && !s.habit[source].hot && !s.habit[source].patterned;
    const i64 first = s.group_first[p.group];
    i64 index =
        first_choice(s, episode, source, p.holder.lane, p.group, p.holder.stores, p.choices);
    i64 found = -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (attempt) index = draw_below(s.attempt_key[attempt], p.identity, p.choices);
        const Claim& claim = s.claim[first + index];
        if (!is_free(claim, p.holder) || !may_go(s, p, first + index)) continue;
        if (!any_location || is_preferred(claim, p.holder)) return first + index;
        if (found < 0) found = first + index;
    }
    return found;
}

// By how many bytes each access of an episode that goes from line to line is behind the one before; 0: it
// does not.
static inline i64 step_of(const Selection& s, i64 identity) {
    static constexpr i64 STRIDES[] = {1, 1, 2, -1};
    if (!draw_percent(s.stream_key, word(identity, 2, 0), s.stream_percent)) return 0;
    return STRIDES[draw_below(s.stream_key, word(identity, 2, 1), 4)] * s.line_size;
}

// The first free location in the line that is next in its lane's stream, or -1.
static inline i64 next_in_stream(const Selection& s, const Pick& p, i64 step) {
    const i64 lane = p.holder.lane, first = s.group_first[p.group];
    if (!s.owns[0][lane]) return -1;
    const i32 last = s.owned[0][lane * s.longest + s.owns[0][lane] - 1];
    const i64 line = (s.location_address[last] & -s.line_size) + step;
    for (i64 location = first; location < first + p.choices; location++)
        if ((s.location_address[location] & -s.line_size) == line && may_go(s, p, location) &&
            is_free(s.claim[location], p.holder))
            return location;
    return -1;
}

// A location that the lane of a refused pick has already, for half of them, or -1.
static inline i64 own_location(const Selection& s, const Pick& p) {
    const i64 lane = p.holder.lane, count = s.owns[p.holder.stores][lane];
    if (!count || !p.choices || !draw_percent(s.own_key, word(p.identity, 2, 0), 50)) return -1;
    const i64 which = draw_below(s.own_key, word(p.identity, 2, 1), count);
    const i32 own = s.owned[p.holder.stores][lane * s.longest + which];
    return s.location_size[own] >= 1 << p.size ? own : -1;
}

static inline void take(const Selection& s, const Pick& p, i64 location) {
    const i64 lane = p.holder.lane;
    hold(s.claim[location], p.holder);
    s.owned[0][lane * s.longest + s.owns[0][lane]++] = (i32)location;
    if (p.holder.stores) s.owned[1][lane * s.longest + s.owns[1][lane]++] = (i32)location;
}

// Where an access goes inside of its location.
static inline i64 place_inside(const Selection& s, const Pick& p, i64 location) {
    const i64 places = s.location_size[location] >> p.size;
    return draw_below(s.slot_key, word(p.identity, 2, 0), places) << p.size;
}
