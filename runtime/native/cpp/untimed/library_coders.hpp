// Writing and reading what classes of the library hold that keep lists of events, expected messages,
// slots and persistent requests.
//
// Invariant: what a reader makes continues as what the writer was given: queues in their order, and
// free slots in the order in which they will be taken.

#pragma once

#include "structures/chi_tables.hpp"
#include "structures/dvm_slots.hpp"
#include "structures/persistent_table.hpp"
#include "untimed/coder.hpp"

// `item` codes one value of the queue.
template <class Code, class T, class Item>
inline void code_queue(Code& outer, TriggerQueue<T>& queue, Item item) {
    outer.aside([&](Code& code) {
        u32 count = static_cast<u32>(queue.count);
        code.small(count);
        if constexpr (Code::READS) {
            queue = {};
            for (; count; count--) {
                T value = {};
                bool nonblocking = false;
                code.flag(nonblocking);
                item(code, value);
                trigger_append(code.x, queue, value, nonblocking);
            }
        } else {
            for (u32 h = queue.head; h; h = trigger_item<T>(code.x, h).next) {
                TriggerItem<T>& each = trigger_item<T>(code.x, h);
                code.flag(each.nonblocking);
                item(code, each.value);
            }
        }
    });
}

template <class Code>
inline void code_expected(Code& code, Expected& expected) {
    code.integer(expected.more);
    u64 any = static_cast<u64>(expected.parts | expected.received);
    for (u32 i = 0; i < EXPECTED_KINDS / 64; i++) any |= expected.announced[i];
    if (!code.either(any != 0)) return;  // what has not been announced has not arrived
    for (u32 i = 0; i < EXPECTED_KINDS / 64; i++) {
        code.small(expected.announced[i]);
        code.small(expected.arrived[i]);
    }
    code.integer(expected.parts);
    code.integer(expected.received);
}

template <class Code>
inline void code_expected(Code& outer, ExpectedMap& map) {
    outer.aside([&](Code& code) {
        code_expected(code, map.data);
        code_expected(code, map.responses);
        code.integer(map.total);
    });
}

// Which slots are free, the next one last, from the first on that is not where it was at the start;
// and how many users the others have.
template <class Code>
inline void code_slots_of(Code& outer, u32 number) {
    outer.aside([&](Code& code) {
        Context& x = code.x;
        TBEStorage& s = tbe_storage(x, number);
        u32* const free = storage_free(x, s);
        u32* const users = storage_users(x, s);
        code.integer(s.reserved);
        u32 taken = s.capacity - s.available;
        code.small(taken);
        s.available = s.capacity - taken;
        u32 moved = s.available;
        if constexpr (!Code::READS) {
            for (u32 i = s.available; i-- > 0;) {
                if (free[i] != s.capacity - 1 - i) moved = i;
            }
        }
        moved = s.available - moved;
        code.small(moved);
        for (u32 i = s.available - moved; i < s.available; i++) code.small(free[i]);
        if (!taken) return;
        if constexpr (Code::READS) {
            for (u32 i = 0; i < s.capacity; i++) users[i] = 1;
        }
        for (u32 i = 0; i < s.available; i++) users[free[i]] = 0;
        for (u32 i = 0; i < s.capacity; i++) {
            if (users[i]) code.small(users[i]);
        }
    });
}

// The slots themselves are those of the storages that it consists of.
template <class Code, class T, class Item>
inline void code_parted_slots(Code& code, MN_TBEStorage<T>& storage, Item item) {
    code_queue(code, storage.retries, item);
}

// In the order of lines.
template <class Code>
inline void code_persistent(Code& outer, u32 table) {
    outer.aside([&](Code& code) {
        for (u32 place = 0; place < code.coding.lines; place++) {
            u32 line = place;
            if constexpr (!Code::READS) line = code.renaming.lines.from[place];
            PersistentRow& row =
                persistent_row(code.x, table, code.coding.base + (u64{line} << LINE_BITS));
            if (!code.either(!NetDest_isEmpty(code.x, row.starving))) continue;
            code.nodes(row.starving);  // the others are among these
            code.nodes(row.marked);
            code.nodes(row.writing);
        }
    });
}
