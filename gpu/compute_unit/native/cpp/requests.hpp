// Loads and stores of waves that need no Python: their requests, answers, and order of return.
//
// A request needs a place (memory whose bytes are all that it concerns), which Python names once;
// what has none is handed back to Python when it would leave. Invariant: `vm` of a wave counts the
// entries of its `outstanding`, ours and Python's, and entries leave in order.

#pragma once

#include "unit.hpp"

// ---------------------------------------------------------------- requests

inline u8* bytes_of(IssueEngine& f, u32 slot) {
    return f.state->bytes + u64{slot} * EXTERNAL_LANES * EXTERNAL_LANE_BYTES;
}

// A request of lanes of so many bytes, in a free slot; the caller writes their addresses.
inline Asking& ask(IssueEngine& f, WaveName wave, Asked what, u64 port, u64 size, u64 lanes,
                   u64 scope, u64*& addresses) {
    State& s = *f.state;
    const u32 slot = f.slots.pop();
    addresses = s.addresses + u64{slot} * EXTERNAL_LANES;
    ExternalRequest& given = s.given[f.view->given_count++];
    given = {};
    given.slot = slot;
    given.port = static_cast<u32>(port);
    given.size = static_cast<u8>(size);
    given.lanes = static_cast<u8>(lanes);
    given.scope = static_cast<u8>(scope);
    Asking& asked = f.asking[slot];
    INVARIANT(asked.ours && !asked.under_way);
    asked = {};
    asked.wave = wave;
    asked.since = s.now;
    asked.port = given.port;
    asked.lanes = given.lanes;
    asked.what = what;
    asked.ours = asked.under_way = true;
    ++s.asked;
    s.fetching += what == Asked::CODE;
    return asked;
}

// A load of consecutive bytes.
inline Asking& ask_pieces(IssueEngine& f, WaveName wave, Asked what, u64 port, u64 address,
                          u64 piece, u64 pieces, u64 scope) {
    u64* addresses;
    Asking& asked = ask(f, wave, what, port, piece, pieces, scope, addresses);
    asked.address = address;
    for (u64 i = 0; i < pieces; ++i) addresses[i] = address + i * piece;
    return asked;
}

// The place that has all these bytes; null if Python has not named it.
inline const Place* place_of(IssueEngine& f, u64 first, u64 behind, bool stores) {
    for (u32 i = 0; i < f.places.count; ++i) {
        const Place& place = f.places[f.place];
        if (first >= place.start && first < place.limit) {
            return behind <= place.limit && (place.writable || !stores) ? &place : nullptr;
        }
        f.place = f.place + 1 < f.places.count ? f.place + 1 : 0;
    }
    return nullptr;
}

inline void mark(const IssueEngine& f, const Place& place, u64 address, u64 bytes, bool stores) {
    const u64 first = (address - place.start) >> f.config.line_bits;
    const u64 last = (address - place.start + bytes - 1) >> f.config.line_bits;
    place.cached[first] = place.cached[last] = 1;
    if (stores) place.stored[first] = place.stored[last] = 1;
}

// Why the request of what is held cannot leave; REACHED: it has left. PLACE: the range that has no
// place is in the state.
inline Reason may_ask(IssueEngine& f, u64 first, u64 behind, bool stores, const Place*& place) {
    place = place_of(f, first, behind, stores);
    f.state->address = first;
    f.state->behind = behind;
    f.state->handle = stores;
    if (!place) return Reason::PLACE;
    return f.slots.count ? Reason::REACHED : Reason::SLOTS;
}

inline Reason send_lanes(IssueEngine& f, Unit& u, const Sending& sending) {
    const Held& held = *sending.held;
    const Move& m = *held.move;
    const Place* place;
    const Reason reason = may_ask(f, held.extent.low, held.extent.high + m.bytes, m.stores, place);
    if (reason != Reason::REACHED) return reason;
    u64* addresses;
    Asking& asked = ask(f, sending.wave, Asked::LANES, f.config.vector_ports[u.number], m.bytes,
                        held.count, sending.handle | place->scope, addresses);
    asked.address = held.at[0][0];
    asked.order = sending.order;
    asked.held = sending.held;
    ExternalRequest& given = f.state->given[f.view->given_count - 1];
    given.crosses = held.extent.crosses != 0;
    given.kind = asked.kind = m.stores ? AccessKind::STORE : AccessKind::LOAD;
    memcpy(addresses, held.at[0], held.count * sizeof(u64));
    if (m.stores) memcpy(bytes_of(f, given.slot), held.data[0], held.count * m.bytes);
    for (u64 i = 0; i < held.count; ++i) mark(f, *place, held.at[0][i], m.bytes, m.stores);
    return reason;
}

inline Reason load_scalars(IssueEngine& f, Unit& u, const Event& event) {
    HeldScalars& held = *static_cast<HeldScalars*>(event.held);
    const u64 bytes = held.piece * held.pieces;
    const Place* place;
    const Reason reason = may_ask(f, held.address, held.address + bytes, false, place);
    if (reason != Reason::REACHED) return reason;
    Asking& asked = ask_pieces(f, event.wave, Asked::SCALARS, f.config.scalar_ports[u.number],
                               held.address, held.piece, held.pieces, event.handle | place->scope);
    asked.held = event.held;
    mark(f, *place, held.address, bytes, false);
    return reason;
}

// ---------------------------------------------------------------- returns

// Counters of a wave are lower.
inline void lowered(IssueEngine& f, Wave& w) {
    if (counted_down(f, w, f.state->now)) f.ended.add(name_of(f, w));
}

inline void begin(Wave& w, Held* held, bool flat) {
    ++w.vm;
    w.lgkm += flat;
    w.outstanding.add({held, flat, false});
}

// The order of the instruction that was begun last.
inline u32 order_of_last(const Wave& w) { return w.retired + w.outstanding.size() - 1; }

inline Outstanding& outstanding_of(Wave& w, u32 order) {
    return w.outstanding.list[w.outstanding.head + (order - w.retired)];
}

inline void leave_line(Wave& w) {
    const Outstanding first = w.outstanding.take();
    ++w.retired;
    --w.vm;
    w.lgkm -= first.flat;
}

// Those that are done return, up to the first that is not, or is Python's.
inline void retire_done(IssueEngine& f, Wave& w) {
    while (!w.outstanding.empty() && w.outstanding.front().done) {
        f.config.complete(w.outstanding.front().held);
        w.returned = true;
        leave_line(w);
    }
}

inline void lanes_answer(IssueEngine& f, const Asking& asked, Wave& w, const u8* bytes) {
    Held& held = *static_cast<Held*>(asked.held);
    if (asked.kind == AccessKind::LOAD) memcpy(held.data[0], bytes, held.count * held.move->bytes);
    outstanding_of(w, asked.order).done = true;
    if (asked.order != w.retired) return;
    retire_done(f, w);
    if (!w.outstanding.empty() && !w.outstanding.front().held) f.heads.add(name_of(f, w));
    lowered(f, w);
}

inline void scalars_answer(IssueEngine& f, const Asking& asked, Wave& w, const u8* bytes) {
    HeldScalars& held = *static_cast<HeldScalars*>(asked.held);
    memcpy(held.data, bytes, held.piece * held.pieces);
    held.returned = 1;
    w.returned = true;
    --w.lgkm;
    lowered(f, w);
}
