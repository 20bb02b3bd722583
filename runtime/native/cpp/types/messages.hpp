// The messages that requesters and memory exchange with every protocol.
//
// Invariant: fields have the names and defaults of runtime/types/messages.py; what every port
// looks at comes first, so that it shares a cache line with the Message in front; bytes last.

#pragma once

#include "types/enumerations.hpp"
#include "types/message.hpp"
#include "types/values.hpp"

struct RubyRequest : Message {
    static constexpr u16 TYPE = MessageType::RubyRequest;
    u64 LineAddress;
    u64 instSeqNum;
    i32 Type;
    bool isGLCSet;
    bool isSLCSet;
    bool isSecure;
    bool isTlbi;
    u64 PhysicalAddress;
    u32 ProgramCounter;
    u32 tlbiTransactionUid;
    u32 pkt;  // whatever the requester wants back
    i16 AccessMode;
    i16 Size;
    i16 Prefetch;
    bool htmFromTransaction;
    u8 flags;  // bit i: the i-th field that the author's library adds has not its default
    i32 contextId;
    i32 wfid;
    i32 htmTransactionUid;
    WriteMask writeMask;
    DataBlock WTData;
};

// The largest message of most protocols: three cache lines.
static_assert(LINE_BYTES != 64 || NODE_WORDS != 1 || sizeof(RubyRequest) == 192);

struct SequencerMsg : Message {
    static constexpr u16 TYPE = MessageType::SequencerMsg;
    u64 LineAddress;
    u64 PhysicalAddress;
    i32 Type;
    i32 Len;
    u64 ProgramCounter;
    i32 AccessMode;
    i32 Prefetch;
    i32 MessageSize;
    WriteMask writeMask;
    DataBlock DataBlk;
};

struct MemoryMsg : Message {
    static constexpr u16 TYPE = MessageType::MemoryMsg;
    u64 addr;
    i32 Type;
    i32 Len;
    MachineID Sender;
    MachineID OriginalRequestorMachId;
    i32 MessageSize;
    i32 Prefetch;
    i32 Acks;
    bool ReadX;
    bool isGLCSet;
    bool isSLCSet;
    bool Echoed;  // the answer repeats the data; memory's bytes are the directory's to keep
    DataBlock DataBlk;
};

// Zeros behind the Message in front.
template <class T>
inline void clear_fields(T& message) {
    clear_bytes<sizeof(T) - sizeof(Message)>(reinterpret_cast<u8*>(&message) + sizeof(Message));
}

// Everything after the Message in front, set to its default.
inline void set_defaults(Context&, RubyRequest& m) {
    clear_fields(m);
    m.Type = RubyRequestType::NULL_;
    m.AccessMode = RubyAccessMode::User;
}

inline void set_defaults(Context&, SequencerMsg& m) {
    clear_fields(m);
    m.Type = SequencerRequestType::NULL_;
    m.AccessMode = RubyAccessMode::User;
    m.MessageSize = MessageSizeType::Request_Control;
}

inline void set_defaults(Context&, MemoryMsg& m) {
    clear_fields(m);
    m.Type = MemoryRequestType::NUM;
    m.Sender = INVALID_MACHINE;
    m.OriginalRequestorMachId = INVALID_MACHINE;
    m.MessageSize = MessageSizeType::NUM;
}
