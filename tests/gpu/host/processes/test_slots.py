"""Queues of several processes on fewer slots, with context switches in their own memory."""

from __future__ import annotations

from typing import Any

import pytest

from gpu import Buffer, Device, Signal
from gpu.host.device_core import Options
from gpu.host.processes.process import Process
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.kernels.stored import stored

QUEUES = 32


def launched(process: Process, case: Case) -> tuple[dict[str, Buffer], Signal]:
    """All launches of a case in one queue, one after the other."""
    code = stored(case.source)
    buffers = {name: process.alloc(values) for name, values in case.buffers.items()}
    done, queue = Signal(len(case.launches)), process.create_queue()
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


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=() if first == 64 else pytest.mark.slow)
        for first in range(0, len(CASES), QUEUES)
    ],
)
@pytest.mark.parametrize("timed", [False, True], ids=["functional", "timed"])
def test_the_corpus_in_32_queues_of_4_processes_on_3_slots(timed: bool, first: int) -> None:
    options = Options(slots=3, quantum=1000, preempt=True, printf=lambda text: None)
    memory = FlatMemory(cus=2) if timed else None
    device = Device(memory=memory, cus=2, options=options)
    processes = [device.create_process() for _ in range(4)]
    cases = CASES[first : first + QUEUES]
    runs = [(case, *launched(processes[number % 4], case)) for number, case in enumerate(cases)]
    device.run()
    for case, buffers, done in runs:
        assert done.value == 0, case.name
        found = {name: buffer.numpy() for name, buffer in buffers.items()}
        assert case.complaint(found, False) is None, case.name
