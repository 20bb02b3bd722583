"""A leg as the batch call of the native engine takes it: ``struct LegJob`` and what it points to.

Invariant: nothing here owns what a job points into; a caller keeps it until its call has returned.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable
from typing import Final

from runtime.native.plan import Words
from tester.execution.agent import HandoverSteps
from tester.execution.flush import FLUSHES, READ_BACKS
from tester.execution.handover import HandoverRules
from tester.execution.leg import DRAIN_LIMITS, slice_ticks
from tester.native.leg import NativeProtocol, all_flush, sizes_of
from tester.program.program import Program
from tester.program.replay_file import Leg

_U64 = ctypes.c_uint64
_POINTER = ctypes.c_void_p


_SIZES: Final = (
    "agents",
    "lanes",
    "episodes",
    "actions",
    "groups",
    "waits",
    "run_key",
    "line_bits",
)
_AGENT_ARRAYS: Final = (
    "agent_adds",
    "agent_reads_back",
    "agent_requester",
    "agent_lanes",
    "agent_isolation",
)
_ARRAYS: Final = (
    "episode_thread",
    "episode_first_action",
    "episode_group",
    "episode_scope",
    "group_word",
    "action_kind",
    "action_size",
    "action_scope",
    "action_op",
    "lane_address",
    "store_value",
)
_DERIVED: Final = ("expected", "wait_first", "wait_thread", "wait_count")
_NOT_DERIVED: Final = (None,) * len(_DERIVED)


class Job(ctypes.Structure):
    """``struct LegJob`` of tester/native/cpp/calls/batch.hpp."""

    _fields_ = [
        *((name, _U64) for name in _SIZES),
        *((name, _POINTER) for name in (*_AGENT_ARRAYS, *_ARRAYS, *_DERIVED)),
        *((name, _U64) for name in ("limit", "slice", "rest", "blind", "copies_stay", "flushable")),
        ("steps", _POINTER),
        ("flush_identity", _U64),
        ("read_identity", _U64),
        ("plan", _POINTER),
        ("plan_words", _U64),
        ("counts", _POINTER),
        ("change", _POINTER),
    ]


class Memory(ctypes.Structure):
    """``struct BatchMemory`` there."""

    _fields_ = [
        ("block", _POINTER),
        ("block_bytes", _U64),
        ("arena", _POINTER),
        ("arena_bytes", _U64),
        ("steps", _U64),
        ("grown", _POINTER),
        ("log", _POINTER),
    ]


class Log(ctypes.Structure):
    """``struct TransitionLog`` there."""

    _fields_ = [("rows", _POINTER), ("room", _U64), ("made", _U64)]


class SystemForm:
    """What legs on one description share, as the native engine wants it."""

    def __init__(self, protocol: NativeProtocol, leg: Leg, rules: HandoverRules) -> None:
        self.description = description = leg.description
        self.agents = agents = leg.program.agents
        self.rules = rules
        self.sizes = sizes_of(description)
        self.plan: Words = protocol.plans.template(description)
        steps = rules.steps or (HandoverSteps(),) * len(agents)
        isolation = rules.isolation_groups or (0,) * len(agents)
        self._arrays: tuple[array[int], ...] = (
            array("B", [agent.adds for agent in agents]),
            array("B", rules.reads_back or (True,) * len(agents)),
            array("I", [agent.requester for agent in agents]),
            array("I", [agent.lanes for agent in agents]),
            array("q", isolation),
            array("B", [each.bits for each in steps]),
        )
        *self.agent_arrays, self.steps = (each.buffer_info()[0] for each in self._arrays)
        used = sorted({agent.requester for agent in agents if agent.adds})
        self.flushable = all_flush(protocol.info, description, used)

    def serves(self, leg: Leg) -> bool:
        return self.description is leg.description and self.agents == leg.program.agents


def _places(program: Program, names: Iterable[str]) -> list[int]:
    return [getattr(program, name).ctypes.data for name in names]


def job_of(
    leg: Leg,
    form: SystemForm,
    counts: int | None,
) -> Job:
    program = leg.program
    derived = _NOT_DERIVED if not program.derived else _places(program, _DERIVED)
    limit = leg.deadlock_limit
    return Job(
        program.agent_count,
        program.lanes,
        program.episodes,
        program.actions,
        program.groups,
        program.waits,
        program.run_key & ((1 << 64) - 1),
        program.line_size.bit_length() - 1,
        *form.agent_arrays,
        *_places(program, _ARRAYS),
        *derived,
        limit,
        slice_ticks(limit),
        DRAIN_LIMITS * limit,
        form.rules.blind,
        form.rules.copies_stay,
        form.flushable,
        form.steps,
        FLUSHES,
        READ_BACKS,
        form.plan.ctypes.data,
        len(form.plan),
        counts,
    )
