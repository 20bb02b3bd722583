// Instruction fetch: the twin of gpu/compute_unit/pipeline/fetch.py.
//
// Invariant: a wave issues only records of bytes that were fetched for it.

#pragma once

#include "requests.hpp"

// ---------------------------------------------------------------- tables by address

inline u64 hashed(u64 address) { return (address >> 3) * 0x9E3779B97F4A7C15u >> 32; }

// The position of an address in a list, by a hash table of places; the free place if it is absent.
template <class T>
inline u32& place_of(const List<T>& items, List<u32>& places, u64 address) {
    u64 at = hashed(address);
    for (;; ++at) {
        u32& place = places[at & (places.count - 1)];
        if (!place || items[place - 1].address == address) return place;
    }
}

template <class T>
inline void empty_places(List<T>& items, List<u32>& places) {
    items.clear();
    if (places.count) memset(places.items, 0, u64{places.count} * sizeof(u32));
}

template <class T>
inline T& entry_for(List<T>& items, List<u32>& places, u64 address, bool& found) {
    if (2 * (items.count + 1) > places.count) {
        const u32 room = places.count ? 2 * places.count : 64;
        places.reserve(room);
        places.count = room;
        memset(places.items, 0, u64{room} * sizeof(u32));
        for (u32 i = 0; i < items.count; ++i) place_of(items, places, items[i].address) = i + 1;
    }
    u32& place = place_of(items, places, address);
    found = place != 0;
    if (!found) {
        T item = {};
        item.address = address;
        items.add(item);
        place = items.count;
    }
    return items[place - 1];
}

template <class T>
inline const T* find(const List<T>& items, List<u32>& places, u64 address) {
    if (!places.count) return nullptr;
    const u32 place = place_of(items, places, address);
    return place ? &items[place - 1] : nullptr;
}

// ---------------------------------------------------------------- waves

inline void want(IssueEngine& f, Wave& w) {
    const u64 low = f.config.buffer_bytes - f.config.fetch_bytes;
    if (w.fetching != NONE || w.queued ||
        static_cast<i64>(w.fetched - w.pc) > static_cast<i64>(low))
        return;
    w.queued = true;
    f.units[w.unit].wanting.add(name_of(f, w));
}

// The wave continues at another address: its buffer and any fetch under way are discarded.
inline void flush(IssueEngine& f, Wave& w) {
    w.fetched = w.pc & ~(f.config.fetch_bytes - 1);
    w.fetching = NONE;
    w.unmapped = false;
    want(f, w);
}

inline void arrived(IssueEngine& f, Wave& w) {
    const u64 now = f.state->now;
    if (w.waiting == Stall::FETCH) wake(f, w, now);
    Unit& u = f.units[w.unit];
    if (!u.wanting.empty()) wanted(u, now);
}

// Make one request, if a wave still wants one. REACHED: Python is not needed.
inline Reason fetch_cycle(IssueEngine& f, Unit& u) {
    State& s = *f.state;
    while (!u.wanting.empty()) {
        Wave* w = wave_of(f, u.wanting.front());
        if (!w || w->fetching != NONE) {
            if (w) w->queued = false;
            u.wanting.take();
            continue;
        }
        const Known* known = find(f.known, f.known_places, w->fetched);
        if (!known) {
            s.unit = u.number;
            s.wave = number_of(f, *w);
            s.address = w->fetched;
            return Reason::ADDRESS;
        }
        if (!f.slots.count) return Reason::SLOTS;
        const WaveName name = u.wanting.take();
        INVARIANT(w->queued);
        w->queued = false;
        w->fetching = w->fetched;
        const u64 bytes = f.config.fetch_bytes;
        const u64 piece = bytes < EXTERNAL_LANE_BYTES ? bytes : EXTERNAL_LANE_BYTES;
        ask_pieces(f, name, Asked::CODE, f.config.fetch_ports[u.number], w->fetched, piece,
                   bytes / piece, known->scope);
        ++u.counts.fetches;
        return Reason::REACHED;
    }
    return Reason::REACHED;
}

// A fetch has been answered.
inline void fetch_answer(IssueEngine& f, const Asking& fetch, Wave& w, const u8* bytes) {
    if (w.fetching != fetch.address) return;
    Unit& u = f.units[w.unit];
    bool known;
    Code& code = entry_for(u.code, u.code_places, fetch.address, known);
    const u64 size = f.config.fetch_bytes;
    if (!known || code.epoch != u.epoch || memcmp(code.bytes, bytes, size)) {
        code.epoch = u.epoch;
        memcpy(code.bytes, bytes, size);
        note(f, Entry::CODE, u.number, static_cast<u32>(&code - u.code.items));
    }
    w.fetching = NONE;
    w.fetched = fetch.address + size;
    w.starved = false;
    want(f, w);
    arrived(f, w);
}
