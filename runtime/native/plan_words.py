"""The format of a plan: which words and lists it consists of, in order.

Invariant: `VERSION` changes with any of them; the C++ has their numbers from here
(`runtime.native.shared_numbers`), and `runtime.native.plan` writes no others.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

MAGIC: Final = 0x31564C53
VERSION: Final = 7
NONE: Final = (1 << 64) - 1
"""No tick, no address, no object."""


class HeadWord(IntEnum):
    """How a plan begins; a TypeWord for each machine type follows.

    SCRIPTED: how many messages are delayed by a script; a ScriptWord for each ends the plan.
    """

    MAGIC = 0
    VERSION = 1
    RUN_KEY = 2
    LINE_BITS = 3
    DELAY_POLICY = 4
    MEMORY_LATENCY = 5
    MAX_ROUNDS = 6
    MAX_MESSAGES = 7
    MAX_WORK = 8
    CREDIT = 9
    SCRIPTED = 10
    TYPES = 11


class TypeWord(IntEnum):
    """A machine type; the interleave bit is NONE where lines are not interleaved."""

    COUNT = 0
    FIRST_NODE = 1
    INTERLEAVE_BIT = 2


class SizeWord(IntEnum):
    """How many of each there are; the capacities of pools follow."""

    NODES = 0
    CONTROLLERS = 1
    REQUESTERS = 2
    CONSUMERS = 3
    BUFFERS = 4
    PORTS = 5
    CACHES = 6


class BufferWord(IntEnum):
    """A message buffer."""

    CAPACITY = 0
    ORDERED = 1
    CONSUMER = 2
    DELAY = 3
    STRICT = 4


class PortWord(IntEnum):
    """A network port; its channels, a ChannelWord each, follow.

    BUS: its virtual network + 1 if that is on the bus, else 0. DELAY: of messages to the bus.
    """

    CAPACITY = 0
    ORDERED = 1
    LATENCY = 2
    OWNER = 3
    BUS = 4
    DELAY = 5
    CHANNELS = 6


class ChannelWord(IntEnum):
    """The channel from a port to the buffer of one node."""

    NODE = 0
    BUFFER = 1
    DELAY = 2


class ScriptWord(IntEnum):
    """A message that is delayed. CHANNEL: hash of its name; LINE: an address; in ascending order
    of channel, line and message, which counts from 1."""

    CHANNEL = 0
    LINE = 1
    MESSAGE = 2
    CYCLES = 3


class CacheWord(IntEnum):
    """A cache of a controller."""

    CONTROLLER = 0
    SETS = 1
    WAYS = 2
    START_INDEX_BIT = 3
    REPLACEMENT = 4
    RESOURCE_STALLS = 5
    TAG_LATENCY = 6
    DATA_LATENCY = 7
    TAG_BANKS = 8
    DATA_BANKS = 9
    ALUS = 10
    ALU_LATENCY = 11


class ControllerWord(IntEnum):
    """A controller; its lists (ControllerList) follow, each behind its length."""

    MACHINE = 0
    MACHINE_VERSION = 1
    MACHINE_TYPE = 2
    CLUSTER = 3
    TRANSITIONS_PER_CYCLE = 4
    TRANSITIONS_PER_TICK = 5
    RECYCLE_LATENCY = 6
    NUMBER_OF_TBES = 7
    MANDATORY_LATENCY = 8
    BUFFER_SIZE = 9
    MEMORY = 10
    MANDATORY_QUEUE = 11
    MEMORY_REQUEST = 12
    MEMORY_RESPONSE = 13
    ARRAYS = 14


class ControllerList(IntEnum):
    """Lists of a controller."""

    DOWNSTREAM = 0
    UPSTREAM = 1
    PARAMETERS = 2
    OBJECTS = 3


class RequesterKind(IntEnum):
    """Classes of requesters."""

    SEQUENCER = 0
    COALESCER = 1
    DMA = 2


class RequesterWord(IntEnum):
    """A requester; its lists (RequesterList) follow, each behind its length."""

    KIND = 0
    CONTROLLER = 1
    QUEUE = 2
    LANES = 3
    WALK = 4
    FETCH = 5
    OUTSTANDING = 6
    TOKENS = 7
    COALESCES_PER_CYCLE = 8
    ONE_REQUEST_PER_LANE = 9
    CONTEXT = 10
    ATOMICS = 11
    ACQUIRE_FLAGS = 12
    RELEASE_FLAGS = 13


class RequesterList(IntEnum):
    """Lists of a requester."""

    CACHES = 0
    LINKED = 1
