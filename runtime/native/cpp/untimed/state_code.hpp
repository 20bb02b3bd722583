// Writing and reading a whole system between two steps.
//
// A state is read into a system as it was built: what its code does not name is as at the start, so
// nothing that is not coded can make a difference. Invariant: time, sequence numbers, slots of
// pools, counters and the order of equal things are not coded; only the order of messages in a
// buffer by age is.

#pragma once

#include "untimed/coder.hpp"

// Generated (encoding.hpp).
template <class Code>
inline void code_message(Code& code, Message& message);
template <class Code>
inline void code_entry(Code& code, u32 machine, AbstractCacheEntry& entry);
template <class Code>
inline void code_record(Code& code, u32 machine, TbeHeader& record);
template <class Code>
inline void code_objects(Code& code, Controller& c);

// Of clients: the agents and what is outstanding, and, behind everything that has values, what is
// known about those. Accesses exist once the first has read them; each has a number that does not
// depend on its slot.
template <class Code>
inline void code_clients(Code& code);
template <class Code>
inline void code_knowledge(Code& code);
inline u32 access_number(const Context& x, u32 access);
inline u32 access_of_number(const Context& x, u32 number);
template <class Code>
inline void code_access_number(Code& code, u32& number);

inline constexpr u32 MOST_MESSAGES = 64;  // in a buffer, or in a channel

// The old number of the new `index`, where things take each other's places.
template <class Code, u32 ROOM>
inline u32 old_number(const Code& code, const Permutation<ROOM> Renaming::* things, u32 index) {
    if constexpr (Code::READS)
        return index;
    else
        return (code.renaming.*things).from[index];
}

// Which of some things there are, a bit each, and then those that are. `old` gives the number that the
// system has for the one of a place, `has` asks about a number, `visit` gets one.
template <class Code, class Old, class Has, class Visit>
TINY inline void code_part(Code& code, u32 first, u32 part, Old old, Has has, Visit visit) {
    u32 mask = 0;
    if constexpr (!Code::READS) {
        for (u32 i = 0; i < part; i++) mask |= u32{has(old(first + i))} << i;
    }
    code.bits(mask, part);
    for (; mask; mask &= mask - 1) visit(old(first + static_cast<u32>(__builtin_ctz(mask))));
}

// Of what a controller has.
template <class Code, class Has, class Visit>
TINY inline void code_present(Code& code, Belongings::Kind kind, u32 id, Has has, Visit visit) {
    const Belongings& all = code.coding.belongings;
    const u8* const things = all.things[kind];
    const u32 last = all.first[kind][id + 1];
    for (u32 first = all.first[kind][id]; first < last; first += 32) {
        const u32 part = last - first < 32 ? last - first : 32;
        code_part(code, first, part, [&](u32 i) { return u32{things[i]}; }, has, visit);
    }
}

// The same of lines, in the order of their new numbers.
template <class Code, class Has, class Visit>
TINY inline void code_lines(Code& code, Has has, Visit visit) {
    static_assert(MAX_LINES <= 32);
    const auto old = [&](u32 i) { return old_number(code, &Renaming::lines, i); };
    code_part(code, 0, code.coding.lines, old, has, visit);
}

// A part that may be copied from the origin: `known` is where it stands there, or null.
template <class Write>
TINY inline void code_or_copy(Coder<Writer>& code, const CodePart* known, Write write) {
    if (!known || !code.origin->has(*known) || !code.copied(*known)) write();
}
template <class Read>
TINY inline void code_or_copy(Coder<Reader>& code, CodePart* noted, Read read) {
    noted->from = static_cast<u32>(code.in.at);
    noted->first_value = code.origin.value_count;
    read();
    noted->to = static_cast<u32>(code.in.at);
    noted->last_value = code.origin.value_count;
}

// Visit what a controller has.
template <class Visit>
TINY inline void each_of(const Coding& coding, Belongings::Kind kind, u32 id, Visit visit) {
    const Belongings& all = coding.belongings;
    for (u32 i = all.first[kind][id]; i < all.first[kind][id + 1]; i++) visit(all.things[kind][i]);
}

// ---------------------------------------------------------------- controllers

// In the order of lines, which is not that of locking.
template <class Code>
inline void code_locks(Code& code, Controller& c) {
    LineLock* locks = controller_locks(code.x, c);
    const auto address = [&](u32 line) { return code.coding.base + (u64{line} << LINE_BITS); };
    code_lines(
        code, [&](u32 line) { return controller_lock(code.x, c, address(line)) != nullptr; },
        [&](u32 line) {
            if constexpr (Code::READS) {
                locks[c.locked++] = {address(line), c.mandatory_queue};
            } else if (controller_lock(code.x, c, address(line))->queue != c.mandatory_queue) {
                code.refuse("a line locked for another queue");
            }
        });
}

template <class Code>
inline void code_waiting(Code& code, Controller& c) {
    if (c.waiting == NIL) return;
    static_assert(sizeof(WaitRow) <= 8);
    const auto row = [&](u32 line) -> WaitRow& {
        return controller_parts(code.x).waiting.at(code.x, c.waiting + line);
    };
    code_lines(
        code, [&](u32 line) { return row(line) != 0; }, [&](u32 line) { code.word(row(line)); });
}

template <class Code>
inline void code_objects_of(Code& code, u32 id) {
    Context& x = code.x;
    Controller& c = controller(x, id);
    if (code.either(x.wakes[0] >> id & 1)) x.wakes[0] |= u64{1} << id;
    if (code.either(c.locked != 0)) code_locks(code, c);
    code_waiting(code, c);
    if (MACHINE_TRACKS[c.machine]) {
        for (u32 place = 0; place < code.coding.lines; place++) {
            const u32 line = old_number(code, &Renaming::lines, place);
            code.word(controller_parts(x).tracked.at(x, c.tracked + line));
        }
    }
    if (c.held) code.refuse("answers of memory that wait for room");
    code_objects(code, c);
}

// ---------------------------------------------------------------- storage

template <class Code>
inline void code_header(Code& code, AbstractCacheEntry& entry) {
    code.member(entry.permission, AccessPermission::NUM);
    if (!code.either(entry.locked_by >= 0 || entry.read_set || entry.write_set)) return;
    code.flag(entry.read_set);  // of hardware transactions
    code.flag(entry.write_set);
    if (!code.either(entry.locked_by >= 0)) return;
    u32 holder = static_cast<u32>(entry.locked_by);
    code.requester(holder);
    entry.locked_by = static_cast<i32>(holder);
}

inline u32* frames_of(const Context& x, const CacheMemory& c) { return in_block<u32>(x, c.frames); }

template <class Code>
inline void code_frame(Code& code, u32 cache, u64 frame) {
    Context& x = code.x;
    CacheMemory& c = cache_memory(x, cache);
    u32& handle = frames_of(x, c)[frame];
    AbstractCacheEntry* entry = or_null<AbstractCacheEntry>(x, handle);
    u32 line = 0;
    if constexpr (Code::READS) {
        entry = new_entry(x, c.machine);
    } else {
        line = line_index(x, entry->address);
    }
    code.line(line);
    code_header(code, *entry);
    const i32 permission = entry->permission;
    const i32 locked_by = entry->locked_by;
    code_entry(code, c.machine, *entry);
    if constexpr (!Code::READS) return;
    entry->permission = permission;
    entry->locked_by = locked_by;
    entry->address = line_address_of(x, line);
    entry->cache = cache;
    entry->set = static_cast<u32>(frame / c.ways);
    entry->way = static_cast<u32>(frame % c.ways);
    handle = entry->self;
    if (permission == AccessPermission::NotPresent) {
        c.hidden++;
    } else {
        in_block<u32>(x, c.free)[entry->set]--;
        line_place(x, c.visible, line) = entry->self;
    }
}

// The order of use in a set, or the tree.
template <class Code>
inline void code_replacement(Code& code, CacheMemory& c) {
    if (c.ways == 1) return;
    u64* touched = in_block<u64>(code.x, c.touched);
    if (c.tree_words) {
        for (u64 i = 0; i < c.sets * c.tree_words; i++) code.small(touched[i]);
        return;
    }
    for (u64 set = 0; set < c.sets; set++) {
        u64* last = touched + set * c.ways;
        u32 ranks[64] = {};
        if constexpr (!Code::READS) {
            for (u32 way = 0; way < c.ways; way++) {
                // What was never used, or emptied, comes before all others.
                for (u32 other = 0; other < c.ways; other++)
                    ranks[way] += last[way] && last[other] <= last[way];
            }
        }
        for (u32 way = 0; way < c.ways; way++) {
            code.small(ranks[way]);
            if constexpr (Code::READS) last[way] = ranks[way];
        }
    }
    if constexpr (Code::READS) c.clock = c.ways;
}

template <class Code>
inline void code_cache(Code& code, u32 cache) {
    CacheMemory& c = cache_memory(code.x, cache);
    const u32* frames = frames_of(code.x, c);
    for (u64 frame = 0; frame < c.sets * c.ways; frame++) {
        if (code.either(frames[frame] != 0)) code_frame(code, cache, frame);
    }
    code_replacement(code, c);
}

template <class Code>
inline void code_directory(Code& code, u32 directory, u32 line) {
    Context& x = code.x;
    const DirectoryMemory& d = directory_memory(x, directory);
    u32& handle = line_place(x, d.records, line);
    AbstractCacheEntry* entry = or_null<AbstractCacheEntry>(x, handle);
    if constexpr (Code::READS) {
        entry = new_entry(x, d.machine);
        entry->cache = DIRECTORY_CACHE;
        entry->address = line_address_of(x, line);
        handle = entry->self;
    }
    code_header(code, *entry);
    code_entry(code, d.machine, *entry);
}

template <class Code>
inline void code_table(Code& code, u32 table, u32 line) {
    Context& x = code.x;
    const TBETable& t = tbe_table(x, table);
    const u32 handle = line_place(x, t.records, line);
    TbeHeader* record = or_null<TbeHeader>(x, handle);
    if constexpr (Code::READS) record = TBETable_allocate(x, table, line_address_of(x, line));
    code_record(code, t.machine, *record);
}

template <class Code>
inline void code_perfect(Code& code, u32 table, u32 line) {
    Context& x = code.x;
    const PerfectCacheMemory& t = perfect_cache(x, table);
    u32& handle = line_place(x, t.records, line);
    AbstractCacheEntry* entry = or_null<AbstractCacheEntry>(x, handle);
    if constexpr (Code::READS) {
        entry = new_entry(x, t.machine);
        entry->cache = DIRECTORY_CACHE;
        handle = entry->self;
    }
    code_header(code, *entry);
    code_entry(code, t.machine, *entry);
}

// 0: the alarm of a line has not gone off, else its turn among those of the timer that have.
inline u32 turn_of_alarm(const Context& x, const TimerTable& t, u64 tick) {
    u32 turn = tick != NONE;
    for (u32 i = 0; turn && i < t.count; i++) turn += timer_alarms(x, t)[i].tick < tick;
    return turn;
}

template <class Code>
inline void code_alarm(Code& code, u32 timer, u32 line) {
    Context& x = code.x;
    TimerTable& t = timer_table(x, timer);
    u32 turn = 0;
    if constexpr (!Code::READS)
        turn = turn_of_alarm(x, t, timer_alarms(x, t)[line_place(x, t.places, line) - 1].tick);
    code.small(turn);
    if constexpr (Code::READS) {
        t.count++;
        timer_sift(x, t, t.count - 1, {turn ? turn : NONE, line_address_of(x, line)});
    }
}

// What a controller has of a line, outside of caches.
template <class Code>
inline void code_line(Code& code, u32 id, u32 line) {
    Context& x = code.x;
    const u32* const places = &line_place(x, 0, line);
    code_present(
        code, Belongings::DIRECTORIES, id,
        [&](u32 i) { return places[directory_memory(x, i).records] != 0; },
        [&](u32 i) { code_directory(code, i, line); });
    code_present(
        code, Belongings::TABLES, id, [&](u32 i) { return places[x.tables[i].records] != 0; },
        [&](u32 i) { code_table(code, i, line); });
    code_present(
        code, Belongings::PERFECT, id,
        [&](u32 i) { return places[perfect_cache(x, i).records] != 0; },
        [&](u32 i) { code_perfect(code, i, line); });
    code_present(
        code, Belongings::TIMERS, id, [&](u32 i) { return places[timer_table(x, i).places] != 0; },
        [&](u32 i) { code_alarm(code, i, line); });
}

// ---------------------------------------------------------------- messages

template <class Code>
inline void code_one_message(Code& code, Message& message) {
    u32 type = message.type;
    code.small(type);
    if constexpr (Code::READS) {
        message.type = static_cast<u16>(type);
        message_default(code.x, message, message.type);
    }
    code_message(code, message);
}

// A message that is read: where `delivery` says, as the next in age.
template <class Code>
inline Message& message_read(Code& code, Delivery delivery, u32 target) {
    Context& x = code.x;
    Message& message = pool_take<Message>(x, x.s->messages);
    message.self = handle_of(x, message);
    message.touched = 0;
    message.flight = 0;
    message.delivery = delivery;
    message.target = target;
    if (delivery == DELIVER_APPEND) {
        MessageBuffer& b = message_buffer(x, target);
        if (UNLIKELY(b.capacity)) b.taken++;
    }
    message.sequence = message.arrival = ++x.s->engine.sequence;
    code_one_message(code, message);
    return message;
}

struct Aged {
    Message* message;
    u32 place;  // 0: in the queue, else 1 + the line that it waits for
};

// All messages of a buffer by age. Returns how many.
inline u32 messages_by_age(Context& x, const MessageBuffer& b, u32 lines, Aged* all) {
    u32 count = 0;
    const auto add = [&](u32 handle, u32 place) {
        for (; handle && count < MOST_MESSAGES; handle = of_handle<Message>(x, handle).next) {
            Message& message = of_handle<Message>(x, handle);
            u32 at = count++;
            for (; at && younger(*all[at - 1].message, message); at--) all[at] = all[at - 1];
            all[at] = {&message, place};
        }
    };
    add(b.head, 0);
    for (u32 line = 0; b.stalled_lines && line < lines; line++)
        add(stall_list(x, b, line).head, line + 1);
    return count;
}

inline void message_to_stall_list(Context& x, MessageBuffer& b, u32 line, Message& message) {
    StallList& list = stall_list(x, b, line);
    message.next = 0;
    if (list.head) {
        of_handle<Message>(x, list.tail).next = message.self;
    } else {
        list.head = message.self;
        b.stalled_lines++;
    }
    list.tail = message.self;
}

template <class Code>
inline void code_buffer(Code& code, u32 buffer) {
    Context& x = code.x;
    MessageBuffer& b = message_buffer(x, buffer);
    Aged all[MOST_MESSAGES];
    u32 count = 0;
    if constexpr (!Code::READS) {
        count = messages_by_age(x, b, code.coding.lines, all);
        if (count == MOST_MESSAGES) code.refuse("64 messages in a buffer");
        u32 handle = b.head;
        for (u32 i = 0; i < count; i++) {
            if (all[i].place) continue;
            if (all[i].message->self != handle) code.refuse("a buffer out of the order of age");
            handle = all[i].message->next;
        }
    }
    code.small(count);
    const bool stalled = code.either(b.stalled_lines != 0);
    for (u32 i = 0; i < count; i++) {
        bool waits = stalled && !Code::READS && all[i].place;
        u32 line = waits ? all[i].place - 1 : 0;
        if (stalled) {
            code.flag(waits);
            if (waits) code.line(line);
        }
        if constexpr (Code::READS) {
            Message& message = message_read(code, DELIVER_APPEND, buffer);
            if (waits) {
                message_to_stall_list(x, b, line, message);
            } else {
                queue_append(x, b, message);
            }
        } else {
            code_one_message(code, *all[i].message);
        }
    }
}

// The messages of a slot that keeps no order, sorted by how each would be written.
inline void write_unordered(Coder<Writer>& code, u32 head) {
    struct Text {
        u8 bytes[384];
        u32 bits;
        Message* message;
    };
    constexpr u32 MOST = 16;
    Text texts[MOST];
    u8 order[MOST];
    u32 count = 0;
    for (u32 h = head; h; h = of_handle<Message>(code.x, h).next) {
        if (count == MOST) {
            code.refuse("more than 16 messages in a channel without order");
            return;
        }
        Text& text = texts[count];
        const BitWriter kept = code.out;
        code.out = BitWriter(text.bytes, sizeof text.bytes);
        code.values.by_kind = true;
        text.message = &of_handle<Message>(code.x, h);
        code_one_message(code, *text.message);
        code.values.by_kind = false;
        text.bits = static_cast<u32>(code.out.bits());
        code.out.finish();
        if (code.out.overflow()) code.refuse("a message too long to be written");
        code.out = kept;
        u32 at = count++;
        const auto before = [&](const Text& one, const Text& other) {
            if (one.bits != other.bits) return one.bits < other.bits;
            return __builtin_memcmp(one.bytes, other.bytes, (one.bits + 7) / 8) < 0;
        };
        for (; at && before(text, texts[order[at - 1]]); at--) order[at] = order[at - 1];
        order[at] = static_cast<u8>(count - 1);
    }
    for (u32 i = 0; i < count; i++) code_one_message(code, *texts[order[i]].message);
}

// Where a message of a slot is delivered.
inline Delivery slot_delivery(const Context& x, u32 slot, u32& target) {
    const u32 channels = static_cast<u32>(x.s->channels.count);
    if (slot < channels) {
        target = x.channels[slot].buffer;
    } else if (slot < channels + x.s->buffers) {
        target = slot - channels;
    } else {
        target = slot - channels - x.s->buffers;
        return DELIVER_TO_BUS;
    }
    return DELIVER_APPEND;
}

template <class Code>
inline void code_slot(Code& code, const SlotSet& order, u32 slot) {
    Context& x = code.x;
    const u32 head = x.wheel[slot].head;
    u32 count = 0;
    for (u32 h = head; h; h = of_handle<Message>(x, h).next) count++;
    code.small(count);
    if constexpr (Code::READS) {
        u32 target = 0;
        const Delivery delivery = slot_delivery(x, slot, target);
        for (; count; count--) wheel_append(x, slot, message_read(code, delivery, target));
    } else if (count > 1 && !order.has(slot)) {
        write_unordered(code, head);
    } else {
        for (u32 h = head; h; h = of_handle<Message>(x, h).next)
            code_one_message(code, of_handle<Message>(x, h));
    }
}

inline CodePart* part_of_slot(Coder<Reader>& code, const SlotSet&, u32 slot) {
    return &code.origin.slots[slot];
}
// The order in which messages without order are written depends on what is known of their values.
inline const CodePart* part_of_slot(const Coder<Writer>& code, const SlotSet& order, u32 slot) {
    const WheelSlot& list = code.x.wheel[slot];
    const bool sorted = !order.has(slot) && list.head != list.tail;
    return !code.origin || sorted ? nullptr : code.origin->of_slot(slot, list);
}

// Which slots have messages, and these.
template <class Code>
inline void code_slots(Code& code, const SlotSet& order) {
    Context& x = code.x;
    u32 masks[WHEEL / 32] = {};
    if constexpr (!Code::READS) {
        const u8* const to = code.renaming.slots.to;
        x.s->engine.occupied.each([&](u32 slot) { masks[to[slot] >> 5] |= 1u << (to[slot] & 31); });
    }
    const u32 slots = slots_in_use(x);
    for (u32 first = 0; first < slots; first += 32) {
        u32 mask = masks[first >> 5];
        code.bits(mask, slots - first < 32 ? slots - first : 32);
        for (; mask; mask &= mask - 1) {
            const u32 place = first + static_cast<u32>(__builtin_ctz(mask));
            const u32 slot = old_number(code, &Renaming::slots, place);
            code_or_copy(code, part_of_slot(code, order, slot),
                         [&] { code_slot(code, order, slot); });
            if constexpr (Code::READS) code.origin.note_slot(slot, x.wheel[slot]);
        }
    }
}

// ---------------------------------------------------------------- requesters

template <class Code>
inline void code_request(Code& outer, LineRequest& request, const Requester& r) {
    Code code = outer;
    Context& x = code.x;
    u32 known = static_cast<u32>(request.type) << 3 | u32{request.completed} << 2 |
                u32{request.accepted} << 1 | u32{request.lanes != 0};
    code.bits(known, 3 + bits_for(RubyRequestType::NUM + 1));
    if constexpr (Code::READS) {
        request.lanes = known & 1;
        request.accepted = known >> 1 & 1;
        request.completed = known >> 2 & 1;
        request.type = static_cast<i16>(known >> 3);
    }
    if (r.kind == RequesterKind::COALESCER) {
        code.small(request.sequence);
    } else if (r.kind == RequesterKind::SEQUENCER) {
        code.increments(request.linked);
    }
    u32 failures = request.failures;
    code.small(failures);
    request.failures = static_cast<u8>(failures);
    if constexpr (Code::READS) {
        // One line a transfer, so nothing of it has come yet.
        RequesterParts& parts = requester_parts(x);
        if (r.kind == RequesterKind::DMA)
            request.transfer = parts.free_transfers.at(x, parts.transfers_used++);
    }
    outer.resume(code);
    if (r.kind != RequesterKind::DMA) return;
    const Access& access = access_at(x, request.access);
    if (access.kind != AccessKind::STORE) return;
    u8* const bytes = Dma_bytes(x, request) + (access_addresses(x, access)[0] & LINE_MASK);
    if (UNLIKELY(outer.coding.plain)) {  // the program says what is stored
        if constexpr (Code::READS) put_value(x, access, 0, bytes);
        return;
    }
    u32 value;
    __builtin_memcpy(&value, bytes, LOCATION_BYTES);
    outer.value(value);
    __builtin_memcpy(bytes, &value, LOCATION_BYTES);
}

// The access of a request; 0: none any more.
template <class Code>
inline void code_access_of(Code& code, u32& access) {
    if (!code.either(access != 0)) {
        access = 0;
        return;
    }
    u32 number = Code::READS ? 0 : access_number(code.x, access);
    code_access_number(code, number);
    if constexpr (Code::READS) access = access_of_number(code.x, number);
}

template <class Code>
inline u32 code_new_request(Code& code, const Requester& r, u32 line, u32 known) {
    LineRequest made = {};
    LineRequest& request = Code::READS ? made : request_at(code.x, known);
    code_access_of(code, request.access);
    if constexpr (!Code::READS) {
        code_request(code, request, r);
        return known;
    } else {
        const u32 index = request_new(code.x, request.access, line, 0, 0);
        code_request(code, request_at(code.x, index), r);
        return index;
    }
}

// A ring: its requests from the first to the last.
template <class Code>
inline u32 code_ring(Code& code, const Requester& r, u32 line, u32& ring) {
    Context& x = code.x;
    if (!code.either(ring != 0)) return 0;
    u32 count = Code::READS ? 0 : 1;
    if constexpr (!Code::READS) {
        for (u32 index = ring_first(x, ring); index != ring; index = request_at(x, index).next)
            count++;
    }
    code.small(count);
    u32 index = Code::READS ? 0 : ring_first(x, ring);
    for (u32 i = 0; i < count; i++) {
        const u32 next = Code::READS ? 0 : request_at(x, index).next;
        const u32 made = code_new_request(code, r, line, index);
        if constexpr (Code::READS) ring_append(x, ring, made);
        index = next;
    }
    return count;
}

// The place of a request in a ring, from 1 on; 0: it does not stand there.
inline u32 place_in_ring(const Context& x, u32 ring, u32 wanted) {
    if (!ring) return 0;
    u32 place = 1;
    for (u32 index = ring_first(x, ring);; index = request_at(x, index).next, place++) {
        if (index == wanted) return place;
        if (index == ring) return 0;
    }
}

// Stores that were sent and are not globally performed; some still stand among the requests.
template <class Code>
inline void code_completing(Code& code, const Requester& r, u32 line, LineQueue& queue) {
    Context& x = code.x;
    if (!code.either(queue.completing != 0)) return;
    u32 count = Code::READS ? 0 : 1;
    u32 index = Code::READS ? 0 : request_at(x, queue.completing).beside;
    if constexpr (!Code::READS) {
        for (u32 i = index; i != queue.completing; i = request_at(x, i).beside) count++;
    }
    code.small(count);
    for (; count; count--) {
        const u32 next = Code::READS ? 0 : request_at(x, index).beside;
        u32 place = Code::READS ? 0 : place_in_ring(x, queue.requests, index);
        code.small(place);
        if (!place) {
            index = code_new_request(code, r, line, index);
        } else if constexpr (Code::READS) {
            index = ring_first(x, queue.requests);
            for (; place > 1; place--) index = request_at(x, index).next;
        }
        if constexpr (Code::READS) {
            LineRequest& request = request_at(x, index);
            if (queue.completing) {
                LineRequest& newest = request_at(x, queue.completing);
                request.beside = newest.beside;
                newest.beside = index;
            } else {
                request.beside = index;
            }
            queue.completing = index;
        }
        index = next;
    }
}

template <class Code>
inline void code_requester(Code& code, u32 index) {
    Context& x = code.x;
    Requester& r = requester_at(x, index);
    if (r.refusals || r.grants || r.uncoalesced.first || r.ending.first || r.full ||
        r.watchers.first || r.tokens != r.max_tokens) {
        code.refuse("a requester in the middle of a tick");
    }
    code_lines(
        code,
        [&](u32 line) {
            const LineQueue& queue = line_queue(x, r, line);
            return (queue.requests | queue.completing | queue.invalidations | queue.walked) != 0;
        },
        [&](u32 line) {
            LineQueue& queue = line_queue(x, r, line);
            const u32 count = code_ring(code, r, line, queue.requests);
            if constexpr (Code::READS) r.count += count;
            code_completing(code, r, line, queue);
            code_ring(code, r, line, queue.invalidations);
            if (code.either(queue.walked != 0)) queue.walked = 1;
        });
    if (!code.either(r.walk_access || r.walk_parts)) return;
    code_access_of(code, r.walk_access);
    code.small(r.walk_parts);
    if (!code.either(r.walk_owner != 0)) return;
    u32 owner = r.walk_owner - 1;
    code.requester(owner);
    r.walk_owner = owner + 1;
}

// ---------------------------------------------------------------- all of it

template <class Code>
inline void code_buffers(Code& code, u32 id) {
    const MessageBuffer* const buffers = code.x.buffers;
    code_present(
        code, Belongings::BUFFERS, id,
        [&](u32 i) { return (buffers[i].head | buffers[i].stalled_lines) != 0; },
        [&](u32 i) { code_buffer(code, i); });
}

template <class Code>
inline void code_controller(Code& code, u32 id) {
    code_objects_of(code, id);
    each_of(code.coding, Belongings::CACHES, id, [&](u32 i) { code_cache(code, i); });
    for (u32 place = 0; place < code.coding.lines; place++)
        code_line(code, id, old_number(code, &Renaming::lines, place));
    code_buffers(code, id);
    each_of(code.coding, Belongings::REQUESTERS, id, [&](u32 i) { code_requester(code, i); });
}

// All controllers, in the order of their new numbers.
template <class Code>
inline void code_controllers(Code& code) {
    for (u32 i = 0; i < code.x.s->controllers; i++) {
        const u32 id = old_number(code, &Renaming::controllers, i);
        code_or_copy(code, code.part_of_controller(id), [&] { code_controller(code, id); });
    }
}

template <class Code>
inline void code_memory(Code& code) {
    for (u32 place = 0; place < code.coding.lines; place++) {
        const u32 line = old_number(code, &Renaming::lines, place);
        code.contents(code.x.s->memory.image.in(code.x) + u64{line} * LINE_WORDS);
    }
}

template <class Code>
inline void code_system(Code& code, const SlotSet& order) {
    Context& x = code.x;
    const System& s = *x.s;
    code_clients(code);
    code_controllers(code);
    code_memory(code);
    code_buffers(code, s.controllers);
    code_slots(code, order);
    code_knowledge(code);
    if (s.bus.head) code.refuse("messages that wait for the bus");
    if constexpr (Code::READS) limbo_release(x);
}
