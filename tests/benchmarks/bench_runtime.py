"""What one message costs: enqueue, deliver, poll, trigger, two actions, dequeue.

Run by hand: ``python -m tests.benchmarks.bench_runtime [transitions] [--profile]``.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time

from runtime.controller.trace import TraceHash
from runtime.sim.delay_policy import DelayPolicy
from tests.runtime.pingpong import World


def measure(label: str, world: World, transitions: int, balls: int = 32) -> float:
    """Microseconds per transition of a run of about ``transitions``."""
    for ball in range(balls):
        world.throw(ball % len(world.players), ball * 64)
    # Processor time, so that other work on the machine disturbs less.
    started = time.process_time()
    world.engine.run()
    seconds = time.process_time() - started
    done = sum(sum(player.counts) for player in world.players)
    cost = seconds / done * 1e6
    print(f"{label:<28}{done:>9} transitions {cost:7.2f} us each {done / seconds:>10,.0f}/s")
    return cost


def main() -> None:
    transitions = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 200_000
    limit = transitions // 32
    if "--profile" in sys.argv:
        world = World(8, limit=limit)
        with cProfile.Profile() as profile:
            measure("profiled", world, transitions)
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        return
    measure("8 players, no delays", World(8, limit=limit), transitions)
    measure("2 players, no delays", World(2, limit=limit), transitions)
    measure("ordered", World(8, limit=limit, ordered=True), transitions)
    measure(
        "heavy tail delays", World(8, limit=limit, delays=DelayPolicy("heavy_tail", 1)), transitions
    )
    world = World(8, limit=limit)
    for player in world.players:
        player.observer = TraceHash()
    measure("with trace hash", world, transitions)
    measure("one ball (idle ticks)", World(8, limit=limit * 8), transitions, balls=4)


if __name__ == "__main__":
    main()
