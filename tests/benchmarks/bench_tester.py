"""Lane requests and transitions per second of whole tester runs, beside a yardstick.

Run by hand, on a core of its own::

    taskset -c 0 python -m tests.benchmarks.bench_tester [--yardstick FILE] [--shape NAME ...]

Every shape runs ``--repeat`` times on fresh systems; the rates are those of the fastest run.
``--yardstick FILE`` names a Python file with ``run(seed, episodes)`` whose first two results are
transitions and lane requests; it is timed before and after every run, the mean of both is the run's
denominator, and the median of the ratios is printed: what a busy machine does to a run it does to
its neighbours. Times are processor times of this process, from the first tick to the last episode's
completion. Evictions of empty frames are never simulated, so none are counted.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import ModuleType

from protocols.loader import LoadedProtocol, load_protocol
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.execution.collector import tune_collector
from tester.program.replay_file import Leg
from tests.benchmarks.shapes import SHAPES, Shape


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


@dataclass(frozen=True)
class Rates:
    """Work done per second."""

    transitions: float
    lanes: float


def yardstick_rates(module: ModuleType, episodes: int = 300) -> Rates:
    begin = time.process_time()
    transitions, lanes, *_ = module.run(1, episodes)
    seconds = time.process_time() - begin
    return Rates(transitions / seconds, lanes / seconds)


@dataclass(frozen=True)
class Measured:
    """One run of a shape. Counts are the same in all runs of a plan."""

    transitions: int
    lanes: int
    live: float
    running: float
    winding_up: float

    @property
    def rates(self) -> Rates:
        return Rates(self.transitions / self.running, self.lanes / self.running)


def run_once(name: str, leg: Leg, protocol: LoadedProtocol) -> Measured:
    """The leg on a fresh system."""
    gc.collect()
    system = build_system(protocol.info, leg.description, leg.run_key)
    run = leg_run(leg, system)
    running = timed(run.run_episodes)
    executed = sum(sum(controller.counts) for controller in system.controllers)
    accesses = run.outcome.lane_accesses
    live = run.outcome.concurrency.mean_live
    winding_up = timed(run.wind_up)
    if run.outcome.finding is not None:
        raise SystemExit(f"{name}: {run.outcome.finding}")
    return Measured(executed, accesses, live, running, winding_up)


def measure(
    name: str, shape: Shape, yardstick: ModuleType | None, one_per_lane: bool, repeat: int
) -> None:
    protocol = load_protocol("GPU_VIPER", (), None)
    campaign = Campaign(protocol, shape.options(one_request_per_lane=one_per_lane))
    begin = time.process_time()
    leg = campaign.plan(0).leg
    generating = time.process_time() - begin
    runs = []
    references = [yardstick_rates(yardstick)] if yardstick else []
    for _ in range(repeat):
        runs.append(run_once(name, leg, protocol))
        if yardstick:
            references.append(yardstick_rates(yardstick))
    best = min(runs, key=lambda run: run.running)
    print(f"{name}{', one request a lane' if one_per_lane else ', coalesced'}")
    print(
        f"  {best.lanes:,} lane requests, {best.transitions:,} transitions"
        f" ({best.transitions / best.lanes:.2f} each), best of {repeat}: {best.running:.2f} s;"
        f" winding up took {min(run.winding_up for run in runs):.2f} s"
    )
    rates = best.rates
    print(f"  {rates.transitions:,.0f} transitions/s, {rates.lanes:,.0f} lane requests/s")
    print(f"  generating took {generating:.3f} s, {generating / best.running:.1%} of running")
    print(f"  {best.live:.1f} of {shape.units * shape.wavefronts} waves live")
    if references:
        print_ratios([run.rates for run in runs], references)
    if shape.reference_lanes_per_second:
        known = shape.reference_lanes_per_second
        print(
            f"  gem5 on its own machine: {known:,} lane requests/s; ratio {rates.lanes / known:.2f}"
        )


def print_ratios(rates: list[Rates], references: list[Rates]) -> None:
    """Every run beside the mean of the yardstick before it and the yardstick after it."""
    transitions, lanes = [], []
    for run, before, after in zip(rates, references, references[1:]):
        transitions.append(2 * run.transitions / (before.transitions + after.transitions))
        lanes.append(2 * run.lanes / (before.lanes + after.lanes))
    fastest = max(references, key=lambda reference: reference.transitions)
    print(
        f"  yardstick: {fastest.transitions:,.0f} transitions/s, {fastest.lanes:,.0f} lane"
        f" requests/s; median ratios {median(transitions):.2f} and {median(lanes):.2f}"
        f" (transitions from {min(transitions):.2f} to {max(transitions):.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--yardstick", type=Path)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    parser.add_argument("--repeat", type=int, default=3, help="runs of each shape (default: 3)")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    tune_collector()
    yardstick = load_yardstick(arguments.yardstick) if arguments.yardstick else None
    for name in arguments.shape or SHAPES:
        for one_per_lane in (False, True):
            measure(name, SHAPES[name].shortened(), yardstick, one_per_lane, arguments.repeat)


if __name__ == "__main__":
    main()
