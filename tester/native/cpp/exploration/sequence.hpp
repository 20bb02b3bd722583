// Invariant: items that were added stay in their order, and may move when more are.

#pragma once

#include <stdlib.h>

#include "block/base.hpp"

// Things one behind the other.
template <class T>
struct Sequence {
    T* items = nullptr;
    u64 count = 0;
    u64 room = 0;

    void close() { free(items); }
    bool reserve(u64 more) {
        if (count + more <= room) return true;
        u64 wanted = room + room / 8 + 1024;
        if (wanted < count + more) wanted = count + more;
        T* moved = static_cast<T*>(realloc(items, wanted * sizeof(T)));
        if (!moved) return false;
        items = moved;
        room = wanted;
        return true;
    }
    bool append(const T* from, u64 number) {
        if (!reserve(number)) return false;
        __builtin_memcpy(items + count, from, number * sizeof(T));
        count += number;
        return true;
    }
    bool add(T item) { return append(&item, 1); }
};
