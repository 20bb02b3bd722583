// Bytes of a line, and sets of them: DataBlock and WriteMask of runtime/types/values.py.
//
// Invariant: a mask selects no byte beyond the line size of the system, and a block has no
// bytes other than 0 there.

#pragma once

#include "types/atomic_op.hpp"
#include "block/context.hpp"
#include "block/pools.hpp"

// ---------------------------------------------------------------- masks

// The bits of bytes [offset, offset + length) that stand in one word of a mask.
inline u64 byte_range(i64 offset, i64 length, u32 word) {
    const i64 low = static_cast<i64>(word) * 64;
    const i64 from = offset > low ? offset - low : 0;
    const i64 end = offset + length < LINE_BYTES ? offset + length : LINE_BYTES;
    const i64 to = end - low;
    if (from >= 64 || to <= from) return 0;
    const u64 below_to = to >= 64 ? ~u64{0} : (u64{1} << to) - 1;
    return below_to & ~((u64{1} << from) - 1);
}

inline bool is_byte_range(Context& x, i64 offset, i64 length) {
    if (LIKELY(offset >= 0 && length >= 0 && length <= LINE_BYTES - offset)) return true;
    fail(x, ErrorKind::INDEX_RANGE);
    return false;
}

inline bool is_byte(Context& x, i64 offset) { return is_byte_range(x, offset < 0 ? offset : 0, 0); }

// One word of the mask that selects the whole line.
inline u64 full_mask(const Context&, u32 word) { return byte_range(0, LINE_BYTES, word); }

inline void WriteMask_assign(Context&, WriteMask& mask, const WriteMask& other) { mask = other; }

inline void WriteMask_clear(Context&, WriteMask& mask) {
    for (u64& word : mask.m) word = 0;
}

inline bool WriteMask_test(Context& x, const WriteMask& mask, i64 offset) {
    return is_byte(x, offset) && offset < LINE_BYTES && (mask.m[offset >> 6] >> (offset & 63) & 1);
}

inline void WriteMask_setMask(Context& x, WriteMask& mask, i64 offset, i64 length,
                              bool value = true) {
    if (!is_byte_range(x, offset, length)) return;
    for (u32 i = 0; i < MASK_WORDS; i++) {
        const u64 bits = byte_range(offset, length, i);
        mask.m[i] = value ? mask.m[i] | bits : mask.m[i] & ~bits;
    }
}

inline bool WriteMask_getMask(Context& x, const WriteMask& mask, i64 offset, i64 length) {
    if (!is_byte_range(x, offset, length)) return false;
    u64 missing = 0;
    for (u32 i = 0; i < MASK_WORDS; i++) missing |= byte_range(offset, length, i) & ~mask.m[i];
    return !missing;
}

inline void WriteMask_fillMask(Context& x, WriteMask& mask) {
    for (u32 i = 0; i < MASK_WORDS; i++) mask.m[i] = full_mask(x, i);
}

inline bool WriteMask_isFull(Context& x, const WriteMask& mask) {
    u64 other = 0;
    for (u32 i = 0; i < MASK_WORDS; i++) other |= mask.m[i] ^ full_mask(x, i);
    return !other;
}

inline void WriteMask_setInvertedMask(Context& x, WriteMask& mask, const WriteMask& other) {
    for (u32 i = 0; i < MASK_WORDS; i++) mask.m[i] = full_mask(x, i) & ~other.m[i];
}

inline bool WriteMask_isEmpty(Context&, const WriteMask& mask) {
    u64 any = 0;
    for (u64 word : mask.m) any |= word;
    return !any;
}

inline bool WriteMask_isOverlap(Context&, const WriteMask& mask, const WriteMask& other) {
    u64 common = 0;
    for (u32 i = 0; i < MASK_WORDS; i++) common |= mask.m[i] & other.m[i];
    return common != 0;
}

inline bool WriteMask_containsMask(Context&, const WriteMask& mask, const WriteMask& other) {
    u64 missing = 0;
    for (u32 i = 0; i < MASK_WORDS; i++) missing |= other.m[i] & ~mask.m[i];
    return !missing;
}

inline void WriteMask_orMask(Context&, WriteMask& mask, const WriteMask& other) {
    for (u32 i = 0; i < MASK_WORDS; i++) mask.m[i] |= other.m[i];
    if (other.atomics) mask.atomics = other.atomics;
}

inline void WriteMask_andMask(Context&, WriteMask& mask, const WriteMask& other) {
    for (u32 i = 0; i < MASK_WORDS; i++) mask.m[i] &= other.m[i];
    if (other.atomics) mask.atomics = other.atomics;
}

inline i32 WriteMask_count(Context& x, const WriteMask& mask, i64 offset = 0) {
    if (!is_byte(x, offset)) return 0;
    i32 count = 0;
    for (u32 i = 0; i < MASK_WORDS; i++) {
        count += count_bits(mask.m[i] & byte_range(offset, LINE_BYTES, i));
    }
    return count;
}

inline i32 WriteMask_firstBitSet(Context& x, const WriteMask& mask, bool value, i64 offset = 0) {
    if (!is_byte(x, offset)) return 0;
    for (u32 i = 0; i < MASK_WORDS; i++) {
        u64 wanted = value ? mask.m[i] : full_mask(x, i) & ~mask.m[i];
        wanted &= byte_range(offset, LINE_BYTES, i);
        if (wanted) return static_cast<i32>(i * 64) + __builtin_ctzll(wanted);
    }
    return static_cast<i32>(LINE_BYTES);
}

inline bool operator==(const WriteMask& one, const WriteMask& other) {
    return __builtin_memcmp(one.m, other.m, sizeof one.m) == 0;
}

inline bool WriteMask_equal(const Context&, const WriteMask& one, const WriteMask& other) {
    return one == other;
}

// ---------------------------------------------------------------- blocks

inline LogNode& log_node(const Context& x, u32 handle) {
    INVARIANT(handle && of_handle<LogNode>(x, handle).live);
    return of_handle<LogNode>(x, handle);
}

// Put a block in front of a log (the newest comes first).
inline void DataBlock_log(Context& x, DataBlock& block, const u64* data) {
    LogNode& node = pool_take_fresh<LogNode>(x, x.s->logs);
    __builtin_memcpy(node.data, data, sizeof node.data);
    node.next = block.logged ? block.log : 0;
    node.live = 1;
    block.log = handle_of(x, node);
    block.logged++;
}

inline COLD void DataBlock_log_all(Context& x, DataBlock& block, u32 log, u32 logged) {
    if (!block.logged) {
        block.log = log;
        block.logged = logged;
        return;
    }
    // The oldest first, and there is no way back in a list.
    for (u32 left = logged; left; left--) {
        u32 handle = log;
        for (u32 i = 1; i < left; i++) handle = log_node(x, handle).next;
        DataBlock_log(x, block, log_node(x, handle).data);
    }
}

// Take over the bytes; the other's log is appended to this one's.
inline void DataBlock_assign(Context& x, DataBlock& block, const DataBlock& other) {
    const u32 log = other.log;
    const u32 logged = other.logged;
    if (LIKELY(&block != &other)) __builtin_memcpy(block.data, other.data, sizeof block.data);
    if (UNLIKELY(logged)) DataBlock_log_all(x, block, log, logged);
}

inline void DataBlock_clear(Context&, DataBlock& block) {
    __builtin_memset(block.data, 0, sizeof block.data);
}

// 0xFF for each of the low 8 bits.
inline u64 expand_bits(u64 bits) {
    const u64 spread = (bits & 0xFF) * 0x0101010101010101 & 0x8040201008040201;
    const u64 high = ((spread & 0x7F7F7F7F7F7F7F7F) + 0x7F7F7F7F7F7F7F7F) | spread;
    return (high >> 7 & 0x0101010101010101) * 0xFF;
}

inline void copy_selected(u64* to, const u64* from, const u64* mask) {
    for (u32 i = 0; i < LINE_WORDS; i++)
        to[i] ^= (to[i] ^ from[i]) & expand_bits(mask[i >> 3] >> (8 * (i & 7)));
}

inline void DataBlock_copyPartial(Context&, DataBlock& block, const DataBlock& other,
                                  const WriteMask& mask) {
    copy_selected(block.data, other.data, mask.m);
}

inline void DataBlock_copyPartial_range(Context& x, DataBlock& block, const DataBlock& other,
                                        i64 offset, i64 length) {
    if (!is_byte_range(x, offset, length)) return;
    u64 mask[MASK_WORDS];
    for (u32 i = 0; i < MASK_WORDS; i++) mask[i] = byte_range(offset, length, i);
    copy_selected(block.data, other.data, mask);
}

// Little-endian numbers of 1 to 8 bytes.
inline u64 load_bytes(const u8* from, u32 size) {
    switch (size) {
        case 1: return *from;
        case 2: {
            u16 value;
            __builtin_memcpy(&value, from, 2);
            return value;
        }
        case 4: {
            u32 value;
            __builtin_memcpy(&value, from, 4);
            return value;
        }
        case 8: {
            u64 value;
            __builtin_memcpy(&value, from, 8);
            return value;
        }
    }
    u64 value = 0;
    __builtin_memcpy(&value, from, size);
    return value;
}

inline void store_bytes(u8* to, u64 value, u32 size) {
    switch (size) {
        case 1: __builtin_memcpy(to, &value, 1); return;
        case 2: __builtin_memcpy(to, &value, 2); return;
        case 4: __builtin_memcpy(to, &value, 4); return;
        case 8: __builtin_memcpy(to, &value, 8); return;
    }
    __builtin_memcpy(to, &value, size);
}

inline APART void DataBlock_run_atomics(Context& x, DataBlock& block, u32 atomics, bool no_return) {
    u8* bytes = reinterpret_cast<u8*>(block.data);
    for (u32 handle = atomics; handle;) {
        const AtomicNode& node = of_handle<AtomicNode>(x, handle);
        if (!no_return) DataBlock_log(x, block, block.data);
        if (u32{node.offset} + node.size <= LINE_BYTES) {
            u8* const word = bytes + node.offset;
            store_bytes(word, atomic_apply(node, load_bytes(word, node.size)), node.size);
        }
        handle = node.next;
    }
}

// Take over the other's bytes, then run the mask's operations in order; unless `no_return`,
// the block before each goes into the log.
inline void DataBlock_atomicPartial(Context& x, DataBlock& block, const DataBlock& other,
                                    const WriteMask& mask, bool no_return = true) {
    if (&block != &other) __builtin_memcpy(block.data, other.data, sizeof block.data);
    if (mask.atomics) DataBlock_run_atomics(x, block, mask.atomics, no_return);
}

inline i32 DataBlock_numAtomicLogEntries(Context&, const DataBlock& block) {
    return static_cast<i32>(block.logged);
}

// Remove the oldest logged block and copy its bytes to `data`.
inline void DataBlock_popAtomicLogEntryFront(Context& x, DataBlock& block, u64* data) {
    if (!block.logged) {
        fail(x, ErrorKind::BAD_CALLBACK);
        __builtin_memset(data, 0, sizeof block.data);
        return;
    }
    u32 handle = block.log;
    for (u32 i = 1; i < block.logged; i++) handle = log_node(x, handle).next;
    __builtin_memcpy(data, log_node(x, handle).data, sizeof block.data);
    INVARIANT(block.logged > 0);
    block.logged--;
}

inline void DataBlock_clearAtomicLogEntries(Context&, DataBlock& block) {
    block.log = 0;
    block.logged = 0;
}

inline u8 DataBlock_getByte(Context&, const DataBlock& block, i64 offset) {
    return reinterpret_cast<const u8*>(block.data)[static_cast<u64>(offset) % LINE_BYTES];
}

inline void DataBlock_setByte(Context&, DataBlock& block, i64 offset, u8 value) {
    reinterpret_cast<u8*>(block.data)[static_cast<u64>(offset) % LINE_BYTES] = value;
}

// Up to 8 bytes as an unsigned little-endian integer.
inline u64 DataBlock_read(Context&, const DataBlock& block, u32 offset, u32 length) {
    u64 value = 0;
    if (LIKELY(offset + length <= LINE_BYTES)) {
        __builtin_memcpy(&value, reinterpret_cast<const u8*>(block.data) + offset, length);
    }
    return value;
}

inline void DataBlock_write(Context&, DataBlock& block, u32 offset, u32 length, u64 value) {
    if (LIKELY(offset + length <= LINE_BYTES)) {
        __builtin_memcpy(reinterpret_cast<u8*>(block.data) + offset, &value, length);
    }
}

// Same bytes and same log, as protocols compare blocks.
inline bool DataBlock_equal(const Context& x, const DataBlock& one, const DataBlock& other) {
    if (__builtin_memcmp(one.data, other.data, sizeof one.data)) return false;
    if (one.logged != other.logged) return false;
    u32 mine = one.log;
    u32 theirs = other.log;
    for (u32 i = 0; i < one.logged && mine != theirs; i++) {
        const LogNode& a = log_node(x, mine);
        const LogNode& b = log_node(x, theirs);
        if (__builtin_memcmp(a.data, b.data, sizeof a.data)) return false;
        mine = a.next;
        theirs = b.next;
    }
    return true;
}
