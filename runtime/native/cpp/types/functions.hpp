// Functions that the library offers to every protocol, apart from those of a controller.
//
// Invariant: `library_NAME` is NAME of runtime/types/messages.py.

#pragma once

#include "block/context.hpp"
#include "types/integers.hpp"
#include "types/enumerations.hpp"
#include "types/messages.hpp"

constexpr u64 request_bits(const i32* types, u32 count) {
    u64 bits = 0;
    for (u32 i = 0; i < count; i++) bits |= u64{1} << types[i];
    return bits;
}

inline constexpr i32 WRITE_TYPES[] = {
    RubyRequestType::ST,
    RubyRequestType::ATOMIC,
    RubyRequestType::RMW_Read,
    RubyRequestType::RMW_Write,
    RubyRequestType::Store_Conditional,
    RubyRequestType::Locked_RMW_Read,
    RubyRequestType::Locked_RMW_Write,
    RubyRequestType::FLUSH,
};
inline constexpr i32 DATA_READ_TYPES[] = {RubyRequestType::LD, RubyRequestType::Load_Linked};
inline constexpr i32 HTM_TYPES[] = {
    RubyRequestType::HTM_Start,
    RubyRequestType::HTM_Commit,
    RubyRequestType::HTM_Cancel,
    RubyRequestType::HTM_Abort,
};

template <u32 COUNT>
constexpr bool is_one_of(const i32 (&types)[COUNT], i32 kind) {
    return kind >= 0 && kind < 64 && (request_bits(types, COUNT) >> kind & 1);
}

inline i64 library_mod(Context& x, i64 dividend, i64 divisor) {
    return remainder<i64>(x, dividend, divisor);
}

inline i32 library_log2(Context& x, i64 value) {
    if (UNLIKELY(value <= 0)) {
        fail(x, ErrorKind::INDEX_RANGE);
        return 0;
    }
    return 63 - __builtin_clzll(static_cast<u64>(value));
}

inline i32 library_max_tokens(Context&) { return 1024; }
inline u32 library_intToID(Context&, i64 value) { return static_cast<u32>(value); }
inline i64 library_IDToInt(Context&, i64 value) { return value; }
inline i64 library_intToCycles(Context&, i64 value) { return value; }
inline i64 library_intToTick(Context&, i64 value) { return value; }
inline u64 library_intToAddress(Context&, i64 value) { return static_cast<u64>(value); }
inline u64 library_zero_time(Context&) { return 0; }
inline i32 library_machineIDToMachineType(Context&, MachineID machine) { return machine.type; }
inline u32 library_machineIDToNodeID(Context&, MachineID machine) { return machine.num; }
inline i64 library_addressOffset(Context&, u64 address, u64 base) {
    return static_cast<i64>(address - base);
}

inline u64 library_bitSelect(Context& x, u64 address, i64 low, i64 high) {
    if (UNLIKELY(low < 0 || low > high || high >= 64)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return 0;
    }
    const u64 width = static_cast<u64>(high - low + 1);
    return address >> low & (width == 64 ? ~u64{0} : (u64{1} << width) - 1);
}

inline u64 library_maskLowOrderBits(Context& x, u64 address, i64 count) {
    if (UNLIKELY(count < 0 || count > 64)) {
        fail(x, ErrorKind::BAD_SHIFT);
        return 0;
    }
    return count == 64 ? 0 : address >> count << count;
}

inline i64 library_addressToInt(Context& x, u64 address) {
    if (UNLIKELY(address > 0xFFFFFFFF)) {
        fail(x, ErrorKind::INDEX_RANGE);
        return 0;
    }
    return static_cast<i64>(address);
}

inline bool library_isWriteRequest(Context&, i32 kind) { return is_one_of(WRITE_TYPES, kind); }
inline bool library_isDataReadRequest(Context&, i32 kind) {
    return is_one_of(DATA_READ_TYPES, kind);
}
inline bool library_isHtmCmdRequest(Context&, i32 kind) { return is_one_of(HTM_TYPES, kind); }
inline bool library_isReadRequest(Context&, i32 kind) {
    return is_one_of(DATA_READ_TYPES, kind) || kind == RubyRequestType::IFETCH;
}

// No requester of ours says who it is.
inline u32 library_getRequestorID(Context&, u32) { return 0; }

// Requests of a full simulator, of which there are none here.
inline u32 RubyRequest_getRequestPtr(Context&, const RubyRequest&) { return NIL; }
inline bool RubyRequest_isFlagged(Context&, const RubyRequest& m, i32 place) {
    return m.flags >> place & 1;
}
