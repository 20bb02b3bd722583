// What an agent of an exploration keeps about an access.
//
// Invariant: agent and slot name an access among all that can be outstanding, whatever place of a
// pool it has.

#pragma once

#include "block/layout.hpp"

struct PlanView;

struct ClientAccess {
    u8 agent;
    u8 slot;   // 0, or 1 + the location that is stored to
    u8 op;     // among the operations of the exploration
    u8 where;  // location, or line
};

// Agents have nothing in the block but their accesses.
struct ClientParts {
    void layout(Layout&, const Capacities&, const PlanView&) {}
    void unset_layout(Layout&, const Capacities&, const PlanView&) {}
};
