"""A model of a GCN3 GPU that runs compiled kernels on the caches of a compiled protocol.

from gpu import CodeObject, Device, Signal

device = Device(cus=4)
code = CodeObject.load("vadd.co")
a, b, c = device.alloc(x), device.alloc(y), device.alloc_like(x)
done = Signal(1)
queue = device.create_queue()
queue.dispatch(code["vadd"], grid=1000, group=256, args=[a, b, c, 1000], completion=done)
queue.ring()
device.run(until=done)
print(c.numpy())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu.code_object import CodeObject, LocalBytes
    from gpu.errors import GpuError
    from gpu.host.buffer import Buffer
    from gpu.host.device import Device
    from gpu.hsa.signal import Signal

__all__ = ["Buffer", "CodeObject", "Device", "GpuError", "LocalBytes", "Signal"]

_HOMES = {
    "Buffer": "gpu.host.buffer",
    "CodeObject": "gpu.code_object",
    "Device": "gpu.host.device",
    "GpuError": "gpu.errors",
    "LocalBytes": "gpu.code_object",
    "Signal": "gpu.hsa.signal",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: most tools need only a part of the package."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
