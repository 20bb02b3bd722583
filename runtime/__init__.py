"""What compiled controllers stand on: time, buffers, network, storage, requesters.

The names below are the interface for programs; ``docs/python-api.md`` shows them at work.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; importing typing takes longer than the rest

__all__ = [
    "Access",
    "AccessKind",
    "AtomicKind",
    "Client",
    "Consumer",
    "DataBlock",
    "DescriptionError",
    "ProtocolError",
    "ProtocolInfo",
    "Requester",
    "System",
    "SystemDescription",
    "build_system",
    "load_description",
]

if TYPE_CHECKING:
    from runtime.controller.protocol_info import ProtocolInfo
    from runtime.description import DescriptionError, SystemDescription, load_description
    from runtime.errors import ProtocolError
    from runtime.requesters.port import Access, AccessKind, Client, Requester
    from runtime.sim.engine import Consumer
    from runtime.system.builder import build_system
    from runtime.system.system import System
    from runtime.types.atomic_op import AtomicKind
    from runtime.types.values import DataBlock
else:
    _HOMES = {
        "Access": "runtime.requesters.port",
        "AccessKind": "runtime.requesters.port",
        "AtomicKind": "runtime.types.atomic_op",
        "Client": "runtime.requesters.port",
        "Consumer": "runtime.sim.engine",
        "DataBlock": "runtime.types.values",
        "DescriptionError": "runtime.description",
        "ProtocolError": "runtime.errors",
        "ProtocolInfo": "runtime.controller.protocol_info",
        "Requester": "runtime.requesters.port",
        "System": "runtime.system.system",
        "SystemDescription": "runtime.description",
        "build_system": "runtime.system.builder",
        "load_description": "runtime.description",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: most programs need only a part."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
