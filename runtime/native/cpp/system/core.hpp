// The runtime core: all that machines and requesters stand on, in one place. It is included
// after the generated types, whose sizes and fields it needs.

#pragma once

#include "block/line_map.hpp"
#include "sim/engine.hpp"
#include "sim/delay_policy.hpp"
#include "sim/message_buffer.hpp"
#include "network/bus.hpp"
#include "network/network.hpp"
#include "structures/replacement_policy.hpp"
#include "structures/banked_array.hpp"
#include "structures/cache_memory.hpp"
#include "structures/tbe_table.hpp"
#include "structures/directory_memory.hpp"
#include "sim/timer.hpp"
#include "structures/persistent_table.hpp"
#include "structures/dvm_tables.hpp"
#include "structures/prefetcher.hpp"
#include "structures/main_memory.hpp"
#include "controller/trace.hpp"
#include "block/gc.hpp"
#include "system/plan.hpp"
