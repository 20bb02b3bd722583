// What the host may call in objects for external clients, besides system/api.hpp;
// runtime/native/external_requester.py calls it.

#pragma once

#include "requesters/external_requester.hpp"
#include "system/api.hpp"

// Add a client of a requester, which `slicc_run_external` gives requests. Returns its number; -1: no room.
SLICC_API i64 slicc_add_external(void* block, u32 requester) {
    Context x = context_of(block);
    return External_add(x, requester);
}

// Give clients their requests, to be issued at tick `when`, and run to the end of the first tick with
// answers, no later than `until`.
SLICC_API i64 slicc_run_external(void* block, ExternalView* view, u64 when, u64 until) {
    Context x = context_with(block, view);
    view->answered = 0;
    for (u64 i = 0; i < view->given_count; ++i) External_give(x, view->given[i], when);
    const i64 status = run_status(x, until);
    view->now = now(x);
    view->next = next_tick(x);
    return status;
}
