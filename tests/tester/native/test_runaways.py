"""Protocols that work without end: both engines end them alike, and name the culprit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from runtime.native.plan import Capacities
from runtime.native.plan_words import HeadWord
from runtime.sim.engine import Limits
from runtime.system import watchdog
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.diagnosis.failure_report import render
from tester.execution.leg import LegRun
from tester.native.leg import NativeLegRun, NativeProtocol
from tester.program.replay_file import Leg
from tests.sampling import sampled
from tests.tester.native import equality
from tests.tester.native.runaways import NUMBERS, WAYS, load

Compiled = tuple[LoadedProtocol, NativeProtocol]
FAST = 40
"""How much sooner than usual the tests want their verdicts."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        protocol = load(tmp_path_factory.mktemp("runaway"), monkeypatch)
        engine = equality.native_engine(protocol).native
        assert engine is not None
        yield protocol, engine


def leg_of(protocol: LoadedProtocol, way: str | None, seed: int = 1) -> Leg:
    times = 2 if way == "messages that two machines multiply" else 1
    assignments = {
        "machine.L1Cache.count": 1,
        "machine.L1Cache.parameters.transitions_per_cycle": 8,
        "machine.L1Cache.parameters.which": NUMBERS[way] if way else 0,
        "machine.Directory.parameters.times": times,
    }
    options = Options(seed, 60, assignments=assignments, leg_episodes=30)
    return Campaign(protocol, options).plan(0).leg


def sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller limits: the looks stay as they are."""
    usual = watchdog.limits_of

    def limits(description: SystemDescription) -> Limits:
        found = usual(description)
        return structs.replace(found, work=found.work // FAST)

    monkeypatch.setattr(watchdog, "limits_of", limits)


def on_both(compiled: Compiled, leg: Leg) -> tuple[LegRun, NativeLegRun]:
    protocol, engine = compiled
    engine.plans._kept.clear()  # limits are words of a plan
    mine, native = equality.run_natively(protocol, engine, leg)
    theirs, python = equality.run_in_python(protocol, leg)
    assert mine == theirs
    return python, native


@pytest.mark.parametrize("way", WAYS)
def test_a_runaway_ends_alike_on_both_engines_and_is_named(
    way: str, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, culprit, message = WAYS[way]
    if kind == "too_many_transitions":
        sooner(monkeypatch)
    leg = leg_of(compiled[0], way)
    python, native = on_both(compiled, leg)
    error = python.outcome.error
    assert error is not None and native.error is not None
    assert python.outcome.finding is not None
    assert python.outcome.finding.verdict.value == "runaway"
    assert (error.kind.value, error.machine) == (kind, "L1Cache")
    assert culprit in error.message and message in error.message
    assert error.location is None or error.location.startswith("Solo.sm:")
    assert error.location or "[Solo.sm:" in error.message
    mine = equality.named(native.error, compiled[0], leg)
    assert equality.words_of(mine) == equality.words_of(error)


def test_a_report_says_what_is_waited_for(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadlock whose messages are tried again every cycle ends like this, too."""
    sooner(monkeypatch)
    leg = leg_of(compiled[0], "negative acknowledgement")
    campaign = Campaign(compiled[0], Options(leg.seed, 60))
    run, finding = campaign.run_leg(leg)
    assert finding is not None
    report = render(campaign.explain(leg, run, finding))
    waiting = report[report.index("who waits for whom") : report.index("history of")]
    assert "no answer" in waiting and "in L1Cache0.mandatoryQueue" in waiting


def test_the_protocol_passes_when_nothing_runs_away(compiled: Compiled) -> None:
    python, _ = on_both(compiled, leg_of(compiled[0], None))
    assert python.outcome.finding is None


def test_a_hang_names_what_is_busy(compiled: Compiled) -> None:
    leg = replace(leg_of(compiled[0], "negative acknowledgement"), deadlock_limit=20_000)
    python, _ = on_both(compiled, leg)
    finding = python.outcome.finding
    assert finding is not None and finding.verdict.value == "hang"
    assert " in Never" in finding.notes[0] and "[Solo.sm:" in finding.notes[0]


@pytest.mark.parametrize("name", sampled(["MESI_Two_Level", "GPU_VIPER_APU"], 2))
def test_both_engines_look_at_the_same_points(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits that legal runs exceed: a wake-up, a message or a request that one engine counts
    and the other does not would end them in different ticks."""
    leg = equality.leg_of(name, "default", 5, 60)
    made = equality.loaded(name), equality.native(name)
    found = set()
    never = 1 << 40
    for limits in (
        Limits(8, never, 0),
        Limits(20, never, 0),
        Limits(40, 900, 0),
        Limits(40, 2_000, 2),
        Limits(100, 1_000, 5),
    ):
        monkeypatch.setattr(watchdog, "limits_of", lambda *_, limits=limits: limits)
        python, native = on_both(made, leg)
        error = python.outcome.error
        if error is None or native.error is None:
            assert error is native.error
            continue
        mine = equality.named(native.error, made[0], leg)
        assert equality.words_of(mine) == equality.words_of(error)
        found.add(error.kind.value)
    made[1].plans._kept.clear()
    assert found == {"too_many_messages", "too_many_transitions"}


def test_the_limits_are_words_of_the_plan() -> None:
    """Plans are read off systems that were built with small caches: not so the limits."""
    leg = equality.leg_of("MESI_Two_Level", "default", 5, 60)
    limits = build_system(
        equality.loaded("MESI_Two_Level").info, leg.description, leg.run_key
    ).engine.limits
    plan = equality.native("MESI_Two_Level").plans.plan(leg.description, 1, Capacities(), 1)
    first = HeadWord.MAX_MESSAGES
    assert plan[first : first + 3].tolist() == [limits.messages, limits.work, limits.credit]
