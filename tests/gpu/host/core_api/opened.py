"""An opened runtime on a small device, with what its callbacks were given."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu import Device
from gpu.host.core_api.contexts import AsyncError, Context, Notification
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.device_queue import DeviceQueue
from gpu.host.topology import Agent


@dataclass
class Opened:
    """``timeout_ticks`` is short: most waits of tests are in vain."""

    runtime: CoreRuntime
    context: Context
    notifications: list[Notification] = field(default_factory=list)
    errors: list[AsyncError] = field(default_factory=list)

    @property
    def component(self) -> Agent:
        return self.runtime.device.topology.components[0]

    def signal(self, value: int) -> int:
        status, handle = self.runtime.signal_create(value, self.context)
        assert status == 0 and handle is not None
        return handle

    def queue(self, size: int = 8) -> DeviceQueue:
        status, queue = self.runtime.queue_create(self.component, size, 0, self.context)
        assert status == 0 and queue is not None
        return queue


def opened(device: Device | None = None, packets: str = "1.0") -> Opened:
    """A runtime that has just been opened."""
    runtime = CoreRuntime(device or Device(cus=1), timeout_ticks=500, packets=packets)
    made = Opened(runtime, Context())
    status, made.context = runtime.open(
        made.notifications.append, "notes", made.errors.append, "errors"
    )
    assert status == 0
    return made
