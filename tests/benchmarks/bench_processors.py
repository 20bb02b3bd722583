"""Processors on MESI_Two_Level: the native engine beside gem5's random tester.

Run by hand, on a core of its own::

    taskset -c 0 python -m tests.benchmarks.bench_processors [--repeat N]

The program is that of the profile ``random-check``: tiny caches, words of a table stored byte by
byte and loaded, one instruction fetch for ten requests, delays as in gem5. Times are processor
times of this process from the first tick to the last request's answer; best of ``--repeat``.
"""

from __future__ import annotations

import argparse
from typing import Final

from protocols.loader import load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.collector import tune_collector
from tests.benchmarks.bench_native import run_native

GEM5: Final = {4: (23_800, 32.0), 8: (23_700, 39.2)}
"""By processors: requests a second and transitions each of gem5 v24.0.0.1 in 100,000 checks, on the
machine of `tests.benchmarks.shapes`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each size (default: 5)")
    parser.add_argument("--requests", type=int, default=100_000, help="of a run (default: 100000)")
    arguments = parser.parse_args()
    tune_collector()
    protocol = load_protocol("MESI_Two_Level", (), None, native=True)
    engine = choose(Choice.native, protocol, print, optimised=True)
    for processors, (rate, transitions) in GEM5.items():
        options = Options(
            seed=1,
            episodes=arguments.requests,
            profile="random-check",
            fixed={"units": processors},
            leg_episodes=arguments.requests,
        )
        leg = Campaign(protocol, options, engine).plan(0).leg
        ours = run_native(f"{processors} processors", leg, engine, arguments.repeat)
        print(
            f"{processors} processors: {ours.lanes:,} requests, "
            f"{ours.transitions / ours.lanes:.1f} transitions each (gem5: {transitions}), "
            f"{ours.lanes_per_second:,.0f} requests/s, ratio {ours.lanes_per_second / rate:.1f}; "
            f"{ours.transitions_per_second:,.0f} transitions/s"
        )


if __name__ == "__main__":
    main()
