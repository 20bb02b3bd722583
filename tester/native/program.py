"""A program as the flat arrays that the native engine reads.

Invariant: the arrays are made by numpy from the program's own, have the same contents, hold only
active lanes, and are never written to, but for `observed`; the view keeps them alive as long as it
exists.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from tester.execution.early_loads import NO_VERSIONS, Versions

Array = npt.NDArray[Any]

_BARE: Final = 8
"""Bit of ``episode_scope``: the episode makes no fetch-adds."""
_CONTINUES: Final = 16
"""Bit of ``action_scope``: the row is a further piece of the access before it."""


class AgentLike(Protocol):
    """As much of ``tester.program.program.AgentSpec`` as is needed."""

    @property
    def adds(self) -> bool: ...


class ProgramLike(Protocol):
    """As much of ``tester.program.program.Program`` as is needed; see there."""

    @property
    def agents(self) -> Sequence[AgentLike]: ...
    @property
    def run_key(self) -> int: ...
    @property
    def line_size(self) -> int: ...
    @property
    def episode_thread(self) -> Array: ...
    @property
    def episode_first_action(self) -> Array: ...
    @property
    def episode_group(self) -> Array: ...
    @property
    def episode_scope(self) -> Array: ...
    @property
    def group_word(self) -> Array: ...
    @property
    def action_kind(self) -> Array: ...
    @property
    def action_size(self) -> Array: ...
    @property
    def action_scope(self) -> Array: ...
    @property
    def action_op(self) -> Array: ...
    @property
    def lane_address(self) -> Array: ...
    @property
    def store_value(self) -> Array: ...
    @property
    def expected(self) -> Array: ...
    @property
    def wait_first(self) -> Array: ...
    @property
    def wait_thread(self) -> Array: ...
    @property
    def wait_count(self) -> Array: ...


_COUNTS: Final = (
    "agents",
    "episodes",
    "actions",
    "lanes_total",
    "words_total",
    "waits",
    "run_key",
    "line_bits",
)
_ARRAYS: Final = (
    ("agent_first", np.int64),
    ("agent_episode", np.int32),
    ("episode_scope", np.uint8),
    ("first_action", np.int64),
    ("first_word", np.int64),
    ("word_lane", np.uint8),
    ("word_address", np.uint64),
    ("first_wait", np.int64),
    ("wait_thread", np.int32),
    ("wait_count", np.int32),
    ("action_kind", np.uint8),
    ("action_size", np.uint16),
    ("action_scope", np.uint8),
    ("first_lane", np.int64),
    ("lane", np.uint8),
    ("address", np.uint64),
    ("value", np.uint64),
    ("expected", np.uint64),
)
_GROUP_ARRAYS: Final = (
    ("word_group", np.uint32),
    ("group_word", np.uint64),
    ("group_increments", np.uint64),
    ("action_op", np.uint8),
    ("action_pieces", np.uint8),
)
VERSION_ARRAYS: Final = (
    ("version_byte", np.uint64),
    ("version_action", np.int64),
    ("version_value", np.uint8),
    ("version_episode", np.uint32),
    ("version_agent", np.uint32),
)


class ViewStruct(ctypes.Structure):
    """``struct ProgramView`` of tester/native/cpp/execution/program.hpp."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in _COUNTS),
        *((name, ctypes.c_void_p) for name, _ in _ARRAYS),
        ("groups", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name, _ in _GROUP_ARRAYS),
        ("observed", ctypes.c_void_p),
        ("judges_early", ctypes.c_uint64),
        ("versions", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name, _ in VERSION_ARRAYS),
    ]


class ProgramView:
    """The arrays of one program, by the names of the struct's members.

    ``observes``: whether values that are not checked are kept, see `returned`. With ``versions``
    its racing loads are judged.
    """

    def __init__(
        self, program: ProgramLike, observes: bool = False, versions: Versions | None = None
    ) -> None:
        made = _arrays(program) | version_arrays(program, versions or NO_VERSIONS)
        self._lane_address = program.lane_address
        self._observed = np.array(made["expected"], np.uint64) if observes else None
        self.arrays: dict[str, Array] = {}
        for name, dtype in (*_ARRAYS, *_GROUP_ARRAYS, *VERSION_ARRAYS):
            array = np.ascontiguousarray(made[name], dtype)
            array.flags.writeable = False
            self.arrays[name] = array
        arrays = self.arrays
        self.struct = ViewStruct(
            len(program.agents),
            len(arrays["episode_scope"]),
            len(arrays["action_kind"]),
            len(arrays["lane"]),
            len(arrays["word_lane"]),
            len(arrays["wait_thread"]),
            program.run_key & ((1 << 64) - 1),
            program.line_size.bit_length() - 1,
            *(arrays[name].ctypes.data for name, _ in _ARRAYS),
            len(arrays["group_word"]),
            *(arrays[name].ctypes.data for name, _ in _GROUP_ARRAYS),
            None if self._observed is None else self._observed.ctypes.data,
            versions is not None,
            len(arrays["version_byte"]),
            *(arrays[name].ctypes.data for name, _ in VERSION_ARRAYS),
        )

    @property
    def agents(self) -> int:
        return int(self.struct.agents)

    def returned(self) -> Array:
        """[A, L]: what loads and atomic operations of agents without checks have returned."""
        assert self._observed is not None, "the view was made without `observes`"
        values = np.zeros(self._lane_address.shape, np.uint64)
        values[self._lane_address >= 0] = self._observed
        return values

    @property
    def increments(self) -> int:
        """Words of bit sets with one bit for every increment of every atomic word."""
        return int(((self.arrays["group_increments"] + np.uint64(63)) // np.uint64(64)).sum())


def _arrays(program: ProgramLike) -> dict[str, Array]:
    issuer = program.episode_thread
    agents = len(program.agents)
    order = np.argsort(issuer, kind="stable")
    adds = np.array([agent.adds for agent in program.agents], np.bool_)[issuer]
    adds &= program.episode_scope & _BARE == 0
    taking_part = (program.episode_group >= 0) & adds[:, None]
    episode, lane_of_word = np.nonzero(taking_part)
    address = program.lane_address
    active = address >= 0
    lanes = np.count_nonzero(active, axis=1)
    action, lane = np.nonzero(active)
    used = lanes > 0
    group = program.episode_group[episode, lane_of_word]
    size, pieces = program.action_size, np.zeros(len(lanes), np.uint8)
    if (program.action_scope & _CONTINUES).any():
        used &= program.action_scope & _CONTINUES == 0
        size, pieces, lanes = _joined(program, lanes)
    first_action = program.episode_first_action
    if not used.all():
        # Actions without lanes have no effect; edited programs may have some.
        first_action = _starts(used)[first_action]
    return {
        "agent_first": np.searchsorted(issuer[order], np.arange(agents + 1)),
        "agent_episode": order,
        "episode_scope": program.episode_scope,
        "first_action": first_action,
        "first_word": _starts(np.count_nonzero(taking_part, axis=1)),
        "word_lane": lane_of_word,
        "word_address": program.group_word[group],
        "first_wait": program.wait_first,
        "wait_thread": program.wait_thread,
        "wait_count": program.wait_count,
        "action_kind": program.action_kind[used],
        "action_size": size[used],
        "action_scope": program.action_scope[used],
        "action_op": program.action_op[used],
        "action_pieces": pieces[used],
        "first_lane": _starts(lanes[used]),
        "lane": lane,
        "address": address[action, lane],
        "value": program.store_value[action, lane],
        "expected": program.expected[action, lane],
        "word_group": group,
        "group_word": program.group_word,
        "group_increments": 2 * np.bincount(group, minlength=len(program.group_word)),
    }


def version_arrays(program: ProgramLike, versions: Versions) -> dict[str, Array]:
    """As `VERSION_ARRAYS` says. Rows that issue an access are numbered as `_arrays` does."""
    issues = program.action_scope & _CONTINUES == 0
    issues &= (program.lane_address >= 0).any(axis=1)
    made = {
        "version_byte": versions.byte,
        "version_action": _starts(issues)[versions.row],
        "version_value": versions.value,
        "version_episode": versions.episode,
        "version_agent": versions.agent,
    }
    return {name: np.ascontiguousarray(made[name], dtype) for name, dtype in VERSION_ARRAYS}


def _joined(program: ProgramLike, lanes: Array) -> tuple[Array, Array, Array]:
    """[A] size, number of pieces (0: it is no piece) and lanes, where the first row of an access
    stands for all: each piece counts as a lane."""
    first = np.flatnonzero(program.action_scope & _CONTINUES == 0)
    rows = np.diff(np.append(first, len(lanes)))
    size = program.action_size.astype(np.uint16)
    several = rows > 1
    size[first[several]] = np.add.reduceat(size, first)[several]
    pieces = np.zeros(len(lanes), np.uint8)
    pieces[first[several]] = rows[several]
    joined = lanes.copy()
    joined[first[several]] = rows[several]
    return size, pieces, joined


def _starts(counts: Array) -> Array:
    """Where parts of these sizes begin, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
