"""From names on a command line to a memory: the one module here that asks for a compilation.

Invariant: the same protocol, system, counts and seed open memories that behave alike to the tick,
whichever engine runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpu.memory.address_space import AddressSpace
from gpu.memory.coherent_base import CoherentMemory
from gpu.memory.kernel_system import KernelSystem, kernel_system
from gpu.memory.python_backend import PythonBackend
from gpu.systems import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol, locate

DEFAULT_PROTOCOL: Final = "GPU_VIPER"


@dataclass(frozen=True)
class LoadedSystem:
    """A compiled protocol and the system of it that kernels run on."""

    protocol: LoadedProtocol
    kernel: KernelSystem


def load_system(
    protocol: str = DEFAULT_PROTOCOL,
    *,
    cus: int | None = None,
    tccs: int | None = None,
    system: Path | None = None,
    settings: Mapping[str, object] | None = None,
    include: Sequence[Path] = (),
    native: bool = False,
) -> LoadedSystem:
    """Compile a protocol, given by name or path, and choose its system.

    ``system``: a description; else ours for kernels, else what there is of the protocol.
    ``settings``: fields of it to change, ``{"network.delays": "uniform"}``. ``native``: generate
    the native form, too. Raises ProtocolMissing, ProtocolBroken, DescriptionError, OSError.
    """
    _, shipped = locate(protocol)
    ours = DIRECTORY / f"{protocol}.toml"
    if system is None and shipped and ours.is_file():
        system = ours
    loaded = load_protocol(protocol, include, system, native)
    written = loaded.written
    if settings:
        written = written.override(settings)
    return LoadedSystem(loaded, kernel_system(loaded.info, written, cus, tccs))


def open_memory(
    loaded: LoadedSystem, seed: int = 0, space: AddressSpace | None = None
) -> CoherentMemory:
    """A memory at rest, all zero. ``seed``: of random message delays, if the system has any."""
    return CoherentMemory(loaded.kernel, PythonBackend(loaded.kernel, seed), space)
