// Which cell each lane of a block requests, and where inside of the granted one it goes, as compiled code.
//
// Invariant: byte for byte what AddressSelector in tester/generator/address_selection.py computes with
// arrays, up to the targeting of other agents' stores; the reasons are given there.
#pragma once

#include "reservation.hpp"

enum { NAME_LENGTH_BITS = 12 };

struct Selection {
    // the block
    i64 episodes, lanes;
    const i64* identity;  // [episodes]
    const i64* first;     // [episodes + 1] first action
    const i64* group;     // [episodes * lanes] -1: the lane is off
    const u8* action_is_store;
    const i64* action_size;  // [actions] index: 1, 2, 4 or 8 bytes
    i64 repeat_percent, hot_percent, hot_cells, pattern_percent;
    // keys of random streams
    u64 episode_key, action_key, slot_key, first_key, own_key;
    // the map
    i64 cells;
    const i64* group_first;
    const i64* reach;  // [groups * 4]
    const u8* cell_size;
    const i64* line_start;
    // results: one entry per active lane of each action; room for actions * lanes
    i64* pick_action;
    i64* pick_lane;
    i64* pick_episode;
    i64* pick_group;
    u8* pick_is_store;
    i64* pick_size;
    i64* pick_identity;
    i64* first_cell;
    i64* choices;
    i64* index;
    // work space: one entry per action of an episode, each
    i64* owned;
    i64* owned_store;
    i64* at;  // [actions] first pick of each action
};

static inline i64 word(i64 name, i64 factor, i64 offset) {
    return (i64)((u64)name * (u64)factor + (u64)offset);
}

static inline i64 shifted(i64 name, int bits) { return (i64)((u64)name << bits); }

static inline i64 action_name(const Selection& p, i64 episode, i64 number) {
    return shifted(p.identity[episode], NAME_LENGTH_BITS) | number;
}

// Index within the group's cells that a lane requests first.
static inline i64 first_choice(const Selection& p, i64 episode, i64 source, i64 lane, i64 group,
                               bool is_store, i64 choices) {
    const i64 name = action_name(p, episode, source);
    i64 index = scaled(draw_word(p.first_key, shifted(name, LANE_BITS) | lane), choices);
    const i64 some = choices > 1 ? choices : 1;
    if (p.hot_percent && draw_percent(p.action_key, word(name, 8, 4), p.hot_percent)) {
        i64 few = choices < p.hot_cells ? choices : p.hot_cells;
        if (few < 1) few = 1;
        index = index % few * (choices / few);
    }
    if (p.pattern_percent && draw_percent(p.action_key, word(name, 8, 5), p.pattern_percent)) {
        const i64 shape = scaled(draw_word(p.action_key, word(name, 8, 6)), 4);
        i64 stride = shape == 0 ? 0 : shape == 3 ? 2 : 1;
        if (is_store && stride < 1) stride = 1;
        const u64 drawn = shape & 1 ? draw_word(p.action_key, word(name, 8, 7))
                                    : draw_word(p.episode_key, ~p.identity[episode]);
        i64 start = scaled(drawn, choices);
        if (shape == 2) {
            const i64 first = p.group_first[group];
            const i64 place = first + start < p.cells - 1 ? first + start : p.cells - 1;
            start = p.line_start[place] > first ? p.line_start[place] - first : 0;
        }
        index = (start + lane * stride) % some;
    }
    return index;
}

// Fills the result arrays; gives the number of picks.
static inline i64 make_picks(Selection& p) {
    i64 picks = 0;
    for (i64 episode = 0; episode < p.episodes; episode++) {
        const i64 first = p.first[episode], last = p.first[episode + 1];
        i64 widest = 0;
        for (i64 a = first; a < last; a++)
            if (p.action_size[a] > widest) widest = p.action_size[a];
        const bool wide = draw_percent(p.episode_key, word(p.identity[episode], 4, 3), 50);
        for (i64 a = first; a < last; a++) {
            p.at[a] = picks;
            const i64 number = a - first;
            const i64 name = action_name(p, episode, number);
            for (i64 lane = 0; lane < p.lanes; lane++) {
                const i64 group = p.group[episode * p.lanes + lane];
                if (group < 0) continue;
                const i64 identity = shifted(name, LANE_BITS) | lane;
                const i64* reach = p.reach + group * 4;
                const i64 choices =
                    wide && reach[widest] > 0 ? reach[widest] : reach[p.action_size[a]];
                i64 source = number;
                if (draw_percent(p.slot_key, word(identity, 2, 1), p.repeat_percent))
                    source = scaled(draw_word(p.action_key, word(identity, 8, 3)), number);
                p.pick_action[picks] = a;
                p.pick_lane[picks] = lane;
                p.pick_episode[picks] = episode;
                p.pick_group[picks] = group;
                p.pick_is_store[picks] = p.action_is_store[a];
                p.pick_size[picks] = p.action_size[a];
                p.pick_identity[picks] = identity;
                p.first_cell[picks] = p.group_first[group];
                p.choices[picks] = choices;
                p.index[picks] =
                    first_choice(p, episode, source, lane, group, p.action_is_store[a], choices);
                picks++;
            }
        }
    }
    return picks;
}

// Moves half of the refused picks to a cell that their lane owns already.
static inline void return_to_own(const Selection& p, i64* cell) {
    for (i64 episode = 0; episode < p.episodes; episode++) {
        const i64 first = p.first[episode], last = p.first[episode + 1];
        i64 place = 0;  // of the lane among those of its episode
        for (i64 lane = 0; lane < p.lanes; lane++) {
            if (p.group[episode * p.lanes + lane] < 0) continue;
            i64 owned = 0, owned_store = 0;
            for (i64 a = first; a < last; a++) {
                const i64 pick = p.at[a] + place;
                if (cell[pick] < 0) continue;
                p.owned[owned++] = pick;
                if (p.pick_is_store[pick]) p.owned_store[owned_store++] = pick;
            }
            for (i64 a = first; a < last && owned > 0; a++) {
                const i64 pick = p.at[a] + place;
                if (cell[pick] >= 0 || p.choices[pick] <= 0) continue;
                const i64 count = p.pick_is_store[pick] ? owned_store : owned;
                const i64* mine = p.pick_is_store[pick] ? p.owned_store : p.owned;
                const i64 identity = p.pick_identity[pick];
                if (count == 0 || !draw_percent(p.own_key, word(identity, 2, 0), 50)) continue;
                const i64 back = mine[scaled(draw_word(p.own_key, word(identity, 2, 1)), count)];
                if (p.cell_size[cell[back]] >= 1 << p.pick_size[pick]) cell[pick] = cell[back];
            }
            place++;
        }
    }
}

// The addresses of picks with a cell, inside of it. `address`: [actions * lanes], -1 for other lanes.
static inline void place(const Selection& p, i64 picks, const i64* cell, const i64* cell_address,
                         i64* address) {
    for (i64 i = 0; i < picks; i++) {
        if (cell[i] < 0) continue;
        const i64 places = p.cell_size[cell[i]] >> p.pick_size[i];
        const i64 inner = scaled(draw_word(p.slot_key, word(p.pick_identity[i], 2, 0)), places);
        address[p.pick_action[i] * p.lanes + p.pick_lane[i]] =
            cell_address[cell[i]] + (inner << p.pick_size[i]);
    }
}
