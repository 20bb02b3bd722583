"""From names on a command line to a memory: the one module here that compiles a protocol.

Invariant: the same protocol, system, counts and seed open memories that behave alike to the tick,
whichever engine runs them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from gpu.memory.address_space import AddressSpace
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.native_backend import NativeBackend
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.coherent.system_selection import KernelSystem, kernel_system
from gpu.systems import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol, locate
from runtime.description import DescriptionError, SystemDescription
from runtime.native.build import Sizes, recipe
from runtime.native.ctypes_api import LibraryError
from runtime.native.external_requester import EXTERNAL_CLIENTS
from runtime.native.plan import Capacities, NotNative, Plans
from runtime.native.system import SystemTooLarge
from runtime.native.tiered_object import Libraries
from runtime.native.toolchain.compiler import ToolchainError, find_compiler, one_line
from runtime.native.toolchain.object_cache import CacheError, user_cache
from runtime.native.verdicts import Verdicts
from slicc.text.lazy_dataclass import dataclass

DEFAULT_PROTOCOL: Final = "GPU_VIPER"
_CANNOT: Final = (ToolchainError, CacheError, LibraryError, NotNative, SystemTooLarge)


class EngineChoice(StrEnum):
    """What ``--engine`` takes."""

    auto = "auto"
    python = "python"
    native = "native"


class EngineMissing(Exception):
    """The native engine was requested and is not available; the message is for the user."""


@dataclass(frozen=True, slots=True)
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

    ``system``: a description; else that of `gpu/systems`, else the protocol's own.
    ``settings``: fields of it to change, ``{"network.delays": "uniform"}``. ``native``: generate
    the native form, too. Raises ProtocolMissing, ProtocolBroken, DescriptionError, OSError.
    """
    _, shipped = locate(protocol)
    ours = DIRECTORY / f"{protocol}.toml"
    if system is None and shipped and ours.is_file():
        system = ours
    loaded = load_protocol(protocol, include, system, native, values=settings or {})
    written = loaded.written
    if settings:
        written = written.override(settings)
    kernel = kernel_system(loaded.info, written, cus, tccs)
    _check_counts(settings or {}, kernel.description)
    return LoadedSystem(loaded, kernel)


def _check_counts(settings: Mapping[str, object], description: SystemDescription) -> None:
    """Raises DescriptionError for a count that is set where another one is decided."""
    for path, value in settings.items():
        name = path.removeprefix("machine.").removesuffix(".count")
        if path != f"machine.{name}.count":
            continue
        there = {
            group: machine.count
            for group, machine in description.machines.items()
            if name in (group, machine.of)
        }
        if set(there.values()) != {value} or name not in there:
            counts = ", ".join(f"{count} {group}" for group, count in there.items())
            what = "compute units and banks decide how many there are (--cus, --tccs)"
            raise DescriptionError(f"--set {path}={value}", 0, "", None, f"{what}: {counts}")


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """``words``: which engine runs it, as text for the user."""

    memory: CoherentMemory
    words: str


def choose_engine(
    loaded: LoadedSystem,
    choice: EngineChoice = EngineChoice.auto,
    seed: int = 0,
    space: AddressSpace | None = None,
    *,
    optimised: bool = False,
) -> OpenedMemory:
    """Open a memory on the engine that ``choice`` names; ``auto``: the native one if possible.

    ``loaded`` was loaded with ``native=True`` unless ``choice`` is ``python``. ``optimised``:
    compile for speed, which takes seconds for a protocol that is new; else code that was compiled
    in less time is used, and the optimised object is ready for the next run if this one lasts.
    Raises EngineMissing if ``choice`` is the native engine and it is not available.
    """
    return MemoryFactory(loaded, choice, optimised=optimised).open(loaded.kernel, seed, space)


class MemoryFactory:
    """Opens memories of any system of one protocol: finding a compiler and planning are done once.
    `choose_engine` is for callers that open one."""

    def __init__(
        self,
        loaded: LoadedSystem,
        choice: EngineChoice = EngineChoice.auto,
        *,
        optimised: bool = False,
    ) -> None:
        self._choice = choice
        self._native: NativeSystem | None = None
        self._words = "Python engine"
        if choice is not EngineChoice.python:
            try:
                self._native = NativeSystem(loaded, optimised=optimised)
            except _CANNOT as error:
                self._words = self._without(error)

    def _without(self, error: Exception) -> str:
        """Why the native engine does not run; raises EngineMissing if it has to."""
        if self._choice is EngineChoice.native:
            raise EngineMissing(f"--engine native: {error}") from None
        return f"Python engine, because {one_line(error)}"

    def open(
        self,
        kernel: KernelSystem,
        seed: int = 0,
        space: AddressSpace | None = None,
        capacities: Capacities | None = None,
    ) -> OpenedMemory:
        """A memory at rest, all zero. ``capacities``: of the native engine's pools at first.
        Raises EngineMissing."""
        words = self._words
        if self._native is not None:
            try:
                return self._native.open(kernel, seed, space, capacities)
            except _CANNOT as error:
                words = self._without(error)
        return OpenedMemory(CoherentMemory(kernel, PythonBackend(kernel, seed), space), words)


class NativeSystem:
    """What native memories of one protocol share: the compiler, the plans of its systems. Raises
    one of the errors that `MemoryFactory` explains."""

    def __init__(self, loaded: LoadedSystem, *, optimised: bool = False) -> None:
        sources = loaded.protocol.native
        if sources is None:
            raise NotNative(loaded.protocol.why_not_native or "it was not compiled for it")
        self._sources = sources
        self._compiler = find_compiler()
        self._optimised = optimised
        self._plans = Plans(loaded.kernel.protocol, sources.shape)
        self._keys: dict[Sizes, str] = {}

    def open(
        self,
        kernel: KernelSystem,
        seed: int,
        space: AddressSpace | None,
        capacities: Capacities | None,
    ) -> OpenedMemory:
        """A memory at rest, of any system of the protocol. Raises the same."""
        description = kernel.description
        nodes = sum(machine.count or 0 for machine in description.machines.values())
        sizes = Sizes.of(description.line_size, nodes)
        library = self._libraries(sizes)(sizes)
        space = AddressSpace() if space is None else space
        verdicts = Verdicts(self._sources, kernel.protocol, description)
        backend = NativeBackend(kernel, library, self._plans, verdicts, seed, space, capacities)
        words = f"native engine, compiled by {self._compiler.version}"
        return OpenedMemory(CoherentMemory(kernel, backend, space), words)

    def _libraries(self, sizes: Sizes) -> Libraries:
        """Shared by all devices of this process, so that they compile a protocol once."""
        sources, compiler = self._sources, self._compiler
        if sizes not in self._keys:
            self._keys[sizes] = recipe(sources, EXTERNAL_CLIENTS, sizes, compiler).key
        cache = user_cache()
        key = self._keys[sizes], cache.root, self._optimised, os.getpid()
        if key not in _opened:
            _opened[key] = Libraries(
                sources, EXTERNAL_CLIENTS, compiler, cache, lambda words: None, self._optimised
            )
        return _opened[key]


_opened: Final[dict[tuple[str, Path, bool, int], Libraries]] = {}
