"""Numbers that `tester.exploration.native_search` and the native search say to each other.

Invariant: each is declared here and nowhere else; `tester.exploration.shared_numbers` writes them
as C++.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

MOST_CHOICES: Final = 512
"""Of a state."""
MOST_STEPS: Final = 256
"""Transitions of one step that are noted."""
MOST_CODE: Final = 8192
"""Bytes of a state's code."""
THREAD_AGENTS: Final = 8
THREAD_STEPS: Final = 16
THREAD_REGISTERS: Final = 32
BEFOREHAND: Final = 8
"""In the place of a choice: what an agent does before its program."""
NONE_STUCK: Final = -1
NOT_JUDGED: Final = -2


class SearchEnd(IntEnum):
    """FULL: as many states as are allowed; REFUSED: a state that cannot be written."""

    CONTINUES = 0
    COMPLETE = 1
    FOUND = 2
    FULL = 3
    MEMORY = 4
    REFUSED = 5


class FindingKind(IntEnum):
    """VALUE: of a load; OLD_VALUE: of a fetch-add; INVARIANT: of the author."""

    NOTHING = 0
    ERROR = 1
    """What the protocol did is one on the timed engines, too."""
    VALUE = 2
    OLD_VALUE = 3
    DEADLOCK = 4
    LEAK = 5
    TWO_WRITERS = 6
    INVARIANT = 7
    NO_END = 8
    """Steps that never come to rest."""
    NO_COMPLETION = 9
    """Found when all steps are known."""


class WalkFault(IntEnum):
    """What a random walk found."""

    SAME = 0
    CODES = 1
    """Reading a code and writing the state again gives another one."""
    FOLLOWERS = 2
    """Other states follow from the state that was read."""
    FORGOTTEN = 3
    """Something outside of what is restored has changed."""
    MEMORY = 4


class ChoiceWord(IntEnum):
    """TYPE: of the message that arrives; LINE: of that, or of an alarm; TARGET: of either."""

    PACKED = 0
    KIND = 1
    WHAT = 2
    WHICH = 3
    WHERE = 4
    TYPE = 5
    LINE = 6
    TARGET = 7


class StatWord(IntEnum):
    """What a search has done so far. WITHHELD: states in which the bound forbade beginnings."""

    STATES = 0
    STEPS = 1
    DEPTH = 2
    WAITING = 3
    CODE_BYTES = 4
    BYTES = 5
    UNDER_WAY = 6
    WITHHELD = 7
    FRONTIER = 8
    STATE = 9
    REGION_BYTES = 10
    VISITED_BYTES = 11
    MADE = 12
    """Steps that were made; the others commute with some of these."""


class ConfigWord(IntEnum):
    """A system and how it is searched; ORDERED, EAGER, PROMPT: four words each, a bit a buffer."""

    BASE = 0
    """Address of the first line."""
    LINES = 1
    DATA = 2
    """Locations of a line."""
    WORD = 3
    """Whether its last location counts increments."""
    INCREMENTS = 4
    """Of an agent and word."""
    BOUND = 5
    MOST_STATES = 6
    MOST_EDGES = 7
    """Steps that are kept, for what is judged when all are known."""
    WIDE = 8
    """Fingerprints of 128 bits."""
    TO_REST = 9
    SPENT = 10
    """Whether spent messages are removed."""
    COMMUTING = 11
    """Whether steps that commute are made in one order only."""
    PRIVATE = 12
    """Controllers with private caches, a bit each."""
    COMPARES = 13
    """Whether data are asserted to be equal."""
    INVARIANTS = 14
    AGENTS = 15
    OPERATIONS = 16
    RENAMINGS = 17
    ORDERED = 18
    EAGER = 22
    PROMPT = 26
    WORDS = 30
    """How many there are."""


class ThreadWord(IntEnum):
    """The head of a script."""

    PREPARES = 0
    REGISTER_COUNT = 1


class ActionWord(IntEnum):
    """What a thread does. OFFSET: of its first byte in all lines; WAY: of an atomic operation."""

    OPERATION = 0
    WHERE = 1
    """The location that the first byte lies in."""
    OFFSET = 2
    SIZE = 3
    """Bytes."""
    VALUE = 4
    """That is stored, or the operand."""
    REGISTER = 5
    OVERLAP = 6
    WAY = 7
    COMPARE = 8
