// What requesters ask of their clients, the agents that issue accesses. An object is compiled with
// one kind of clients; the macros name their headers: SLICC_CLIENT_ACCESS has `struct ClientAccess`,
// SLICC_CLIENTS defines everything that is declared here, and includes system/api.hpp.
//
// In Python, these are methods of Client in runtime/requesters/port.py. Invariant: requesters know
// nothing else about their clients.

#pragma once

#include "block/context.hpp"
#include "types/atomic_op.hpp"

#ifndef SLICC_CLIENTS
#define SLICC_CLIENT_ACCESS "requesters/external_view.hpp"
#define SLICC_CLIENTS "requesters/external_api.hpp"
#endif

#include SLICC_CLIENT_ACCESS

struct Access;

// ---------------------------------------------------------------- about an access

// Of its lanes; they stay where they are until the last answer.
inline const u64* access_addresses(const Context& x, const Access& access);

// Names the addresses among all that `find_lines` is asked for, until `lines_of` is cleared.
inline u64 access_lines_key(const Access& access);

// What a lane stores.
inline void put_value(const Context& x, const Access& access, u32 lane, u8* to);

// What lanes store in the line that begins at address `line`, into its bytes.
inline void put_values(const Context& x, const Access& access, u64 lanes, u64 line, u8* bytes);

// What a lane of an atomic access does.
inline AtomicNode access_operation(const Context& x, const Access& access, u32 lane);

// The lines of a FLUSH or INVALIDATE_L2, once each in the order of their first lanes: calls
// `visit(line index)` until that is false.
template <class Visit>
inline void each_line(Context& x, const Access& access, Visit visit);

// ---------------------------------------------------------------- what clients are notified of

inline void client_wakeup(Context& x, u32 client);
// What was refused may be issued now.
inline void client_retry(Context& x, u32 client);
// `lanes` of the access have been answered from a line, whose bytes these are.
inline void client_loaded(Context& x, Access& access, u64 lanes, u32 line, const u8* bytes);
inline void client_stored(Context& x, Access& access, u64 lanes, u32 line);
inline void client_store_completed(Context& x, Access& access, u64 lanes, u32 line);
// `old` has a value for each lane, in lane order; `values` 0: none was asked for.
inline void client_atomic_done(Context& x, Access& access, u64 lanes, const u64* old, u32 values);
inline void client_synchronized(Context& x, Access& access);
// The protocol reports that the line at an address has left the cache of a requester.
inline void client_line_lost(Context& x, u32 requester, u64 line);
