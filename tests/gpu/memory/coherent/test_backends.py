"""Both engines give the same answers at the same ticks, by the same transitions."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gpu.memory.address_space import PAGE
from gpu.memory.coherent import native_backend
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import load_system
from gpu.memory.coherent.native_backend import NativeBackend, OutOfRoom
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.interface import MemoryRequest
from gpu.systems import DIRECTORY
from runtime.controller.trace import TraceHash
from runtime.errors import ProtocolError
from runtime.native.plan import Capacities
from runtime.native.system import PoolExhausted
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.sim.engine import Limits
from runtime.system import watchdog
from tests.gpu.memory.coherent.streams import (
    ENGINES,
    PROTOCOLS,
    ask,
    drive,
    on_engine,
    opened,
    settle,
    words,
)
from tests.planted.bug import UNDEFINED, Bug, BugClass, Edit
from tests.planted.viper_bugs import TCP_BUGS
from tests.sampling import sampled


@pytest.mark.parametrize(
    ("protocol", "delays", "seed"),
    sampled(product(PROTOCOLS, ["nominal", "uniform", "heavy_tail"], [1, 2]), 5),
)
def test_random_streams(protocol: str, delays: str, seed: int) -> None:
    one = opened(protocol, 2, 2, delays, seed)
    other = opened(protocol, 2, 2, delays, seed, "native")
    assert isinstance(one.backend, PythonBackend) and isinstance(other.backend, NativeBackend)
    trace = TraceHash()
    for controller in one.backend.system.controllers:
        controller.observer = trace
    expected, found = drive(one, seed), drive(other, seed)
    assert found == expected
    assert other.backend.system.trace_hash == trace.value
    assert one.executed() and other.executed() == one.executed()
    assert one.backend.system.leaks() == [] and other.backend.system.leaks() == 0


TINY = Capacities(lines=64, messages=64, flights=8, line_requests=128, atomics=64, logs=64)


def test_a_system_that_is_too_small_grows_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = drive(opened("GPU_VIPER"), 3)
    monkeypatch.setattr(native_backend, "first_capacities", lambda kernel: TINY)
    memory = opened("GPU_VIPER", engine="native")
    assert drive(memory, 3) == expected
    assert isinstance(memory.backend, NativeBackend)
    grown = memory.backend._capacities
    assert grown.line_requests > TINY.line_requests and grown.messages > TINY.messages


def test_what_can_grow_no_more_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_backend, "first_capacities", lambda kernel: TINY)
    monkeypatch.setattr(native_backend, "_MOST_KEPT", 10)
    with pytest.raises(OutOfRoom, match=r"the pool of \w+ is exhausted .* the Python engine needs"):
        drive(opened("GPU_VIPER", engine="native"), 3)


def test_there_is_room_for_what_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened("GPU_VIPER", engine="native")
    assert isinstance(memory.backend, NativeBackend)
    monkeypatch.setattr(NativeBackend, "_again", None)  # nothing runs out
    start = memory.space.allocate(4 << 20).start
    contents = bytes(range(256)) * (1 << 14)
    memory.write(start, contents)
    assert load_at(memory, start + (4 << 20) - 4) == contents[-4:]
    assert memory.read(start, 4 << 20) == contents


def load_at(memory: CoherentMemory, address: int) -> bytes:
    (answer,) = ask(memory, MemoryRequest(0, AccessKind.LOAD, 1, words(address)))
    assert answer.data is not None
    return answer.data.tobytes()


def test_more_slots_than_there_were_at_first() -> None:
    memory = opened("GPU_VIPER", engine="native")
    start = memory.space.allocate(16 * PAGE).start
    contents = np.random.default_rng(1).bytes(16 * PAGE)
    memory.write(start, contents)
    for tag in range(600):
        memory.push(MemoryRequest(tag % 2, AccessKind.LOAD, tag, words(start + 100 * tag, 1), 16))
    found = {answer.request.tag: answer.data for answer in settle(memory)}
    assert len(found) == 600
    for tag, data in found.items():
        assert data is not None and data.tobytes() == contents[100 * tag : 100 * tag + 16]


NO_TRANSITION = Bug(
    "tcp-acquire-of-a-line-under-way",
    BugClass.UNDEFINED_PAIR,
    "GPU_VIPER-TCP.sm",
    "There is no transition for an acquire of a line under way.",
    (Edit("transition(IV, Evict, L)", "transition(L, Repl)", "transition(IV, Evict"),),
    UNDEFINED,
)


def test_a_mistake_of_the_protocol_is_a_verdict_of_both(tmp_path: Path) -> None:
    path = NO_TRANSITION.plant(tmp_path)
    system = load_system(str(path), cus=1, tccs=1, system=DIRECTORY / "GPU_VIPER.toml", native=True)
    errors = []
    for engine in ENGINES:
        memory = on_engine(system, engine)
        start = memory.space.allocate(64).start
        memory.push(MemoryRequest(0, AccessKind.LOAD, 1, words(start)))
        memory.run(memory.now + 4)
        memory.push(MemoryRequest(0, AccessKind.ACQUIRE, 2))
        with pytest.raises(ProtocolError) as caught:
            settle(memory)
        error = caught.value
        pair = (error.machine, error.version, error.state, error.event)
        errors.append((pair, error.kind, error.tick, error.address, error.location))
    assert errors[0] == errors[1]
    assert errors[0][0] == ("TCP", 1, "IV", "Evict"), "TCP 0 is the front end's"


MISSES_FOR_EVER = Bug(
    "tcp-load-miss-without-a-pop",
    BugClass.UNDEFINED_PAIR,
    "GPU_VIPER-TCP.sm",
    "A load that misses does nothing, and so it stands at the head of its queue for ever.",
    (
        Edit("a_allocateFrame;", "", "transition(I, Load, IV)"),
        Edit("n_issueRdBlk;", "", "transition(I, Load, IV)"),
        Edit("p_popMandatoryQueue;", "", "transition(I, Load, IV)"),
        Edit("transition(I, Load, IV)", "transition(I, Load)"),
    ),
    UNDEFINED,
)


@pytest.mark.slow
def test_work_without_end_is_a_verdict_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = Limits(messages=1 << 20, work=5_000, credit=1_000)
    monkeypatch.setattr(watchdog, "limits_of", lambda _: soon)
    path = MISSES_FOR_EVER.plant(tmp_path)
    system = load_system(str(path), cus=1, tccs=1, system=DIRECTORY / "GPU_VIPER.toml", native=True)
    errors = []
    for engine in ENGINES:
        memory = on_engine(system, engine)
        start = memory.space.allocate(64).start
        memory.push(MemoryRequest(0, AccessKind.LOAD, 1, words(start)))
        with pytest.raises(ProtocolError) as caught:
            settle(memory)
        error = caught.value
        pair = (error.machine, error.version, error.state, error.event)
        errors.append((pair, error.kind.value, error.tick, error.location))
    assert errors[0] == errors[1]
    assert errors[0][:2] == (("TCP", 1, "I", "Load"), "too_many_transitions")


def crossings(memory: CoherentMemory) -> tuple[int, int]:
    """Rounds in which a fill of unit 0 was under way from before unit 1 stored into the line until
    after unit 0 acquired; and rounds in which unit 0 then found the old value."""
    crossed = stale = 0
    start = memory.space.allocate(64 * 60).start
    for line in range(start, start + 64 * 60, 64):
        ask(memory, MemoryRequest(1, AccessKind.LOAD, 0, words(line)))
        memory.push(MemoryRequest(0, AccessKind.LOAD, 1, words(line + 32)))
        memory.run(memory.now + 2)
        data = np.full((1, 4), 7, np.uint8)
        memory.push(MemoryRequest(1, AccessKind.STORE, 2, words(line), 4, data))
        before = _until(memory, AnswerKind.PERFORMED)
        crossed += AnswerKind.LOADED not in before
        memory.push(MemoryRequest(0, AccessKind.ACQUIRE, 3))
        _until(memory, AnswerKind.SYNCHRONIZED)
        memory.push(MemoryRequest(0, AccessKind.LOAD, 4, words(line)))
        for answer in settle(memory):
            if answer.request.tag == 4 and answer.data is not None:
                stale += answer.data.tobytes() != b"\7\7\7\7"
    return crossed, stale


def _until(memory: CoherentMemory, kind: AnswerKind) -> list[AnswerKind]:
    kinds: list[AnswerKind] = []
    while kind not in kinds:
        kinds += [answer.kind for answer in memory.run(None)]
    return kinds


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", sampled([1, 2, 3], 3))
def test_a_fill_that_crosses_an_acquire_is_not_kept(protocol: str, seed: int) -> None:
    """With several banks nothing orders the answer of one behind the store of another."""
    crossed, stale = crossings(opened(protocol, 2, 4, "heavy_tail", seed))
    assert crossed > 1 and stale == 0


def test_and_if_it_were_kept_that_would_be_seen(tmp_path: Path) -> None:
    bug = next(bug for bug in TCP_BUGS if bug.name == "tcp-fill-survives-acquire")
    planted = str(bug.plant(tmp_path))
    ours = DIRECTORY / "GPU_VIPER.toml"
    delays = {"network.delays": "heavy_tail"}
    system = load_system(planted, cus=2, tccs=4, system=ours, settings=delays)
    assert crossings(on_engine(system, "python"))[1] > 0


def test_a_replay_that_fails_gives_no_answer_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it brought up to then was known before; the next replay begins with what was there."""
    backend = opened("GPU_VIPER", engine="native").backend
    assert isinstance(backend, NativeBackend)
    backend.came = [1]

    def replay(entry: object, ends_open: bool) -> object:
        backend.came = [2]
        raise PoolExhausted("lines", 32)

    monkeypatch.setattr(backend, "_replay_log", replay)
    with pytest.raises(PoolExhausted):
        backend._replay(None, False)
    assert backend.came == [1]
