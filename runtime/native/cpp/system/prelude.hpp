// Everything that the generated types of a protocol build on, in one place.

#pragma once

#include "block/base.hpp"
#include "block/layout.hpp"
#include "block/errors.hpp"
#include "types/message.hpp"
#include "types/values.hpp"
#include "types/enumerations.hpp"
#include "types/messages.hpp"
#include "block/context.hpp"
#include "types/integers.hpp"
#include "sim/prng.hpp"
#include "block/pools.hpp"
#include "types/atomic_op.hpp"
#include "types/net_dest.hpp"
#include "block/flag_list.hpp"
#include "types/data_block.hpp"
#include "types/functions.hpp"
#include "block/gc_marking.hpp"
#include "structures/chi_tables.hpp"
#include "structures/dvm_slots.hpp"
#include "controller/controller_state.hpp"

// A block with the bytes of the line that begins at an address: structures/main_memory.hpp has it.
inline void DataBlock_take_line(Context& x, DataBlock& block, u64 address);
