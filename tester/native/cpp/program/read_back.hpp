// The program that reads everything again at the end of a leg: the one of
// tester/program/read_back.py, which says who reads what and why.
//
// Invariant: no load touches bytes of two isolation groups.

#pragma once

#include "program/final_memory.hpp"

inline constexpr u64 MOST_AGENTS = 512;
inline constexpr u32 NO_READER = MOST_AGENTS;
inline constexpr u32 READ_SIZES = 4;  // 8, 4, 2 and 1 byte

// A part of a word of 8 bytes, and who reads it.
struct Piece {
    u64 place;
    u32 reader;
    u32 size;  // number: 8 >> size bytes
};

// The agents that read: one for each requester and isolation group, of those that read at all.
struct Readers {
    u32 count;
    u32 agent[MOST_AGENTS];
};

inline Readers readers_of(const ProgramArrays& p) {
    Readers found = {};
    for (u32 a = 0; a < p.agents; ++a) {
        bool known = !p.agent_reads_back[a];
        for (u32 i = 0; i < found.count && !known; ++i) {
            known = p.agent_requester[a] == p.agent_requester[found.agent[i]] &&
                    p.agent_isolation[a] == p.agent_isolation[found.agent[i]];
        }
        if (!known) found.agent[found.count++] = a;
    }
    return found;
}

// Chooses the reader of each piece, in turns line by line among those that have not written it.
struct ReaderChoice {
    const ProgramArrays& p;
    const Readers& readers;
    i64 wanted = NO_AGENT;  // isolation group of the choices below, NO_AGENT: any
    bool known = false;
    u32 count = 0;
    u32 writers = 0;
    u32 writer[8] = {};  // requesters of the owners
    i16 last[8] = {};    // owners of the choices below
    u32 choices[MOST_AGENTS] = {};

    ReaderChoice(const ProgramArrays& program, const Readers& all) : p(program), readers(all) {}

    bool wrote(u32 reader) const {
        for (u32 i = 0; i < writers; ++i)
            if (writer[i] == p.agent_requester[readers.agent[reader]]) return true;
        return false;
    }

    void choose() {
        wanted = NO_AGENT;
        writers = 0;
        for (const i16 owner : last) {
            if (owner == NO_AGENT) continue;
            if (p.agent_isolation[owner] > wanted) wanted = p.agent_isolation[owner];
            const u32 requester = p.agent_requester[owner];
            if (!writers || writer[writers - 1] != requester) writer[writers++] = requester;
        }
        count = 0;
        for (u32 round = 0; round < 2 && !count; ++round) {  // the second one takes who wrote it
            for (u32 i = 0; i < readers.count; ++i) {
                if (wanted >= 0 && p.agent_isolation[readers.agent[i]] != wanted) continue;
                if (round || !wrote(i)) choices[count++] = i;
            }
        }
    }

    u32 reader(const i16* owner, u32 size, u64 turn) {
        i16 these[8];
        for (u32 i = 0; i < 8; ++i) these[i] = i < size ? owner[i] : NO_AGENT;
        if (!known || __builtin_memcmp(these, last, sizeof last)) {
            __builtin_memcpy(last, these, sizeof last);
            known = true;
            choose();
        }
        return count ? choices[turn % count] : NO_READER;
    }
};

// Whether bytes belong to more than one isolation group.
inline bool mixed(const ProgramArrays& p, const i16* owner, u32 size) {
    i64 group = NO_AGENT;
    for (u32 i = 0; i < size; ++i) {
        if (owner[i] == NO_AGENT) continue;
        if (group >= 0 && p.agent_isolation[owner[i]] != group) return true;
        group = p.agent_isolation[owner[i]];
    }
    return false;
}

// The words of 8 bytes that anybody may read, cut where isolation groups meet, in ascending order.
inline u64 cut_pieces(const ProgramArrays& p, const FinalMemory& m, ReaderChoice& choice,
                      Piece* pieces) {
    u64 count = 0;
    for (u64 place = 0; place < m.lines << LINE_BITS;) {
        u32 size = 0;
        while (place & ((8u >> size) - 1)) ++size;
        while (size + 1 < READ_SIZES && mixed(p, m.owner + place, 8u >> size)) ++size;
        const u64 turn = m.line[place >> LINE_BITS] >> LINE_BITS;
        const u32 reader = choice.reader(m.owner + place, 8u >> size, turn);
        if (reader != NO_READER) pieces[count++] = {place, reader, size};
        place += 8u >> size;
    }
    return count;
}

// Acquire, then the loads by reader and size: no fetch-adds, no waits. `reader_requester`: by agent of
// the view. False: not enough room.
inline bool read_back_program(const ProgramArrays& p, const FinalMemory& m, Arena& arena,
                              ProgramView& view, u32*& reader_requester) {
    const u64 most = m.lines << LINE_BITS;
    const Readers readers = readers_of(p);
    const u64 kinds = u64{readers.count} * READ_SIZES;
    reader_requester = arena.take<u32>(readers.count);
    i64* agent_first = arena.take<i64>(readers.count + 1);
    i32* agent_episode = arena.take<i32>(readers.count);
    u8* episode_scope = arena.zeros<u8>(readers.count);
    i64* first_action = arena.take<i64>(readers.count + 1);
    i64* none = arena.zeros<i64>(readers.count + 1);
    u64* first = arena.zeros<u64>(kinds + 1);  // slot by (reader, size)
    Piece* pieces = arena.take<Piece>(most);
    if (!arena.enough()) return false;
    ReaderChoice choice(p, readers);
    const u64 count = cut_pieces(p, m, choice, pieces);
    for (u64 i = 0; i < count; ++i) ++first[pieces[i].reader * READ_SIZES + pieces[i].size + 1];
    u64 actions = 0;
    for (u64 kind = 0; kind < kinds; ++kind) {
        const u64 lanes = p.agent_lanes[readers.agent[kind / READ_SIZES]];
        actions += (first[kind + 1] + lanes - 1) / lanes;
    }
    u8* zeros = arena.zeros<u8>(actions);
    u8* action_kind = arena.take<u8>(actions);
    u16* action_size = arena.take<u16>(actions);
    i64* first_lane = arena.take<i64>(actions + 1);
    u8* lane = arena.take<u8>(count);
    u64* address = arena.take<u64>(count);
    u64* expected = arena.take<u64>(count);
    if (!arena.enough()) return false;

    u64 action = 0;
    for (u64 kind = 0; kind < kinds; ++kind) {
        const u64 reader = kind / READ_SIZES;
        if (kind % READ_SIZES == 0) first_action[reader] = static_cast<i64>(action);
        const u64 lanes = p.agent_lanes[readers.agent[reader]];
        const u64 slots = first[kind + 1];
        first[kind + 1] += first[kind];
        for (u64 slot = 0; slot < slots; slot += lanes) {
            action_kind[action] = AccessKind::LOAD;
            action_size[action] = static_cast<u16>(8u >> kind % READ_SIZES);
            first_lane[action++] = static_cast<i64>(first[kind] + slot);
        }
        for (u64 slot = 0; slot < slots; ++slot)
            lane[first[kind] + slot] = static_cast<u8>(slot % lanes);
    }
    first_action[readers.count] = static_cast<i64>(action);
    first_lane[actions] = static_cast<i64>(count);
    for (u64 i = 0; i < count; ++i) {
        const Piece& piece = pieces[i];
        const u64 slot = first[piece.reader * READ_SIZES + piece.size]++;
        address[slot] = m.line[piece.place >> LINE_BITS] + (piece.place & LINE_MASK);
        u64 value = 0;
        __builtin_memcpy(&value, m.contents + piece.place, 8u >> piece.size);
        expected[slot] = value;
    }
    for (u32 i = 0; i < readers.count; ++i) {
        agent_first[i] = agent_episode[i] = static_cast<i32>(i);
        reader_requester[i] = p.agent_requester[readers.agent[i]];
    }
    agent_first[readers.count] = readers.count;
    view = {};
    view.agents = view.episodes = readers.count;
    view.actions = actions;
    view.lanes_total = count;
    view.run_key = p.run_key;
    view.line_bits = p.line_bits;
    view.agent_first = agent_first;
    view.agent_episode = agent_episode;
    view.episode_scope = episode_scope;
    view.first_action = first_action;
    view.first_word = view.first_wait = none;
    view.action_kind = action_kind;
    view.action_size = action_size;
    view.action_scope = view.action_op = view.action_pieces = zeros;
    view.first_lane = first_lane;
    view.lane = lane;
    view.address = address;
    view.value = address;  // loads store nothing
    view.expected = expected;
    return true;
}
