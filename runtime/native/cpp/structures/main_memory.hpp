// Main memory.
//
// Invariant: a line that was never written holds bytes hashed from the run key and its address, or
// zeroes if the host wants them.
// Reads and writes take effect when a controller hands them over; latency delays answers only.
// A request whose data is echoed leaves memory alone: its protocol keeps the bytes in the entries of
// its directories.

#pragma once

#include "types/messages.hpp"
#include "sim/message_buffer.hpp"
#include "sim/prng.hpp"
#include "types/data_block.hpp"

enum MemoryLine : u8 { MEMORY_UNKNOWN, MEMORY_INITIAL, MEMORY_WRITTEN };

// The bytes of the line that begins at an address.
inline u64* memory_line(Context& x, u64 address, bool write) {
    MemoryState& m = x.s->memory;
    const u32 line = line_index(x, address);
    INVARIANT(line < m.state.count);
    u64* data = m.image.in(x) + u64{line} * LINE_WORDS;
    u8& state = m.state.in(x)[line];
    if (UNLIKELY(state == MEMORY_UNKNOWN)) {
        state = MEMORY_INITIAL;
        const u64 base = mix64(m.run_key + GOLDEN) + (address >> 3) * GOLDEN;
        for (u32 word = 0; word < LINE_BYTES / 8; word++)
            data[word] = m.zeroed ? 0 : mix64(base + word * GOLDEN);
    }
    if (write) state = MEMORY_WRITTEN;
    return data;
}

// A block with the bytes of the line that begins at an address.
inline void DataBlock_take_line(Context& x, DataBlock& block, u64 address) {
    __builtin_memcpy(block.data, memory_line(x, address, false), LINE_BYTES);
}

// Carry a request out; the answer to send to `machine`.
inline MemoryMsg& Memory_access(Context& x, const MemoryMsg& request, MachineID machine) {
    const u64 line = line_of(x, request.addr);
    const u64 offset = request.addr - line;
    constexpr i64 line_size = LINE_BYTES;
    const i64 length = request.Len ? request.Len : line_size;
    MemoryMsg& response = new_message<MemoryMsg>(x);
    if (UNLIKELY(length < 0 || (request.Len && static_cast<i64>(offset) + length > line_size))) {
        fail(x, ErrorKind::BAD_MEMORY_REQUEST);
        return response;
    }
    response.addr = request.addr;
    response.Sender = machine;
    response.OriginalRequestorMachId = request.Sender;
    response.Len = request.Len;
    if (UNLIKELY(request.Echoed)) {
        x.s->memory.echoes = 1;
        response.Type = request.Type;
        response.MessageSize = request.MessageSize;
        response.DataBlk = request.DataBlk;
    } else if (request.Type == MemoryRequestType::MEMORY_READ) {
        const u64* data = memory_line(x, line, false);
        response.Type = MemoryRequestType::MEMORY_READ;
        response.MessageSize = MessageSizeType::Response_Data;
        if (LIKELY(!offset)) {
            __builtin_memcpy(response.DataBlk.data, data, LINE_BYTES);
        } else {
            __builtin_memcpy(response.DataBlk.data, reinterpret_cast<const u8*>(data) + offset,
                             LINE_BYTES - offset);
        }
    } else if (request.Type == MemoryRequestType::MEMORY_WB) {
        u64* data = memory_line(x, line, true);
        response.Type = MemoryRequestType::MEMORY_WB;
        response.MessageSize = MessageSizeType::Writeback_Control;
        const u8* bytes = reinterpret_cast<const u8*>(request.DataBlk.data);
        if (request.Len && length < line_size) {
            __builtin_memcpy(reinterpret_cast<u8*>(data) + offset, bytes + offset,
                             static_cast<u64>(length));
        } else {
            __builtin_memcpy(data, bytes, static_cast<u64>(line_size));
        }
    } else {
        fail(x, ErrorKind::BAD_MEMORY_REQUEST);
    }
    return response;
}
