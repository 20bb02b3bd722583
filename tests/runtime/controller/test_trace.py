"""Observers, histories, and the promise that one seed is one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.controller.trace import Observers, TraceHash
from runtime.sim.delay_policy import DRAWN_POLICIES, DelayPolicy
from runtime.types.message import Message
from runtime.types.messages import RubyRequest
from runtime.types.values import DataBlock, NetDest
from tests.runtime.pingpong import BallMsg, Entry, HoldingController, Kind, State, World


def traced(policy: str, run_key: int, **options: object) -> tuple[int, int]:
    world = World(5, delays=DelayPolicy(policy, run_key), limit=40, **options)  # type: ignore[arg-type]
    trace = TraceHash()
    for player in world.players:
        player.observer = trace
    for ball in range(9):
        world.throw(ball % 5, 64 * (ball % 7), latency=1 + ball % 3)
    world.engine.run()
    return trace.value, trace.count


@pytest.mark.parametrize("policy", DRAWN_POLICIES)
def test_the_same_key_gives_the_same_run(policy: str) -> None:
    assert traced(policy, 1) == traced(policy, 1)
    assert traced(policy, 1)[1] == 9 * 41
    if policy != "nominal":
        assert traced(policy, 1)[0] != traced(policy, 2)[0]


def test_a_fresh_process_makes_the_same_run() -> None:
    program = (
        "from tests.runtime.controller.test_trace import traced;"
        "print(traced('heavy_tail', 7), traced('skewed', 8, ordered=True))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[3],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for seed in ("0", "12345")
    }
    assert outputs == {f"{traced('heavy_tail', 7)} {traced('skewed', 8, ordered=True)}\n"}


def test_several_observers_see_every_transition() -> None:
    world = World(2, limit=10)
    traces = TraceHash(), TraceHash()
    for player in world.players:
        player.observer = Observers(*traces)
    world.throw(0, 0x40)
    world.throw(1, 0x80)
    world.engine.run()
    assert [trace.count for trace in traces] == [22, 22]
    assert traces[0].value == traces[1].value


def test_comments_reach_the_observer_once() -> None:
    class Chatty(HoldingController):
        def balls_in_poll(self) -> bool:
            self.comment("seen ")
            self.comment(7)
            return super().balls_in_poll() is True

    world = World(1, Chatty, limit=0)
    comments: list[str] = []
    for player in world.players:
        player.observer = lambda *step: comments.append(step[-1])
        player.cache.allocate(0, Entry()).CacheState = State.V
    world.throw(0, 0)
    world.throw(0, 0)
    world.engine.run()
    assert comments == ["seen 7", "seen 7"]


def test_debug_output_goes_to_the_sink() -> None:
    player = World(1).players[0]
    said: list[str] = []
    player.trace_sink = said.append
    player.dprintf("RubySlicc", "address %#x of %s\n", 64, "A")
    player.dprintf(None, "%d", "not a number")
    assert said == ["0: Cache 0: RubySlicc: address 0x40 of A", "0: Cache 0: : %d 'not a number'"]


def test_waiting_transactions_end_to_end() -> None:
    """Hold, three balls, free: the balls wait, and move on in their order."""
    world = World(2, HoldingController, limit=0, number_of_TBEs=1)
    player = world.players[0]
    entry = Entry()
    player.cache.allocate(0, entry)
    entry.CacheState = State.V
    for tick, kind in ((1, Kind.Hold), (2, Kind.Ball), (3, Kind.Ball), (5, Kind.Free)):
        world.throw(0, 0, kind, tick)
    world.engine.run(until=4)
    assert world.inputs[0].hasStalledMsg(0)
    assert len(player.TBEs) == 1
    world.engine.run()
    assert not world.inputs[0].stalled
    assert len(player.TBEs) == 0
    assert player.count_of(State.V, Kind.Ball) == 2
    assert player.count_of(State.I, Kind.Ball) == 2


def test_messages_copy_their_values_and_share_their_defaults() -> None:
    message = BallMsg()
    assert message.Destination is BallMsg.Destination
    message.Destination = NetDest(5)
    message.DataBlk = DataBlock(9)
    copy = message.copy()
    assert isinstance(copy, BallMsg)
    copy.Destination.bits = 1
    copy.DataBlk.data = 2
    assert (message.Destination.bits, message.DataBlk.data) == (5, 9)
    assert (message == copy, message == message) == (False, True)
    assert (BallMsg.LINE_FIELD, RubyRequest.LINE_FIELD) == ("addr", "LineAddress")
    assert Message().line_address() == 0
    request = RubyRequest()
    request.LineAddress = 0x80
    assert request.line_address() == 0x80
