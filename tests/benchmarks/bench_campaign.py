"""Where the processor time of a default campaign goes, beside a yardstick.

Run by hand, on a core of its own::

    taskset -c 0 python -m tests.benchmarks.bench_campaign [--yardstick COMMAND]

Seconds are processor time of this process. ``description``: drawing a leg's system and completing
it; ``program``: generating its program; ``plan``: building that system for the native engine;
``native``: preparing, running, flushing, reading back and judging the leg, in compiled code;
``rest``: everything else, from the first draw to the last count. ``--yardstick`` is a command that
prints "<x> M transitions/s, <y> M lane requests/s"; it runs before and after each campaign, the
mean of both is the denominator.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from protocols.loader import load_protocol
from runtime.native.plan import Plans
from tester.campaign.campaign import Campaign
from tester.campaign.drawing import leg as leg_drawing
from tester.campaign.drawing.options import Options
from tester.campaign.drawing.system import Systems
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.collector import tune_collector
from tester.native.batch import LegBatch
from tests.benchmarks.bench_native import yardstick_lane_rate

PROTOCOLS: Final = ("GPU_VIPER", "GPU_VIPER_APU", "MESI_Two_Level", "MSI", "MI")
PHASES: Final = ("description", "program", "plan", "native", "rest")


class Stopwatch:
    """Processor seconds by phase; a phase within another counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._phases = ["rest"]
        self._since = time.thread_time()

    def _change(self) -> None:
        now = time.thread_time()
        self.seconds[self._phases[-1]] += now - self._since
        self._since = now

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            self._change()
            self._phases.append(phase)
            try:
                return function(*arguments, **named)
            finally:
                self._change()
                self._phases.pop()

        return wrapped

    def stop(self) -> None:
        self._change()


def observed(watch: Stopwatch) -> Callable[[], None]:
    """Time the phases of all campaigns from now on; returns what ends that."""
    places: tuple[tuple[Any, str, str], ...] = (
        (Systems, "draw", "description"),
        (leg_drawing, "generate_program", "program"),
        (Plans, "template", "plan"),
        (LegBatch, "call", "native"),
    )
    honest = [getattr(owner, name) for owner, name, _ in places]
    for (owner, name, phase), function in zip(places, honest):
        wrapped = watch.timed(phase, function)
        setattr(owner, name, staticmethod(wrapped) if name == "call" else wrapped)

    def end() -> None:
        for (owner, name, _), function in zip(places, honest):
            setattr(owner, name, staticmethod(function) if name == "call" else function)

    return end


def measure(name: str, episodes: int, seed: int, yardstick: str | None) -> None:
    protocol = load_protocol(name, (), None, native=True)
    engine = choose(Choice.native, protocol, print, optimised=True)
    campaign = Campaign(protocol, Options(seed, episodes), engine)
    rates = [yardstick_lane_rate(yardstick)] if yardstick else []
    stopwatch = Stopwatch()
    end = observed(stopwatch)
    try:
        for plan in campaign.plans():
            _, finding = campaign.run_leg(plan.leg)
            if finding is not None:
                raise SystemExit(f"{name}: {finding}")
        stopwatch.stop()
    finally:
        end()
    if yardstick:
        rates.append(yardstick_lane_rate(yardstick))
    totals = campaign.totals
    whole = sum(stopwatch.seconds.values())
    print(
        f"{name}: {totals.episodes:,} episodes in {totals.legs} legs, {whole:.2f} s, "
        f"{1000 * whole / totals.legs:.1f} ms a leg"
    )
    shares = (f"{phase} {stopwatch.seconds[phase] / whole:.0%}" for phase in PHASES)
    print(f"  {', '.join(shares)}")
    words = f"  {totals.lane_accesses / whole:,.0f} lane accesses/s"
    words += f", {campaign.transitions / whole:,.0f} transitions/s"
    if rates:
        rate = sum(rates) / len(rates)
        words += f"; yardstick {rate:,.0f} lane requests/s, "
        words += f"ratio {totals.lane_accesses / whole / rate:.3f}"
    print(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--yardstick", metavar="COMMAND")
    parser.add_argument("--protocol", action="append", choices=PROTOCOLS)
    parser.add_argument("--episodes", type=int, default=20_000, help="of each (default: 20000)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tune_collector()
    for name in arguments.protocol or PROTOCOLS:
        measure(name, arguments.episodes, arguments.seed, arguments.yardstick)


if __name__ == "__main__":
    main()
