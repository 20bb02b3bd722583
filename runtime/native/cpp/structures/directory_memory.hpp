// Entries of a directory: one for each line that it is responsible for, made on demand.
//
// Invariant: an entry exists only for lines in the directory's own range.

#pragma once

#include "structures/cache_memory.hpp"
#include "types/net_dest.hpp"

inline DirectoryMemory& directory_memory(const Context& x, u32 directory) {
    INVARIANT(directory < x.s->directories_used);
    return x.s->directories.in(x)[directory];
}

// The next directory; called once for each when the system is built.
inline u32 DirectoryMemory_create(Context& x, u32 machine, MachineID owner, bool interleaved) {
    const u32 directory = static_cast<u32>(x.s->directories_used++);
    DirectoryMemory& d = directory_memory(x, directory);
    d.machine = machine;
    d.interleaved = interleaved;
    d.type = owner.type;
    d.num = owner.num;
    return directory;
}

inline bool directory_owns(const Context& x, const DirectoryMemory& d, u64 address) {
    return !d.interleaved || topology_owns(x, {d.type, d.num}, address);
}

inline u32& directory_place(Context& x, const DirectoryMemory& d, u64 address) {
    return line_places(x, line_of(x, address))[d.records];
}

// Whether this directory is responsible for the address.
inline bool DirectoryMemory_isPresent(Context& x, u32 directory, u64 address) {
    return directory_owns(x, directory_memory(x, directory), address);
}

// The entry of the address's line, or null.
inline AbstractCacheEntry* DirectoryMemory_lookup(Context& x, u32 directory, u64 address) {
    const DirectoryMemory& d = directory_memory(x, directory);
    const u32 handle = directory_place(x, d, address);
    INVARIANT(!handle || directory_owns(x, d, address));
    if (LIKELY(handle)) return &of_handle<AbstractCacheEntry>(x, handle);
    if (UNLIKELY(!directory_owns(x, d, address))) fail(x, ErrorKind::UNDELIVERABLE);
    return nullptr;
}

// Fill the blocks of data of a new entry from memory; structures that have some overload it.
template <typename Entry>
inline void take_contents(Context&, Entry&) {}

// Install a new entry with permission Read_Only and memory's data.
template <typename Entry>
inline AbstractCacheEntry* DirectoryMemory_allocate(Context& x, u32 directory, u64 address,
                                                    Entry* entry) {
    const DirectoryMemory& d = directory_memory(x, directory);
    u32& place = directory_place(x, d, address);
    if (UNLIKELY(place)) {
        fail(x, ErrorKind::ALREADY_ALLOCATED);
        return entry;
    }
    if (UNLIKELY(!directory_owns(x, d, address))) {
        fail(x, ErrorKind::UNDELIVERABLE);
        return entry;
    }
    if (UNLIKELY(!entry)) {
        fail(x, ErrorKind::NULL_DEREFERENCE);
        return entry;
    }
    entry->address = line_of(x, address);
    entry->permission = AccessPermission::Read_Only;
    entry->cache = DIRECTORY_CACHE;
    place = entry->self;
    take_contents(x, *entry);
    return entry;
}

inline void DirectoryMemory_deallocate(Context& x, u32 directory, u64 address) {
    u32& place = directory_place(x, directory_memory(x, directory), address);
    if (UNLIKELY(!place)) {
        fail(x, ErrorKind::NOT_ALLOCATED);
        return;
    }
    detach_entry(x, of_handle<AbstractCacheEntry>(x, place));
    place = 0;
}

// Accesses to the directory array are not modelled.
inline void DirectoryMemory_recordRequestType(Context&, u32, i32) {}
