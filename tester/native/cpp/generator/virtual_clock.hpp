// When episodes would run if no agent had to wait, as compiled code.
//
// Invariant: equal to tester/generator/virtual_clock.py; the reasons are given there. There whole
// arrays are sorted by start, here the agent whose next episode starts first is looked for.
#pragma once

#include "room.hpp"

enum { ORDINAL_BITS = 32, SYNCHRONISATION = 60, PER_ACTION = 12 };

struct Pace {
    i64 agents;
    u64 key;
    i64 lengths;
    const i64* length;
    i64 slack_percent, tight_percent;
};

// Episodes in the total order.
struct Timetable {
    i64 episodes;
    i32* agent;
    i64* identity;  // agent << ORDINAL_BITS | number within the agent
    i64* length;
    i64* start;
    i64* hold;
};

static inline i64 mean_duration(const Pace& p) {
    i64 sum = 0;
    for (i64 i = 0; i < p.lengths; i++) sum += p.length[i];
    return SYNCHRONISATION + PER_ACTION * sum / p.lengths;
}

static inline void start_clock(const Pace& p, i64* ordinal, i64* start) {
    for (i64 a = 0; a < p.agents; a++) {
        ordinal[a] = 0;
        start[a] = draw_below(p.key, a, mean_duration(p));
    }
}

// The next episodes; steps `ordinal` and `start` [agents], of the next episode of each agent.
static inline void take_episodes(const Pace& p, i64* ordinal, i64* start, Timetable& table) {
    const i64 limit = mean_duration(p) * p.slack_percent / 100 + 1;
    for (i64 e = 0; e < table.episodes; e++) {
        i64 agent = 0;
        for (i64 a = 1; a < p.agents; a++)
            if (start[a] < start[agent]) agent = a;
        const i64 identity = shifted(agent, ORDINAL_BITS) | ordinal[agent];
        const i64 base = word(identity, 4, 0);
        const i64 length = p.length[draw_below(p.key, base + 1, p.lengths)];
        const i64 work = SYNCHRONISATION + PER_ACTION * length;
        const i64 duration = work * (60 + draw_below(p.key, base + 2, 81)) / 100;
        i64 slack = draw_below(p.key, word(identity, -2, -1), limit);
        if (draw_percent(p.key, word(identity, -2, -2), p.tight_percent)) slack = 0;
        table.agent[e] = (i32)agent;
        table.identity[e] = identity;
        table.length[e] = length;
        table.start[e] = start[agent];
        table.hold[e] = start[agent] + duration + slack;
        start[agent] += duration + draw_below(p.key, base + 3, 8);
        ordinal[agent]++;
    }
}
