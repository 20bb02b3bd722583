"""Lane requests and transitions per second of whole tester runs, beside a yardstick.

Run by hand, on a core of its own::

    taskset -c 0 python -m tests.benchmarks.bench_tester [--yardstick FILE] [--shape NAME ...]

``--yardstick FILE`` names a Python file with ``run(seed, episodes)`` whose first two results are
transitions and lane requests; it is timed before and after every shape and its mean is the ratio's
denominator, so that ratios survive a busy machine. Times are processor times of this process, from
the first tick to the last episode's completion. Evictions of empty frames are never simulated, so
none are counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from runtime.system import build_system
from tester.campaign import Campaign, Options, leg_run
from tester.protocols import load_protocol
from tester.session import tune_collector


@dataclass(frozen=True)
class Shape:
    """A system and program with every size fixed. Cache sizes are (sets, ways)."""

    units: int
    wavefronts: int
    lanes: int
    length: int
    l1: tuple[int, int]
    l2: tuple[int, int]
    episodes: int
    groups: int
    locations: int | None = None
    lines: int | None = None
    delays: str = "gem5"
    reference_lanes_per_second: int | None = None
    extra: dict[str, object] = field(default_factory=dict)

    def options(self, *, one_request_per_lane: bool) -> Options:
        fixed: dict[str, object] = {
            "units": self.units,
            "wavefronts": self.wavefronts,
            "lanes": self.lanes,
            "lengths": (self.length,),
            "l1_sets": self.l1[0],
            "l1_ways": self.l1[1],
            "l2_sets": self.l2[0],
            "l2_ways": self.l2[1],
            "dmas": 0,
            "fetchers": 0,
            "banks": 1,
            "directories": 1,
            "write_back": False,
            "delays": self.delays,
            "groups": self.groups,
            "locations": self.locations,
            "lines": self.lines,
        } | PLAIN
        return Options(
            seed=1,
            episodes=self.episodes,
            profile="coherence",
            fixed={name: value for name, value in fixed.items() if value is not None},
            one_request_per_lane=one_request_per_lane,
            leg_episodes=self.episodes,
        )


PLAIN = dict.fromkeys(
    (
        "scope_percent",
        "atomic_scope_percent",
        "quiet_percent",
        "bare_percent",
        "flush_percent",
        "peek_percent",
        "chase_percent",
    ),
    0,
)
"""Every episode is a fetch-add, an acquire, loads and stores, a release and a fetch-add, as in what
it is compared with."""

# What gem5 v24.0.0.1's tester completes a second on these systems (4-byte accesses, 10 groups of
# 10,000 locations, one request a lane), measured once on a 2.6 GHz EPYC virtual machine.
_SMALL, _LARGE = ((2, 2), (8, 2)), ((256, 16), (1024, 16))
SHAPES = {
    "8x2x16": Shape(8, 2, 16, 10, (16, 4), (64, 8), 300, 8, lines=1024, delays="uniform"),
    "gem5-large-small-short": Shape(
        8, 4, 32, 10, *_SMALL, 100, 10, 10_000, reference_lanes_per_second=37_300
    ),
    "gem5-large-large-short": Shape(
        8, 4, 32, 10, *_LARGE, 100, 10, 10_000, reference_lanes_per_second=23_200
    ),
    "gem5-large-large-long": Shape(
        8, 4, 32, 500, *_LARGE, 32, 10, 10_000, reference_lanes_per_second=60_000
    ),
}


def timed(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def load_yardstick(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("yardstick", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def yardstick_rates(module: ModuleType | None, episodes: int = 100) -> tuple[float, float]:
    """Transitions and lane requests per second, or zeros without a yardstick."""
    if module is None:
        return 0.0, 0.0
    begin = time.process_time()
    transitions, lanes, *_ = module.run(1, episodes)
    seconds = time.process_time() - begin
    return transitions / seconds, lanes / seconds


def measure(name: str, shape: Shape, yardstick: ModuleType | None, one_per_lane: bool) -> None:
    protocol = load_protocol("GPU_VIPER", (), None)
    before = yardstick_rates(yardstick)
    campaign = Campaign(protocol, shape.options(one_request_per_lane=one_per_lane))
    begin = time.process_time()
    plan = campaign.plan(0)
    generating = time.process_time() - begin
    system = build_system(protocol.info, plan.leg.description, plan.leg.run_key)
    run = leg_run(plan.leg, system)
    running = timed(run.run_episodes)
    after = yardstick_rates(yardstick)
    executed = sum(sum(controller.counts) for controller in system.controllers)
    accesses = run.outcome.lane_accesses
    winding_up = timed(run.wind_up)
    if run.outcome.finding is not None:
        raise SystemExit(f"{name}: {run.outcome.finding}")
    transitions = executed / running
    lanes = accesses / running
    print(f"{name}{', one request a lane' if one_per_lane else ', coalesced'}")
    print(
        f"  {accesses:,} lane requests, {executed:,} transitions"
        f" ({executed / accesses:.2f} each) in {running:.2f} s; winding up took {winding_up:.2f} s"
    )
    print(f"  {transitions:,.0f} transitions/s, {lanes:,.0f} lane requests/s")
    print(f"  generating took {generating:.3f} s, {generating / running:.1%} of running")
    print(
        f"  {run.outcome.statistics.mean_live:.1f} of {shape.units * shape.wavefronts} waves live"
    )
    if yardstick is not None:
        reference = [(a + b) / 2 for a, b in zip(before, after)]
        print(
            f"  yardstick: {reference[0]:,.0f} transitions/s, {reference[1]:,.0f} lane requests/s;"
            f" ratios {transitions / reference[0]:.2f} and {lanes / reference[1]:.2f}"
        )
    if shape.reference_lanes_per_second:
        known = shape.reference_lanes_per_second
        print(f"  gem5 on its own machine: {known:,} lane requests/s; ratio {lanes / known:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--yardstick", type=Path)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    arguments = parser.parse_args()
    tune_collector()
    yardstick = load_yardstick(arguments.yardstick) if arguments.yardstick else None
    for name in arguments.shape or SHAPES:
        for one_per_lane in (False, True):
            measure(name, SHAPES[name], yardstick, one_per_lane)


if __name__ == "__main__":
    main()
