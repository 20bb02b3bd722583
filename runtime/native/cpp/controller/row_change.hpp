// What if a row of a table were another one: a run may be handed one row that the controllers of a
// machine have in place of theirs, as Controller.intervene of runtime/controller/wakeup.py.
//
// Invariant: nothing of this is in objects that are compiled for speed.

#pragma once

#include "block/context.hpp"
#include "block/shared_numbers.hpp"

#ifdef SLICC_CHANGES
inline constexpr bool CHANGES = true;
#else
inline constexpr bool CHANGES = false;
#endif

// Actions have the numbers of their first use, cell by cell.
struct RowChange {
    i64 machine;
    i64 cell;
    i64 guard;  // the cell whose slots, request types and stall are its own
    i64 next;
    u64 uses;  // that are left before the run ends
    u64 actions;
    u64 action[CHANGED_ACTIONS];
};

inline bool changed_here(const Context& x, u32 machine, i32 cell) {
    return x.change && x.change->cell == cell && x.change->machine == machine;
}

// The row is used once more.
inline void change_used(Context& x) {
    if (x.change->uses)
        x.change->uses--;
    else
        fail(x, ErrorKind::TOO_MANY_TRANSITIONS);
}
