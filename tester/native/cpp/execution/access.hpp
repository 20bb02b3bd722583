// Accesses of a program: their addresses, values and operands, for requesters and the checker.
// The arrays are laid out by tester/native/program.py.
//
// Invariant: everything is read from the arrays of the program, which no run changes.

#pragma once

#include "execution/program.hpp"
#include "requesters/access.hpp"

// Whether an action counts among the loads (stores) of its episode; an atomic one does among both.
inline bool touches(u8 kind, u8 of_kind) { return kind == of_kind || kind == AccessKind::ATOMIC; }

// ---------------------------------------------------------------- lanes

inline const ProgramView& program_at(const Context& x, u32 driver) {
    return static_cast<const ProgramView*>(x.client_view)[driver];
}

inline const ProgramView& program_of(const Context& x, const Access& access) {
    return program_at(x, access.driver);
}

// Of an ACTION or of WORDS.
inline const u64* access_addresses(const Context& x, const Access& access) {
    const ProgramView& program = program_of(x, access);
    return (access.source == Source::WORDS ? program.word_address : program.address) + access.first;
}

// What an atomic access does: the fetch-adds of an episode add 1.
inline AtomicNode access_operation(const Context& x, const Access& access, u32 lane) {
    AtomicNode node = {};
    node.size = static_cast<u8>(access.size);
    node.kind = AtomicKind::ADD;
    node.operand = 1;
    if (access.source == Source::WORDS) return node;
    const ProgramView& program = program_of(x, access);
    const u8 op = program.action_op[access.place];
    node.kind = op & static_cast<u8>(~CAS_FAILS);
    node.operand = program.value[access.first + lane];
    if (node.kind != AtomicKind::CAS) return node;
    const u64 ones = access.size == 8 ? ~u64{0} : 0xFFFFFFFF;
    node.compare = program.expected[access.first + lane] ^ (op & CAS_FAILS ? ones : 0);
    return node;
}

inline u64 lines_key(u32 driver, Source source, u64 place) {
    return u64{driver + 1} << 56 | u64{static_cast<u8>(source)} << 48 | place;
}

inline u64 access_lines_key(const Access& access) {
    return lines_key(access.driver, access.source, access.place);
}

// ---------------------------------------------------------------- accesses of pieces

// Calls `visit(number, address, bytes)` for the pieces of an access, from the lowest address up.
template <class Visit>
inline void each_piece(const Context& x, const Access& access, Visit visit) {
    const u64* addresses = access_addresses(x, access);
    const u64 end = addresses[0] + access.size;
    for (u32 piece = 0; piece < access.pieces; ++piece) {
        const u64 next = piece + 1u < access.pieces ? addresses[piece + 1] : end;
        visit(piece, addresses[piece], static_cast<u32>(next - addresses[piece]));
    }
}

// ---------------------------------------------------------------- store values

inline void put_value(const Context& x, const Access& access, u32 lane, u8* to) {
    const u64* values = program_of(x, access).value + access.first;
    if (LIKELY(!access.pieces)) return store_bytes(to, values[lane], access.size);
    const u64 first = access_addresses(x, access)[0];
    each_piece(x, access, [&](u32 piece, u64 address, u32 size) {
        store_bytes(to + (address - first), values[piece], size);
    });
}

// Coalescers have no accesses of pieces.
inline void put_values(const Context& x, const Access& access, u64 lanes, u64 line, u8* bytes) {
    const u64* addresses = access_addresses(x, access);
    const u64* values = program_of(x, access).value + access.first;
    const u32 size = access.size;
    for (; lanes; lanes &= lanes - 1) {
        const u32 lane = static_cast<u32>(__builtin_ctzll(lanes));
        store_bytes(bytes + (addresses[lane] - line), values[lane], size);
    }
}
