"""The native search: what tester/native/cpp/exploration/api.hpp offers, for Python.

Invariant: enumerations and structures of numbers have the order of the header's; a search is closed
once and not used afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from protocols.loader import LoadedProtocol
from runtime.native.build import UNIT, Recipe, Sizes, headers_digest
from runtime.native.ctypes_api import LibraryError, SharedObject
from runtime.native.system import ChoiceKind, ErrorWord, StepWord
from runtime.native.toolchain.compiler import ToolchainError, find_compiler
from runtime.native.toolchain.object_cache import CacheError, user_cache
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.exploration import operations
from tester.exploration.invariants.language import Invariant
from tester.exploration.native_words import (
    MOST_CHOICES,
    MOST_CODE,
    MOST_STEPS,
    NOT_JUDGED,
    THREAD_REGISTERS,
    ChoiceWord,
    ConfigWord,
    FindingKind,
    SearchEnd,
    StatWord,
    WalkFault,
)
from tester.exploration.small_system import FIRST_ADDRESS, LINE_BYTES, SmallSystem

_U64 = ctypes.c_uint64
_I64 = ctypes.c_int64
_POINTER = ctypes.c_void_p
_ROOT: Final = Path(__file__).parents[1] / "native" / "cpp"
_FUNCTIONS: Final = {
    "explore_open": (_POINTER, (_POINTER, _U64, _POINTER)),
    "explore_script": (_U64, (_POINTER, _POINTER)),
    "explore_outcomes": (_U64, (_POINTER, _POINTER, _POINTER, _U64)),
    "explore_close": (None, (_POINTER,)),
    "explore_run": (_I64, (_POINTER, _U64, _POINTER)),
    "explore_help": (None, (_POINTER, _POINTER)),
    "explore_work": (_I64, (_POINTER, _U64)),
    "explore_level": (_I64, (_POINTER, _POINTER, _U64, _U64, _POINTER)),
    "explore_stuck": (_I64, (_POINTER,)),
    "explore_first_stuck": (_I64, (_POINTER, _POINTER, _POINTER, _U64, _U64)),
    "explore_refusal": (ctypes.c_char_p, (_POINTER,)),
    "explore_found": (None, (_POINTER, _POINTER)),
    "explore_way": (_U64, (_POINTER, _U64, _POINTER, _U64)),
    "explore_concrete": (_U64, (_POINTER, _POINTER, _U64, _POINTER)),
    "explore_hits": (_U64, (_POINTER, _POINTER, _POINTER, _U64)),
    "explore_first_cell": (_U64, (_POINTER, _U64)),
    "explore_restart": (None, (_POINTER,)),
    "explore_choices": (_U64, (_POINTER, _POINTER, _U64)),
    "explore_apply": (_U64, (_POINTER, _U64, _POINTER, _U64, _POINTER)),
    "explore_rest": (_U64, (_POINTER,)),
    "explore_code": (_U64, (_POINTER, _POINTER, _U64, _POINTER)),
    "explore_judgement": (None, (_POINTER, _POINTER)),
    "explore_random_walk": (_U64, (_POINTER, _U64, _U64, _POINTER)),
}
_UNKNOWN: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SearchStatistics:
    """``StatWord``. ``withheld``: states in which the bound kept agents from beginning anything."""

    states: int
    steps: int
    depth: int
    waiting: int
    code_bytes: int
    bytes: int
    under_way: int
    withheld: int
    frontier: int
    state: int
    region_bytes: int
    visited_bytes: int
    made: int
    """Steps that were made: all, but for those that commute with others."""


@dataclass(frozen=True, slots=True)
class Choice:
    """``ChoiceWord``. ``type``: of a message; ``line``: of it, or of an alarm; ``target``: where a
    message arrives, or whose alarm it is. None elsewhere, and for what a bus carries."""

    packed: int
    kind: ChoiceKind
    what: int
    which: int
    where: int
    type: int | None
    line: int | None
    target: int | None


@dataclass(frozen=True, slots=True)
class FoundAt:
    """``choice`` None: nothing was under way in the state."""

    kind: FindingKind
    state: int
    choice: int | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found last. ``error``: by `ErrorWord`; None: not known."""

    agent: int | None
    where: int | None
    value: int
    error: dict[ErrorWord, int | None]


@dataclass(frozen=True, slots=True)
class Rules:
    """How a system is searched, apart from what it is."""

    bound: int = 0
    """Messages under way beyond which no agent begins anything; 0: none."""
    most_states: int = 1 << 31
    wide: bool = False
    """Fingerprints of 128 bits instead of 64."""
    to_rest: bool = False
    """A controller that moves continues until it has nothing left."""
    eager_memory: bool = False
    """Requests reach memory at once."""
    local_steps: bool = True
    """What commutes with every other step happens at once: see `SmallSystem.served_in_order`, and
    messages whose delivery changes nothing, whenever it happens."""
    commuting_steps: bool = True
    """Steps that commute are made in one order only."""
    invariants: tuple[Invariant, ...] = ()
    """Of the author, besides what is always judged."""
    most_edges: int = 1 << 24
    """Steps that are kept, to judge in the end whether requests can always be completed; where
    more would have to be, that is not judged."""


def build(protocol: LoadedProtocol) -> SharedObject:
    """The object that explores a protocol, compiled if need be. Raises ConfigError."""
    assert protocol.native is not None
    defines: dict[str, int | str] = {
        **Sizes(LINE_BYTES, 1).defines(),
        "SLICC_CLIENT_ACCESS": '"exploration/agents/access.hpp"',
        "SLICC_CLIENTS": '"exploration/api.hpp"',
        "SLICC_UNTIMED": 1,
    }
    try:
        recipe = Recipe(
            protocol.native.files,
            UNIT,
            find_compiler(),
            defines,
            headers_digest(_ROOT),
            include_roots=(_ROOT,),
        )
        return SharedObject(recipe.make(user_cache()), "slicc_", _FUNCTIONS)
    except (ToolchainError, CacheError, LibraryError) as error:
        raise ConfigError(f"exploration needs native code: {error}") from None


def _config(system: SmallSystem, rules: Rules) -> npt.NDArray[np.uint64]:
    bounds = system.bounds
    at_once = rules.eager_memory or (rules.local_steps and system.served_in_order)
    eager = system.to_memory if at_once else frozenset[int]()
    head = {
        ConfigWord.BASE: FIRST_ADDRESS,
        ConfigWord.LINES: bounds.lines,
        ConfigWord.DATA: bounds.locations,
        ConfigWord.WORD: system.counts_words,
        ConfigWord.INCREMENTS: bounds.increments,
        ConfigWord.BOUND: rules.bound,
        ConfigWord.MOST_STATES: rules.most_states,
        ConfigWord.MOST_EDGES: rules.most_edges,
        ConfigWord.WIDE: rules.wide,
        ConfigWord.TO_REST: rules.to_rest,
        ConfigWord.SPENT: rules.local_steps,
        ConfigWord.COMMUTING: rules.commuting_steps,
        ConfigWord.PRIVATE: _bits(system.private)[0],
        ConfigWord.COMPARES: system.compares,
        ConfigWord.INVARIANTS: len(rules.invariants),
        ConfigWord.AGENTS: len(system.agents),
        ConfigWord.OPERATIONS: len(operations.OPERATIONS),
        ConfigWord.RENAMINGS: len(system.renamings),
    }
    words: list[int] = [0] * ConfigWord.WORDS
    for word, value in head.items():
        words[word] = value
    words[ConfigWord.ORDERED : ConfigWord.EAGER] = _bits(system.ordered)
    words[ConfigWord.EAGER : ConfigWord.PROMPT] = _bits(eager)
    words[ConfigWord.PROMPT : ConfigWord.WORDS] = _bits(system.prompt)
    for each in operations.OPERATIONS:
        words += [each.kind, each.scope, each.target]
    for agent in system.agents:
        words += [agent.requester, operations.numbers(agent.operations), agent.relaxed]
    for renaming in system.renamings:
        words += renaming
    for invariant in rules.invariants:
        words += [len(invariant.words), *invariant.words]
    return np.array(words, np.uint64)


def _bits(numbers: frozenset[int]) -> list[int]:
    words = [0] * 4
    for number in numbers:
        words[number >> 6] |= 1 << (number & 63)
    return words


class NativeSearch:
    """A search at its first state. Raises ConfigError if the system is too large for it."""

    def __init__(self, library: SharedObject, system: SmallSystem, rules: Rules) -> None:
        self._library = library
        self._config = _config(system, rules)
        self._handle: Any = library.explore_open(
            system.plan.ctypes.data, len(system.plan), self._config.ctypes.data
        )
        if not self._handle:
            raise ConfigError(
                f"the system is too large to explore: {len(system.controllers)} controllers, "
                f"{len(system.buffers)} buffers, {len(system.agents)} agents"
            )
        self._steps = np.zeros((MOST_STEPS, len(StepWord)), np.uint64)

    def __enter__(self) -> NativeSearch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._handle:
            self._library.explore_close(self._handle)
            self._handle = None

    # ------------------------------------------------------------------ scripts

    def follow_script(self, words: Sequence[int]) -> bool:
        """Let agents do what the words of `tester.litmus.script` say. Before `run`."""
        given = np.array(words, np.uint64)
        return bool(self._library.explore_script(self._handle, given.ctypes.data))

    def outcomes(self) -> list[tuple[tuple[int, ...], int]]:
        """What registers held at the end of all programs, and a state."""
        count = self._library.explore_outcomes(self._handle, None, None, 0)
        registers = np.zeros((count, THREAD_REGISTERS), np.uint64)
        states = np.zeros(count, np.uint32)
        self._library.explore_outcomes(
            self._handle, registers.ctypes.data, states.ctypes.data, count
        )
        return [(tuple(row), state) for row, state in zip(registers.tolist(), states.tolist())]

    # ------------------------------------------------------------------ searching

    def run(self, budget: int) -> tuple[SearchEnd, SearchStatistics]:
        """Expand at most so many states."""
        out = np.zeros(len(StatWord), np.uint64)
        end = SearchEnd(self._library.explore_run(self._handle, budget, out.ctypes.data))
        return end, SearchStatistics(*map(int, out))

    def help(self, leader: NativeSearch) -> None:
        """Work on that one's levels from now on. The search has not run yet."""
        self._library.explore_help(self._handle, leader._handle)

    def work(self, budget: int) -> SearchEnd:
        """Expand at most so many states of the leader's level; in a thread. COMPLETE: none of the
        level is left."""
        return SearchEnd(self._library.explore_work(self._handle, budget))

    def level(
        self, helpers: Sequence[NativeSearch], *, complete: bool
    ) -> tuple[SearchEnd, SearchStatistics]:
        """Take what helpers found, and begin the next level if this one is ``complete``. No thread
        works meanwhile."""
        handles = np.array([helper._handle for helper in helpers], np.uint64)
        out = np.zeros(len(StatWord), np.uint64)
        end = self._library.explore_level(
            self._handle, handles.ctypes.data, len(helpers), complete, out.ctypes.data
        )
        return SearchEnd(end), SearchStatistics(*map(int, out))

    def stuck(self) -> tuple[bool, int | None]:
        """Whether it could be judged in which states requests are outstanding of which no run from
        there completes any before another one is begun, and the first of them. Of a search that
        has ended, and once."""
        state = self._library.explore_stuck(self._handle)
        return state != NOT_JUDGED, state if state >= 0 else None

    def refusal(self) -> str:
        """Why a state could not be written; empty if none was refused."""
        text: Any = self._library.explore_refusal(self._handle)
        return "" if text is None else str(text.decode())

    def found(self) -> FoundAt:
        out = np.zeros(4, np.uint64)
        self._library.explore_found(self._handle, out.ctypes.data)
        kind, state, choice, at_rest = map(int, out)
        return FoundAt(FindingKind(kind), state, None if at_rest else choice)

    def way_to(self, state: int, choice: int | None = None) -> list[int]:
        """The choices of a shortest way to a state, and one more."""
        count = self._library.explore_way(self._handle, state, None, 0)
        ways = np.zeros(count + 1, np.uint16)
        self._library.explore_way(self._handle, state, ways.ctypes.data, count)
        found: list[int] = ways[:count][::-1].tolist()
        return found if choice is None else [*found, choice]

    def concrete(self, ways: Sequence[int]) -> list[int]:
        """A way in the numbers of one system that is followed from the start: reductions give
        choices other ones."""
        given = np.array(ways, np.uint16)
        out = np.zeros(len(ways), np.uint16)
        count = self._library.explore_concrete(
            self._handle, given.ctypes.data, len(ways), out.ctypes.data
        )
        found: list[int] = out[:count].tolist()
        return found

    def hits(self) -> list[tuple[int, int] | None]:
        """By cell of all controllers: state and choice that hit it first."""
        count = self._library.explore_hits(self._handle, None, None, 0)
        states = np.zeros(count, np.uint32)
        choices = np.zeros(count, np.uint16)
        self._library.explore_hits(self._handle, states.ctypes.data, choices.ctypes.data, count)
        return [
            (state - 1, choice) if state else None
            for state, choice in zip(states.tolist(), choices.tolist(), strict=True)
        ]

    def first_cell(self, controller: int) -> int:
        return self._library.explore_first_cell(self._handle, controller)

    # ------------------------------------------------------------------ one state at a time

    def restart(self) -> None:
        self._library.explore_restart(self._handle)

    def choices(self) -> list[Choice]:
        out = np.zeros((MOST_CHOICES, len(ChoiceWord)), np.uint64)
        count = self._library.explore_choices(self._handle, out.ctypes.data, MOST_CHOICES)
        return [_choice(row) for row in out[:count].tolist()]

    def apply(self, packed: int) -> tuple[FindingKind, npt.NDArray[np.uint64]]:
        """What was found, and a row for each transition: see StepWord."""
        written = np.zeros(1, np.uint64)
        kind = self._library.explore_apply(
            self._handle, packed, self._steps.ctypes.data, MOST_STEPS, written.ctypes.data
        )
        return FindingKind(kind), self._steps[: int(written[0])].copy()

    def rest(self) -> FindingKind:
        """What is wrong with the state as it stands, if nothing is under way."""
        return FindingKind(self._library.explore_rest(self._handle))

    def code(self) -> bytes:
        """The state as it stands."""
        out = np.zeros(MOST_CODE, np.uint8)
        renaming = np.zeros(1, np.uint64)
        count = self._library.explore_code(
            self._handle, out.ctypes.data, MOST_CODE, renaming.ctypes.data
        )
        return out[:count].tobytes()

    def judgement(self) -> Judgement:
        out = np.zeros(3 + len(ErrorWord), np.uint64)
        self._library.explore_judgement(self._handle, out.ctypes.data)
        agent, where, value, *error = map(int, out)
        known = {word: _known(error[word]) for word in ErrorWord}
        none = 0xFFFF_FFFF
        return Judgement(
            None if agent == none else agent, None if where == none else where, value, known
        )

    def random_walk(self, seed: int, steps: int) -> tuple[WalkFault, int, int]:
        """A check of our own: how it ended, states compared, and where memory was forgotten."""
        out = np.zeros(3, np.uint64)
        fault = self._library.explore_random_walk(self._handle, seed, steps, out.ctypes.data)
        return WalkFault(fault), int(out[1]), int(out[2])


def _known(word: int) -> int | None:
    return None if word == _UNKNOWN else word


def _choice(row: list[int]) -> Choice:
    packed, kind, what, which, where, type_, line, target = row
    return Choice(
        packed, ChoiceKind(kind), what, which, where, _known(type_), _known(line), _known(target)
    )
