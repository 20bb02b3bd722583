// Everything that the generated types of a protocol build on, in one place.

#pragma once

#include "base.hpp"
#include "layout.hpp"
#include "errors.hpp"
#include "message.hpp"
#include "values.hpp"
#include "library_enumerations.hpp"
#include "library_types.hpp"
#include "context.hpp"
#include "integers.hpp"
#include "prng.hpp"
#include "pools.hpp"
#include "atomics.hpp"
#include "value_sets.hpp"
#include "flags.hpp"
#include "value_blocks.hpp"
#include "library_functions.hpp"
#include "marking.hpp"
#include "transactions.hpp"
#include "partitions.hpp"
#include "controller_state.hpp"
