// Who finds the states of a level first, where several searches work on it.
//
// Invariant: of all that find a state, the one counts whose step comes first in the order of states and
// choices, whichever was faster; so several searches number states as one does that is alone.

#pragma once

#include <stdlib.h>

#include "exploration/visited/fingerprint.hpp"

// The place of a step in the order of states and of the choices of each; none is 0.
inline u64 step_order(u32 state, u32 choice) { return (u64{state} + 1) << 16 | choice; }

// Open addressing; the states of one level.
struct FirstFound {
    struct Place {
        Fingerprint print;
        u64 order;  // 0: empty
    };
    Place* table = nullptr;
    u64 room = 0;
    u64 count = 0;

    void clear() {
        free(table);
        table = nullptr;
        room = count = 0;
    }
    Place& find(Fingerprint print) const {
        u64 at = print.low & (room - 1);
        while (table[at].order && !table[at].print.same(print)) at = (at + 1) & (room - 1);
        return table[at];
    }
    // False: no memory.
    bool grow() {
        const FirstFound old = *this;
        room = room ? 2 * room : 64;
        table = static_cast<Place*>(calloc(room, sizeof(Place)));
        if (!table) {
            *this = old;
            return false;
        }
        for (u64 i = 0; i < old.room; i++) {
            if (old.table[i].order) find(old.table[i].print) = old.table[i];
        }
        free(old.table);
        return true;
    }
    // A state that was not known. False: no memory.
    bool add(Fingerprint print, u64 order) {
        if (2 * count >= room && !grow()) return false;
        find(print) = {print, order};
        count++;
        return true;
    }
    // One that was: whether it is of this level and this step comes before those that found it.
    bool improve(Fingerprint print, u64 order) {
        if (!room) return false;
        Place& place = find(print);
        if (place.order <= order) return false;
        place.order = order;
        return true;
    }
    bool is_first(Fingerprint print, u64 order) const { return find(print).order == order; }
};
