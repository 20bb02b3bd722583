// The runtime core: all that machines and requesters stand on, in one place. It is included
// after the generated types, whose sizes and fields it needs.

#pragma once

#include "lines.hpp"
#include "engine.hpp"
#include "delays.hpp"
#include "message_buffer.hpp"
#include "network.hpp"
#include "replacement.hpp"
#include "banks.hpp"
#include "cache.hpp"
#include "tbe.hpp"
#include "directory.hpp"
#include "timer.hpp"
#include "persistent.hpp"
#include "perfect.hpp"
#include "misc_node.hpp"
#include "prefetch.hpp"
#include "memory.hpp"
#include "trace.hpp"
#include "gc.hpp"
#include "plan.hpp"
