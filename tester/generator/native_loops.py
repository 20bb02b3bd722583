"""The generator as compiled code, for runs whose engine is compiled as well.

Generating with numpy takes a few percent of a run on the Python engine, and more than the run
itself on the native one. Invariant: with native loops or without, a program is the same byte for
byte; what they compute and why is described at the array versions (`tester.generator.generator` and
what it is made of, `tester.program.expectations`, `tester.program.store_values`).

Records have the fields of the C++ structs of the same name, all of 8 bytes. Arrays are passed by
address: each is contiguous, of the type that the C++ side declares, and kept alive over the call
by the caller. Compiled code works in a room, which it may find too small; the call is made
again with a larger one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import IntEnum
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.native.build import Recipe
from runtime.native.ctypes_api import LibraryError
from runtime.native.toolchain.compiler import Compiler
from tester.arrays import ByteArray, IntArray
from tester.program.program import Program

_SOURCES: Final = Path(__file__).parents[1] / "native" / "cpp" / "generator"
_UNIT: Final = "native_loops.cpp"
VERSION: Final = 9
_ROOM: Final = 1 << 22
"""Bytes to work in, at first."""
_REMEMBERED: Final = 64
_HISTORY: Final = 8

_WORD: Final = ctypes.c_int64
_KEY: Final = ctypes.c_uint64
_POINTER: Final = ctypes.c_void_p


class Drawn(IntEnum):
    """What a call has come to."""

    DRAWN = 0
    TOO_LITTLE_ROOM = 1
    IMPOSSIBLE = 2
    """There is no such map."""


def _record(name: str, **fields: Any) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


def _words(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _WORD)


def _pointers(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _POINTER)


MapSettings: Final = _record(
    "MapSettings",
    **_words("groups locations lines fill_percent cluster_bytes layout stride_lines sets"),
    **_words("line_size smallest largest memory_bytes"),
)
Settings: Final = _record(
    "Settings",
    **_words("load_low load_high size_1 size_2 size_4 size_8 lane_percent shared_group_percent"),
    **_words("pattern_percent repeat_percent hot_percent hot_cells scope_percent"),
    **_words("atomic_scope_percent quiet_percent atomic_percent bare_percent plain_percent"),
    **_words("instruction_percent unaligned_percent flush_percent peek_percent"),
    **_words("peek_bypass_percent chase_percent slack_percent tight_percent"),
    **_words("stream_percent"),
)
_Map: Final = _record(
    "AddressMap",
    **_words("lines locations"),
    **_pointers("line location_address location_size group_first reach group_word line_start"),
)
_Carried: Final = _record("Carried", **_pointers("ordinal start claim"))
_Known: Final = _record(
    "Known",
    **_words("lines line_size"),
    line=_POINTER,
    agents=_WORD,
    run_key=_KEY,
    values_key=_KEY,
    **_pointers("memory history stored complete clocks come"),
    loads=_WORD,
    **_pointers("loaded loaded_number"),
)
_Room: Final = _record("Room", base=_POINTER, size=_WORD, used=_WORD)
_Rows: Final = _record(
    "Rows",
    rows=_WORD,
    **_pointers("episode_thread first_row group episode_scope kind size scope op"),
    **_pointers("address value expected wait_first wait_thread"),
    waits=_WORD,
)
Drawing: Final = _record(
    "Drawing",
    key=_KEY,
    map_settings=MapSettings,
    settings=Settings,
    **_words("agents lanes isolation_groups"),
    agent=_POINTER,
    lengths=_WORD,
    length=_POINTER,
    map=_Map,
    carried=_Carried,
    known=_Known,
    **_words("episodes fresh more"),
    room=_Room,
    result=_Rows,
)
_Derived: Final = _record(
    "Derived",
    **_words("episodes lanes"),
    **_pointers("episode_thread first_row kind size op identity address value expected"),
    waits=_WORD,
    **_pointers("wait_first wait_thread wait_count"),
)
_Observation: Final = _record(
    "Observation", known=_Known, derived=_Derived, **_words("fresh more"), room=_Room
)


def loops_recipe(compiler: Compiler) -> Recipe:
    """How the loops are compiled. Raises OSError if their sources are not installed."""
    files = {
        path.name: path.read_text(encoding="utf-8")
        for path in _SOURCES.iterdir()
        if path.suffix in (".hpp", ".cpp")
    }
    return Recipe(files, _UNIT, compiler)


def load_loops(path: Path) -> CompiledLoops:
    """From their object. Raises LibraryError."""
    try:
        return CompiledLoops(ctypes.CDLL(str(path)))
    except (OSError, ValueError) as error:
        raise LibraryError(str(error)) from None


class CompiledLoops:
    """The compiled functions of one loaded library. Raises ValueError for another library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        try:
            version = library.tester_loops_version
        except AttributeError:
            raise ValueError("the library does not hold the generator's native loops") from None
        version.restype = _WORD
        if version() != VERSION:
            raise ValueError(
                f"the generator's native loops are of version {version()}, not {VERSION}"
            )
        self.library: Final = library
        self.draw_map, self.draw_chunk, self.observe = (
            _function(library, name)
            for name in ("tester_draw_map", "tester_draw_chunk", "tester_observe")
        )
        self._rooms: list[ByteArray] = []
        """Those that nothing works in; their pages are there already."""

    def room(self) -> ByteArray:
        """A room to work in, to be handed back by `vacate`."""
        return self._rooms.pop() if self._rooms else np.empty(_ROOM, np.uint8)

    def vacate(self, room: ByteArray) -> None:
        """Take a room back, of which nothing is needed any more."""
        self._rooms.append(room)


def _function(library: ctypes.CDLL, name: str) -> Callable[[int], int]:
    function = getattr(library, name)
    function.restype = _WORD
    function.argtypes = [_POINTER]
    called: Callable[[int], int] = function
    return called


def work(function: Callable[[int], int], record: Any, room: ByteArray, begin: int = 0) -> ByteArray:
    """Call a function whose record has a room: this one from `begin` on, or a larger one. Returns
    the room that sufficed. Raises ImpossibleMap."""
    while True:
        record.room = _Room(address(room) + begin, room.size - begin, 0)
        status = function(ctypes.addressof(record))
        if status == Drawn.DRAWN:
            return room
        if status == Drawn.IMPOSSIBLE:
            raise ImpossibleMap
        room, begin = np.empty(2 * (record.room.used + _ROOM), np.uint8), 0


class ImpossibleMap(Exception):
    """No map is as its configuration wants it."""


def addresses(arrays: Iterable[npt.NDArray[Any]]) -> list[int]:
    """The addresses of arrays; see `address`."""
    return [address(array) for array in arrays]


def address(values: npt.NDArray[Any]) -> int:
    """The address of the very array, which must be contiguous."""
    assert values.flags.c_contiguous
    place: int = values.__array_interface__["data"][0]
    return place


class Knowledge:
    """What is known of memory and agents after some episodes: the compiled code's
    `tester.program.expectations.ExpectationState` and `tester.program.store_values.Versions`."""

    def __init__(
        self, lines: IntArray, line_size: int, run_key: int, values_key: int, agents: int
    ) -> None:
        size = len(lines) * line_size
        words = [
            agents,
            len(lines),
            -(-size // 8),
            size * _HISTORY // 8,
            size,
            agents * agents,
            agents * _REMEMBERED * agents,
        ]
        self._words = np.empty(sum(words), np.int64)
        self.come: IntArray = self._words[:agents]
        """[T] episodes so far."""
        self.come[:] = 0
        self._words[agents : agents + len(lines)] = lines
        come = address(self._words)
        line, *state = (come + 8 * words for words in accumulate(words[:-1]))
        self.record = _Known(
            len(lines), line_size, line, agents, run_key, values_key, *state, come, 0, None, None
        )
        self._loads: list[IntArray] = []

    def keep_loads(self) -> None:
        """Copy the loads that compiled code has noted in its room."""
        known = self.record
        places = known.loaded, known.loaded_number
        self._loads = [words_at(place, known.loads) for place in places]
        known.loaded, known.loaded_number = addresses(self._loads)


def words_at(place: int | None, count: int) -> IntArray:
    """A copy of words that compiled code has written."""
    if not count or place is None:
        return np.zeros(0, np.int64)
    return np.frombuffer(ctypes.string_at(place, 8 * count), np.int64)


def observe(
    loops: CompiledLoops,
    program: Program,
    identity: IntArray,
    knowledge: Knowledge,
    fresh: bool,
    more: bool,
) -> Program:
    """With values and the derived arrays: the next episodes, whose accesses are known.

    `identity`: [A] names of the accesses of lane 0. `fresh`: they are the first ones; `more`:
    others will follow.
    """
    episodes, waits = program.episodes, program.episodes * program.agent_count
    values, expected = (np.zeros(program.lane_address.shape, np.uint64) for _ in range(2))
    first = np.empty(episodes + 1, np.int64)
    thread, count = (np.empty(waits, np.int32) for _ in range(2))
    passed = (
        program.episode_thread,
        program.episode_first_action,
        program.action_kind,
        program.action_size,
        program.action_op,
        np.ascontiguousarray(identity),
        program.lane_address,
        values,
        expected,
    )
    derived = _Derived(
        episodes,
        program.lanes,
        *addresses(passed),
        0,
        *addresses((first, thread, count)),
    )
    record = _Observation(knowledge.record, derived, fresh, more, _Room())
    room = work(loops.observe, record, loops.room())
    knowledge.record = record.known
    if more:
        knowledge.keep_loads()
    loops.vacate(room)
    kept = record.derived.waits
    return replace(
        program,
        derived=True,
        store_value=values,
        expected=expected,
        wait_first=first,
        wait_thread=thread[:kept].copy(),
        wait_count=count[:kept].copy(),
        wait_kind=np.zeros(kept, np.uint8),
    )
