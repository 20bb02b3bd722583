// The queue in front of a controller.
//
// Invariant: head to tail are exactly the messages that have arrived and are not waiting in a
// stall list. Messages under way belong to the engine; a message is never in two places.

#pragma once

#include "sim/delay_policy.hpp"
#include "sim/engine.hpp"
#include "statistics/counters.hpp"

inline void message_default(Context& x, Message& message, u16 type);  // generated
union AnyMessage;

inline MessageBuffer& message_buffer(const Context& x, u32 buffer) {
    INVARIANT(buffer < x.s->buffers);
    return x.buffers[buffer];
}

// ---------------------------------------------------------------- messages

// A message with its class's defaults, not sent yet.
template <class T>
inline T& new_message(Context& x) {
    Message& message = pool_take<Message>(x, x.s->messages);
    message.self = handle_of(x, message);
    message.type = T::TYPE;
    message.touched = 0;
    message.flight = 0;
    set_defaults(x, static_cast<T&>(message));
    return static_cast<T&>(message);
}

// Give a message up that the running wake-up may still look at.
inline void message_to_limbo(Context& x, Message& message) {
    Limbo& limbo = x.s->limbo;
    INVARIANT(message.type && x.s->messages.live > 0);
    message.type = 0;
    of_handle<Message>(x, limbo.last_message).next = message.self;
    limbo.last_message = message.self;
    x.s->messages.live--;
}

inline COLD Message& scratch_message(Context& x, u16 type) {
    Message& message =
        pool_slot<Message>(x, x.s->messages, x.s->messages.capacity + POOL_SPARE - 1);
    message.self = handle_of(x, message);
    message.type = type;
    message_default(x, message, type);
    return message;
}

inline bool younger(const Message& one, const Message& other) {
    return one.arrival != other.arrival ? one.arrival > other.arrival
                                        : one.sequence > other.sequence;
}

// ---------------------------------------------------------------- slots

// Of a MessageBuffer or a NetworkPort.
template <class T>
inline bool slots_available(const Context& x, const T& holder, i64 count) {
    if (!holder.capacity) return true;
    const u32 freed = holder.freed_tick == now(x) ? holder.freed : 0;
    return i64{holder.taken} + freed + count <= i64{holder.capacity};
}

template <class T>
inline bool slots_take(Context& x, T& holder, u32 count) {
    if (!holder.capacity) return true;
    holder.taken += count;
    if (LIKELY(holder.taken <= holder.capacity)) return true;
    fail(x, ErrorKind::SLOT_OVERFLOW);
    return false;
}

// Free one slot, visibly from the next tick on.
template <class T>
inline void slots_release(Context& x, T& holder) {
    INVARIANT(holder.capacity > 0);
    INVARIANT(holder.taken > 0);
    holder.taken--;
    if (holder.freed_tick != now(x)) {
        holder.freed_tick = now(x);
        holder.freed = 0;
    }
    holder.freed++;
}

// ---------------------------------------------------------------- the queue

inline void queue_append(Context& x, MessageBuffer& b, Message& message) {
    INVARIANT((b.head == 0) == (b.count == 0));
    INVARIANT(!b.head || !of_handle<Message>(x, b.tail).next);
    INVARIANT(message.self == handle_of(x, message));
    message.next = 0;
    u8* const first = reinterpret_cast<u8*>(&b.head);
    u8* const link = reinterpret_cast<u8*>(&of_handle<Message>(x, b.tail).next);
    // Whether a queue is empty cannot be predicted, so there is no branch.
    *reinterpret_cast<u32*>(first + ((link - first) & -i64{b.head != 0})) = message.self;
    b.tail = message.self;
    b.count++;
}

inline void queue_prepend(MessageBuffer& b, Message& message) {
    INVARIANT((b.head == 0) == (b.count == 0));
    message.next = b.head;
    if (!b.head) b.tail = message.self;
    b.head = message.self;
    b.count++;
}

inline Message& queue_pop(Context& x, MessageBuffer& b) {
    INVARIANT(b.head != 0);
    INVARIANT(of_handle<Message>(x, b.head).type);
    Message& message = of_handle<Message>(x, b.head);
    b.head = message.next;
    __builtin_prefetch(&of_handle<Message>(x, b.head));  // it may have waited long
    INVARIANT(b.count > 0);
    b.count--;
    return message;
}

// Bisection as on an array: hand-overs may leave a queue that is not quite sorted, and then it
// matters where one looks.
inline COLD void queue_insert_inside(Context& x, MessageBuffer& b, Message& message) {
    u32 low = 0;
    u32 high = b.count;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        u32 handle = b.head;
        for (u32 i = 0; i < middle; i++) handle = of_handle<Message>(x, handle).next;
        if (younger(of_handle<Message>(x, handle), message)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == 0) {
        queue_prepend(b, message);
        return;
    }
    u32 handle = b.head;
    for (u32 i = 1; i < low; i++) handle = of_handle<Message>(x, handle).next;
    Message& before = of_handle<Message>(x, handle);
    if (!before.next) {
        queue_append(x, b, message);
        return;
    }
    message.next = before.next;
    before.next = message.self;
    b.count++;
}

// Put an arrived message where its age says.
inline void queue_insert(Context& x, MessageBuffer& b, Message& message) {
    if (!b.head || younger(message, of_handle<Message>(x, b.tail))) {
        queue_append(x, b, message);
    } else if (younger(of_handle<Message>(x, b.head), message)) {
        queue_prepend(b, message);
    } else {
        queue_insert_inside(x, b, message);
    }
}

// ---------------------------------------------------------------- sending

inline void MessageBuffer_enqueue(Context& x, u32 buffer, Message& message, i64 latency,
                                  bool bypass = false) {
    EngineState& e = x.s->engine;
    MessageBuffer& b = message_buffer(x, buffer);
    const i64 due = static_cast<i64>(e.now) + latency;
    i64 tick = due;
    if (b.delays != NIL) {
        tick += static_cast<i64>(next_delay(x, b, message));
    }
    if (UNLIKELY(b.special)) {
        if (b.consumer == NIL) {
            fail(x, ErrorKind::UNDELIVERABLE);
            return;
        }
        if (b.strict && !bypass) {
            if (due < b.last_due) {
                fail(x, ErrorKind::OUT_OF_ORDER);
                return;
            }
            b.last_due = due;
        }
        if (b.ordered) {
            const i64 last = static_cast<i64>(b.last_arrival);
            if (tick < last) {
                if (!bypass) tick = last;
            } else {
                b.last_arrival = static_cast<u64>(tick);
            }
        }
        if (!slots_take(x, b, 1)) return;
    }
    message.sequence = e.sequence++;
    message.arrival = static_cast<u64>(tick);
    message.delivery = DELIVER_APPEND;
    message.target = buffer;
    if (UNLIKELY(latency < 0) && tick <= static_cast<i64>(e.now)) {
        fail(x, ErrorKind::NEGATIVE_LATENCY);
        return;
    }
    if (UNLIKELY(bypass)) buffer_overtaken(x, buffer);
    // Memory looks at its bytes soon; the line was asked for last, or it does not matter.
    if (message.type == MessageType::MemoryMsg)
        __builtin_prefetch(x.s->memory.image.in(x) + u64{x.recent_line} * LINE_WORDS, 1);
    post(x, message, static_cast<u64>(tick));
}

// ---------------------------------------------------------------- receiving

// The head, or null when nothing is ready.
inline Message* MessageBuffer_head(const Context& x, u32 buffer) {
    return or_null<Message>(x, message_buffer(x, buffer).head);
}

inline bool MessageBuffer_isReady(const Context& x, u32 buffer) {
    return message_buffer(x, buffer).head != 0;
}

inline COLD Message* unexpected_head(Context& x, u32 head, u16 type) {
    fail(x, head ? ErrorKind::WRONG_MESSAGE : ErrorKind::EMPTY_BUFFER);
    return &scratch_message(x, type);
}

// The head, which must be of that type; something of that type in any case.
inline TINY Message* MessageBuffer_peek(Context& x, u32 buffer, u16 type) {
    const u32 head = message_buffer(x, buffer).head;
    Message& message = of_handle<Message>(x, head);
    if (LIKELY(head && message.type == type)) return &message;
    return unexpected_head(x, head, type);
}

inline COLD void buffer_freed(Context& x, u32 buffer) {
    MessageBuffer& b = message_buffer(x, buffer);
    slots_release(x, b);
    if (b.waiting || b.awaited) post_event(x, DELIVER_HAND_OVER, buffer, now(x) + 1);
}

// Remove the head; the cycles that it waited since its arrival.
inline u64 MessageBuffer_dequeue(Context& x, u32 buffer) {
    MessageBuffer& b = message_buffer(x, buffer);
    if (UNLIKELY(!b.head)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return 0;
    }
    Message& message = queue_pop(x, b);
    count_taken(buffer, message, now(x));
    if (UNLIKELY(b.capacity)) buffer_freed(x, buffer);
    message_to_limbo(x, message);
    return now(x) - message.arrival;
}

// Let the head arrive again after `latency` cycles, with its old sequence number.
inline void MessageBuffer_recycle(Context& x, u32 buffer, i64 latency) {
    MessageBuffer& b = message_buffer(x, buffer);
    if (UNLIKELY(!b.head)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return;
    }
    Message& message = queue_pop(x, b);
    const i64 tick = static_cast<i64>(now(x)) + latency;
    message.arrival = tick < 0 ? 0 : static_cast<u64>(tick);
    message.delivery = DELIVER_INSERT;
    message.target = buffer;
    post(x, message, message.arrival);
}

// Enqueue the head again as if it had just been sent; it keeps its slot.
inline void MessageBuffer_delay_head(Context& x, u32 buffer, i64 latency) {
    MessageBuffer& b = message_buffer(x, buffer);
    if (UNLIKELY(!b.head)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return;
    }
    Message& message = queue_pop(x, b);
    INVARIANT(!b.capacity || b.taken > 0);
    if (b.capacity) b.taken--;
    MessageBuffer_enqueue(x, buffer, message, latency);
}

// ---------------------------------------------------------------- stalling

inline StallList& stall_list(const Context& x, const MessageBuffer& b, u32 line) {
    INVARIANT(line < x.s->lines.capacity && b.stalls < x.s->stall_rows);
    return x.s->stalls.in(x)[u64{line} * x.s->stall_rows + b.stalls];
}

// Move the head to the end of the stall list of the line at an address. It keeps its slot.
inline void MessageBuffer_stall(Context& x, u32 buffer, u64 address) {
    MessageBuffer& b = message_buffer(x, buffer);
    if (UNLIKELY(!b.head)) {
        fail(x, ErrorKind::EMPTY_BUFFER);
        return;
    }
    count_wait(b.consumer);
    StallList& list = stall_list(x, b, line_index(x, address));
    INVARIANT(!list.head || b.stalled_lines > 0);
    Message& message = queue_pop(x, b);
    message.next = 0;
    if (list.head) {
        of_handle<Message>(x, list.tail).next = message.self;
    } else {
        list.head = message.self;
        b.stalled_lines++;
    }
    list.tail = message.self;
}

// Sort a list of messages by age; they mostly are. Returns the first; `last` is the last.
inline u32 sort_by_age(Context& x, u32 head, u32& last) {
    u32 sorted = 0;
    last = 0;
    while (head) {
        Message& message = of_handle<Message>(x, head);
        head = message.next;
        if (!sorted || younger(message, of_handle<Message>(x, last))) {
            message.next = 0;
            if (sorted) {
                of_handle<Message>(x, last).next = message.self;
            } else {
                sorted = message.self;
            }
            last = message.self;
        } else if (younger(of_handle<Message>(x, sorted), message)) {
            message.next = sorted;
            sorted = message.self;
        } else {
            Message* before = &of_handle<Message>(x, sorted);
            while (!younger(of_handle<Message>(x, before->next), message)) {
                before = &of_handle<Message>(x, before->next);
            }
            message.next = before->next;
            before->next = message.self;
        }
    }
    return sorted;
}

inline bool wake_line(Context& x, MessageBuffer& b, u32 line) {
    StallList& list = stall_list(x, b, line);
    if (!list.head) return false;
    INVARIANT(!of_handle<Message>(x, list.tail).next);
    u32 last = list.head;
    u32 head = list.head;
    if (of_handle<Message>(x, head).next) head = sort_by_age(x, head, last);
    list.head = 0;
    INVARIANT(b.stalled_lines > 0);
    b.stalled_lines--;
    if (b.head && younger(of_handle<Message>(x, last), of_handle<Message>(x, b.head))) {
        while (head) {
            Message& message = of_handle<Message>(x, head);
            head = message.next;
            queue_insert(x, b, message);
        }
        return true;
    }
    of_handle<Message>(x, last).next = b.head;
    if (!b.head) b.tail = last;
    b.head = head;
    for (;; head = of_handle<Message>(x, head).next) {
        b.count++;
        if (head == last) return true;
    }
}

// Bring back what waits for the line at an address, at its age; false if nothing does.
inline bool MessageBuffer_wake(Context& x, u32 buffer, u64 address) {
    MessageBuffer& b = message_buffer(x, buffer);
    return b.stalled_lines && wake_line(x, b, line_index(x, address));
}

// The same for every line, in the order of addresses.
inline bool MessageBuffer_wake_all(Context& x, u32 buffer) {
    MessageBuffer& b = message_buffer(x, buffer);
    if (!b.stalled_lines) return false;
    u64 after = 0;
    for (bool first = true; b.stalled_lines; first = false) {
        u64 lowest = NONE;
        u32 found = NIL;
        for (u32 line = 0; line < x.s->lines.used; line++) {
            const u64 address = line_address_of(x, line);
            if (!stall_list(x, b, line).head || (!first && address < after)) continue;
            if (address <= lowest) {
                lowest = address;
                found = line;
            }
        }
        if (found == NIL) break;
        INVARIANT(first || lowest > after);
        after = lowest;
        wake_line(x, b, found);
    }
    return true;
}

// ---------------------------------------------------------------- asking

inline bool MessageBuffer_areNSlotsAvailable(const Context& x, u32 buffer, i64 count) {
    return slots_available(x, message_buffer(x, buffer), count);
}

inline u32 MessageBuffer_capacity(const Context& x, u32 buffer) {
    return message_buffer(x, buffer).capacity;
}

// Messages on their way into a buffer. Slow: few protocols ask.
inline COLD u32 messages_under_way(const Context& x, u32 buffer) {
    const EngineState& e = x.s->engine;
    u32 count = 0;
    const auto look = [&](const Message& m) {
        count +=
            m.target == buffer && (m.delivery == DELIVER_APPEND || m.delivery == DELIVER_INSERT);
    };
    e.occupied.each([&](u32 slot) {
        for (u32 h = e.wheel.at(x, slot).head; h; h = of_handle<Message>(x, h).next) {
            look(of_handle<Message>(x, h));
        }
    });
    for (u64 i = 0; i < e.far_count; i++) {
        const FarItem& item = e.far.at(x, i);
        if (!item.wake) look(of_handle<Message>(x, item.item));
    }
    return count;
}

inline i32 MessageBuffer_getSize(const Context& x, u32 buffer) {
    return static_cast<i32>(message_buffer(x, buffer).count + messages_under_way(x, buffer));
}

inline bool MessageBuffer_isEmpty(const Context& x, u32 buffer) {
    return !message_buffer(x, buffer).head && !messages_under_way(x, buffer);
}

inline bool MessageBuffer_isStallMapEmpty(const Context& x, u32 buffer) {
    return !message_buffer(x, buffer).stalled_lines;
}

inline i32 MessageBuffer_getStallMapSize(const Context& x, u32 buffer) {
    return static_cast<i32>(message_buffer(x, buffer).stalled_lines);
}

inline bool MessageBuffer_hasStalledMsg(Context& x, u32 buffer, u64 address) {
    const MessageBuffer& b = message_buffer(x, buffer);
    return b.stalled_lines && stall_list(x, b, line_index(x, address)).head;
}
