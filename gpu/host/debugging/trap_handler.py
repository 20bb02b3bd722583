"""A trap handler in memory, for the kernels that a device launches from now on.

All numbers of ``s_trap`` enter it. It reports an error of its queue as D1 and the public runtime
have it: by another value than 0 in the queue's inactive signal, whose queue is in s[0:1] at
``s_trap 2``, and an interrupt; the queue is then in error and its waves, which wait in the handler,
are ended. A wave whose access is refused enters it with number 0 and MEM_VIOL in TRAPSTS, unless it
is at its end, at a barrier, or in the handler already: then it fails by itself.

Invariant: a handler lies at a multiple of 256, because the register has no lower bits.
"""

from __future__ import annotations

from typing import Final

from gpu.errors import HostError
from gpu.host.processes.context import Context

ALIGNMENT: Final = 256


def set_trap_handler(device: Context, base: int, memory: int = 0) -> None:
    """``device``: or a process of it, for its kernels. ``base``: TBA, the address of its code; 0
    for no handler. ``memory``: TMA, what it finds there. Raises HostError."""
    device.machine.need_the_clock("trap handler")
    if base % ALIGNMENT:
        raise HostError(f"a trap handler is {ALIGNMENT}-byte aligned; {base:#x} is not")
    for what, address in (("trap handler", base), ("memory of a trap handler", memory)):
        if address and device.memory.space.find(address) is None:
            raise HostError(f"the {what} at {address:#x} is not mapped")
    device.set_trap_handler(base, memory)
