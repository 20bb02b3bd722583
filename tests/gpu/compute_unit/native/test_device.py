"""When a device's units run ahead of the clock, and what its user sees of it: nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpu.host.device
from gpu.cli.run.counters import work_of
from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.errors import KernelError
from gpu.host.debugging.debugger import Debugger
from gpu.host.device import Device
from gpu.host.device_core import Options
from gpu.host.kfd.driver import Driver
from gpu.hsa.signal import Signal
from gpu.memory.coherent.factory import EngineChoice
from gpu.trace import Trace
from tests.gpu.compute_unit.native.units import library
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.test_context_switch import queue_of

ITEMS = 4096


def device(**options: Any) -> Device:
    library()
    return coherent_device(engine=EngineChoice.native, **options)


def add_up(made: Device) -> np.ndarray:
    """What a kernel without loops makes of 0 to `ITEMS` and of ones."""
    one, other = np.arange(ITEMS, dtype=np.float32), np.ones(ITEMS, np.float32)
    buffers = [made.alloc(values) for values in (one, other, np.zeros_like(one))]
    queue, done = made.create_queue(), Signal(1)
    queue.dispatch(stored("vadd")["vadd"], ITEMS, 64, [*buffers, ITEMS], completion=done)
    queue.ring()
    made.run(until=done)
    return buffers[2].numpy()


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, NativeUnit),
        ({"ahead": False}, TimedUnit),
        ({"checks": ["waits"]}, TimedUnit),
        ({"trace": Trace(["waves"], lambda line: None)}, TimedUnit),
        ({"record": True}, TimedUnit),
        ({"options": Options(preempt=True)}, TimedUnit),
        ({"policy": lambda ready, last: ready}, TimedUnit),
    ],
    ids=[
        "as it is",
        "ahead=False",
        "checks",
        "trace",
        "record",
        "preempt",
        "a policy of one's own",
    ],
)
def test_which_units(options: dict[str, Any], kind: type) -> None:
    made = device(**options)
    assert {type(unit) for unit in made.units} == {kind}
    assert made.runs_ahead == (kind is NativeUnit)
    assert add_up(made).tolist() == list(range(1, ITEMS + 1))


def in_a_process(made: Device) -> None:
    process = made.create_process()
    one = process.alloc(np.arange(64, dtype=np.int32))
    queue, done = process.create_queue(), process.signal(1)
    queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [one, one, one], completion=done)
    queue.ring()
    process.run(until=done)
    assert one.numpy().tolist() == list(range(0, 128, 2))


def with_a_debugger(made: Device) -> None:
    debugger = Debugger(made)
    assert add_up(made)[-1] == ITEMS and debugger.stops == []


def with_a_save_area(made: Device) -> None:
    """A queue that the driver makes; its waves are taken off in the middle of a loop."""
    driver = Driver(made)
    queue = queue_of(driver)
    flag, done = made.alloc(np.zeros(1, np.int32), mtype="cc"), made.signal(1)
    queue.dispatch(stored("wait")["spin_forever"], 256, 128, [flag], completion=done)
    queue.ring()
    made.run(limit=4000)
    driver.update_queue(queue.link.id, 0, 0, 100, 7)
    assert made.saved(queue) is not None
    driver.update_queue(queue.link.id, queue.field("base_address"), 1024, 100, 7)
    flag.write(np.ones(1, np.int32))
    made.run(until=done)


@pytest.mark.parametrize("what", [in_a_process, with_a_debugger, with_a_save_area])
def test_units_are_replaced_when_that_is_needed(what: Callable[[Device], None]) -> None:
    """After a kernel that has run ahead; time goes on and counters count on as without it."""
    found = []
    for ahead in (True, False):
        made = device(ahead=ahead)
        add_up(made)
        assert {type(unit) for unit in made.units} == {NativeUnit if ahead else TimedUnit}
        what(made)
        assert {type(unit) for unit in made.units} == {TimedUnit}
        found.append((made.now, made.stats, work_of(made)))
    assert found[0] == found[1]


def test_nothing_is_recorded_past_units_that_fetch_themselves() -> None:
    made = device()
    with pytest.raises(ValueError, match="fetch past this memory"):
        made.memory.record()  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [False, True])
def test_a_limit_is_met_by_waves_without_loops(ahead: bool) -> None:
    made = device(ahead=ahead, most_instructions=500)
    with pytest.raises(KernelError, match="500 wave instructions have run, the limit"):
        add_up(made)


@pytest.mark.parametrize("limit", [None, 3000])
def test_a_report_names_what_issues_next_and_not_what_was_executed_ahead(
    limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One wave spins, the other waits at a barrier with a store behind it. EXEC is not told of a
    wave that has run ahead."""
    if limit is None:
        monkeypatch.setattr(gpu.host.device, "HangDetector", partial(HangDetector, patience=500))
    texts = []
    for ahead in (True, False):
        made = device(ahead=ahead, most_instructions=limit)
        buffers = [made.alloc(np.zeros(128, np.int32)) for _ in range(2)]
        queue = made.create_queue()
        queue.dispatch(stored("wait")["lost_barrier"], 128, 128, buffers)
        queue.ring()
        with pytest.raises(KernelError) as raised:
            made.run()
        texts.append(str(raised.value))
    found, expected = texts
    exec = ", EXEC 0x" + 16 * "f"
    assert exec in expected
    assert found == (expected if limit is None else expected.replace(exec, ""))
    assert "wave 1 of group (0, 0, 0) of lost_barrier waits at a barrier, before 0x" in found


def test_one_device_after_the_other() -> None:
    """Wave numbers are reused; a second queue and a second kernel fetch the code again."""
    for _ in range(3):
        made = device()
        assert add_up(made)[-1] == ITEMS
        assert add_up(made)[-1] == ITEMS
