// Integers and growing arrays, without the C++ standard library.
//
// Invariant: items are plain data, moved by memcpy; the owner of an array frees it.

#pragma once

#include "block/base.hpp"
#include <stdlib.h>
#include <string.h>

inline constexpr u32 NO_WAVE = ~u32{0};

template <class T>
struct List {
    T* items = nullptr;
    u32 count = 0;
    u32 room = 0;

    T& operator[](u32 place) {
        INVARIANT(place < count);
        return items[place];
    }
    const T& operator[](u32 place) const {
        INVARIANT(place < count);
        return items[place];
    }

    void reserve(u32 wanted) {
        if (wanted <= room) return;
        room = wanted < 2 * room ? 2 * room : wanted < 16 ? 16 : wanted;
        void* grown = realloc(static_cast<void*>(items), u64{room} * sizeof(T));
        if (!grown) abort();  // requests are small: the machine is out of memory
        items = static_cast<T*>(grown);
    }
    void add(const T& item) {
        reserve(count + 1);
        items[count++] = item;
    }
    T pop() {
        INVARIANT(count > 0);
        return items[--count];
    }
    // At least so many items; those that are new are zero.
    void extend(u32 wanted) {
        if (wanted <= count) return;
        reserve(wanted);
        memset(static_cast<void*>(items + count), 0, u64{wanted - count} * sizeof(T));
        count = wanted;
    }
    void clear() { count = 0; }
    void release() { free(static_cast<void*>(items)); }
};

// First in, first out.
template <class T>
struct Queue {
    List<T> list;
    u32 head = 0;

    bool empty() const { return head == list.count; }
    u32 size() const { return list.count - head; }
    T& front() { return list[head]; }
    void add(const T& item) {
        if (head && list.count == list.room) {
            memmove(static_cast<void*>(list.items), list.items + head, u64{size()} * sizeof(T));
            list.count -= head;
            head = 0;
        }
        list.add(item);
    }
    T take() {
        INVARIANT(!empty() && head < list.count);
        const T item = list[head++];
        if (empty()) head = list.count = 0;
        return item;
    }
    void clear() { head = list.count = 0; }
};

// The least first; `before(a, b)` says which of two is.
template <class T>
struct Heap {
    List<T> list;

    bool empty() const { return !list.count; }
    const T& least() const { return list[0]; }
    void add(const T& item) {
        list.add(item);
        u32 at = list.count - 1;
        while (at && before(item, list[(at - 1) / 2])) {
            list[at] = list[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        list[at] = item;
    }
    T take() {
        const T first = list[0];
        const T last = list.pop();
        u32 at = 0;
        for (u32 child = 1; child < list.count; child = 2 * at + 1) {
            if (child + 1 < list.count && before(list[child + 1], list[child])) ++child;
            if (!before(list[child], last)) break;
            list[at] = list[child];
            at = child;
        }
        if (list.count) list[at] = last;
        return first;
    }
};
