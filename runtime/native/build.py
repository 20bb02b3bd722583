"""From generated sources to a loaded object, through the cache.

Invariant: an object is found again only if its sources, the headers of this package, the flags
and the compiler's version are those it was made with.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from runtime.native.library import Library, LibraryError
from runtime.native.object_cache import Cache, digest_of_files, key_of, write_all
from runtime.native.plan import MachineShape, Shape
from runtime.native.toolchain import Compiler, ToolchainError, all_flags, compile_object

UNIT: Final = "protocol.cpp"
SITES: Final = "sites.json"
SHAPE: Final = "shape.json"
_OBJECT: Final = "protocol.so"
_KIND: Final = "object"
_HEADERS: Final = Path(__file__).parent
_LEAST_LINE: Final = 64


@dataclass(frozen=True)
class Sources:
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


@dataclass(frozen=True)
class Sizes:
    """What is fixed when an object is compiled: bytes of a line, 64-bit words of a node set."""

    line_bytes: int
    node_words: int

    @staticmethod
    def of(line_size: int, nodes: int) -> Sizes:
        return Sizes(max(_LEAST_LINE, line_size), max(1, (nodes + 63) // 64))

    def defines(self) -> dict[str, int]:
        return {"LINE_BYTES": self.line_bytes, "NODE_WORDS": self.node_words}


def build(sources: Sources, sizes: Sizes, compiler: Compiler, cache: Cache) -> Library:
    """The loaded object. Raises ToolchainError, CacheError, LibraryError."""
    key = object_key(sources, sizes, compiler)

    def made() -> Path:
        return _object(key, sources.files, UNIT, sizes.defines(), compiler, cache)

    path = made()
    try:
        return Library(path)
    except LibraryError:
        if path.exists():
            raise
    # Another process pruned the entry between our look and the loading.
    return Library(made())


def build_unit(files: Mapping[str, str], unit: str, compiler: Compiler, cache: Cache) -> Path:
    """The object of C++ texts that stand alone. Raises ToolchainError, CacheError."""
    texts = [part for item in sorted(files.items()) for part in item]
    key = key_of(*texts, unit, " ".join(all_flags()), str(compiler), compiler.version)
    return _object(key, files, unit, {}, compiler, cache)


def _object(
    key: str,
    files: Mapping[str, str],
    unit: str,
    defines: Mapping[str, int],
    compiler: Compiler,
    cache: Cache,
) -> Path:
    def fill(directory: Path) -> None:
        write_all(directory, files)
        include = [directory, _HEADERS, _HEADERS.parent.parent]
        try:
            compile_object(compiler, directory / unit, directory / _OBJECT, include, defines)
        except ToolchainError as slip:
            if "No space left on device" in str(slip):
                raise OSError(errno.ENOSPC, "No space left on device") from None
            raise

    return cache.make(_KIND, key, fill) / _OBJECT


def object_key(sources: Sources, sizes: Sizes, compiler: Compiler) -> str:
    texts = [part for item in sorted(sources.files.items()) for part in item]
    how = [" ".join(all_flags()), str(compiler), compiler.version]
    return key_of(*texts, repr(sizes.defines()), headers_digest(), *how)


@cache
def headers_digest() -> str:
    """A digest of the headers that every object includes."""
    return digest_of_files(_HEADERS.glob("*.hpp"), _HEADERS)
