"""Runs one leg on both engines and returns everything in which they must agree.

Invariant: two summaries are equal exactly when the runs made the same transitions at the same
ticks and left the same memory, as far as 64-bit hashes can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.controller.trace import TraceHash
from runtime.errors import ProtocolError
from runtime.native.system import NativeError
from runtime.native.verdicts import Verdicts
from runtime.prng import hash64
from runtime.system.builder import build_system
from runtime.system.system import System
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import Chosen, choose
from tester.execution.handover import handover_rules_of
from tester.execution.leg import LegRun
from tester.native.leg import NativeLegRun, NativeProtocol
from tester.program.replay_file import Leg

PROTOCOLS = (
    "MI",
    "MSI",
    "MSI_Snoop",
    "MESI_Two_Level",
    "MOESI_AMD_Base",
    "GPU_VIPER",
    "GPU_VIPER_APU",
)


@dataclass
class Summary:
    """What both engines must agree about."""

    finding: str = ""
    episodes: int = 0
    lane_accesses: int = 0
    ticks: int = 0
    live_time: int = 0
    handover_time: int = 0
    agent_time: int = 0
    end: int = 0
    flushed: bool = False
    trace: int = 0
    memory: int = 0
    counts: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)


@cache
def loaded(name: str) -> LoadedProtocol:
    return load_protocol(name, native=True)


@cache
def engine(name: str) -> Chosen:
    """The native engine for a shipped protocol; skips where there is no compiler."""
    return native_engine(loaded(name))


def native_engine(protocol: LoadedProtocol) -> Chosen:
    chosen = choose(Choice.auto, protocol, lambda words: None, optimised=True)
    if chosen.native is None:
        if "no C++ compiler" in chosen.summary:
            pytest.skip(chosen.summary)
        pytest.fail(chosen.summary)
    return chosen


def native(name: str) -> NativeProtocol:
    found = engine(name).native
    assert found is not None
    return found


def leg_of(name: str, profile: str, seed: int, episodes: int | None = None) -> Leg:
    """The first leg of a run, as the command would draw it."""
    options = Options(seed, 400, profile, leg_episodes=episodes)
    return Campaign(loaded(name), options).plan(0).leg


def in_python(name: str, leg: Leg) -> tuple[Summary, LegRun]:
    return run_in_python(loaded(name), leg)


def natively(name: str, leg: Leg) -> tuple[Summary, NativeLegRun]:
    return run_natively(loaded(name), native(name), leg)


def run_in_python(protocol: LoadedProtocol, leg: Leg) -> tuple[Summary, LegRun]:
    system = build_system(protocol.info, leg.description, leg.run_key)
    observer = TraceHash()
    for controller in system.controllers:
        controller.observer = observer
    run = leg_run(leg, system)
    run.run()
    summary = _summary(run)
    summary.trace = observer.value
    size = leg.program.line_size
    for line in sorted(system.memory.lines):
        data = system.memory.lines[line].to_bytes(size, "little")
        summary.memory = _memory_hash(summary.memory, line, data)
    summary.counts = _python_counts(system)
    return summary, run


def run_natively(
    protocol: LoadedProtocol, engine: NativeProtocol, leg: Leg
) -> tuple[Summary, NativeLegRun]:
    run = NativeLegRun(leg, engine, handover_rules_of(leg))
    run.run()
    summary = _summary(run)
    summary.trace = run.system.trace_hash
    addresses, contents = run.system.written_lines(leg.program.line_size)
    for line, data in zip(addresses.tolist(), contents):
        summary.memory = _memory_hash(summary.memory, line, data.tobytes())
    summary.counts = _native_counts(protocol, run)
    return summary, run


def _memory_hash(state: int, line: int, data: bytes) -> int:
    return hash64(state, line, int.from_bytes(data, "little"))


def _summary(run: LegRun | NativeLegRun) -> Summary:
    outcome = run.outcome
    concurrency = outcome.concurrency
    found = outcome.finding
    where = "" if found is None else f"{found.verdict.value} at {found.tick}, {found.address:#x}"
    return Summary(
        where,
        outcome.episodes,
        outcome.lane_accesses,
        outcome.ticks,
        concurrency.live_time,
        concurrency.handover_time,
        concurrency.agent_time,
        concurrency.end,
        outcome.flushed,
    )


def _python_counts(system: System) -> dict[str, dict[tuple[str, str], int]]:
    counts: dict[str, dict[tuple[str, str], int]] = {}
    for controller in system.controllers:
        cells = counts.setdefault(controller.MACHINE, {})
        for state, event in controller.TRANSITIONS:  # type: ignore[attr-defined]
            number = controller.count_of(state, event)
            if number:
                cell = controller.STATES.name_of(state), controller.EVENTS.name_of(event)
                cells[cell] = cells.get(cell, 0) + number
    return counts


def _native_counts(
    protocol: LoadedProtocol, run: NativeLegRun
) -> dict[str, dict[tuple[str, str], int]]:
    counts = {}
    for machine, cells in run.counts().items():
        controller = protocol.info.machine(machine)
        counts[machine] = {
            (
                controller.STATES.name_of(place // cells.stride),
                controller.EVENTS.name_of(place % cells.stride),
            ): int(cells.table[place])
            for place in cells.table.nonzero()[0].tolist()
        }
    return counts


def named(error: NativeError, protocol: LoadedProtocol, leg: Leg) -> ProtocolError:
    """A native verdict by the author's names."""
    assert protocol.native is not None
    return Verdicts(protocol.native, protocol.info, leg.description)(error)


def words_of(error: ProtocolError) -> tuple[object, ...]:
    """Everything that a verdict says but its sentence."""
    who = None if error.machine is None else (error.machine, error.version)
    when = error.tick, error.address
    return (error.kind, who, when, error.state, error.event, error.action, error.location)
