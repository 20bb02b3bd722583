"""The fused form is the readable form, only faster: runs and reports of both are equal."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from protocols.loader import LoadedProtocol, load_protocol
from runtime.fused import FusedController
from runtime.system import System
from runtime.trace import TraceHash
from tester.campaign import Campaign, Options
from tester.cli import app
from tester.report import render

PROTOCOLS = Path(__file__).parents[2] / "protocols"


@pytest.fixture(scope="module")
def shipped() -> dict[str, LoadedProtocol]:
    names = ("MI", "MESI_Two_Level", "GPU_VIPER", "GPU_VIPER_APU")
    return {name: load_protocol(name) for name in names}


def forms(protocol: LoadedProtocol) -> list[LoadedProtocol]:
    """The protocol in its readable and in its fused form."""
    assert protocol.info.fused
    assert all(issubclass(kind, FusedController) for kind in protocol.info.fused)
    return [protocol.readable(), protocol]


def outcome(protocol: LoadedProtocol, options: Options) -> dict[str, object]:
    """Whatever of one leg both forms must agree on."""
    campaign = Campaign(protocol, options)
    trace = TraceHash()
    run, finding = campaign.run_leg(campaign.plan(0).leg, observer=trace)
    assert isinstance(run.system, System)
    assert finding is None, finding.headline
    return {
        "cells": {f"{c!r}": c.counts for c in run.system.controllers},
        "transitions": trace.count,
        "trace": trace.value,
        "end": run.system.engine.now,
        "sent": run.system.engine.sequence,
        "memory": run.system.memory.digest(),
        "accesses": run.outcome.lane_accesses,
    }


SMALL = {"units": 3, "l1_sets": 2, "l1_ways": 2, "l2_sets": 2, "l2_ways": 2}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "profile", "fixed"),
    [
        ("MI", "default", {}),
        ("MI", "coherence", SMALL),
        ("MESI_Two_Level", "default", {}),
        ("GPU_VIPER_APU", "default", {}),
        ("GPU_VIPER", "coherence", {**SMALL, "write_back": False, "delays": "uniform"}),
        ("GPU_VIPER", "coherence", {**SMALL, "write_back": True, "delays": "heavy_tail"}),
        ("GPU_VIPER", "default", {"write_back": True, "lanes": 4}),
        ("GPU_VIPER", "default", {"write_back": False, "lanes": 4}),
    ],
)
def test_runs_are_equal(
    shipped: dict[str, LoadedProtocol],
    name: str,
    profile: str,
    fixed: dict[str, object],
    seed: int,
) -> None:
    options = Options(seed, 40, profile, fixed=fixed, leg_episodes=40)
    readable, fused = (outcome(form, options) for form in forms(shipped[name]))
    assert readable == fused
    assert int(str(readable["transitions"])) > 100


def test_waiting_for_slots_and_arrays_is_equal(shipped: dict[str, LoadedProtocol]) -> None:
    """Resource stalls of every kind: busy banks, few records, short buffers."""
    assignments = {
        "machine.TCP.parameters.number_of_TBEs": 1,
        "machine.TCC.parameters.number_of_TBEs": 2,
        "machine.TCP.cache.L1cache.resource_stalls": True,
        "machine.TCC.cache.L2cache.resource_stalls": True,
        "machine.TCC.cache.L2cache.tag_latency": 3,
    }
    options = Options(
        5, 40, "coherence", fixed={**SMALL, "lanes": 8}, assignments=assignments, leg_episodes=40
    )
    readable, fused = (outcome(form, options) for form in forms(shipped["GPU_VIPER"]))
    assert readable == fused
    free = replace(options, assignments={})
    assert readable["end"] != outcome(shipped["GPU_VIPER"], free)["end"]


def test_the_command_gives_the_same_run_in_both_forms() -> None:
    words = ["-p", "MI", "--episodes", "30", "--seed", "3", "--engine", "python", "--form"]
    outputs = [CliRunner().invoke(app, [*words, form]).stdout for form in ("fused", "readable")]
    runs = [output.splitlines()[:-1] for output in outputs]
    assert runs[0] == runs[1]
    assert any(line.startswith("PASSED") for line in runs[0])


# ------------------------------------------------------------------ reports


GET_STATE = "if (is_valid(tbe)) {\n      return tbe.TBEState;"
SET_STATE = "void setState(TBE tbe, Entry cache_entry, Addr addr, State state) {"
FILL = "transition(IM, Data, M) {\n"
U_BODY = "peek(responseNetwork_in, ResponseMsg) {\n      cache_entry.DataBlk"
LOOKUP = '"pointer", cacheMemory.lookup(addr));\n  }\n\n  State getState'
BUGS = {
    "missing row": ("transition({IS, IM}, Fwd_GETX) {", "transition(IS, Fwd_GETX) {"),
    "lost data": (f"{FILL}    u_writeDataToFrame;", FILL),
    "error in an action": (U_BODY, f'error("not here"); {U_BODY}'),
    "null in an action": (U_BODY, f"tbe.TBEState := State:I; {U_BODY}"),
    "null record freed": (FILL, f"{FILL}    w_freeTBE;"),
    "peek of nothing": (U_BODY, f"peek(forwardNetwork_in, ForwardMsg) {{ }} {U_BODY}"),
    "empty queue": (FILL, f"{FILL}    n_popResponse;"),
    "assert in setState": (SET_STATE, f"{SET_STATE} assert(state != State:IM);"),
    "loop in setState": (SET_STATE, f"{SET_STATE} tbe.TBEState := state;"),
    "null in getState": (GET_STATE, "if (is_invalid(tbe)) { return tbe.TBEState;"),
    "call in getState": (GET_STATE, f"getCacheEntry(addr + 1); {GET_STATE}"),
    "lookup of no line": (LOOKUP, LOOKUP.replace("lookup(addr)", "lookup(addr + 1)")),
    "machine of no system": (
        "out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));",
        "out_msg.Destination.add(mapAddressToMachine(address, MachineType:TCC));",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_reports_are_equal(bug: str, tmp_path: Path) -> None:
    for path in PROTOCOLS.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    cache = tmp_path / "MI-cache.sm"
    before, after = BUGS[bug]
    text = cache.read_text()
    assert before in text
    cache.write_text(text.replace(before, after, 1))
    protocol = load_protocol(str(tmp_path / "MI.slicc"))
    readable, fused = (failure(form) for form in forms(protocol))
    assert readable == fused
    assert "MI-cache.sm:" in readable


def failure(protocol: LoadedProtocol) -> str:
    campaign = Campaign(protocol, Options(2, 400, fixed={"units": 3, "l1_sets": 1, "l1_ways": 2}))
    for number in range(6):
        plan = campaign.plan(number)
        run, finding = campaign.run_leg(plan.leg)
        if finding is not None:
            error = run.outcome.error
            return f"{error}\n{render(campaign.explain(plan.leg, run, finding))}"
    raise AssertionError("no failure")
