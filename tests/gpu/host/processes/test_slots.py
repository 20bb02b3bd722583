"""32 queues of 4 processes on 3 slots, with context switches in their own memory.

Each queue has a case of the corpus, and each process a priority. All are right, waves are taken off
and put back on the way, and no queue waits longer than the page on user queues says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu import Buffer, Device, Signal
from gpu.host.device_core import Options
from gpu.host.processes.process import Process
from gpu.hsa.queue_state import HIGHEST_PRIORITY
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory.flat_memory import FlatMemory
from gpu.packet_processor.queue_scheduler import Waits
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.kernels.stored import stored
from tests.sampling import sampled

QUEUES, SLOTS = 32, 3
PRIORITIES = (0, 7, 7, HIGHEST_PRIORITY)
MakeDevice = Callable[[Options], Device]


def launched(process: Process, case: Case, priority: int) -> tuple[dict[str, Buffer], Signal]:
    """All launches of a case in one queue, one after the other."""
    code = stored(case.source)
    buffers = {name: process.alloc(values) for name, values in case.buffers.items()}
    done, queue = Signal(len(case.launches)), process.create_queue(priority=priority)
    for launch in case.launches:
        arguments: list[Any] = [
            buffers[each] if isinstance(each, str) else each for each in launch.arguments
        ]
        queue.dispatch(
            code[launch.kernel],
            launch.grid,
            launch.group,
            arguments,
            completion=done,
            private_bytes=launch.private,
            barrier=True,
        )
    queue.ring()
    return buffers, done


def run_batch(device: Device, first: int, queues: int = QUEUES) -> Waits:
    """The corpus from a case on, a queue each."""
    processes = [device.create_process() for _ in range(4)]
    cases = (CASES + CASES)[first : first + queues]
    runs = [
        (case, *launched(processes[number % 4], case, PRIORITIES[number % 4]))
        for number, case in enumerate(cases)
    ]
    device.run()
    for case, buffers, done in runs:
        assert done.value == 0, case.name
        found = {name: buffer.numpy() for name, buffer in buffers.items()}
        assert case.complaint(found, False) is None, case.name
    return device.machine.scheduler.waits


def check_bound(waits: Waits, quantum: int) -> None:
    waiting = QUEUES - SLOTS
    assert waits.longest_switch > 0, "waves were taken off"
    assert waits.longest_turns <= HIGHEST_PRIORITY + waiting
    turn = 2 * quantum + waits.longest_switch
    assert waits.longest_ticks <= (waits.longest_turns + 1) * turn


def without_time(options: Options) -> Device:
    return Device(cus=2, options=options)


def with_pipelines(options: Options) -> Device:
    return Device(memory=FlatMemory(cus=2), options=options)


def with_caches(options: Options) -> Device:
    """And random delays of messages."""
    return coherent_device(delays="uniform", engine=EngineChoice.auto, options=options)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=() if first == 160 else pytest.mark.slow)
        for first in range(0, len(CASES), QUEUES)
    ],
)
@pytest.mark.parametrize(
    ("make", "quantum"),
    sampled(
        [(with_caches, 500), (without_time, 20), (with_pipelines, 100)],
        3,
        ids=["coherent", "functional", "timed"],
    ),
)
def test_the_corpus_in_32_queues_of_4_processes_on_3_slots(
    make: MakeDevice, quantum: int, first: int
) -> None:
    options = Options(slots=SLOTS, quantum=quantum, preempt=True, printf=lambda text: None)
    device = make(options)
    check_bound(run_batch(device, first), quantum)
    assert not device.memory.busy


@pytest.mark.parametrize("quantum", [2, 10])
def test_a_turn_that_is_shorter_than_fetching_a_packet(quantum: int) -> None:
    """The device was at rest with queues that had work: turns without an event were counted, and
    not whether each queue had had one."""
    options = Options(slots=SLOTS, quantum=quantum, preempt=True)
    run_batch(without_time(options), 0, 12)
