"""``gcn run --profile`` and ``--trace-out``: what is counted, and that counting changes nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpu import CodeObject, Device, GpuError, Signal
from gpu.compute_unit.program import profile as profile_module
from gpu.memory.coherent.coherent_memory import CoherentMemory
from tests.gpu.cli.calling import gcn

LINES = Path(__file__).parents[2] / "code_object" / "lines-dwarf5.co"


def run(device: Device, groups: int) -> Device:
    queue, done = device.create_queue(), Signal(1)
    buffer = device.alloc(np.zeros(4096, np.int32))
    queue.dispatch(CodeObject.load(LINES)["lines"], 64 * groups, 64, [buffer], completion=done)
    queue.ring()
    device.run(until=done)
    return device


@pytest.fixture(scope="module")
def profiled() -> Device:
    return run(Device("GPU_VIPER", cus=2, engine="python", profile=True), 4)


def test_it_counts_what_the_units_count(profiled: Device) -> None:
    assert profiled.profile is not None
    counters = profiled.stats["compute_units"]
    assert isinstance(counters, dict)
    sites = profiled.profile.sites
    assert sum(site.issues for site in sites) == counters["wave_instructions"]
    reasons: Counter[str] = Counter()
    for site in sites:
        reasons.update(site.stalls)
    assert {why: cycles for why, cycles in reasons.items() if cycles} == {
        why: cycles for why, cycles in counters["stall_cycles"].items() if cycles
    }
    assert sum(line.issues for line in profiled.profile.lines()) == counters["wave_instructions"]


def test_waits_are_where_waves_stand(profiled: Device) -> None:
    assert profiled.profile is not None
    for site in profiled.profile.sites:
        if site.stalls["s_waitcnt"]:
            assert site.text.startswith("s_waitcnt")
        if site.accesses:
            assert site.longest * site.accesses >= site.latency > 0
            assert site.text.startswith(("flat_", "s_load"))
    store = next(site for site in profiled.profile.sites if "lines.cl:5" in site.line)
    assert store.issues == 4


def test_hits_and_misses_are_those_of_the_caches(profiled: Device) -> None:
    """Loads of the vector cache by line, and that nothing but loads has any."""
    assert profiled.profile is not None
    assert isinstance(profiled.memory, CoherentMemory)
    counted = profiled.memory.executed()["Vector"]["Load"]
    loads = [site for site in profiled.profile.sites if site.text.startswith("flat_load")]
    assert sum(site.hits for site in loads) == counted["V"] > 0
    assert sum(site.misses for site in loads) == counted["I"] > 0
    scalar = [site for site in profiled.profile.sites if site.text.startswith("s_load")]
    assert all(site.loads == site.accesses == 4 and site.misses for site in scalar)
    assert all(not s.loads for s in profiled.profile.sites if "load" not in s.text)


def test_both_engines_count_the_same(profiled: Device) -> None:
    device = run(Device("GPU_VIPER", cus=2, engine="native", profile=True), 4)
    assert device.profile is not None and profiled.profile is not None
    assert device.profile.sites == profiled.profile.sites
    assert device.profile.intervals == profiled.profile.intervals


def test_a_profile_changes_nothing(profiled: Device) -> None:
    plain = run(Device("GPU_VIPER", cus=2, engine="python"), 4)
    assert plain.profile is None
    assert plain.now == profiled.now
    assert plain.stats == profiled.stats


def test_intervals_follow_each_other_on_a_track(profiled: Device) -> None:
    assert profiled.profile is not None
    waves = [each for each in profiled.profile.intervals if each.kind == "wave"]
    assert len(waves) == 4
    for each in profiled.profile.intervals:
        assert each.start <= each.end
        around = [w for w in waves if w.track == each.track and w.start <= each.start]
        assert any(each.start <= wave.end for wave in around), each


def test_a_long_run_keeps_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_module, "MOST_EVENTS", 5)
    device = run(Device("GPU_VIPER", cus=1, engine="python", profile=True), 2)
    assert device.profile is not None
    assert len(device.profile.intervals) == 5
    assert device.profile.dropped > 5


def test_only_time_has_a_profile() -> None:
    with pytest.raises(GpuError, match="only a device with time has a profile"):
        Device(cus=1, profile=True)


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    words = ("--grid", "256", "--arg", "i32[4096]", "--cus", "2", "--engine", "python")
    answer = gcn("run", str(LINES), "lines", *words, "--profile", "--trace-out", str(out))
    assert (answer.status, answer.err) == (0, "")
    by_line = answer.out.partition("by line")[2].partition("by instruction")
    assert "lines.cl:4" in by_line[0]
    assert "s_waitcnt vmcnt(0) (lines.cl:4)" in by_line[2]
    assert "that waited, " in answer.out
    loads = answer.out.partition("\nloads ")[2]
    assert "misses" in loads.splitlines()[0] and "flat_load" in loads.splitlines()[1]
    document = json.loads(out.read_text())
    phases = Counter(event["ph"] for event in document["traceEvents"])
    assert phases["b"] == phases["e"] > 0
    names = Counter(event["name"] for event in document["traceEvents"])
    assert names["process_name"] == 2
    complete = [event for event in document["traceEvents"] if event["ph"] == "X"]
    named = {(e["pid"], e["tid"]) for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in complete} <= named
    assert all(process >= 1 <= thread for process, thread in named)
    assert {event["cat"] for event in complete} == {"wave", "stall"}
    begun = [event["args"] for event in document["traceEvents"] if event["ph"] == "b"]
    assert {"hits", "misses"} <= {key for known in begun for key in known}
    assert all(
        event["dur"] >= 0 and {"pid", "tid", "ts", "name"} <= set(event) for event in complete
    )


def test_a_profile_without_time_is_refused(tmp_path: Path) -> None:
    words = ("--grid", "64", "--arg", "i32[4096]", "--functional")
    answer = gcn("run", str(LINES), "lines", *words, "--profile")
    assert answer.status == 2
    assert "only a device with time has a profile" in answer.err
