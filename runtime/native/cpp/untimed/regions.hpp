// The parts of the block that steps change, so that going back to the start is a few copies.
//
// What stands in slots of pools is set whenever a slot is taken, so pools are only their heads.
// Invariant: outside of these parts and of pools, a step changes nothing but counts of transitions
// and notes that its own functions begin anew.

#pragma once

#include "untimed/renaming.hpp"

// Most parts are so short that calls would cost more than the copies.
TINY inline void copy_part(u8* to, const u8* from, u64 bytes) {
    struct Half {
        u64 words[2];
    };
    if (bytes > 64 || bytes < sizeof(Half)) {
        __builtin_memcpy(to, from, bytes);
        return;
    }
    const auto copy = [&](u64 at) {
        Half half;
        __builtin_memcpy(&half, from + at, sizeof half);
        __builtin_memcpy(to + at, &half, sizeof half);
    };
    for (u64 at = 0; at + sizeof(Half) < bytes; at += sizeof(Half)) copy(at);
    copy(bytes - sizeof(Half));
}

struct Region {
    u64 offset;
    u64 bytes;
    u64 kept;   // where it stands in a copy of all of them
    u32 owner;  // 0: any step may change it, else 1 + the controller that a step has to reach
};

struct Regions {
    static constexpr u32 ROOM = 512;
    Region all[ROOM];
    u32 first[MAX_NAMED + 2];  // by owner
    u32 count = 0;
    u64 bytes = 0;
    bool overflow = false;

    void add(u64 offset, u64 length, u32 owner = 0) {
        if (!length) return;
        if (count == ROOM || owner > MAX_NAMED) {
            overflow = true;
            return;
        }
        all[count++] = {offset, length, 0, owner};
    }
    template <class T>
    void add(const Array<T>& array) {
        add(array.offset, array.count * sizeof(T));
    }
    // By owner, in ascending order, and as one what is close together.
    void merge() {
        const auto before = [](const Region& one, const Region& other) {
            return one.owner != other.owner ? one.owner < other.owner : one.offset < other.offset;
        };
        for (u32 i = 1; i < count; i++) {
            const Region moved = all[i];
            u32 at = i;
            for (; at && before(moved, all[at - 1]); at--) all[at] = all[at - 1];
            all[at] = moved;
        }
        u32 kept = 0;
        for (u32 i = 1; i < count; i++) {
            Region& last = all[kept];
            const u64 end = all[i].offset + all[i].bytes;
            if (all[i].owner == last.owner && all[i].offset <= last.offset + last.bytes + 128) {
                if (end > last.offset + last.bytes) last.bytes = end - last.offset;
            } else {
                all[++kept] = all[i];
            }
        }
        if (count) count = kept + 1;
        u32 at = 0;
        for (u32 owner = 0; owner < MAX_NAMED + 2; owner++) {
            first[owner] = at;
            for (; at < count && all[at].owner == owner; at++) {
                all[at].kept = bytes;
                bytes += all[at].bytes;
            }
        }
    }
    void save(const u8* block, u8* to) const {
        for (u32 i = 0; i < count; i++)
            copy_part(to + all[i].kept, block + all[i].offset, all[i].bytes);
    }
    void restore(u8* block, const u8* from) const { restore(block, from, 0, count); }
    // What a step changed that reached these controllers, a bit each.
    void restore_reached(u8* block, const u8* from, u64 controllers) const {
        restore(block, from, 0, first[1]);
        for (u64 left = controllers; left; left &= left - 1) {
            const u32 owner = 1 + static_cast<u32>(__builtin_ctzll(left));
            restore(block, from, first[owner], first[owner + 1]);
        }
    }
    bool equal(const u8* block, const u8* kept) const {
        for (u32 i = 0; i < count; i++) {
            if (__builtin_memcmp(block + all[i].offset, kept + all[i].kept, all[i].bytes))
                return false;
        }
        return true;
    }

private:
    void restore(u8* block, const u8* from, u32 begin, u32 end) const {
        for (u32 i = begin; i < end; i++)
            copy_part(block + all[i].offset, from + all[i].kept, all[i].bytes);
    }
};

// Of the part of the block that every system has.
inline void add_system(const Context& x, Regions& regions) {
    const auto part = [&](u64 from, u64 to) { regions.add(from, to - from); };
    constexpr u64 ENGINE = offsetof(System, engine);
    part(offsetof(System, trouble), offsetof(System, run_key));
    part(ENGINE, ENGINE + offsetof(EngineState, wheel));
    part(ENGINE + offsetof(EngineState, wakeups), offsetof(System, lines));
    part(offsetof(System, messages), offsetof(System, entries));
    part(offsetof(System, bus), offsetof(System, routes));
}

// What stands in front of `busy_tick` is set once.
inline void add_controllers(const Context& x, Regions& regions) {
    constexpr u64 RUNNING = offsetof(Controller, busy_tick);
    for (u32 id = 0; id < x.s->controllers; id++)
        regions.add(offset_of(x, controller(x, id)) + RUNNING, CONTROLLER_STRIDE - RUNNING, 1 + id);
}

inline void add_cache(const Context& x, Regions& regions, const CacheMemory& c) {
    constexpr u64 CLOCK = offsetof(CacheMemory, clock);
    const u32 owner = 1 + c.controller;
    regions.add(offset_of(x, c) + CLOCK, offsetof(CacheMemory, start_index_bit) - CLOCK, owner);
    if (c.alu_room) regions.add(offset_of(x, c.alu_used), sizeof c.alu_used, owner);
    regions.add(c.frames, c.sets * c.ways * sizeof(u32), owner);
    regions.add(c.free, c.sets * sizeof(u32), owner);
    regions.add(c.touched, c.sets * (c.tree_words ? c.tree_words : c.ways) * sizeof(u64), owner);
}

inline void add_buffers(const Context& x, Regions& regions) {
    for (u32 i = 0; i < x.s->buffers; i++) {
        const u32 consumer = owner_of_buffer(x, i);
        regions.add(offset_of(x, x.buffers[i]), sizeof(MessageBuffer),
                    consumer == NIL ? 0 : 1 + consumer);
    }
}

// `engines`: agents with DMA sequencers. Each has one transfer at a time, and of those that are free the
// first is taken.
inline void add_requesters(const Context& x, Regions& regions, u32 engines) {
    const RequesterParts& parts = requester_parts(x);
    regions.add(x.s->requester_parts.offset, offsetof(RequesterParts, scratch));
    regions.add(offset_of(x, parts.transfers_used), sizeof parts.transfers_used);
    for (u32 i = 0; i < x.s->requesters; i++) {
        const Requester& r = requester_at(x, i);
        regions.add(offset_of(x, r), sizeof r, 1 + r.controller);
    }
    regions.add(parts.clients);
    regions.add(parts.marks);
    regions.add(parts.transfers.offset, u64{engines} * TRANSFER_ROOM);
    regions.add(parts.free_transfers.offset, u64{engines} * sizeof(u32));
}

// The slots of pools that were taken, and the locks: where they begin, and bytes.
template <class F>
inline void each_taken(const Context& x, F f) {
    const System& s = *x.s;
    const auto pool = [&](const Pool& p) {
        if (p.used) f(p.offset, u64{p.used} * p.stride);
    };
    pool(s.messages);
    pool(s.logs);
    pool(s.atomics);
    pool(s.triggers);
    for (u32 i = 0; i < MACHINES; i++) {
        pool(s.entries.at(x, i));
        pool(s.records.at(x, i));
    }
    const RequesterParts& parts = requester_parts(x);  // slot 0 of these is none
    f(parts.accesses.offset, u64{parts.accesses_used + 1} * sizeof(Access));
    f(parts.requests.offset, u64{parts.requests_used + 1} * sizeof(LineRequest));
    for (u32 id = 0; id < s.controllers; id++) {
        const Controller& c = controller(x, id);
        if (c.locked) f(offset_of(x, *controller_locks(x, c)), c.locked * sizeof(LineLock));
    }
}

inline u64 taken_bytes(const Context& x) {
    u64 all = 0;
    each_taken(x, [&](u64, u64 bytes) { all += bytes; });
    return all;
}

inline void taken_save(const Context& x, u8* to) {
    each_taken(x, [&](u64 offset, u64 bytes) {
        copy_part(to, x.base + offset, bytes);
        to += bytes;
    });
}

// The heads of the pools are those of the time of saving.
inline void taken_restore(const Context& x, const u8* from) {
    each_taken(x, [&](u64 offset, u64 bytes) {
        copy_part(x.base + offset, from, bytes);
        from += bytes;
    });
}

// Of a system whose lines are all known. Channels change only where arrivals are kept in the order of
// time, and ports only towards the bus.
inline Regions state_regions(const Context& x, u32 engines) {
    const System& s = *x.s;
    Regions regions;
    add_system(x, regions);
    regions.add(s.engine.pending);
    regions.add(s.engine.wakes.offset, 2 * sizeof(u64));
    regions.add(s.engine.wheel.offset, slots_in_use(x) * sizeof(WheelSlot));
    add_buffers(x, regions);
    for (u32 i = 0; i < s.ports; i++) {
        if (x.ports[i].bus)
            regions.add(s.network_ports.offset + i * sizeof(NetworkPort), sizeof(NetworkPort));
    }
    for (u32 i = 0; i < s.caches; i++) add_cache(x, regions, x.caches[i]);
    add_controllers(x, regions);
    regions.add(s.tables);
    regions.add(s.directories);
    regions.add(s.entries);
    regions.add(s.records);
    regions.add(s.places.offset, u64{s.lines.used} * s.place_stride);
    regions.add(s.stalls.offset, u64{s.lines.used} * s.stall_rows * sizeof(StallList));
    regions.add(s.library.timers);
    regions.add(s.library.alarms);
    regions.add(s.library.storages);
    regions.add(s.library.slots);
    regions.add(s.library.rows);
    regions.add(s.memory.state);
    regions.add(s.memory.image);
    const ControllerParts& parts = controller_parts(x);
    regions.add(parts.waiting);
    regions.add(parts.tracked);
    regions.add(s.controller_parts);
    add_requesters(x, regions, engines);
    regions.merge();
    return regions;
}
