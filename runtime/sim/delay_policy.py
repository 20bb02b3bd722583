"""Message delays that deleting a message does not reshuffle: drawn, or scripted.

The delay of a message is a function of the run key, the channel it goes through, its line, and
how many messages of that line went through the channel before. A script lists the few messages
that are delayed. Invariant: nothing else, so a shrunk program keeps the delays of whatever it kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from runtime.prng import GOLDEN, Prng, hash64, hash_name, mix64

if TYPE_CHECKING:
    from runtime.types.message import Message

TABLE_SIZE = 4096

STEP_FACTOR = 1664525
STEP_TERM = 1013904223
MASK32 = 0xFFFFFFFF


def _nominal(prng: Prng) -> NDArray[np.int64]:
    return np.zeros(TABLE_SIZE, dtype=np.int64)


def _uniform(prng: Prng) -> NDArray[np.int64]:
    """0 to 15 cycles, all alike."""
    return prng.below_array(16, TABLE_SIZE)


def _heavy_tail(prng: Prng) -> NDArray[np.int64]:
    """Mostly 0 to 3; every doubling beyond that is half as likely, up to some 500 cycles."""
    exponent = np.zeros(TABLE_SIZE, dtype=np.int64)
    bits = prng.bits64_array(TABLE_SIZE)
    running = np.ones(TABLE_SIZE, dtype=bool)
    for bit in range(7):
        running &= (bits >> np.uint64(bit) & np.uint64(1)) == 1
        exponent += running
    fraction = prng.below_array(4, TABLE_SIZE)
    return ((4 + fraction) << exponent) - 4


def _gem5(prng: Prng) -> NDArray[np.int64]:
    """1 to 4 cycles; one message in eight waits 101 to 115 cycles more."""
    short = 1 + prng.below_array(4, TABLE_SIZE)
    long = 101 + prng.below_array(15, TABLE_SIZE)
    return np.where(prng.below_array(8, TABLE_SIZE) == 0, short + long, short)


def _skewed(prng: Prng) -> NDArray[np.int64]:
    """0 to 3 cycles on top of 0, 5, 20, 80 or 200 that hold for the whole channel."""
    base = (0, 5, 20, 80, 200)[prng.below(5)]
    return base + prng.below_array(4, TABLE_SIZE)


def _stragglers(prng: Prng) -> NDArray[np.int64]:
    """0 to 3 cycles; one message in sixteen is overtaken by everything else: 200 to 711 cycles."""
    short = prng.below_array(4, TABLE_SIZE)
    long = 200 + prng.below_array(512, TABLE_SIZE)
    return np.where(prng.below_array(16, TABLE_SIZE) == 0, long, short)


_TABLES: dict[str, Callable[[Prng], NDArray[np.int64]]] = {
    "nominal": _nominal,
    "uniform": _uniform,
    "heavy_tail": _heavy_tail,
    "gem5": _gem5,
    "skewed": _skewed,
    "stragglers": _stragglers,
}

SCRIPTED: Final = "scripted"
DRAWN_POLICIES = tuple(_TABLES)
POLICY_NAMES = (*DRAWN_POLICIES, SCRIPTED)


class ScriptedDelay(NamedTuple):
    """Cycles that one message is delayed: message number ``message``, from 1, of ``line`` (an
    address) on a channel; of messages without an address, the line is 0."""

    channel: str
    line: int
    message: int
    cycles: int


class Delays(Protocol):
    """The delays of one channel."""

    def next(self, message: Message) -> int:
        """The extra cycles of the next message of that line on this channel."""


class ScriptedChannel:
    """The delays of one channel that a script names; all other messages have none."""

    __slots__ = ("cycles", "line_bits", "sent")

    def __init__(self, script: Iterable[ScriptedDelay], line_bits: int) -> None:
        self.line_bits = line_bits
        self.cycles = {(each.line >> line_bits, each.message): each.cycles for each in script}
        self.sent: dict[int, int] = {}

    def next(self, message: Message) -> int:
        """The extra cycles of the next message of that line on this channel."""
        line = line_number(message, self.line_bits)
        number = self.sent[line] = self.sent.get(line, 0) + 1
        return self.cycles.get((line, number), 0)


def line_number(message: Message, line_bits: int) -> int:
    """The number of the line that a message is about; 0 for those without an address."""
    field = message.LINE_FIELD
    return 0 if field is None else getattr(message, field) >> line_bits


class ChannelDelays:
    """The delays of one channel.

    Every line has a 32-bit state, which starts as a hash of the channel and the line and takes
    one step of a linear congruence per message; its upper 12 bits choose from the table.
    ``scattered``: line -> its part of that hash, shared by the channels of a system.
    """

    __slots__ = ("line_bits", "scattered", "start", "states", "table")

    def __init__(
        self, table: list[int], salt: int, line_bits: int, scattered: dict[int, int]
    ) -> None:
        self.table = table
        self.scattered = scattered
        # hash64(salt, line) up to the line, which is the same for all.
        self.start = mix64(GOLDEN * 3 ^ mix64(salt + GOLDEN))
        self.line_bits = line_bits
        self.states: dict[int, int] = {}

    def next(self, message: Message) -> int:
        """The extra cycles of the next message of that line on this channel."""
        line = line_number(message, self.line_bits)
        states = self.states
        state = states.get(line)
        if state is None:
            state = self.first_state(line)
        states[line] = (state * STEP_FACTOR + STEP_TERM) & MASK32
        return self.table[state >> 20]

    def drawn(self) -> Iterator[tuple[int, int, int]]:
        """Address, number on its line and delay of every message that was delayed so far."""
        for line, end in sorted(self.states.items()):
            state, number = self.first_state(line), 0
            while state != end:
                number += 1
                if self.table[state >> 20]:
                    yield line << self.line_bits, number, self.table[state >> 20]
                state = (state * STEP_FACTOR + STEP_TERM) & MASK32

    def first_state(self, line: int) -> int:
        """The state of a line of which no message came through here yet."""
        scattered = self.scattered.get(line)
        if scattered is None:
            scattered = self.scattered[line] = mix64(line + GOLDEN)
        return mix64(self.start ^ scattered) & MASK32


class DelayPolicy:
    """How delays are drawn in one run; makes the :class:`ChannelDelays` of each channel."""

    def __init__(
        self, name: str, run_key: int, line_bits: int = 6, script: Iterable[ScriptedDelay] = ()
    ) -> None:
        if name not in POLICY_NAMES:
            raise ValueError(f"no delay policy {name!r}; there are {', '.join(POLICY_NAMES)}")
        self.name = name
        self.run_key = run_key
        self.line_bits = line_bits
        self.script: dict[str, list[ScriptedDelay]] = {}
        for delay in script:
            self.script.setdefault(delay.channel, []).append(delay)
        self._scattered: dict[int, int] = {}
        self._drawing: dict[str, ChannelDelays] = {}
        self._scripted: dict[str, ScriptedChannel] = {}

    def channel(self, name: str) -> Delays | None:
        """The delays of the channel of that name; None where every delay is zero."""
        if self.name == SCRIPTED:
            script = self.script.get(name)
            if script is None:
                return None
            scripted = self._scripted[name] = ScriptedChannel(script, self.line_bits)
            return scripted
        if self.name == "nominal":
            return None
        salt = hash64(self.run_key, hash_name(name))
        table = _TABLES[self.name](Prng(salt).fork("delays")).tolist()
        made = ChannelDelays(table, salt, self.line_bits, self._scattered)
        self._drawing[name] = made
        return made

    def sent(self) -> list[ScriptedDelay]:
        """Every message so far on the channels of the script, and how it was delayed."""
        return [
            ScriptedDelay(
                name, line << self.line_bits, number, channel.cycles.get((line, number), 0)
            )
            for name, channel in sorted(self._scripted.items())
            for line, count in sorted(channel.sent.items())
            for number in range(1, count + 1)
        ]

    def drawn(self) -> list[ScriptedDelay]:
        """The script of the same delays, as far as they were drawn; by channel, line, message."""
        return [
            ScriptedDelay(name, *delay)
            for name in sorted(self._drawing)
            for delay in self._drawing[name].drawn()
        ]
