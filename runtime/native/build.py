"""From generated sources to a loaded object, through the cache.

Invariant: an object is found again only if its sources, the headers of this package, the flags
and the compiler's version are those it was made with.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from runtime.native.ctypes_api import Functions, Library, LibraryError
from runtime.native.plan import MachineShape, Shape
from runtime.native.toolchain.compiler import TIERS, Compilation, Compiler, all_flags
from runtime.native.toolchain.object_cache import (
    Cache,
    digest_of_files,
    forget,
    key_of,
    processor_tag,
    write_all,
)
from runtime.native.toolchain.pending_object import PendingObject

UNIT: Final = "protocol.cpp"
SITES: Final = "sites.json"
SHAPE: Final = "shape.json"
_OBJECT: Final = "protocol.so"
_KIND: Final = "object"
HEADERS: Final = Path(__file__).parent / "cpp"
Loaded = TypeVar("Loaded")


class Sources(Struct, frozen=True):
    """What the code generator wrote for one protocol: texts by file name."""

    name: str
    files: Mapping[str, str]

    @property
    def shape(self) -> Shape:
        """The machines' objects, noted when the sources were generated."""
        machines = json.loads(self.files[SHAPE])
        return {
            name: MachineShape(name, tuple((each, kind) for each, kind in objects))
            for name, objects in machines.items()
        }

    def site(self, number: int) -> tuple[str, int, str]:
        """(file, line, action) of a place in the protocol's text."""
        sites = json.loads(self.files[SITES])
        file, line, action = sites[number] if number < len(sites) else ("", 0, "")
        return file, line, action or ""


class Sizes(Struct, frozen=True):
    """What is fixed when an object is compiled: bytes of a line, 64-bit words of a node set."""

    line_bytes: int
    node_words: int

    @staticmethod
    def of(line_size: int, nodes: int) -> Sizes:
        return Sizes(line_size, max(1, (nodes + 63) // 64))

    def serve(self, others: Sizes) -> bool:
        """Whether what was compiled for these runs systems of the others."""
        return self.line_bytes == others.line_bytes and self.node_words >= others.node_words

    def defines(self) -> dict[str, int]:
        return {"LINE_BYTES": self.line_bytes, "NODE_WORDS": self.node_words}


@dataclass(frozen=True)
class Clients:
    """What issues accesses to the requesters of an object: see requesters/client.hpp.

    ``access``, ``header``: what SLICC_CLIENT_ACCESS and SLICC_CLIENTS name, found below
    ``include_root``. ``functions``: those of the object's interface that are theirs. ``counts``:
    whether what runs is counted (statistics/counters.hpp).
    """

    access: str
    header: str
    include_root: Path
    functions: Functions = field(hash=False)
    counts: bool = False

    def defines(self) -> dict[str, str]:
        counts = {"SLICC_STATISTICS": "1"} if self.counts else {}
        return {
            "SLICC_CLIENT_ACCESS": f'"{self.access}"',
            "SLICC_CLIENTS": f'"{self.header}"',
            **counts,
        }

    def load(self, path: Path) -> Library:
        """An object that was compiled for them. Raises LibraryError."""
        return Library(path, self.functions)


@dataclass(frozen=True)
class Recipe:
    """How one object is made: C++ texts by name, which of them is the unit, and the rest.

    ``include_roots``: where it includes from, besides this package; ``headers``: a digest of what
    it includes from elsewhere. ``optimise``: one of `TIERS`. Each is an object of its own.
    """

    files: Mapping[str, str]
    unit: str
    compiler: Compiler
    defines: Mapping[str, int | str] = field(default_factory=dict)
    headers: str = ""
    optimise: str = TIERS[-1]
    include_roots: tuple[Path, ...] = ()

    @cached_property
    def key(self) -> str:
        """The name of the object in the cache. Raises ToolchainError."""
        texts = [part for item in sorted(self.files.items()) for part in item]
        how = [" ".join(self._flags()), str(self.compiler), self.compiler.version]
        if self.compiler.means_this_processor(self._flags()):
            how.append(processor_tag())
        return key_of(*texts, self.unit, repr(dict(self.defines)), self.headers, *how)

    @cached_property
    def tiers(self) -> tuple[Recipe, ...]:
        """What a run compiles one after the other: quickly, then better, this one last. One alone
        if the user has said how to optimise. Raises ToolchainError."""
        quick = self.for_changes()
        if quick._flags() == self._flags():
            return (self,)
        return quick, *(replace(self, optimise=flag) for flag in TIERS[1:-1]), self

    def for_changes(self) -> Recipe:
        """The recipe of an object in which rows can be changed (`runtime.native.row_change`): what
        is not for speed has a look at each transition to spare."""
        return replace(self, optimise=TIERS[0], defines={**self.defines, "SLICC_CHANGES": 1})

    def find(self, cache: Cache) -> Path | None:
        """The object, if it was made before. Raises ToolchainError."""
        entry = cache.find(_KIND, self.key)
        return None if entry is None else entry / _OBJECT

    def make(self, cache: Cache) -> Path:
        """The object, compiled now if it has to be. Raises ToolchainError, CacheError."""

        def fill(directory: Path) -> None:
            compilation = self._start(directory)
            try:
                compilation.wait()
            finally:
                compilation.stop()

        return cache.make(_KIND, self.key, fill) / _OBJECT

    def begin(self, cache: Cache, idle: bool = False) -> PendingObject:
        """Start compiling beside us; ``idle``: with what we leave of the processors. Raises
        ToolchainError, OSError."""
        fresh = cache.begin(_KIND)
        try:
            compilation = self._start(fresh, idle)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        return PendingObject(cache, _KIND, self.key, fresh, _OBJECT, compilation)

    def _start(self, directory: Path, idle: bool = False) -> Compilation:
        write_all(directory, self.files)
        return Compilation(
            self.compiler,
            directory / self.unit,
            directory / _OBJECT,
            [directory, *self.include_roots, HEADERS],
            self.defines,
            self._flags(),
            idle,
        )

    def _flags(self) -> tuple[str, ...]:
        return all_flags(self.compiler, self.optimise)


def recipe(sources: Sources, clients: Clients, sizes: Sizes, compiler: Compiler) -> Recipe:
    """For the optimised object of a protocol."""
    return Recipe(
        sources.files,
        UNIT,
        compiler,
        {**sizes.defines(), **clients.defines()},
        headers_digest(clients.include_root),
        include_roots=(clients.include_root,),
    )


def build(how: Recipe, clients: Clients, cache: Cache) -> Library:
    """The loaded object of a protocol. Raises ToolchainError, CacheError, LibraryError."""
    found = how.find(cache)
    if found is not None:
        with suppress(LibraryError):  # or another process has just pruned the entry
            return loaded(found, clients.load)
    return loaded(how.make(cache), clients.load)


def loaded(path: Path, load: Callable[[Path], Loaded]) -> Loaded:
    """An object of the cache. One that is no object, or none for this machine, is found no more,
    and made anew when it is next wanted. Raises LibraryError.
    """
    try:
        return load(path)
    except LibraryError:
        forget(path.parent)
        raise


@cache
def headers_digest(clients: Path = HEADERS) -> str:
    """A digest of the headers that every object includes, and of those of its clients."""
    of_clients = "" if clients == HEADERS else digest_of_files(clients.rglob("*.hpp"), clients)
    return digest_of_files(HEADERS.rglob("*.hpp"), HEADERS) + of_clients
