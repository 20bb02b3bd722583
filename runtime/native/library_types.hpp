// The messages that requesters and memory exchange with every protocol.
//
// Invariant: fields have the names and defaults of runtime/library_types.py; wide ones first.

#pragma once

#include "library_enumerations.hpp"
#include "message.hpp"
#include "values.hpp"

struct RubyRequest : Message {
    static constexpr u16 TYPE = MessageType::RubyRequest;
    u64 LineAddress;
    u64 PhysicalAddress;
    u64 ProgramCounter;
    u64 instSeqNum;
    u64 tlbiTransactionUid;
    u64 pkt;  // whatever the requester wants back
    DataBlock WTData;
    WriteMask writeMask;
    i32 Type;
    i32 AccessMode;
    i32 Size;
    i32 Prefetch;
    i32 contextId;
    i32 wfid;
    i32 htmTransactionUid;
    bool htmFromTransaction;
    bool isTlbi;
    bool isGLCSet;
    bool isSLCSet;
    bool isSecure;
};

struct SequencerMsg : Message {
    static constexpr u16 TYPE = MessageType::SequencerMsg;
    u64 LineAddress;
    u64 PhysicalAddress;
    u64 ProgramCounter;
    DataBlock DataBlk;
    WriteMask writeMask;
    i32 Type;
    i32 AccessMode;
    i32 Len;
    i32 Prefetch;
    i32 MessageSize;
};

struct MemoryMsg : Message {
    static constexpr u16 TYPE = MessageType::MemoryMsg;
    u64 addr;
    DataBlock DataBlk;
    MachineID Sender;
    MachineID OriginalRequestorMachId;
    i32 Type;
    i32 MessageSize;
    i32 Len;
    i32 Prefetch;
    i32 Acks;
    bool ReadX;
    bool isGLCSet;
    bool isSLCSet;
};

// Everything after the Message in front, set to its default.
inline void set_defaults(RubyRequest& m) {
    __builtin_memset(reinterpret_cast<u8*>(&m) + sizeof(Message), 0, sizeof m - sizeof(Message));
    m.Type = RubyRequestType::NULL_;
    m.AccessMode = RubyAccessMode::User;
}

inline void set_defaults(SequencerMsg& m) {
    __builtin_memset(reinterpret_cast<u8*>(&m) + sizeof(Message), 0, sizeof m - sizeof(Message));
    m.Type = SequencerRequestType::NULL_;
    m.AccessMode = RubyAccessMode::User;
    m.MessageSize = MessageSizeType::Request_Control;
}

inline void set_defaults(MemoryMsg& m) {
    __builtin_memset(reinterpret_cast<u8*>(&m) + sizeof(Message), 0, sizeof m - sizeof(Message));
    m.Type = MemoryRequestType::NUM;
    m.Sender = INVALID_MACHINE;
    m.OriginalRequestorMachId = INVALID_MACHINE;
    m.MessageSize = MessageSizeType::NUM;
}
