"""The core runtime of a process, as D2 has it, on one device.

    runtime = CoreRuntime(Device(cus=4))
    status, context = runtime.open()
    status, table = runtime.topology_table_create()
    status, queue = runtime.queue_create(table.topology.components[0], 64, 0, context)

``hsa_NAME`` of D2 is the method ``NAME``. A call returns its `Status`, one with an output the
status and the output; only getters and setters of indices have none. Dispatches, packets and kernel
arguments are those of `gpu.host.device_queue`.

Invariant: the calls have no state of the device: it serves queues, signals and memory that are made
without them alike.
"""

from __future__ import annotations

from typing import Final

from gpu.host.core_api.code_objects import CodeObjectCalls
from gpu.host.core_api.mailbox import MailboxCalls
from gpu.host.core_api.memory import MemoryCalls
from gpu.host.core_api.signals import TIMEOUT_TICKS
from gpu.host.device import Device
from gpu.host.processes.process import Process

TIMESTAMP_MHZ: Final = 100


class CoreRuntime(MailboxCalls, MemoryCalls, CodeObjectCalls):
    """``device``: or a process of it, whose addresses and queues the calls then have.
    ``timestamp_mhz``: 1 to 400, what the topology says of the clock, whose time stamps are
    ticks. ``timeout_ticks``: the most that a wait for a signal takes. ``packets``: ``1.0``, or
    ``draft`` for D2's own header of packets. ``execution_control``: queues have a mailbox, and
    waves stop at traps of a debugger. Raises HostError."""

    def __init__(
        self,
        device: Device | Process,
        *,
        timestamp_mhz: int = TIMESTAMP_MHZ,
        timeout_ticks: int = TIMEOUT_TICKS,
        packets: str = "1.0",
        execution_control: bool = False,
    ) -> None:
        super().__init__(device, timestamp_mhz, timeout_ticks, packets, execution_control)
