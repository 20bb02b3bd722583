// The code that a state was read from, part by part.
//
// A step changes little, and most states that it leads to are written under the identity. So parts that
// the step did not reach are copied from the code of the state before it. Invariant: a part is copied
// only if writing it would give the same bits: what it is about is untouched, and every value in it
// still has the number that it had.

#pragma once

#include "untimed/bits.hpp"
#include "untimed/renaming.hpp"

// Where a part stands, in bits, and the values in it.
struct CodePart {
    u32 from;
    u32 to;
    u32 first_value;
    u32 last_value;
};

struct Origin {
    static constexpr u32 MOST_VALUES = 256;
    const u8* code;  // null: more than a step away; stays where it is until what follows is written
    bool stepped;    // since it was read
    u64 touched;     // controllers that the step reached, a bit each
    u32 emptied;     // slot that it took a message from, or NIL
    u32 value_count;  // that were read
    CodePart agents[MAX_AGENTS];
    CodePart controllers[MAX_NAMED];
    CodePart slots[WHEEL];
    WheelSlot lists[WHEEL];  // of slots: as they were read
    SlotSet occupied;        // slots that were not empty
    u8 values[MOST_VALUES];

    void begin(const u8* from) {
        code = from;
        stepped = false;
        value_count = 0;
        occupied = {};
    }
    // A step from slot `what`, or from none (NIL).
    void step(u32 what) {
        if (stepped) code = nullptr;
        stepped = true;
        emptied = what;
    }
    void note_value(u32 value) {
        if (value_count < MOST_VALUES) values[value_count] = static_cast<u8>(value);
        value_count++;
    }
    void note_slot(u32 slot, const WheelSlot& list) {
        lists[slot] = list;
        occupied.add(slot);
    }
    bool has(const CodePart& part) const { return part.last_value <= MOST_VALUES; }
    const CodePart* of_agent(u32 agent, u32 controller) const {
        return touched >> controller & 1 ? nullptr : &agents[agent];
    }
    const CodePart* of_controller(u32 id) const {
        return touched >> id & 1 ? nullptr : &controllers[id];
    }
    const CodePart* of_slot(u32 slot, const WheelSlot& list) const {
        const bool same = occupied.has(slot) && slot != emptied && list.head == lists[slot].head &&
                          list.tail == lists[slot].tail;
        return same ? &slots[slot] : nullptr;
    }
};
