// One turn of a SIMD: the twin of gpu/compute_unit/timed_unit.py, on records.
//
// Invariant: a turn that needs Python stops at one wave and resumes there; no part of it is done
// twice.

#pragma once

#include "fetch.hpp"

inline bool is_vector_memory(const IssueEngine& f, const Record& r) {
    return r.place == f.config.vector_memory;
}

// ---------------------------------------------------------------- what an instruction needs

inline bool has_room(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now) {
    const bool vector = is_vector_memory(f, r);
    if (vector && u.sending.size() >= f.config.memory_queue) {
        stall(u, Stall::PIPELINE, f.config.simds);
        return false;
    }
    if ((vector && w.vm >= r.most_vm) || ((r.flat || !vector) && w.lgkm >= LGKM_MAX)) {
        block(w, Stall::FULL, now);
        return false;
    }
    return true;
}

// Control instructions need no unit.
inline bool steers(RecordKind kind) {
    switch (kind) {
        case RecordKind::WAIT:
        case RecordKind::END:
        case RecordKind::BARRIER:
        case RecordKind::INVALIDATE:
        case RecordKind::MESSAGE:
        case RecordKind::PRIORITY:
        case RecordKind::NOTHING:
        case RecordKind::FETCH_AGAIN:
        case RecordKind::FAILS_NOW: return true;
        default: return false;
    }
}

inline bool is_bound(const Record& r) { return r.pace != NO_PACE; }

// Whether the unit, the counters and the pipeline of a record are free.
inline bool may_issue(IssueEngine& f, Unit& u, Simd& simd, Wave& w, const Record& r, u64 now) {
    if (u.taken >> r.place & 1) {
        stall(u, Stall::TAKEN, f.config.simds);
        return false;
    }
    if (!is_bound(r)) return has_room(f, u, w, r, now);
    if (r.place == f.config.vector_alu && simd.busy > now) {
        stall(u, Stall::BUSY, f.config.simds);
        return false;
    }
    return true;
}

// ---------------------------------------------------------------- issue

inline void count(Unit& u, Wave& w, const Record& r) {
    ++w.executed;
    ++u.counts.by_unit[r.place];
}

inline void advance(IssueEngine& f, Unit& u, Wave& w, const Record& r) {
    INVARIANT(r.end <= w.fetched);
    w.pc = r.end;
    count(u, w, r);
    want(f, w);
}

// Log how many instructions of a wave there were since the last time.
inline void note_executed(IssueEngine& f, Wave& w) {
    INVARIANT(w.executed >= w.watched);
    const u64 since = w.executed - w.watched;
    w.watched = w.executed;
    f.state->budget -= static_cast<i64>(since);
    note(f, Entry::EXECUTED, number_of(f, w), static_cast<u32>(since));
}

// A branch backwards or to itself. BACK: Python is notified at once.
inline Reason went_back(IssueEngine& f, Wave& w) {
    note_executed(f, w);
    return f.state->observe ? Reason::BACK : Reason::REACHED;
}

inline Reason issue_bound(IssueEngine& f, Unit& u, Simd& simd, Wave& w, const Record& r, u64 now) {
    w.ready = now + f.config.cycles[r.pace];
    if (r.place == f.config.vector_alu) simd.busy = w.ready;
    const u64 from = w.pc;
    w.pc = r.next;
    count(u, w, r);
    if (r.next != r.end) {
        flush(f, w);
        if (r.next <= from) return went_back(f, w);
    } else {
        want(f, w);
    }
    return Reason::REACHED;
}

inline void send_later(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 cycles, u64 now) {
    const u64 earliest = now + f.config.address_cycles;
    const u64 start = u.vector_free > earliest ? u.vector_free : earliest;
    u.vector_free = start + cycles;
    const bool held = r.kind == RecordKind::VECTOR_HELD;
    Held* what = held ? reinterpret_cast<Held*>(r.next) : nullptr;
    begin(w, what, r.flat);
    u.sending.add({start, name_of(f, w), held ? r.value : r.handle, order_of_last(w), what});
}

inline void issue_vector(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now) {
    u.lines.extend(r.amount + 1);
    ++u.lines[r.amount];
    const u64 each = f.config.lines_per_cycle;
    const u64 cycles = (r.amount + each - 1) / each;
    send_later(f, u, w, r, cycles ? cycles : 1, now);
}

inline void issue_scalar(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now, u32 handle,
                         Then then) {
    ++w.lgkm;
    later(u, now + f.config.scalar_memory_cycles, name_of(f, w), handle, then,
          reinterpret_cast<void*>(r.next));
}

inline void issue_local(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now,
                        Held* held = nullptr) {
    ++w.lgkm;
    const u64 start = u.local_free > now ? u.local_free : now;
    u.local_free = start + r.amount;
    const u64 back = start + r.amount + f.config.lds_cycles;
    later(u, back, name_of(f, w), r.handle, held ? Then::RETURN : Then::PYTHON, held);
}

inline void issue_held(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now) {
    Held* held = reinterpret_cast<Held*>(r.next);
    f.config.perform(held);
    issue_local(f, u, w, r, now, held);
}

// PERFORM: Python carries it out, and if that succeeds it is issued (`issue_local`).
inline Reason issue_memory(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now) {
    advance(f, u, w, r);
    w.ready = now + f.config.scalar_cycles;
    ++u.memory[r.name];
    if (r.banks) {
        u.counts.bank_cycles += r.amount;
        u.counts.bank_conflicts += r.value;
    }
    switch (r.kind) {
        case RecordKind::VECTOR:
        case RecordKind::VECTOR_HELD: issue_vector(f, u, w, r, now); break;
        case RecordKind::SCALAR: issue_scalar(f, u, w, r, now, r.handle, Then::PYTHON); break;
        case RecordKind::SCALAR_HELD: issue_scalar(f, u, w, r, now, r.value, Then::LOAD); break;
        case RecordKind::LOCAL: issue_local(f, u, w, r, now); break;
        case RecordKind::LOCAL_HELD: issue_held(f, u, w, r, now); break;
        case RecordKind::LOCAL_NOW: u.performed = r; return Reason::PERFORM;
        default: break;
    }
    return Reason::REACHED;
}

// ---------------------------------------------------------------- control instructions

inline void wait(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now) {
    w.most_vm = static_cast<u8>(r.value);
    w.most_exp = static_cast<u8>(r.value >> 8);
    w.most_lgkm = static_cast<u8>(r.value >> 16);
    advance(f, u, w, r);
    if (!within(w, w.most_vm, w.most_exp, w.most_lgkm)) block(w, Stall::COUNTERS, now);
}

// Whether the record is completed; `reason` is set to what Python has to do.
inline bool steer(IssueEngine& f, Unit& u, Wave& w, const Record& r, u64 now, Reason& reason) {
    w.ready = now + 1;
    switch (r.kind) {
        case RecordKind::WAIT: wait(f, u, w, r, now); break;
        case RecordKind::END:
            count(u, w, r);
            note_executed(f, w);
            if (!within(w, 0, 0, 0)) {
                block(w, Stall::END, now);
            } else if (end(f, w, now)) {
                reason = Reason::GROUP_ENDED;
            }
            break;
        case RecordKind::BARRIER:
            advance(f, u, w, r);
            block(w, Stall::BARRIER, now);
            arrive(f, w, now);
            break;
        case RecordKind::INVALIDATE:
            if (!has_room(f, u, w, r, now)) return false;
            advance(f, u, w, r);
            send_later(f, u, w, r, 1, now);
            break;
        case RecordKind::MESSAGE:
            if (!has_room(f, u, w, r, now)) return false;
            advance(f, u, w, r);
            ++w.lgkm;
            later(u, now + f.config.message_cycles, name_of(f, w), r.handle, Then::PYTHON);
            break;
        case RecordKind::FAILS_NOW: reason = Reason::FAILED; break;
        case RecordKind::PRIORITY:
            w.priority = static_cast<u8>(r.value);
            advance(f, u, w, r);
            break;
        case RecordKind::FETCH_AGAIN:
            advance(f, u, w, r);
            ++u.epoch;
            note(f, Entry::FORGET, u.number, 0);
            flush(f, w);
            break;
        default: w.ready += r.value; advance(f, u, w, r);
    }
    return true;
}

// ---------------------------------------------------------------- a turn

inline void order(const IssueEngine& f, Unit& u, const Simd& simd) {
    List<WaveName>& ready = u.ready;
    const u32 count = ready.count;
    if (count < 2) return;
    bool urgent = false;
    for (u32 i = 0; i < count; ++i) urgent |= f.waves[ready[i].number].priority != 0;
    u32 first = 0;
    if (f.config.round_robin) {
        while (first < count && static_cast<i64>(f.waves[ready[first].number].age) <= simd.last)
            ++first;
        if (first == count) first = 0;
    }
    if (!first && !urgent) return;
    ready.reserve(2 * count);
    WaveName* sorted = ready.items + count;
    u32 used = 0;
    for (i64 priority = 3; priority >= 0; --priority) {
        for (u32 i = 0; i < count; ++i) {
            const WaveName name = ready[(first + i) % count];
            if (f.waves[name.number].priority == priority) sorted[used++] = name;
        }
    }
    memcpy(static_cast<void*>(ready.items), sorted, u64{count} * sizeof(WaveName));
}

// Whether something that is held has returned since the last time.
inline bool returned(Wave& w) {
    const bool any = w.returned;
    w.returned = false;
    return any;
}

inline void list(IssueEngine& f, Wave& w) {
    State& s = *f.state;
    s.list[s.listed++] = number_of(f, w);
    s.list[s.listed++] = w.fetched;
    s.list[s.listed++] = returned(w);
}

// Waves that will need records when their turn comes: those that wait for nothing and have nothing
// in flight can have them now, so that Python is not called for each of them. `simd`: its waves
// that are ready are listed.
inline void list_others(IssueEngine& f, const Unit& u, u32 simd, u64 now) {
    for (u32 i = 0; i < f.waves.count && f.state->listed + 3 <= LIST_ROOM; ++i) {
        Wave& w = f.waves[i];
        const bool waits = w.ended || w.ready == NONE || w.vm || w.lgkm;
        if (waits || w.starved || !w.records.empty()) continue;
        if (w.unit != u.number || w.simd != simd || w.ready > now) list(f, w);
    }
}

// The waves that may issue; AHEAD if some of them have no records.
inline Reason look(IssueEngine& f, Unit& u, Simd& simd, u64 now) {
    State& s = *f.state;
    u.ready.clear();
    u.position = 0;
    u.taken = 0;
    u.allowed = false;
    u.performed.kind = RecordKind::NOTHING;
    s.listed = 0;
    for (u32 i = 0; i < simd.waves.count; ++i) {
        Wave& w = f.waves[simd.waves[i]];
        if (w.ready > now) continue;
        u.ready.add(name_of(f, w));
        if (w.records.empty() && !w.starved) list(f, w);
    }
    order(f, u, simd);
    if (!s.listed) return Reason::REACHED;
    list_others(f, u, static_cast<u32>(now % f.config.simds), now);
    return Reason::AHEAD;
}

// The current wave cannot continue without Python.
inline Reason ask(IssueEngine& f, const Wave& w, const Record* r, Reason reason) {
    f.state->wave = number_of(f, w);
    f.state->handle = r ? r->handle : 0;
    f.state->address = w.fetched;
    return reason;
}

inline Reason issue_one(IssueEngine& f, Unit& u, Simd& simd, Wave& w, u64 now) {
    if (w.records.empty() || w.records.front().end > w.fetched) {
        if (w.unmapped) return ask(f, w, nullptr, Reason::UNMAPPED);
        block(w, Stall::FETCH, now);
        want(f, w);
        return Reason::REACHED;
    }
    Record r = w.records.front();
    if (steers(r.kind)) {
        Reason reason = Reason::REACHED;
        if (steer(f, u, w, r, now, reason)) w.records.take();
        return reason == Reason::REACHED ? reason : ask(f, w, &r, reason);
    }
    if (!u.allowed && !may_issue(f, u, simd, w, r, now)) return Reason::REACHED;
    u.allowed = true;
    if (r.kind == RecordKind::UNKNOWN) {
        r.handle = returned(w);
        return ask(f, w, &r, Reason::EXECUTE);
    }
    if (r.kind == RecordKind::FAILS) {
        if (r.place == f.config.vector_alu) simd.busy = now + f.config.cycles[r.pace];
        return ask(f, w, &r, Reason::FAILED);
    }
    w.records.take();
    u.taken |= u64{1} << r.place;
    simd.last = w.age;
    if (is_bound(r)) {
        const Reason reason = issue_bound(f, u, simd, w, r, now);
        if (reason != Reason::REACHED) {
            f.state->wave = number_of(f, w);
            f.state->handle = w.records.size();
        }
        return reason;
    }
    const Reason reason = issue_memory(f, u, w, r, now);
    return reason == Reason::REACHED ? reason : ask(f, w, &r, reason);
}

inline void next_wave(Unit& u) {
    ++u.position;
    u.allowed = false;
    u.performed.kind = RecordKind::NOTHING;
}

// Waves of one SIMD issue, from where the turn was left.
inline Reason issue(IssueEngine& f, Unit& u, Simd& simd, u64 now) {
    for (; u.position < u.ready.count; next_wave(u)) {
        Wave* w = wave_of(f, u.ready[u.position]);
        if (w && u.performed.kind == RecordKind::LOCAL_NOW) {
            issue_local(f, u, *w, u.performed, now);
            continue;
        }
        if (!w || w->ready > now) continue;  // an instruction of another wave has changed that
        const Reason reason = issue_one(f, u, simd, *w, now);
        if (reason == Reason::EXECUTE || reason == Reason::PERFORM) return reason;
        if (reason == Reason::REACHED) continue;
        next_wave(u);
        return reason;
    }
    return Reason::REACHED;
}

// The first turn, from the following one on, in which a wave is ready; NONE if none will be.
inline u64 turn_after(const IssueEngine& f, const Simd& simd, u64 place, u64 following) {
    u64 first = NONE;
    for (u32 i = 0; i < simd.waves.count; ++i) {
        const u64 ready = f.waves[simd.waves[i]].ready;
        if (ready <= following) return following;
        if (ready < first) first = ready;
    }
    const u64 simds = f.config.simds;
    return first == NONE ? NONE : first + (place + simds - first % simds) % simds;
}
