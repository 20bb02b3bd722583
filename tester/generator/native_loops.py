"""The generator's inner loops as compiled code, for runs whose engine is compiled as well.

Generating with numpy takes a few percent of a run on the Python engine, and more than the run
itself on the native one. Invariant: with native loops or without, a program is the same byte for
byte; what they compute and why is described at the array versions (`tester.generator.reservation`,
`tester.program.expectations`, `tester.program.store_values`).

Arrays are passed by address: each is contiguous, of the type that the C++ side declares, and kept
alive over the call by the caller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.native.build import Recipe
from runtime.native.ctypes_api import LibraryError
from runtime.native.toolchain.compiler import Compiler
from tester.arrays import BoolArray, ByteArray, IntArray, WordArray
from tester.program.byte_events import ATTEMPTS
from tester.program.program import ATOMIC, INACTIVE, Program

if TYPE_CHECKING:
    from tester.generator.cell_requests import CellRequests
    from tester.generator.config import GeneratorConfig
    from tester.program.address_map import AddressMap
    from tester.program.byte_events import ByteEvents

_SOURCES: Final = Path(__file__).parents[1] / "native" / "cpp" / "generator"
_UNIT: Final = "native_loops.cpp"
VERSION: Final = 3
"""How often a stored byte is drawn again before the array version has to do it."""

_WORD: Final = ctypes.c_int64
_KEY: Final = ctypes.c_uint64
_POINTER: Final = ctypes.c_void_p


def _record(name: str, **fields: Any) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


_Owners = _record("Owners", key=_POINTER, flags=_POINTER)
_Reservation = _record(
    "Reservation",
    picks=_WORD,
    identity=_POINTER,
    episode=_POINTER,
    lane=_POINTER,
    first_cell=_POINTER,
    choices=_POINTER,
    index=_POINTER,
    is_store=_POINTER,
    live=_WORD,
    origin=_WORD,
    start=_POINTER,
    hold=_POINTER,
    cells=_WORD,
    first_share=_WORD,
    keys=_POINTER,
    owners=_WORD,
    held=_Owners,
    cell=_POINTER,
    tried=_POINTER,
    pending=_POINTER,
    wanted=_POINTER,
    asking=_POINTER,
    bucket=_POINTER,
    first=_POINTER,
    claims=_POINTER,
    begin=_POINTER,
    end=_POINTER,
    episodes=_WORD,
)
_Selection = _record(
    "Selection",
    episodes=_WORD,
    lanes=_WORD,
    identity=_POINTER,
    first=_POINTER,
    group=_POINTER,
    action_is_store=_POINTER,
    action_size=_POINTER,
    repeat_percent=_WORD,
    hot_percent=_WORD,
    hot_cells=_WORD,
    pattern_percent=_WORD,
    episode_key=_KEY,
    action_key=_KEY,
    slot_key=_KEY,
    first_key=_KEY,
    own_key=_KEY,
    cells=_WORD,
    group_first=_POINTER,
    reach=_POINTER,
    cell_size=_POINTER,
    line_start=_POINTER,
    pick_action=_POINTER,
    pick_lane=_POINTER,
    pick_episode=_POINTER,
    pick_group=_POINTER,
    pick_is_store=_POINTER,
    pick_size=_POINTER,
    pick_identity=_POINTER,
    first_cell=_POINTER,
    choices=_POINTER,
    index=_POINTER,
    owned=_POINTER,
    owned_store=_POINTER,
    at=_POINTER,
)
_Accesses = _record(
    "Accesses",
    actions=_WORD,
    lanes=_WORD,
    address=_POINTER,
    size=_POINTER,
    kind=_POINTER,
    lines=_WORD,
    line=_POINTER,
    line_size=_WORD,
)
_Events = _record(
    "Events",
    count=_WORD,
    byte=_POINTER,
    slot=_POINTER,
    offset=_POINTER,
    is_store=_POINTER,
    before=_POINTER,
    after=_POINTER,
    segments=_WORD,
    first=_POINTER,
)
_Versions = _record(
    "Versions",
    identity=_POINTER,
    keys=_POINTER,
    history=_POINTER,
    value=_POINTER,
    versions=_POINTER,
    mark=_POINTER,
    seed=_POINTER,
)
_Derivation = _record(
    "Derivation",
    agents=_WORD,
    episodes=_WORD,
    lanes=_WORD,
    episode_thread=_POINTER,
    first_action=_POINTER,
    number=_POINTER,
    store_value=_POINTER,
    kind=_POINTER,
    size=_POINTER,
    op=_POINTER,
    left=_POINTER,
    place=_POINTER,
    slot_episode=_POINTER,
    memory=_POINTER,
    stored=_POINTER,
    complete=_POINTER,
    clocks=_POINTER,
    come=_POINTER,
    loads=_WORD,
    loaded=_POINTER,
    loaded_number=_POINTER,
    expected=_POINTER,
    needed=_POINTER,
    wait_first=_POINTER,
    wait_thread=_POINTER,
    wait_count=_POINTER,
    implied=_POINTER,
)
_CLAIM_BYTES: Final = 32
_ASK_BYTES: Final = 16
_OWNER_BITS: Final = 40
_OLD: Final = 1
_OLD_STORE: Final = 7
"""Flags of an owner that only loads, and of one that stores."""


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
        self._library = library
        try:
            version = library.tester_loops_version
        except AttributeError:
            raise ValueError("the library does not hold the generator's native loops") from None
        version.restype = _WORD
        if version() != VERSION:
            raise ValueError(
                f"the generator's native loops are of version {version()}, not {VERSION}"
            )
        for name, count in (("reserve", 1), ("explode", 4), ("assign_versions", 2), ("derive", 2)):
            function = getattr(library, f"tester_{name}")
            function.restype = _WORD
            function.argtypes = [_POINTER] * count
        library.tester_make_picks.restype = _WORD
        library.tester_make_picks.argtypes = [_POINTER]
        library.tester_return_to_own.argtypes = [_POINTER, _POINTER]
        library.tester_place.argtypes = [_POINTER, _WORD, _POINTER, _POINTER, _POINTER]

    def pick(
        self,
        block: SelectionBlock,
        config: GeneratorConfig,
        places: AddressMap,
        line_start: IntArray,
    ) -> Selection:
        """The cells that the lanes of a block request. See `tester.generator.address_selection`."""
        return Selection(self._library, block, config, places, line_start)

    def allocate(
        self,
        requests: CellRequests | Selection,
        owners: tuple[IntArray, IntArray, BoolArray],
        live: int,
        origin: int,
        start: IntArray,
        hold: IntArray,
        first_share: int,
        keys: Sequence[int],
    ) -> tuple[IntArray, tuple[IntArray, IntArray, BoolArray]]:
        """The cell of each pick (-1: none), and the owners after all rounds.

        `owners`: cell, owner and whether it stores, of those before, sorted by cell and owner.
        """
        picks, taken = len(requests.index), len(owners[0])
        last = requests.first_cell + np.maximum(requests.choices, 1)
        cells = int(max(last.max(initial=0), owners[0].max(initial=-1) + 1))
        passed = _Passed()
        key = np.empty(picks + taken + 1, np.uint64)
        key[:taken] = owners[0] << _OWNER_BITS | owners[1]
        flags = np.empty(picks + taken + 1, np.uint8)
        flags[:taken] = np.where(owners[2], _OLD_STORE, _OLD)
        cell = np.empty(picks, np.int64)
        record = _Reservation(
            picks=picks,
            identity=passed.words(requests.identity),
            episode=passed.words(requests.episode),
            lane=passed.words(requests.lane),
            first_cell=passed.words(requests.first_cell),
            choices=passed.words(requests.choices),
            index=passed.words(requests.index),
            is_store=passed.array(requests.is_store),
            live=live,
            origin=origin,
            start=passed.words(start),
            hold=passed.words(hold),
            cells=cells,
            first_share=first_share,
            keys=passed.array(np.array(keys, np.uint64)),
            owners=taken,
            held=_Owners(passed.array(key), passed.array(flags)),
            cell=passed.array(cell),
            tried=passed.room(picks),
            pending=passed.room(4 * picks),
            wanted=passed.room(4 * picks),
            asking=passed.room(_ASK_BYTES * picks),
            bucket=passed.room(_ASK_BYTES * picks),
            first=passed.room(4 * (cells + 1)),
            claims=passed.room((picks + taken + 1) * _CLAIM_BYTES),
            begin=passed.room(8 * len(start)),
            end=passed.room(8 * len(start)),
            episodes=len(start),
        )
        count = self._library.tester_reserve(ctypes.addressof(record))
        held = key[:count].view(np.int64)
        stores = flags[:count] == _OLD_STORE
        return cell, (held >> _OWNER_BITS, held & ((1 << _OWNER_BITS) - 1), stores)

    def explode(self, program: Program, lines: IntArray, events: ByteEvents) -> int:
        """Fill `events`, whose arrays have room for every byte of every access; the number of
        different bytes, of which `first` holds as many. See
        `tester.program.expectations.explode`."""
        passed = _Passed()
        accesses = _Accesses(
            actions=program.actions,
            lanes=program.lanes,
            address=passed.array(program.lane_address),
            size=passed.array(program.action_size),
            kind=passed.array(program.action_kind),
            lines=len(lines),
            line=passed.words(lines),
            line_size=program.line_size,
        )
        record = _events(events)
        segments: int = self._library.tester_explode(
            ctypes.addressof(accesses),
            ctypes.addressof(record),
            passed.room(8 * (len(lines) * program.line_size + 1)),
            passed.room(8 * program.lane_address.size),
        )
        return segments

    def assign_versions(
        self,
        events: ByteEvents,
        values: WordArray,
        identity: IntArray,
        history: ByteArray,
        keys: Sequence[int],
    ) -> tuple[WordArray, ByteArray] | None:
        """(values, history) after making stored bytes distinct; None: it takes too many attempts.

        `keys`: of `ATTEMPTS` streams. See `tester.program.store_values`.
        """
        passed = _Passed()
        assert len(keys) == ATTEMPTS
        value, past = np.array(values, np.uint64), history.copy()
        state = _Versions(
            identity=passed.words(identity),
            keys=passed.array(np.array(keys, np.uint64)),
            history=passed.array(past),
            value=passed.array(value),
            versions=passed.room(len(events.byte) + 8),
            mark=passed.room(len(events.byte)),
            seed=passed.room(8 * len(events.byte)),
        )
        record = _events(events)
        done = self._library.tester_assign_versions(
            ctypes.addressof(record), ctypes.addressof(state)
        )
        return (value, past) if done else None

    def derive(
        self,
        program: Program,
        events: ByteEvents,
        memory: ByteArray,
        stored: IntArray,
        complete: IntArray,
        clocks: IntArray,
        come: IntArray,
        loaded: tuple[IntArray, IntArray],
    ) -> tuple[WordArray, IntArray, IntArray, IntArray]:
        """(expected, wait_first, wait_thread, wait_count). See
        `tester.program.expectations.ExpectationState`, whose state is advanced in place, except for
        the loads."""
        passed = _Passed()
        agents, episodes = program.agent_count, program.episodes
        expected = np.zeros(program.lane_address.shape, np.uint64)
        first = np.empty(episodes + 1, np.int64)
        waits = [np.empty(episodes * agents, np.int64) for _ in range(2)]
        atomic = bool((program.action_kind == ATOMIC).any())
        work = _Derivation(
            agents=agents,
            episodes=episodes,
            lanes=program.lanes,
            episode_thread=passed.array(program.episode_thread),
            first_action=passed.array(program.episode_first_action),
            number=passed.words(program.episode_ordinal() + 1),
            store_value=passed.array(program.store_value),
            kind=passed.array(program.action_kind),
            size=passed.array(program.action_size),
            op=passed.array(program.action_op),
            left=passed.array(program.store_value.copy()) if atomic else None,
            place=passed.array(np.full(expected.size, -1, np.int64)) if atomic else None,
            slot_episode=passed.room(4 * program.lane_address.size),
            memory=passed.array(memory),
            stored=passed.array(stored),
            complete=passed.array(complete),
            clocks=passed.array(clocks),
            come=passed.array(come),
            loads=len(loaded[0]),
            loaded=passed.words(loaded[0]),
            loaded_number=passed.words(loaded[1]),
            expected=passed.array(expected),
            needed=passed.array(np.zeros(episodes * agents, np.int64)),
            wait_first=passed.array(first),
            wait_thread=passed.array(waits[0]),
            wait_count=passed.array(waits[1]),
            implied=passed.room(8 * agents),
        )
        record = _events(events)
        count = self._library.tester_derive(ctypes.addressof(record), ctypes.addressof(work))
        return expected, first, waits[0][:count].copy(), waits[1][:count].copy()


class SelectionBlock(NamedTuple):
    """What is drawn for whole actions and episodes, and the keys of further random streams."""

    identity: IntArray  # [E]
    first: IntArray  # [E+1] first action
    group: IntArray  # [E, L] -1: the lane is off
    is_store: BoolArray  # [A]
    size: IntArray  # [A] index: 1, 2, 4 or 8 bytes
    episode_key: int
    action_key: int
    slot_key: int
    first_key: int
    own_key: int


class Selection:
    """The picks of one block: arrays with one entry per active lane of each action."""

    def __init__(
        self,
        library: ctypes.CDLL,
        block: SelectionBlock,
        config: GeneratorConfig,
        places: AddressMap,
        line_start: IntArray,
    ) -> None:
        self._library = library
        self._shape = (len(block.is_store), block.group.shape[1])
        self._passed = passed = _Passed()
        room = self._shape[0] * self._shape[1]
        names = ("action", "lane", "episode", "group", "size", "identity")
        picks = {name: np.empty(room, np.int64) for name in names}
        requests = {name: np.empty(room, np.int64) for name in ("first_cell", "choices", "index")}
        is_store = np.empty(room, np.bool_)
        self._record = _Selection(
            episodes=len(block.identity),
            lanes=self._shape[1],
            identity=passed.words(block.identity),
            first=passed.words(block.first),
            group=passed.words(block.group),
            action_is_store=passed.array(block.is_store),
            action_size=passed.words(block.size),
            repeat_percent=config.repeat_percent,
            hot_percent=config.hot_percent,
            hot_cells=config.hot_cells,
            pattern_percent=config.pattern_percent,
            episode_key=block.episode_key,
            action_key=block.action_key,
            slot_key=block.slot_key,
            first_key=block.first_key,
            own_key=block.own_key,
            cells=len(places.cell_address),
            group_first=passed.words(places.group_first),
            reach=passed.words(places.group_reach),
            cell_size=passed.array(places.cell_size),
            line_start=passed.words(line_start),
            pick_is_store=passed.array(is_store),
            **{f"pick_{name}": passed.array(array) for name, array in picks.items()},
            **{name: passed.array(array) for name, array in requests.items()},
            owned=passed.room(8 * self._shape[0]),
            owned_store=passed.room(8 * self._shape[0]),
            at=passed.room(8 * self._shape[0]),
        )
        self._places = passed.words(places.cell_address)
        count = library.tester_make_picks(ctypes.addressof(self._record))
        self.action, self.lane, self.episode, self.group, self.size, self.identity = (
            picks[name][:count] for name in names
        )
        self.is_store = is_store[:count]
        self.first_cell, self.choices, self.index = (each[:count] for each in requests.values())

    def return_to_own(self, cell: IntArray) -> None:
        """See `AddressSelector._return_to_own`; changes `cell`."""
        self._library.tester_return_to_own(ctypes.addressof(self._record), _Passed().array(cell))

    def addresses(self, cell: IntArray) -> IntArray:
        """[A, L] the addresses of the picks with a cell; INACTIVE elsewhere."""
        address = np.full(self._shape, INACTIVE, np.int64)
        self._library.tester_place(
            ctypes.addressof(self._record),
            len(cell),
            _Passed().array(cell),
            self._places,
            address.ctypes.data,
        )
        return address


class _Passed:
    """Arrays that are passed by address, kept alive as long as this object is."""

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray[Any]] = []

    def array(self, values: npt.NDArray[Any]) -> int:
        """The address of the very array, which must be contiguous."""
        assert values.flags.c_contiguous
        self._arrays.append(values)
        return values.ctypes.data

    def words(self, values: IntArray) -> int:
        """The address of an array of 64-bit words with these values."""
        return self.array(np.ascontiguousarray(values, np.int64))

    def room(self, size: int) -> int:
        """The address of `size` bytes of work space."""
        return self.array(np.empty(size, np.uint8))


def _events(events: ByteEvents) -> ctypes.Structure:
    """The C++ view of byte events; valid as long as their arrays are."""
    names = ("byte", "slot", "offset", "is_store", "before", "after", "first")
    places = {name: getattr(events, name).ctypes.data for name in names}
    return _Events(count=len(events.byte), segments=len(events.first), **places)
