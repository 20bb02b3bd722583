"""The native engine beside the Python engine, gem5's figures and a yardstick, in one run.

Run by hand, on a core of its own::

    taskset -c 0 python -m tests.benchmarks.bench_native [--yardstick COMMAND] [--shape NAME ...]

What is measured is the optimised object (``docs/native.md``), made first if need be.
``--yardstick`` is a command that prints "<x> M transitions/s, <y> M lane requests/s". Both take
turns, ``--repeat`` times, and the best run of each counts, because other processes can only make a
run slower. Times are processor times of this process, from the first tick to the last episode's
completion; what follows (drain, flush, memory, read-back) and what precedes (generating, building
the system) is printed beside.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import time
from dataclasses import dataclass
from typing import Final

from protocols.loader import LoadedProtocol, load_protocol
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.engines.choice import Choice
from tester.engines.selection import Chosen, choose
from tester.execution.collector import tune_collector
from tester.execution.handover import handover_rules_of
from tester.native.leg import NativeLegRun
from tester.program.replay_file import Leg
from tests.benchmarks.shapes import SHAPES, Shape

_RATES: Final = re.compile(r"([\d.]+) M transitions/s, ([\d.]+) M lane requests/s")


@dataclass
class Figures:
    """Of one leg. Times in seconds of processor time; the best of all runs."""

    transitions: int = 0
    lanes: int = 0
    starting: float = float("inf")
    running: float = float("inf")
    winding_up: float = float("inf")
    block: int = 0

    @property
    def transitions_per_second(self) -> float:
        return self.transitions / self.running

    @property
    def lanes_per_second(self) -> float:
        return self.lanes / self.running


class Phases(NativeLegRun):
    """A leg that notes when its phases end."""

    figures: Figures

    def _run(self) -> None:
        begin = time.thread_time()
        self.start()
        started = time.thread_time()
        if not self._run_driver(0):
            return
        ended = time.thread_time()
        self.take_stock()
        figures = self.figures
        figures.transitions, figures.lanes = self.transitions, self.outcome.lane_accesses
        figures.block = self.system.size
        if self._come_to_rest():
            self._compare()
        figures.starting = min(figures.starting, started - begin)
        figures.running = min(figures.running, ended - started)
        figures.winding_up = min(figures.winding_up, time.thread_time() - ended)


def run_native(name: str, leg: Leg, engine: Chosen, repeat: int) -> Figures:
    figures = Figures()
    for _ in range(repeat):
        run_once(name, leg, engine, figures)
    return figures


def run_once(name: str, leg: Leg, engine: Chosen, figures: Figures) -> None:
    """Runs that ended early because a pool was too small do not count."""
    assert engine.native is not None
    run = Phases(leg, engine.native, handover_rules_of(leg))
    run.figures = figures
    if run.run().finding is not None:
        raise SystemExit(f"{name}: {run.outcome.finding}")


def run_python(name: str, leg: Leg, protocol: LoadedProtocol) -> Figures:
    system = build_system(protocol.info, leg.description, leg.run_key)
    run = leg_run(leg, system)
    begin = time.thread_time()
    run.run_episodes()
    running = time.thread_time() - begin
    if run.outcome.finding is not None:
        raise SystemExit(f"{name}: {run.outcome.finding}")
    executed = sum(sum(controller.counts) for controller in system.controllers)
    return Figures(executed, run.outcome.lane_accesses, running=running)


def _rates(command: str) -> tuple[float, float]:
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    found = _RATES.search(done.stdout)
    if found is None:
        raise SystemExit(f"{command} does not print its rates: {done.stdout[-200:]!r}")
    return float(found[1]) * 1e6, float(found[2]) * 1e6


def yardstick_rate(command: str) -> float:
    """Transitions per second that the command prints."""
    return _rates(command)[0]


def yardstick_lane_rate(command: str) -> float:
    """Lane requests per second that the command prints."""
    return _rates(command)[1]


def measure(
    name: str,
    shape: Shape,
    protocol: LoadedProtocol,
    engine: Chosen,
    arguments: argparse.Namespace,
    one_per_lane: bool,
) -> None:
    options = shape.options(one_request_per_lane=one_per_lane)
    begin = time.thread_time()
    leg = Campaign(protocol, options, engine).plan(0).leg
    generating = time.thread_time() - begin
    ours, yardstick = Figures(), 0.0
    for _ in range(arguments.repeat):
        run_once(name, leg, engine, ours)
        if arguments.yardstick:
            yardstick = max(yardstick, yardstick_rate(arguments.yardstick))
    print(f"{name}{', one request a lane' if one_per_lane else ', coalesced'}")
    print(
        f"  {ours.lanes:,} lane requests, {ours.transitions:,} transitions "
        f"({ours.transitions / ours.lanes:.2f} each) in {ours.running:.3f} s; before: generating "
        f"{generating:.3f} s, building {ours.starting:.3f} s; after: {ours.winding_up:.3f} s; "
        f"{ours.block / 1e6:.1f} MB"
    )
    words = (
        f"  {ours.transitions_per_second:,.0f} transitions/s, "
        f"{ours.lanes_per_second:,.0f} lane requests/s"
    )
    if yardstick:
        ratio = ours.transitions_per_second / yardstick
        words += f"; yardstick {yardstick:,.0f} transitions/s, ratio {ratio:.3f}"
    print(words)
    if shape.reference_lanes_per_second:
        known = shape.reference_lanes_per_second
        print(
            f"  gem5: {known:,} lane requests/s, ratio {ours.lanes_per_second / known:.1f}; "
            f"{shape.reference_transitions_per_lane} transitions each"
        )
    if arguments.python:
        short = shape.shortened().options(one_request_per_lane=one_per_lane)
        campaign = Campaign(protocol, short, engine)
        theirs = run_python(name, campaign.plan(0).leg, protocol)
        print(
            f"  Python engine: {theirs.transitions_per_second:,.0f} transitions/s, ratio "
            f"{ours.transitions_per_second / theirs.transitions_per_second:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--yardstick", metavar="COMMAND")
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    parser.add_argument("--repeat", type=int, default=5, help="runs of each shape (default: 5)")
    parser.add_argument("--python", action="store_true", help="the Python engine beside it")
    parser.add_argument("--short", action="store_true", help="fewer episodes than gem5 ran")
    arguments = parser.parse_args()
    tune_collector()
    protocol = load_protocol("GPU_VIPER", (), None, native=True)
    engine = choose(Choice.native, protocol, print, optimised=True)
    print(engine.summary)
    for name in arguments.shape or SHAPES:
        shape = SHAPES[name].shortened() if arguments.short else SHAPES[name]
        for one_per_lane in (False, True):
            measure(name, shape, protocol, engine, arguments, one_per_lane)


if __name__ == "__main__":
    main()
