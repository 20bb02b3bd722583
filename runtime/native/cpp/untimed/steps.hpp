// What can happen next, and letting it happen.
//
// A step is one delivery, or one alarm, and the wake-up that it causes, or one more wake-up of a
// controller that has messages left. Controllers make one transition a wake-up, so whatever may come between two
// transitions of a controller can. Invariant: after a step requesters and clients have nothing left
// to do, and a controller is awake only if a message of it is ready.

#pragma once

#include "untimed/shared_numbers.hpp"
#include "untimed/state_code.hpp"

inline constexpr u32 MOST_ROUNDS = 1000;  // of requesters, or of wake-ups to rest, in a step

struct Choice {
    u8 kind;   // ChoiceKind
    u8 what;   // agent, slot, controller or timer
    u8 which;  // operation, place in the slot, or line
    u8 where;  // location
};

// Whether anything waits for the controller that it could look at.
inline bool has_ready(const Context& x, u32 id) {
    for (u32 i = 0; i < x.s->buffers; i++) {
        if (x.buffers[i].consumer == id && x.buffers[i].head) return true;
    }
    for (u32 i = 0; i < x.s->library.timers_used; i++) {
        if (timer_table(x, i).consumer == id && TimerTable_isReady(x, i)) return true;
    }
    return false;
}

// Let requesters and clients do all they have to.
inline void run_clients(Context& x) {
    EngineState& e = x.s->engine;
    const u64 controllers = (u64{1} << x.s->controllers) - 1;
    for (u32 rounds = 0; x.pending[0] & ~controllers; rounds++) {
        const u64 mask = x.pending[0] & ~controllers;
        x.pending[0] &= controllers;
        woken(x) |= mask;
        e.now++;
        if (!run_consumers(x, 0, mask)) return;
        if (rounds == MOST_ROUNDS) return fail(x, ErrorKind::TOO_MANY_TRANSITIONS, 0);
    }
}

// One wake-up of each controller of the mask, and what its callbacks lead to.
inline void run_controllers(Context& x, u64 mask) {
    const System& s = *x.s;
    for (; mask && !s.trouble; mask &= mask - 1) {
        const u32 id = static_cast<u32>(__builtin_ctzll(mask));
        const u64 before = s.trace.count + s.engine.sequence;
        x.s->engine.now++;
        x.wakes[0] &= ~(u64{1} << id);
        woken(x) |= u64{1} << id;
        run_consumers(x, 0, u64{1} << id);
        const bool moved = s.trace.count + s.engine.sequence != before;
        if (!moved || !has_ready(x, id)) x.wakes[0] &= ~(u64{1} << id);
    }
    run_clients(x);
}

// Controllers that were flagged get their wake-up in this step.
inline void run_flagged(Context& x, bool to_rest) {
    const u64 controllers = (u64{1} << x.s->controllers) - 1;
    run_clients(x);
    for (u32 rounds = 0; !x.s->trouble; rounds++) {
        u64 mask = x.pending[0] & controllers;
        x.pending[0] &= ~controllers;
        if (!mask && to_rest) mask = x.wakes[0];
        if (!mask) break;
        run_controllers(x, mask);
        if (rounds == MOST_ROUNDS) return fail(x, ErrorKind::TOO_MANY_TRANSITIONS, 0);
    }
    x.s->engine.running = 0;
}

inline Message& flight_take(Context& x, u32 slot, u32 place) {
    WheelSlot& list = x.wheel[slot];
    u32 before = wheel_front(x, list);
    u32 handle = list.head;
    for (; place; place--) {
        before = handle;
        handle = of_handle<Message>(x, handle).next;
    }
    Message& message = of_handle<Message>(x, handle);
    of_handle<Message>(x, before).next = message.next;
    if (list.tail == handle) list.tail = before;
    if (!list.head) x.s->engine.occupied.remove(slot);
    return message;
}

// The message arrives now, whenever it was to arrive.
inline void flight_deliver(Context& x, u32 slot, u32 place) {
    Message& message = flight_take(x, slot, place);
    message.arrival = now(x);
    if (message.delivery == DELIVER_INSERT) message.delivery = DELIVER_APPEND;
    deliver(x, message);
}

// What is handed over without a choice: requests to memory, where that is asked for.
inline void deliver_eagerly(Context& x, const SlotSet& eager, bool to_rest) {
    bool any = true;
    for (u32 rounds = 0; any && rounds < MOST_ROUNDS && !x.s->trouble; rounds++) {
        any = false;
        eager.each([&](u32 slot) {
            if (!x.wheel[slot].head) return;
            any = true;
            x.s->engine.now++;
            x.s->engine.running = 1;
            flight_deliver(x, slot, 0);
            run_flagged(x, to_rest);
        });
    }
}

// Generated (encoding.hpp): messages whose delivery changes nothing, whenever it happens.
inline bool may_be_spent(Context& x, u32 buffer);
inline bool is_spent(Context& x, u32 buffer, const Message& message);

// Remove those of a slot.
inline void remove_spent(Context& x, u32 slot) {
    u32 target = 0;
    slot_delivery(x, slot, target);
    u32 place = 0;
    for (u32 h = x.wheel[slot].head; h;) {
        const Message& message = of_handle<Message>(x, h);
        h = message.next;
        if (is_spent(x, target, message)) {
            message_to_limbo(x, flight_take(x, slot, place));
        } else {
            place++;
        }
    }
}

// The alarm of a line goes off now, behind those that have.
inline void alarm_goes_off(Context& x, u32 timer, u32 line) {
    TimerTable& t = timer_table(x, timer);
    timer_sift(x, t, line_place(x, t.places, line) - 1, {now(x), line_address_of(x, line)});
    flag_consumer(x, t.consumer);
}

struct StepRules {
    SlotSet order;  // slots that keep their order
    SlotSet eager;
    SlotSet spent;  // slots whose spent messages are removed
    bool to_rest;   // a controller that moves continues until it has nothing left
    u64 whole;      // controllers, a bit each, that do in one tick all that they can
};

// Controllers in the middle of a tick in which they do all that they can. Until they have nothing left,
// nothing happens but what reaches them: whatever else comes to that tick changes nothing of it,
// and what it sends arrives later.
inline u64 in_a_tick(const Context& x, const StepRules& rules) { return x.wakes[0] & rules.whole; }

inline void step_begin(Context& x) {
    x.s->engine.now++;
    x.s->engine.running = 1;
    woken(x) = 0;
    overtaken(x) = {};
}

inline void step_end(Context& x, const StepRules& rules) {
    run_flagged(x, rules.to_rest);
    deliver_eagerly(x, rules.eager, rules.to_rest);
    rules.spent.each([&](u32 slot) { remove_spent(x, slot); });
    limbo_release(x);
}

// Controllers that the step reached, a bit each: those that were woken, and whose requesters were.
inline u64 controllers_woken(Context& x) {
    const u32 controllers = x.s->controllers;
    const u32 consumers = controllers + x.s->requesters;
    u64 reached = woken(x) & ((u64{1} << controllers) - 1);
    u64 others = woken(x) & ((u64{1} << consumers) - 1) & ~((u64{1} << controllers) - 1);
    for (; others; others &= others - 1) {
        const u32 requester = static_cast<u32>(__builtin_ctzll(others)) - controllers;
        reached |= u64{1} << requester_at(x, requester).controller;
    }
    return reached;
}

// Deliver a message, wake a controller, or let an alarm go off. Issues are the clients'.
inline void step(Context& x, const StepRules& rules, Choice choice) {
    step_begin(x);
    if (choice.kind == ChoiceKind::DELIVER) {
        flight_deliver(x, choice.what, choice.which);
    } else if (choice.kind == ChoiceKind::ALARM) {
        alarm_goes_off(x, choice.what, choice.which);
    } else {
        flag_consumer(x, choice.what);
    }
    step_end(x, rules);
}

// Everything that may be delivered, go off or be woken. Returns how many.
inline u32 moves(const Context& x, const StepRules& rules, Choice* out, u32 room) {
    u32 count = 0;
    const u64 running = in_a_tick(x, rules), only = running ? running : ~u64{0};
    for (u64 awake = x.wakes[0] & only; awake && count < room; awake &= awake - 1)
        out[count++] = {ChoiceKind::WAKE, static_cast<u8>(__builtin_ctzll(awake)), 0, 0};
    x.s->engine.occupied.each([&](u32 slot) {
        const bool ordered = rules.order.has(slot);
        u32 target = 0;
        const bool to_bus = slot_delivery(x, slot, target) == DELIVER_TO_BUS;
        if (~only && (to_bus || !(only >> x.buffers[target].consumer & 1))) return;
        u8 place = 0;
        for (u32 h = x.wheel[slot].head; h && count < room; h = of_handle<Message>(x, h).next) {
            out[count++] = {ChoiceKind::DELIVER, static_cast<u8>(slot), place++, 0};
            if (ordered) break;
        }
    });
    for (u32 timer = 0; timer < x.s->library.timers_used; timer++) {
        const TimerTable& t = timer_table(x, timer);
        if (!(only >> t.consumer & 1)) continue;
        for (u32 line = 0; t.count && line < x.s->lines.used && count < room; line++) {
            const u32 place = line_place(x, t.places, line);
            if (place && timer_alarms(x, t)[place - 1].tick == NONE)
                out[count++] = {ChoiceKind::ALARM, static_cast<u8>(timer), static_cast<u8>(line),
                                0};
        }
    }
    return count;
}
