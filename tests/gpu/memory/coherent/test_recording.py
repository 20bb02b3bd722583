"""What was recorded comes out again, to the tick."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.memory.address_space import PAGE, AddressSpace
from gpu.memory.coherent.factory import EngineChoice, choose_engine
from gpu.memory.coherent.native_backend import NativeBackend
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.coherent.recording import replay
from gpu.memory.interface import (
    MemoryRequest,
)
from runtime.controller.trace import TraceHash
from runtime.requesters.port import AccessKind
from tests.gpu.memory.coherent.streams import ENGINES, ask, drive, loaded, opened, words


@pytest.mark.parametrize("recorded", ENGINES)
@pytest.mark.parametrize("replayed", ENGINES)
def test_a_replay_makes_the_same_transitions(recorded: str, replayed: str) -> None:
    memory = opened("GPU_VIPER", delays="uniform", seed=5, engine=recorded)
    recording = memory.record()
    trace = _traced(memory.backend)
    drive(memory, 5)
    system = loaded("GPU_VIPER", 2, 2, "uniform")
    again = choose_engine(system, EngineChoice(replayed), 5, recording.space()).memory
    other = _traced(again.backend)
    answers, late = replay(recording, again)
    assert not late
    assert recording.requests > 100 and answers > recording.requests
    assert (again.now, again.backend.tick) == (memory.now, memory.backend.tick)
    assert _hash(again.backend, other) == _hash(memory.backend, trace)


def _traced(backend: object) -> TraceHash:
    trace = TraceHash()
    if isinstance(backend, PythonBackend):
        for controller in backend.system.controllers:
            controller.observer = trace
    return trace


def _hash(backend: object, trace: TraceHash) -> int:
    return backend.system.trace_hash if isinstance(backend, NativeBackend) else trace.value


def test_doorbells_are_mute_and_what_was_freed_is_there() -> None:
    heard: list[int] = []
    memory = opened("GPU_VIPER")
    recording = memory.record()
    bells = memory.space.map_doorbells(PAGE, lambda address, data: heard.append(address))
    start = memory.space.allocate(64).start
    data = np.full((1, 4), 1, np.uint8)
    for address in (bells.start, start):
        ask(memory, MemoryRequest(0, AccessKind.STORE, 1, words(address), 4, data))
    memory.space.free(start)
    memory.space.allocate(64)
    assert heard == [bells.start]
    again = choose_engine(loaded("GPU_VIPER"), EngineChoice.python, 1, recording.space()).memory
    assert replay(recording, again) == (4, 0)
    assert heard == [bells.start]
    assert again.read(start, 4) == b"\1\1\1\1"


def test_spaces_are_adopted_in_order() -> None:
    one, other = AddressSpace(), AddressSpace()
    low, high = one.allocate(64), one.allocate(64)
    other.adopt(high)
    with pytest.raises(ValueError, match="not behind"):
        other.adopt(low)
