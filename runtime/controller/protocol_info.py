"""A compiled protocol as the rest of the system takes it: its controller classes.

Invariant: a value; two protocols may be loaded side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from runtime.controller.wakeup import Controller


@dataclass(frozen=True, slots=True)
class ProtocolInfo:
    """A compiled protocol: its controller classes in the order of their declaration.

    ``atomic_log``: whether blocks of data keep what atomic operations replaced.
    ``request_flags``: ``bool`` fields that its library adds to RubyRequest; bit i of
    ``RubyRequest.flags`` is the i-th of them.
    """

    name: str
    machines: tuple[type[Controller], ...]
    sources: tuple[str, ...] = ()
    atomic_log: bool = True
    request_flags: tuple[str, ...] = ()

    def machine(self, name: str) -> type[Controller]:
        """Raises ``KeyError`` if the protocol has no such machine."""
        for machine in self.machines:
            if name == machine.MACHINE:
                return machine
        raise KeyError(name)
