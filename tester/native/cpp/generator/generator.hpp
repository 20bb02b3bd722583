// A chunk of a random program, as compiled code.
//
// Invariant: byte for byte what Generator in tester/generator/generator.py computes with arrays; the
// reasons are given there.
#pragma once

#include "conflict_targeting.hpp"
#include "expectations.hpp"
#include "unaligned.hpp"
#include "virtual_clock.hpp"

// What an agent is and can do: see AgentSpec and Abilities.
struct Agent {
    i64 lanes, isolation, stores, loads, adds, flushes, plain, wavefront, fetches;
    i64 longest;      // 0: its accesses are locations
    i64 whole_lines;  // it stores nothing else
    i64 wide;         // it adds to the words of agents outside of its GPU
    i64 streams;      // its machine has a prefetcher
};

struct Settings {
    i64 load_low, load_high, size_weight[4], lane_percent, shared_group_percent, pattern_percent,
        repeat_percent, hot_percent, hot_cells, scope_percent, atomic_scope_percent, quiet_percent,
        atomic_percent, bare_percent, plain_percent, instruction_percent, unaligned_percent,
        flush_percent, peek_percent, peek_bypass_percent, chase_percent, slack_percent,
        tight_percent, stream_percent;
};

// What lasts from chunk to chunk: the clock, and who holds which location.
struct Carried {
    i64* ordinal;  // [agents] of the next episode
    i64* start;    // [agents]
    Claim* claim;  // [locations]
};

// Rows of a program: one entry each; `address`, `value`, `expected` one per lane.
struct Rows {
    i64 rows;
    i32* episode_thread;
    i64* first_row;
    i32* group;
    u8* episode_scope;
    u8* kind;
    u8* size;
    u8* scope;
    u8* op;
    i64* address;
    u64* value;
    u64* expected;
    i64* wait_first;
    i32* wait_thread;  // [waits], and as many counts behind them
    i64 waits;
};

struct Drawing {
    u64 key;
    MapSettings map_settings;
    Settings settings;
    i64 agents, lanes, isolation_groups;
    const Agent* agent;
    i64 lengths;
    const i64* length;
    AddressMap map;
    Carried carried;
    Known known;
    i64 episodes;
    i64 fresh;  // the first chunk
    i64 more;   // further chunks may follow
    Room room;
    Rows result;
};

// The actions of a block before their addresses are selected; `name`: counters for random numbers.
struct Actions {
    i64 count;
    i64* first;  // [episodes + 1]
    i64* name;
    i32* episode;
    u8* is_store;
    u8* size;  // index: 1, 2, 4 or 8 bytes
    u8* used;  // any lane takes part
    i64* address;
};

static inline i64 choose_size(const Settings& s, u64 key, i64 name) {
    const i64 total = s.size_weight[0] + s.size_weight[1] + s.size_weight[2] + s.size_weight[3];
    const i64 drawn = draw_below(key, word(name, 8, 1), total);
    i64 size = 0;
    for (i64 sum = s.size_weight[0]; sum <= drawn; sum += s.size_weight[size]) size++;
    return size;
}

static inline void draw_groups(const Drawing& d, const Timetable& table, i32* group) {
    const u64 episode_key = FORKED(d.key, "episode"), lane_key = FORKED(d.key, "lane");
    for (i64 e = 0; e < table.episodes; e++) {
        const Agent& agent = d.agent[table.agent[e]];
        const i64 identity = table.identity[e];
        const i64 others = d.map_settings.groups - 1 - agent.isolation;
        const i64 choices = others / d.isolation_groups + 1;
        const bool shared =
            draw_percent(episode_key, word(identity, 4, 2), d.settings.shared_group_percent);
        i32* own = group + e * d.lanes;
        bool any = false;
        for (i64 lane = 0; lane < d.lanes; lane++) {
            own[lane] = INACTIVE;
            const i64 name = word(shifted(identity, LANE_BITS) | lane, 2, 0);
            if (lane >= agent.lanes || !draw_percent(lane_key, name + 1, d.settings.lane_percent))
                continue;
            const i64 from = shared ? word(shifted(identity, LANE_BITS), 2, 0) : name;
            own[lane] =
                (i32)(agent.isolation + d.isolation_groups * draw_below(lane_key, from, choices));
            any = true;
        }
        if (!any)
            own[0] =
                (i32)(agent.isolation +
                      d.isolation_groups *
                          draw_below(lane_key, word(shifted(identity, LANE_BITS), 2, 0), choices));
    }
}

static inline void draw_actions(const Drawing& d, const Timetable& table, Actions& a) {
    const Settings& s = d.settings;
    const u64 episode_key = FORKED(d.key, "episode"), key = FORKED(d.key, "action");
    for (i64 e = 0; e < table.episodes; e++) {
        const i64 share = s.load_low + draw_below(episode_key, word(table.identity[e], 4, 0),
                                                  s.load_high - s.load_low + 1);
        for (i64 i = a.first[e]; i < a.first[e + 1]; i++) {
            const i64 name = shifted(table.identity[e], NAME_LENGTH_BITS) | (i - a.first[e]);
            a.name[i] = name;
            a.episode[i] = (i32)e;
            const Agent& agent = d.agent[table.agent[e]];
            a.is_store[i] =
                !agent.loads || (agent.stores && draw_below(key, word(name, 8, 0), 100) >= share);
            a.size[i] = (u8)choose_size(s, key, name);
        }
    }
}

static inline u8 episode_scope(const Drawing& d, const Timetable& table, i64 e) {
    const Settings& s = d.settings;
    const Agent& agent = d.agent[table.agent[e]];
    const u64 key = FORKED(d.key, "atomic");
    const i64 name = word(table.identity[e], 3, 0);
    int scope = 0;
    if (draw_percent(key, name, s.atomic_scope_percent))
        scope = (int)(1 + draw_below(key, name + 1, GLC | SLC));
    if (agent.wide) scope = SLC;
    if (draw_percent(key, name + 2, s.quiet_percent)) scope |= QUIET;
    if (draw_percent(key, ~name, s.bare_percent)) scope |= BARE;
    if (draw_percent(key, ~name - 3, s.plain_percent) && agent.plain) scope = PLAIN | BARE;
    if (draw_percent(key, ~name - 2, s.flush_percent) && agent.flushes) scope |= FLUSHES;
    if (draw_percent(key, ~name - 1, s.peek_percent) && agent.loads) {
        scope |= RACING_LOAD;
        if (agent.wavefront && draw_percent(FORKED(d.key, "bypass"), name, s.peek_bypass_percent))
            scope |= BYPASSING_LOAD;
    }
    return (u8)scope;
}

// The operation of an action whose addresses are known.
static inline void draw_operation(const Drawing& d, const Timetable& table, const Actions& a, i64 i,
                                  u8& kind, u8& op, u8& scope) {
    static constexpr u8 OPERATIONS[] = {ADD, SUB, MIN,      MAX, UMIN, UMAX, AND,
                                        OR,  XOR, EXCHANGE, CAS, INC,  DEC,  CAS_FAILS};
    const Settings& s = d.settings;
    const Agent& agent = d.agent[table.agent[a.episode[i]]];
    const u64 key = FORKED(d.key, "operation"), action_key = FORKED(d.key, "action");
    const i64 name = a.name[i], own = word(name, 3, 0);
    const bool atomic =
        a.is_store[i] && a.size[i] >= 2 && agent.adds && draw_percent(key, own, s.atomic_percent);
    kind = atomic ? ATOMIC_KIND : a.is_store[i] ? STORE_KIND : LOAD_KIND;
    op = atomic ? OPERATIONS[draw_below(key, own + 1, sizeof OPERATIONS)] : 0;
    scope = 0;
    if (draw_percent(action_key, word(name, 8, 2), s.scope_percent))
        scope = (u8)(1 + draw_below(action_key, ~name, GLC | SLC));
    if (!a.is_store[i] && agent.fetches &&
        draw_percent(FORKED(d.key, "instruction"), name, s.instruction_percent))
        scope |= INSTRUCTION;
    if (atomic && draw_percent(key, own + 2, s.quiet_percent)) scope |= QUIET;
}

// How addresses of this block are selected. False: too little room.
static inline bool take_selection(const Drawing& d, const Timetable& table, const Actions& a,
                                  Room& room, Selection& s, LatestStores& latest) {
    const Settings& set = d.settings;
    i64 longest = 0;
    for (i64 e = 0; e < table.episodes; e++) longest = later(longest, table.length[e]);
    s = {d.lanes,
         table.identity,
         a.first,
         set.repeat_percent,
         set.hot_percent,
         set.hot_cells,
         set.pattern_percent,
         set.stream_percent,
         FORKED(d.key, "episode"),
         FORKED(d.key, "action"),
         FORKED(d.key, "slot"),
         FORKED(d.key, "first"),
         FORKED(d.key, "own"),
         FORKED(d.key, "stream"),
         {0, FORKED(d.key, "pick-1"), FORKED(d.key, "pick-2"), FORKED(d.key, "pick-3"),
          FORKED(d.key, "pick-4"), FORKED(d.key, "pick-5")},
         d.map.locations,
         d.map.group_first,
         d.map.reach,
         d.map.location_size,
         d.map.location_address,
         d.map_settings.line_size,
         d.map.line_start,
         nullptr,
         room.take<Claim>(d.map.locations),
         room.take<Habit>(longest),
         {room.take<i32>(d.lanes), room.take<i32>(d.lanes)},
         {room.take<i32>(d.lanes * longest), room.take<i32>(d.lanes * longest)},
         longest};
    latest = {FORKED(d.key, "chase"),
              set.chase_percent,
              room.take<Stored>(d.map_settings.groups * REACH),
              room.zeros<i64>(d.map_settings.groups),
              0,
              room.take<i32>(d.lanes * longest),
              room.take<i32>(d.lanes * longest)};
    if (!room.enough()) return false;
    __builtin_memcpy(s.claim, d.carried.claim, (u64)d.map.locations * sizeof(Claim));
    return true;
}

// Which actions get another shape, and which.
struct Shapes {
    i32* which;  // [actions] its number among them, or -1
    Shape* shape;
    i64 count;
    ByteRow row;
};

// False: too little room.
static inline bool take_shapes(const Drawing& d, const Actions& a, Room& room, Shapes& shapes) {
    bool any = false;
    for (i64 t = 0; t < d.agents; t++)
        any |=
            d.agent[t].longest > 0 && (d.settings.unaligned_percent > 0 || d.agent[t].whole_lines);
    shapes.count = 0;
    shapes.which = room.take<i32>(a.count);
    shapes.shape = any ? room.take<Shape>(a.count) : nullptr;
    if (any && !make_byte_row(d.map, d.map_settings.groups, d.isolation_groups,
                              d.map_settings.line_size, room, shapes.row))
        return false;
    if (!room.enough()) return false;
    for (i64 i = 0; i < a.count; i++) shapes.which[i] = -1;
    return true;
}

// Perhaps another shape for an access of one lane, whose address is known.
static inline void draw_shape(const Drawing& d, const Timetable& table, const Actions& a, i64 i,
                              u8 episode_scope, const Holder& holder, Claim* claim,
                              Shapes& shapes) {
    const Agent& agent = d.agent[table.agent[a.episode[i]]];
    const bool whole_line = a.is_store[i] && agent.whole_lines;
    if (!whole_line &&
        !draw_percent(FORKED(d.key, "shape"), a.name[i], d.settings.unaligned_percent))
        return;
    u8 kind, op, bits;
    draw_operation(d, table, a, i, kind, op, bits);
    if (kind == ATOMIC_KIND) return;
    const bool by_group = agent.adds && !(episode_scope & BARE);
    const Shaping asked{a.name[i], a.address[i * d.lanes], agent.longest, by_group, whole_line};
    shapes.which[i] = (i32)shapes.count;
    shapes.shape[shapes.count++] =
        grown(shapes.row, FORKED(d.key, "unaligned"), asked, holder, claim);
}

// The address of each lane of each action of an episode, and its shape.
static inline void select_addresses(const Drawing& d, const Timetable& table, i64 e,
                                    const i32* group, u8 scope, const Selection& s,
                                    LatestStores& latest, Actions& a, Shapes& shapes) {
    const u8 widest = begin_episode(s, e, a.size);
    const bool wide = draw_percent(s.episode_key, word(table.identity[e], 4, 3), 50);
    const bool targets = is_targeting(latest, table.identity[e]);
    const i64 agent = table.agent[e];
    const i64 step = d.agent[agent].streams ? step_of(s, table.identity[e]) : 0;
    for (i64 i = a.first[e]; i < a.first[e + 1]; i++) {
        for (i64 lane = 0; lane < d.lanes; lane++) {
            const i64 slot = i * d.lanes + lane;
            a.address[slot] = INACTIVE;
            if (group[lane] < 0) continue;
            const i64* reach = s.reach + group[lane] * 4;
            const i64 choices = wide && reach[widest] > 0 ? reach[widest] : reach[a.size[i]];
            const Pick pick{shifted(a.name[i], LANE_BITS) | lane,
                            group[lane],
                            choices,
                            a.size[i],
                            {table.identity[e], table.start[e], table.hold[e], table.agent[e],
                             (i32)lane, a.is_store[i] != 0},
                            a.is_store[i] && d.agent[agent].whole_lines};
            i64 location = targets ? target_of(latest, s, pick) : -1;
            const bool targeted = location >= 0;
            if (!targeted && step) location = next_in_stream(s, pick, step);
            if (location < 0) location = free_location(s, pick, e, i - a.first[e]);
            if (location < 0) location = own_location(s, pick);
            if (location < 0) continue;
            take(s, pick, location);
            if (pick.holder.stores && !targeted) note_store(latest, pick.group, location);
            a.used[i] = 1;
            a.address[slot] = d.map.location_address[location] + place_inside(s, pick, location);
            if (shapes.shape && d.agent[agent].longest)
                draw_shape(d, table, a, i, scope, pick.holder, s.claim, shapes);
        }
    }
    end_episode(latest, agent);
}

static inline i64 rows_of(const Shapes& shapes, i64 action, i64 line_size) {
    const i32 which = shapes.which[action];
    return which < 0 ? 1 : pieces_of(shapes.shape[which], line_size);
}

// The rows of the program but for their values. `identity`: [rows] what names the access of lane 0.
// False: too little room.
static inline bool write_rows(const Drawing& d, const Timetable& table, const i32* group,
                              const u8* scope, const Actions& a, const Shapes& shapes, Room& room,
                              Rows& rows, i64*& identity) {
    const i64 episodes = table.episodes, lanes = d.lanes, line_size = d.map_settings.line_size;
    rows.rows = 0;
    for (i64 i = 0; i < a.count; i++)
        if (a.used[i]) rows.rows += rows_of(shapes, i, line_size);
    identity = room.take<i64>(rows.rows);
    rows.episode_thread = room.take<i32>(episodes);
    rows.first_row = room.take<i64>(episodes + 1);
    rows.group = room.take<i32>(episodes * lanes);
    rows.episode_scope = room.take<u8>(episodes);
    rows.kind = room.take<u8>(rows.rows);
    rows.size = room.take<u8>(rows.rows);
    rows.scope = room.take<u8>(rows.rows);
    rows.op = room.take<u8>(rows.rows);
    rows.address = room.take<i64>(rows.rows * lanes);
    rows.value = room.zeros<u64>(rows.rows * lanes);
    rows.expected = room.zeros<u64>(rows.rows * lanes);
    rows.wait_first = room.take<i64>(episodes + 1);
    rows.wait_thread = room.take<i32>(2 * episodes * d.agents);
    if (!room.enough()) return false;
    __builtin_memcpy(rows.episode_thread, table.agent, (u64)episodes * sizeof(i32));
    __builtin_memcpy(rows.group, group, (u64)(episodes * lanes) * sizeof(i32));
    __builtin_memcpy(rows.episode_scope, scope, (u64)episodes);
    i64 row = 0;
    for (i64 e = 0; e < episodes; e++) {
        rows.first_row[e] = row;
        for (i64 i = a.first[e]; i < a.first[e + 1]; i++) {
            if (!a.used[i]) continue;
            u8 kind, op, bits;
            draw_operation(d, table, a, i, kind, op, bits);
            const i64 pieces = rows_of(shapes, i, line_size);
            for (i64 part = 0; part < pieces; part++, row++) {
                rows.kind[row] = kind;
                rows.op[row] = op;
                rows.scope[row] = bits | (part ? CONTINUES : 0);
                rows.size[row] = (u8)(1 << a.size[i]);
                identity[row] = shifted(a.name[i], LANE_BITS) + part;
                i64* address = rows.address + row * lanes;
                __builtin_memcpy(address, a.address + i * lanes, (u64)lanes * sizeof(i64));
                if (shapes.which[i] >= 0)
                    piece_of(shapes.shape[shapes.which[i]], line_size, part, address[0],
                             rows.size[row]);
            }
        }
    }
    rows.first_row[episodes] = row;
    return true;
}

static inline bool take_timetable(const Drawing& d, Room& room, Timetable& table, i64*& ordinal,
                                  i64*& start) {
    table.episodes = d.episodes;
    table.agent = room.take<i32>(d.episodes);
    table.identity = room.take<i64>(d.episodes);
    table.length = room.take<i64>(d.episodes);
    table.start = room.take<i64>(d.episodes);
    table.hold = room.take<i64>(d.episodes);
    ordinal = room.take<i64>(d.agents);
    start = room.take<i64>(d.agents);
    if (!room.enough()) return false;
    const Pace pace{d.agents, FORKED(d.key, "clock"),   d.lengths,
                    d.length, d.settings.slack_percent, d.settings.tight_percent};
    if (d.fresh) start_clock(pace, d.carried.ordinal, d.carried.start);
    for (i64 t = 0; t < d.agents; t++) {
        ordinal[t] = d.carried.ordinal[t];
        start[t] = d.carried.start[t];
    }
    take_episodes(pace, ordinal, start, table);
    return true;
}

static inline bool take_actions(const Drawing& d, const Timetable& table, Room& room, Actions& a) {
    a.first = room.take<i64>(table.episodes + 1);
    if (!room.enough()) return false;
    a.first[0] = 0;
    for (i64 e = 0; e < table.episodes; e++) a.first[e + 1] = a.first[e] + table.length[e];
    a.count = a.first[table.episodes];
    a.name = room.take<i64>(a.count);
    a.episode = room.take<i32>(a.count);
    a.is_store = room.take<u8>(a.count);
    a.size = room.take<u8>(a.count);
    a.used = room.zeros<u8>(a.count);
    a.address = room.take<i64>(a.count * d.lanes);
    if (!room.enough()) return false;
    draw_actions(d, table, a);
    return true;
}

// DRAWN or TOO_LITTLE_ROOM; with too little, nothing that lasts is changed.
static inline i64 draw_chunk(Drawing& d) {
    Room& room = d.room;
    Timetable table;
    i64 *ordinal, *start;
    if (!take_timetable(d, room, table, ordinal, start)) return TOO_LITTLE_ROOM;
    i32* group = room.take<i32>(d.episodes * d.lanes);
    u8* scope = room.take<u8>(d.episodes);
    Actions a;
    if (!take_actions(d, table, room, a)) return TOO_LITTLE_ROOM;
    Selection selection;
    LatestStores latest;
    Shapes shapes{};
    if (!take_selection(d, table, a, room, selection, latest) || !take_shapes(d, a, room, shapes))
        return TOO_LITTLE_ROOM;
    selection.is_whole = shapes.row.is_whole;
    draw_groups(d, table, group);
    for (i64 e = 0; e < d.episodes; e++) {
        scope[e] = episode_scope(d, table, e);
        select_addresses(d, table, e, group + e * d.lanes, scope[e], selection, latest, a, shapes);
    }
    Rows& rows = d.result;
    i64* identity;
    if (!write_rows(d, table, group, scope, a, shapes, room, rows, identity))
        return TOO_LITTLE_ROOM;
    if (d.fresh) {
        know_nothing(d.known);
        begin_history(d.known);
    }
    i32* wait_count = rows.wait_thread + d.episodes * d.agents;
    Derived derived{d.episodes,      d.lanes,          rows.episode_thread,
                    rows.first_row,  rows.kind,        rows.size,
                    rows.op,         identity,         rows.address,
                    rows.value,      rows.expected,    0,
                    rows.wait_first, rows.wait_thread, wait_count};
    if (!observe(d.known, derived, d.more, room)) return TOO_LITTLE_ROOM;
    rows.waits = derived.waits;
    __builtin_memmove(rows.wait_thread + rows.waits, wait_count, (u64)rows.waits * sizeof(i32));
    for (i64 t = 0; t < d.agents; t++) {
        d.carried.ordinal[t] = ordinal[t];
        d.carried.start[t] = start[t];
    }
    __builtin_memcpy(d.carried.claim, selection.claim, (u64)d.map.locations * sizeof(Claim));
    return DRAWN;
}
