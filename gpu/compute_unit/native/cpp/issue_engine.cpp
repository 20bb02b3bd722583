// The issue engine of a device: fetch and issue of all its compute units, tick by tick, with the
// protocol's engine that runs the caches between them. gpu/compute_unit/native/issue_engine.py
// drives it.
//
// The life of a tick: units act in the order of their numbers (due events, requests that leave, one
// fetch, one SIMD's turn); then the protocol's engine runs to its first answers or to the next tick
// in which a unit acts. Wherever Python is needed, a run returns with a Reason, and the next run
// resumes from there.
//
// Invariant: the same calls, with the same records, give the same ticks as
// gpu.compute_unit.timed_unit gives.

#include "issue.hpp"

#define ISSUE_ENGINE_API extern "C" __attribute__((visibility("default")))

namespace {

// ---------------------------------------------------------------- units

// A request cannot leave without Python.
Reason stopped(IssueEngine& f, const Unit& u, const Wave& w, Reason reason) {
    f.state->unit = u.number;
    f.state->wave = number_of(f, w);
    return reason;
}

// Everything that is due at this tick, from where the last run stopped.
Reason act(IssueEngine& f, Unit& u) {
    State& s = *f.state;
    const u64 now = s.now;
    for (;;) {
        switch (u.stage) {
            case Stage::EVENTS:
                while (!u.events.empty() && u.events.least().tick <= now) {
                    const Event event = u.events.least();
                    Wave* w = event.wave.number == NO_WAVE ? nullptr : wave_of(f, event.wave);
                    if (w && event.then == Then::LOAD) {
                        const Reason reason = load_scalars(f, u, event);
                        if (reason != Reason::REACHED) return stopped(f, u, *w, reason);
                    }
                    u.events.take();
                    if (event.then == Then::LOAD || (!w && event.wave.number != NO_WAVE)) continue;
                    if (event.then == Then::PYTHON) {
                        s.unit = u.number;
                        s.wave = event.wave.number;
                        s.handle = event.handle;
                        return Reason::EVENT;
                    }
                    f.config.complete(static_cast<Held*>(event.held));
                    w->returned = true;
                    --w->lgkm;
                    if (counted_down(f, *w, now)) return ask(f, *w, nullptr, Reason::GROUP_ENDED);
                }
                u.stage = Stage::SENDS;
                break;
            case Stage::SENDS:
                s.listed = 0;
                while (!u.sending.empty() && u.sending.front().tick <= now) {
                    const Sending& sending = u.sending.front();
                    Wave* w = wave_of(f, sending.wave);
                    if (w && sending.held) {
                        if (s.listed) break;  // those of Python's come first
                        const Reason reason = send_lanes(f, u, sending);
                        if (reason != Reason::REACHED) return stopped(f, u, *w, reason);
                    } else if (w) {
                        s.list[s.listed++] = sending.wave.number;
                        s.list[s.listed++] = sending.handle;
                    }
                    u.sending.take();
                }
                if (s.listed) {
                    s.unit = u.number;
                    return Reason::SEND;
                }
                u.stage = Stage::FETCH;
                break;
            case Stage::FETCH: {
                const Reason reason = fetch_cycle(f, u);
                if (reason != Reason::REACHED) return reason;
                u.stage = Stage::LOOK;
                break;
            }
            case Stage::LOOK: {
                Simd& simd = u.simds[now % f.config.simds];
                if (u.turns[now % f.config.simds] > now) {
                    u.stage = Stage::DONE;
                    break;
                }
                u.stage = Stage::ISSUE;
                const Reason reason = look(f, u, simd, now);
                if (reason != Reason::REACHED) return reason;
                break;
            }
            case Stage::ISSUE: {
                const u64 place = now % f.config.simds;
                const Reason reason = issue(f, u, u.simds[place], now);
                if (reason != Reason::REACHED) return reason;
                u.turns[place] = turn_after(f, u.simds[place], place, now + f.config.simds);
                u.stage = Stage::DONE;
                break;
            }
            case Stage::DONE: return Reason::REACHED;
        }
    }
}

u64 next_tick_of(const IssueEngine& f, Unit& u, u64 tick) {
    if (!u.wanting.empty()) return tick;
    u64 due = NONE;
    for (u64 place = 0; place < f.config.simds; ++place) {
        if (u.turns[place] < due) due = u.turns[place];
    }
    if (due <= tick) return tick;
    if (!u.events.empty() && u.events.least().tick < due) due = u.events.least().tick;
    if (!u.sending.empty() && u.sending.front().tick < due) due = u.sending.front().tick;
    return due == NONE || due > tick ? due : tick;
}

Reason units_act(IssueEngine& f) {
    State& s = *f.state;
    for (; f.at < f.units.count; ++f.at) {
        Unit& u = f.units[f.at];
        if (u.stage == Stage::DONE) {
            if (u.next_tick > s.now) continue;
            u.stage = Stage::EVENTS;
            ++s.ran;
        }
        const Reason reason = act(f, u);
        if (reason != Reason::REACHED) return reason;
        u.next_tick = next_tick_of(f, u, s.now + 1);
    }
    return Reason::REACHED;
}

// ---------------------------------------------------------------- the engine

// The tick is over, units act next.
void next_tick(IssueEngine& f, u64 tick) {
    f.state->now = tick;
    f.phase = Phase::UNITS;
    f.at = 0;
    f.begun = false;
}

bool is_ours(const IssueEngine& f, u32 slot) {
    return slot < f.asking.count && f.asking[slot].ours;
}

// The request in a slot of ours: how, the addresses of lanes (the first one if they are behind each
// other), what is stored.
void log_request(IssueEngine& f, const ExternalRequest& given) {
    const u64* addresses = f.state->addresses + u64{given.slot} * EXTERNAL_LANES;
    u64 lanes = 1;
    for (u64 i = 1; i < given.lanes; ++i) {
        if (addresses[i] != addresses[0] + i * given.size) lanes = given.lanes;
    }
    f.request_log.add(given.port | u64{given.scope} << 32 | u64{given.size} << 40 |
                      u64{given.lanes} << 48 | u64{given.kind} << 56 | u64{given.crosses} << 60 |
                      u64{lanes == 1} << 61);
    for (u64 i = 0; i < lanes; ++i) f.request_log.add(addresses[i]);
    if (given.kind != AccessKind::STORE) return;
    const u8* bytes = bytes_of(f, given.slot);
    for (u64 i = 0; i < u64{given.lanes} * given.size; i += sizeof(u64)) {
        u64 word;  // a slot's bytes are whole words
        memcpy(&word, bytes + i, sizeof(word));
        f.request_log.add(word);
    }
}

// Log the requests of this run, so that they can be replayed into another engine.
void log_requests(IssueEngine& f, u64 last) {
    const ExternalView& view = *f.view;
    f.request_log.add(f.when);
    f.request_log.add(last);
    f.request_log.add(view.given_count);
    for (u64 i = 0; i < view.given_count; ++i) {
        const ExternalRequest& given = view.given[i];
        const bool ours = is_ours(f, given.slot);
        f.request_log.add(given.slot | u64{ours} << 63);
        f.request_log_parts += !ours;
        if (ours) log_request(f, given);
    }
}

// Answers: ours are kept, Python's are listed.
void sort_answers(IssueEngine& f) {
    State& s = *f.state;
    const ExternalView& view = *f.view;
    s.listed = 0;
    for (u64 i = 0; i < view.answered; ++i) {
        const u32 slot = static_cast<u32>(view.answers[i]);
        if (is_ours(f, slot)) {
            f.answers.add(view.answers[i]);
        } else {
            s.list[s.listed++] = view.answers[i];
        }
    }
}

void take_answer(IssueEngine& f, u64 word) {
    const u32 slot = static_cast<u32>(word);
    if ((word >> 32 & 0xFF) == static_cast<u64>(AnswerKind::ACCEPTED)) return;
    Asking& asked = f.asking[slot];
    INVARIANT(asked.ours && asked.under_way && f.state->asked > 0);
    asked.under_way = false;
    --f.state->asked;
    f.state->fetching -= asked.what == Asked::CODE;
    f.slots.add(slot);
    Wave* w = wave_of(f, asked.wave);
    if (!w) return;
    const u8* bytes = bytes_of(f, slot);
    switch (asked.what) {
        case Asked::CODE: fetch_answer(f, asked, *w, bytes); break;
        case Asked::SCALARS: scalars_answer(f, asked, *w, bytes); break;
        case Asked::LANES: lanes_answer(f, asked, *w, bytes); break;
    }
}

void take_answers(IssueEngine& f) {
    for (u32 i = 0; i < f.answers.count; ++i) take_answer(f, f.answers[i]);
    f.answers.clear();
    f.state->notices = f.ended.count + f.heads.count;
}

// Requests were answered: the consequences belong to the next tick.
void deliver(IssueEngine& f) {
    State& s = *f.state;
    next_tick(f, (s.tick > s.now ? s.tick : s.now) + 1);
    take_answers(f);
}

// The engine has run; REACHED: units may act again.
Reason engine_ran(IssueEngine& f) {
    State& s = *f.state;
    const u64 end = f.end;
    ExternalView& view = *f.view;
    view.given_count = 0;
    s.tick = view.now;
    s.due = view.next;
    if (f.when < s.tick + 1) f.when = s.tick + 1;
    sort_answers(f);
    if (s.listed || s.at_once) return Reason::ANSWERED;
    if (f.answers.count) {
        deliver(f);
        return s.notices ? Reason::NOTICES : Reason::REACHED;
    }
    if (s.due == NONE && (s.asked || s.pending)) return Reason::QUIET;  // and so it stays
    if (s.due == NONE || (end != NONE && f.limit >= end - 1)) {
        u64 tick = s.tick + 1 > s.now ? s.tick + 1 : s.now;
        if (end != NONE && end > tick) tick = end;
        next_tick(f, tick);
        return s.due == NONE && end == NONE ? Reason::AT_REST : Reason::REACHED;
    }
    return Reason::QUIET;
}

// The first tick in which a unit or Python acts, after this one; NONE if only answers lead on.
u64 end_of_run(const IssueEngine& f) {
    const State& s = *f.state;
    u64 end = s.until;
    for (u32 i = 0; i < f.units.count; ++i) {
        if (f.units[i].next_tick < end) end = f.units[i].next_tick;
    }
    return end == NONE || end > s.now ? end : s.now + 1;
}

Reason memory_runs(IssueEngine& f, RunExternal run, void* block) {
    State& s = *f.state;
    if (f.replayed) {
        f.replayed = false;
        return engine_ran(f);
    }
    const ExternalView& view = *f.view;
    f.end = end_of_run(f);
    if (!f.begun) {
        f.when = s.now;
        if (!view.given_count && !s.at_once && f.end != NONE && s.due > f.end - 1) {
            next_tick(f, f.end);
            return Reason::REACHED;
        }
        f.begun = true;
    }
    f.limit = (s.tick > s.now ? s.tick : s.now) + f.config.slice;
    if (f.end != NONE && f.end - 1 < f.limit) f.limit = f.end - 1;
    if (s.at_once) f.limit = s.now;
    if (f.logging) log_requests(f, f.limit);
    s.status = static_cast<u64>(run(block, f.view, f.when, f.limit));
    if (s.status >= STATUS_FINDING) return Reason::JUDGED;
    return engine_ran(f);
}

}  // namespace

// ---------------------------------------------------------------- an issue engine

ISSUE_ENGINE_API u64 issue_engine_version() { return VERSION; }

ISSUE_ENGINE_API IssueEngine* issue_engine_new(const Config* config, State* state) {
    auto* f = static_cast<IssueEngine*>(calloc(1, sizeof(IssueEngine)));
    if (!f) return nullptr;
    f->config = *config;
    f->state = state;
    f->logging = true;
    f->units.extend(static_cast<u32>(config->units));
    for (u32 i = 0; i < f->units.count; ++i) {
        Unit& u = f->units[i];
        u.number = i;
        u.next_tick = NONE;
        for (u64& turn : u.turns) turn = NONE;
        for (Simd& simd : u.simds) simd.last = -1;
        u.memory.extend(static_cast<u32>(config->names));
        state->next_ticks[i] = NONE;
    }
    return f;
}

ISSUE_ENGINE_API void issue_engine_free(IssueEngine* f) {
    for (u32 i = 0; i < f->units.count; ++i) {
        Unit& u = f->units[i];
        for (Simd& simd : u.simds) simd.waves.release();
        u.events.list.release();
        u.sending.list.release();
        u.wanting.list.release();
        u.code.release();
        u.code_places.release();
        u.memory.release();
        u.lines.release();
        u.ready.release();
    }
    for (u32 i = 0; i < f->waves.count; ++i) {
        f->waves[i].records.list.release();
        f->waves[i].outstanding.list.release();
    }
    for (u32 i = 0; i < f->groups.count; ++i) f->groups[i].waves.release();
    f->units.release();
    f->waves.release();
    f->free_waves.release();
    f->groups.release();
    f->free_groups.release();
    f->slots.release();
    f->asking.release();
    f->answers.release();
    f->places.release();
    f->ended.release();
    f->heads.release();
    f->known.release();
    f->known_places.release();
    f->request_log.release();
    free(f);
}

// Run until Python is needed. `view` holds what Python has given since the last run.
ISSUE_ENGINE_API u64 issue_engine_run(IssueEngine* f, RunExternal run, void* block,
                                      ExternalView* view) {
    State& s = *f->state;
    f->view = view;
    Reason reason;
    for (;;) {
        if (f->phase == Phase::UNITS) {
            const bool begins = !f->at && f->units[0].stage == Stage::DONE;
            reason = Reason::REACHED;
            if (begins && s.now >= s.until) break;
            reason = units_act(*f);
            if (reason != Reason::REACHED) break;
            f->phase = Phase::MEMORY;
            reason = Reason::CATCH_UP;
            if (s.logged > LOG_LONG || s.budget < 0 || f->request_log.count > REQUEST_LOG_LONG) {
                break;
            }
        }
        reason = memory_runs(*f, run, block);
        if (reason == Reason::REACHED && s.rung && f->phase == Phase::UNITS) {
            s.listed = 0;
            reason = Reason::ANSWERED;
        }
        if (reason != Reason::REACHED) break;
    }
    for (u32 i = 0; i < f->units.count; ++i) s.next_ticks[i] = f->units[i].next_tick;
    return static_cast<u64>(reason);
}

// Python has processed the answers; `complete`: some request has all its answers.
ISSUE_ENGINE_API void issue_engine_answered(IssueEngine* f, u64 complete) {
    if (complete || f->answers.count) deliver(*f);
}

// Python has replayed the log into another engine, the last run included.
ISSUE_ENGINE_API void issue_engine_replayed(IssueEngine* f) { f->replayed = true; }

// Copies the requests logged since the last time, and how many of them are Python's; returns how
// many words there are. If there is not room for all, nothing is copied and the log is kept.
ISSUE_ENGINE_API u64 issue_engine_request_log(IssueEngine* f, u64* words, u64 room, u64* parts) {
    const u32 count = f->request_log.count;
    if (count > room) return count;
    if (count) memcpy(words, f->request_log.items, u64{count} * sizeof(u64));
    if (parts) *parts = f->request_log_parts;
    f->request_log.clear();
    f->request_log_parts = 0;
    return count;
}

ISSUE_ENGINE_API void issue_engine_stop_logging(IssueEngine* f) {
    f->logging = false;
    f->request_log.clear();
}

// ---------------------------------------------------------------- groups and waves

// A group starts; its waves' numbers are written to `numbers`. Returns the number of the group.
ISSUE_ENGINE_API u64 issue_engine_start(IssueEngine* f, u64 unit, u64 count, const u64* simds,
                                        const u64* ages, const u64* pcs, u64* numbers) {
    u32 number = f->groups.count;
    if (f->free_groups.count) {
        number = f->free_groups.pop();
    } else {
        f->groups.extend(number + 1);
    }
    Group& group = f->groups[number];
    group.waves.clear();
    group.live = static_cast<u32>(count);
    group.arrived = 0;
    Unit& u = f->units[static_cast<u32>(unit)];
    for (u64 i = 0; i < count; ++i) {
        u32 place = f->waves.count;
        if (f->free_waves.count) {
            place = f->free_waves.pop();
        } else {
            f->waves.extend(place + 1);
        }
        Wave& w = f->waves[place];
        const u32 serial = w.serial;
        Queue<Record> records = w.records;
        records.clear();
        Queue<Outstanding> outstanding = w.outstanding;
        outstanding.clear();
        w = {};
        w.serial = serial;
        w.records = records;
        w.outstanding = outstanding;
        w.pc = pcs[i];
        w.fetching = NONE;
        w.group = number;
        w.unit = u.number;
        w.simd = static_cast<u32>(simds[i]);
        w.age = static_cast<u32>(ages[i]);
        group.waves.add(place);
        u.simds[w.simd].waves.add(place);
        block(w, Stall::FETCH, f->state->now);
        flush(*f, w);
        numbers[i] = place;
    }
    wanted(u, f->state->now);
    f->state->next_ticks[unit] = u.next_tick;
    return number;
}

// A group is removed, with all its waves.
ISSUE_ENGINE_API void issue_engine_drop(IssueEngine* f, u64 number) {
    Group& group = f->groups[static_cast<u32>(number)];
    for (u32 i = 0; i < group.waves.count; ++i) {
        Wave& w = f->waves[group.waves[i]];
        if (!w.ended) leave(f->units[w.unit].simds[w.simd], group.waves[i]);
        w.ended = true;
        ++w.serial;
        f->free_waves.add(group.waves[i]);
    }
    group.waves.clear();
    f->free_groups.add(static_cast<u32>(number));
}

// What so many waves will issue next: for each its number, how many records, the records. None:
// Python does not know its code.
ISSUE_ENGINE_API void issue_engine_append(IssueEngine* f, const u8* bytes, u64 waves) {
    for (; waves; --waves) {
        u32 wave[2];
        memcpy(wave, bytes, sizeof(wave));
        bytes += sizeof(wave);
        Wave& w = f->waves[wave[0]];
        w.starved = !wave[1];
        for (u32 i = 0; i < wave[1]; ++i, bytes += sizeof(Record)) {
            Record record;
            memcpy(static_cast<void*>(&record), bytes, sizeof(record));
            w.records.add(record);
        }
    }
}

// What an UNKNOWN record has become.
ISSUE_ENGINE_API void issue_engine_replace(IssueEngine* f, u64 wave, const Record* record) {
    f->waves[static_cast<u32>(wave)].records.front() = *record;
}

// Counters of a wave go down. 1: its group has ended.
ISSUE_ENGINE_API u64 issue_engine_lower(IssueEngine* f, u64 wave, u64 vm, u64 lgkm) {
    Wave& w = f->waves[static_cast<u32>(wave)];
    w.vm = static_cast<u8>(w.vm - vm);
    w.lgkm = static_cast<u8>(w.lgkm - lgkm);
    const bool ended = counted_down(*f, w, f->state->now);
    f->state->next_ticks[w.unit] = f->units[w.unit].next_tick;
    return ended;
}

// Return to Python at a tick, with an EVENT that belongs to no wave.
ISSUE_ENGINE_API void issue_engine_later(IssueEngine* f, u64 unit, u64 tick, u64 handle) {
    Unit& u = f->units[static_cast<u32>(unit)];
    later(u, tick, {NO_WAVE, 0}, static_cast<u32>(handle), Then::PYTHON);
    f->state->next_ticks[unit] = u.next_tick;
}

// ---------------------------------------------------------------- fetching

ISSUE_ENGINE_API void issue_engine_slots(IssueEngine* f, const u64* slots, u64 count) {
    for (u64 i = 0; i < count; ++i) {
        const u32 slot = static_cast<u32>(slots[i]);
        f->asking.extend(slot + 1);
        f->asking[slot].ours = true;
        f->slots.add(slot);
    }
}

// An address may be fetched.
ISSUE_ENGINE_API void issue_engine_allow(IssueEngine* f, u64 address, u64 scope) {
    bool found;
    entry_for(f->known, f->known_places, address, found).scope = static_cast<u8>(scope);
}

// The wave that was reported with ADDRESS fetches from an unmapped address.
ISSUE_ENGINE_API void issue_engine_unmapped(IssueEngine* f) {
    Unit& u = f->units[static_cast<u32>(f->state->unit)];
    Wave* w = wave_of(*f, u.wanting.take());
    if (!w) return;
    w->queued = false;
    w->unmapped = true;
    w->starved = false;
    arrived(*f, *w);
}

// Answers that came while Python ran the protocol's engine.
ISSUE_ENGINE_API void issue_engine_came(IssueEngine* f, const u64* words, u64 count) {
    for (u64 i = 0; i < count; ++i) f->answers.add(words[i]);
    take_answers(*f);
}

// Ask again for every address.
ISSUE_ENGINE_API void issue_engine_forget_addresses(IssueEngine* f) {
    empty_places(f->known, f->known_places);
    f->places.clear();
    f->place = 0;
}

// Requests may be made of this memory.
ISSUE_ENGINE_API void issue_engine_place(IssueEngine* f, u64 start, u64 limit, u8* cached,
                                         u8* stored, u64 writable, u64 scope) {
    f->place = f->places.count;
    f->places.add({start, limit, cached, stored, writable != 0, static_cast<u8>(scope)});
}

// Python carries out what was reported with PLACE. Returns what is held, and after how many other
// instructions of Python's a vector memory instruction returns.
ISSUE_ENGINE_API void* issue_engine_hand_back(IssueEngine* f, u64* behind) {
    Unit& u = f->units[static_cast<u32>(f->state->unit)];
    *behind = 0;
    if (u.stage == Stage::EVENTS) return u.events.take().held;
    const Sending sending = u.sending.take();
    Wave& w = f->waves[sending.wave.number];
    outstanding_of(w, sending.order).held = nullptr;
    for (u32 i = w.retired; i != sending.order; ++i) *behind += !outstanding_of(w, i).held;
    return sending.held;
}

// ---------------------------------------------------------------- returns

// The next vector memory instruction of a wave returns, if it is one of Python's. 0: it is not; 1:
// it does; 2: and its group has ended.
ISSUE_ENGINE_API u64 issue_engine_retire(IssueEngine* f, u64 wave) {
    Wave& w = f->waves[static_cast<u32>(wave)];
    if (w.outstanding.empty() || w.outstanding.front().held) return 0;
    leave_line(w);
    retire_done(*f, w);
    const bool ended = counted_down(*f, w, f->state->now);
    f->state->next_ticks[w.unit] = f->units[w.unit].next_tick;
    return 1 + ended;
}

// A wave that Python is to be notified of: the last one of its group, or one whose next vector memory
// instruction to return is Python's.
ISSUE_ENGINE_API u64 issue_engine_notice(IssueEngine* f, u64* ended) {
    *ended = f->ended.count != 0;
    List<WaveName>& names = *ended ? f->ended : f->heads;
    if (!names.count) return NO_WAVE;
    const WaveName name = names.pop();
    f->state->notices = f->ended.count + f->heads.count;
    return f->waves[name.number].serial == name.serial ? name.number : NO_WAVE;
}

// A unit's code may be other code now.
ISSUE_ENGINE_API void issue_engine_forget_code(IssueEngine* f, u64 unit) {
    ++f->units[static_cast<u32>(unit)].epoch;
}

ISSUE_ENGINE_API u64 issue_engine_code(IssueEngine* f, u64 unit, u64 place, u8* bytes) {
    const Code& code = f->units[static_cast<u32>(unit)].code[static_cast<u32>(place)];
    memcpy(bytes, code.bytes, f->config.fetch_bytes);
    return code.address;
}

// ---------------------------------------------------------------- queries

// Program counter, whether it waits at a barrier, records left.
ISSUE_ENGINE_API void issue_engine_wave(IssueEngine* f, u64 wave, u64* out) {
    const Wave& w = f->waves[static_cast<u32>(wave)];
    out[0] = w.pc;
    out[1] = w.at_barrier;
    out[2] = w.records.size();
}

// Requests under way, five numbers each: port, kind, lanes, address, since when. Returns how many
// there are.
ISSUE_ENGINE_API u64 issue_engine_under_way(IssueEngine* f, u64* out, u64 room) {
    u64 count = 0;
    for (u32 i = 0; i < f->asking.count; ++i) {
        const Asking& asked = f->asking[i];
        if (!asked.under_way) continue;
        if (count < room) {
            const u64 told[] = {asked.port, asked.kind, asked.lanes, asked.address, asked.since};
            memcpy(out + 5 * count, told, sizeof(told));
        }
        ++count;
    }
    return count;
}

ISSUE_ENGINE_API void issue_engine_counts(IssueEngine* f, u64 unit, Counts* counts) {
    *counts = f->units[static_cast<u32>(unit)].counts;
}

// Instructions by mnemonic, or by how many lines they touch; returns how many numbers there are.
ISSUE_ENGINE_API u64 issue_engine_table(IssueEngine* f, u64 unit, u64 lines, u64* out, u64 room) {
    const Unit& u = f->units[static_cast<u32>(unit)];
    const List<u64>& table = lines ? u.lines : u.memory;
    for (u64 i = 0; i < room && i < table.count; ++i) out[i] = table[static_cast<u32>(i)];
    return table.count;
}
