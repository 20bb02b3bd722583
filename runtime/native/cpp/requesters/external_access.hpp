// What an external client keeps about an access: see external_requester.hpp.
//
// Invariant: nothing here depends on a protocol.

#pragma once

#include "block/base.hpp"

struct ClientAccess {
    u64 pending;      // bytes that are still to come, or to be accepted
    u64 uncompleted;  // bytes whose store is not globally performed
    u32 slot;
};
