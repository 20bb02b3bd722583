// Which location each lane of a block requests, and where inside of the granted one it goes, as compiled code.
//
// Invariant: byte for byte what AddressSelector in tester/generator/address_selection.py computes with
// arrays; the reasons are given there.
#pragma once

#include "address_map.hpp"
#include "reservation.hpp"

enum { NAME_LENGTH_BITS = 12 };

// What the lanes of an action have in common in what they request first.
struct Habit {
    u64 start;  // of a pattern: its place, drawn
    bool hot, patterned, by_line;
    u8 stride;
};

struct Selection {
    // the block
    i64 episodes, lanes;
    const i64* identity;  // [episodes]
    const i64* first;     // [episodes + 1] first action
    const i32* group;     // [episodes * lanes] -1: the lane is off
    const u8* action_is_store;
    const u8* action_size;  // [actions] index: 1, 2, 4 or 8 bytes
    i64 repeat_percent, hot_percent, hot_cells, pattern_percent;
    // keys of random streams
    u64 episode_key, action_key, slot_key, first_key, own_key;
    // the map
    i64 locations;
    const i64* group_first;
    const i64* reach;  // [groups * 4]
    const u8* location_size;
    const i64* line_start;
    // results: one entry per active lane of each action; room for actions * lanes
    i64 picks;
    Pick* pick;
    Wish* wish;
    i64* first_pick;  // [episodes + 1]
    // work space: one entry per action of an episode, each
    Habit* habit;
    i32* owned[2];  // all, and those that are stored to
    i32* refused;
};

static inline i64 action_name(const Selection& p, i64 episode, i64 number) {
    return shifted(p.identity[episode], NAME_LENGTH_BITS) | number;
}

static inline Habit habit_of(const Selection& p, i64 episode, i64 number) {
    const i64 name = action_name(p, episode, number);
    Habit made{};
    made.hot = p.hot_percent && draw_percent(p.action_key, word(name, 8, 4), p.hot_percent);
    made.patterned =
        p.pattern_percent && draw_percent(p.action_key, word(name, 8, 5), p.pattern_percent);
    if (!made.patterned) return made;
    const i64 shape = draw_below(p.action_key, word(name, 8, 6), 4);
    made.stride = shape == 0 ? 0 : shape == 3 ? 2 : 1;
    made.by_line = shape == 2;
    made.start = shape & 1 ? draw_word(p.action_key, word(name, 8, 7))
                           : draw_word(p.episode_key, ~p.identity[episode]);
    return made;
}

// Index within the group's locations that a lane requests first, with the habit of action `source`.
static inline i64 first_choice(const Selection& p, i64 episode, i64 source, i64 lane, i64 group,
                               bool is_store, i64 choices) {
    const Habit& habit = p.habit[source];
    const i64 name = action_name(p, episode, source);
    i64 index = draw_below(p.first_key, shifted(name, LANE_BITS) | lane, choices);
    const i64 some = choices > 1 ? choices : 1;
    if (habit.hot) {
        i64 few = choices < p.hot_cells ? choices : p.hot_cells;
        if (few < 1) few = 1;
        index = index % few * (choices / few);
    }
    if (habit.patterned) {
        const i64 stride = is_store && !habit.stride ? 1 : habit.stride;
        i64 start = scaled(habit.start, choices);
        if (habit.by_line) {
            const i64 first = p.group_first[group];
            const i64 place = first + start < p.locations - 1 ? first + start : p.locations - 1;
            start = p.line_start[place] > first ? p.line_start[place] - first : 0;
        }
        index = (start + lane * stride) % some;
    }
    return index;
}

// `live`: episodes that are reserved for already.
static inline void make_picks(Selection& p, i64 live) {
    i64 picks = 0;
    for (i64 episode = 0; episode < p.episodes; episode++) {
        p.first_pick[episode] = picks;
        const i64 first = p.first[episode], last = p.first[episode + 1];
        i64 widest = 0;
        for (i64 a = first; a < last; a++) {
            if (p.action_size[a] > widest) widest = p.action_size[a];
            p.habit[a - first] = habit_of(p, episode, a - first);
        }
        const bool wide = draw_percent(p.episode_key, word(p.identity[episode], 4, 3), 50);
        for (i64 a = first; a < last; a++) {
            const i64 number = a - first;
            const i64 name = action_name(p, episode, number);
            for (i64 lane = 0; lane < p.lanes; lane++) {
                const i32 group = p.group[episode * p.lanes + lane];
                if (group < 0) continue;
                const i64 identity = shifted(name, LANE_BITS) | lane;
                const i64* reach = p.reach + group * 4;
                const i64 choices =
                    wide && reach[widest] > 0 ? reach[widest] : reach[p.action_size[a]];
                i64 source = number;
                if (draw_percent(p.slot_key, word(identity, 2, 1), p.repeat_percent))
                    source = draw_below(p.action_key, word(identity, 8, 3), number);
                const i64 index =
                    first_choice(p, episode, source, lane, group, p.action_is_store[a], choices);
                const u64 key = key_of(p.group_first[group], live + episode, lane);
                p.wish[picks] = {key, (i32)choices, (i32)index};
                p.pick[picks++] = {identity,        (i32)a,   (i32)episode,
                                   group,           (u8)lane, p.action_is_store[a],
                                   p.action_size[a]};
            }
        }
    }
    p.first_pick[p.episodes] = picks;
    p.picks = picks;
}

// Moves half of the refused picks to a location that their lane owns already. Each action of an episode
// has as many picks as the episode has lanes.
static inline void return_to_own(const Selection& p, i32* location) {
    for (i64 episode = 0; episode < p.episodes; episode++) {
        const i64 first = p.first_pick[episode], last = p.first_pick[episode + 1];
        const i64 actions = p.first[episode + 1] - p.first[episode];
        const i64 lanes = actions ? (last - first) / actions : 0;
        for (i64 own = first; own < first + lanes; own++) {
            // Which picks have a location cannot be predicted, so there are no branches.
            i64 owned[2] = {0, 0}, refused = 0;
            for (i64 i = own; i < last; i += lanes) {
                const bool has = location[i] >= 0;
                p.owned[0][owned[0]] = p.owned[1][owned[1]] = p.refused[refused] = (i32)i;
                owned[0] += has;
                owned[1] += has & p.pick[i].is_store;
                refused += !has & (p.wish[i].choices > 0);
            }
            if (!owned[0]) continue;
            for (i64 n = 0; n < refused; n++) {
                const Pick& pick = p.pick[p.refused[n]];
                const i64 count = owned[pick.is_store];
                const i32* mine = p.owned[pick.is_store];
                const i32 to =
                    location[mine[draw_below(p.own_key, word(pick.identity, 2, 1), count)]];
                const bool fits = p.location_size[to & -(i32)(count > 0)] >= 1 << pick.size;
                const bool moves =
                    (count > 0) & fits & draw_percent(p.own_key, word(pick.identity, 2, 0), 50);
                location[p.refused[n]] = to | -(i32)!moves;
            }
        }
    }
}

// The addresses of picks with a location, inside of it. `address`: [actions * lanes], -1 for other lanes;
// `used`: [actions], 0 where there is none.
static inline void place(const Selection& p, const i32* location, const i64* location_address,
                         i64* address, u8* used) {
    for (i64 i = 0; i < p.picks; i++) {
        // Which picks have a location cannot be predicted, so there is no branch.
        const Pick& pick = p.pick[i];
        const bool has = location[i] >= 0;
        const i32 own = has ? location[i] : 0;
        const i64 places = p.location_size[own] >> pick.size;
        const i64 inner = draw_below(p.slot_key, word(pick.identity, 2, 0), places);
        used[pick.action] |= has;
        address[pick.action * p.lanes + pick.lane] =
            (location_address[own] + (inner << pick.size)) | -(i64)!has;
    }
}
