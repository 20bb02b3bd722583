"""Engine, buffers, network and random delays of the native core do what the Python runtime does."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.native.system import zeroed_block
from runtime.prng import Prng
from tests.runtime.native.core_twin import NONE, Shape, Twin, call, library, plan_words

ROOM = (1 << 14, 64, 0, 64, 64, 1 << 10, 0, 1 << 12, 0, 1 << 12, 64)
STEPS = 1 << 16


class Native:
    def __init__(self, shape: Shape, room: tuple[int, ...] = ROOM) -> None:
        self.lib = library("core_driver.cpp")
        words = plan_words(shape, room)
        size = call(self.lib, "t_size", words, len(words))
        assert size
        self.block = zeroed_block(size)
        assert call(self.lib, "t_start", self.block, size, words, len(words))
        self.steps = np.zeros(5 * STEPS + 2, np.uint64)

    def __call__(self, name: str, *arguments: object) -> int:
        call(self.lib, "t_log", self.steps)
        return call(self.lib, name, self.block, *arguments)

    def log(self) -> list[tuple[int, ...]]:
        count = int(self.steps[5 * STEPS])
        return [tuple(row) for row in self.steps[: 5 * count].reshape(-1, 5).tolist()]

    def start_values_at(self, value: int) -> None:
        self.steps[5 * STEPS + 1] = value


def test_a_block_begins_where_its_layout_holds() -> None:
    words = plan_words(Shape.draw(1), ROOM)
    lib = library("core_driver.cpp")
    size = call(lib, "t_size", words, len(words))
    room = zeroed_block(size + 64)
    assert not call(lib, "t_start", room[64:], size, words, len(words))
    assert call(lib, "t_start", room[:size], size, words, len(words))


@pytest.mark.parametrize("size", [1, 5_000, 4 << 20, (9 << 20) + 5])
def test_a_block_is_zero_and_has_its_size(size: int) -> None:
    block = zeroed_block(size)
    assert block.nbytes == size and not block.any()
    assert block.ctypes.data % (1 << 21 if size >= 4 << 20 else 1 << 12) == 0
    block[-1] = 1


@pytest.mark.parametrize("seed", range(60))
def test_a_script_runs_alike(seed: int) -> None:
    shape = Shape.draw(seed)
    twin, native = Twin(shape), Native(shape)
    prng = Prng(seed).fork("messages")
    put = 0
    for value in range(20):
        buffer = prng.below(shape.buffers)
        if not twin.buffers[buffer].areNSlotsAvailable(1):
            continue
        arguments = (buffer, prng.below(16) * 64, value, 6, prng.below(10))
        twin.put(*arguments)
        native("t_put", *arguments)
        put += 1
    twin.next_value = 100
    native.start_values_at(100)
    for until in (50, 1700, None):
        twin.engine.run(until)
        native("t_run", NONE if until is None else until)
        assert native("t_error") == native("t_pool") == 0
        assert native.log() == twin.log
        assert native("t_sequence") == twin.engine.sequence
        for index, buffer in enumerate(twin.buffers):
            found = np.zeros(4, np.uint64)
            native("t_buffer", index, found)
            ready, stalled = len(buffer.messages), len(buffer.stalled)
            assert found[:3].tolist() == [ready, stalled, buffer.taken if buffer.capacity else 0]
            waiting = sum(message is not None for message in twin.engine.in_flight(buffer))
            assert found[3] == ready + waiting
    assert len(twin.log) >= put
    held = sum(len(list(buffer.contents())) for buffer in twin.buffers)
    assert native("t_live") >= held


def test_scripts_are_not_trivial() -> None:
    steps = []
    for seed in range(60):
        twin = Twin(Shape.draw(seed))
        for value in range(10):
            if twin.buffers[value % len(twin.buffers)].areNSlotsAvailable(1):
                twin.put(value % len(twin.buffers), value * 64, value, 6, value)
        twin.next_value = 100
        twin.engine.run()
        steps.append(len(twin.log))
    assert max(steps) > 200
    assert sum(steps) > 3000


def test_a_full_pool_ends_the_run() -> None:
    shape = Shape.draw(3)
    native = Native(shape, (4, *ROOM[1:]))
    for value in range(8):
        native("t_put", 0, 64 * value, value, 6, 1)
    assert native("t_pool") == 1
    assert native("t_run", NONE) == 3


def test_a_plan_of_another_version_has_no_size() -> None:
    words = plan_words(Shape.draw(0), ROOM)
    words[1] += 1
    assert call(library("core_driver.cpp"), "t_size", words, len(words)) == 0
