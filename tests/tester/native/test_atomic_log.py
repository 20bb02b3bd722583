"""Texts of before there was a log of old values, and of before it could be switched off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from slicc import ir
from slicc.compiler import compile
from slicc.ir.walk import expressions_in
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Verdict
from tester.execution.leg import Outcome
from tester.program.replay_file import Leg
from tests.compiling import CHECKED
from tests.tester.native.equality import native_engine, run_in_python, run_natively

THIRD = re.compile(r"(atomicPartial\([^,;]*, [^,;]*), [^;]*\);")
CLEAR = re.compile(r"\n *[\w.]*\.clearAtomicLogEntries\(\);")
GPU_ONLY = {"dmas": 0, "cpus": 0, "fetchers": 0}


def rewritten(directory: Path, cleared: bool) -> LoadedProtocol:
    """GPU_VIPER without third arguments, and without emptying logs unless ``cleared``."""
    for path in DIRECTORY.glob("*.s*"):
        text = THIRD.sub(r"\1);", path.read_text(encoding="utf-8"))
        text = text if cleared else CLEAR.sub("", text)
        (directory / path.name).write_text(text, encoding="utf-8")
    return load_protocol(str(directory / "GPU_VIPER.slicc"), native=True)


def legs_of(protocol: LoadedProtocol, quiet: int) -> list[Leg]:
    fixed = {**GPU_ONLY, "quiet_percent": quiet, "atomic_percent": 40}
    campaign = Campaign(protocol, Options(1, 400, "coherence", fixed, leg_episodes=40))
    return [campaign.plan(number).leg for number in range(4)]


def verdict(outcome: Outcome) -> Verdict | None:
    return None if outcome.finding is None else outcome.finding.verdict


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)


def test_without_a_third_argument_every_operation_is_logged(tmp_path: Path) -> None:
    protocol = rewritten(tmp_path, cleared=True)
    assert protocol.info.atomic_log
    machines = compile(tmp_path / "GPU_VIPER.slicc").protocol.machines
    calls = [
        call.arguments
        for machine in machines
        for action in machine.actions
        for call in expressions_in(action.body)
        if isinstance(call, ir.CallMethod) and call.method == "atomicPartial"
    ]
    assert calls
    assert {
        (len(call), call[-1].value) for call in calls if isinstance(call[-1], ir.BoolConst)
    } == {(3, False)}
    runs = [run_in_python(protocol, leg)[1] for leg in legs_of(protocol, quiet=100)]
    assert any(verdict(run.outcome) for run in runs), "operations without return leave old values"


def test_without_a_log_requesters_compute_old_values(tmp_path: Path) -> None:
    """Our text answers with the line after the operations: they begin with it, wrongly."""
    protocol = rewritten(tmp_path, cleared=False)
    assert not protocol.info.atomic_log
    engine = native_engine(protocol).native
    assert engine is not None
    found = set()
    for leg in legs_of(protocol, quiet=0):
        mine, _ = run_natively(protocol, engine, leg)
        theirs, run = run_in_python(protocol, leg)
        assert mine == theirs
        found.add(verdict(run.outcome))
    assert found & {*ATOMIC_VERDICTS, *VALUE_VERDICTS}
