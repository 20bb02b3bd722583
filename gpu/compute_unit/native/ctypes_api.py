"""The front's functions, compiled on first use and called through ctypes.

Invariant: an object that speaks another version of the interface is refused when it is loaded.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from gpu.compute_unit.native.layout import VERSION, Config, Counts, State
from runtime.native.build import Recipe, loaded
from runtime.native.build import headers_digest as engine_headers_digest
from runtime.native.ctypes_api import LibraryError, SharedObject
from runtime.native.toolchain.compiler import ToolchainError, find_compiler
from runtime.native.toolchain.object_cache import CacheError, user_cache

_U64: Final = ctypes.c_uint64
_FRONT: Final = ctypes.c_void_p
_POINTER: Final = ctypes.c_void_p
_UNIT: Final = "issue_engine.cpp"
_SOURCES: Final = Path(__file__).parent / "cpp"

_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "version": (_U64, ()),
    "new": (_FRONT, (ctypes.POINTER(Config), ctypes.POINTER(State))),
    "free": (None, (_FRONT,)),
    "run": (_U64, (_FRONT, _POINTER, _POINTER, _POINTER)),
    "answered": (None, (_FRONT, _U64)),
    "told": (None, (_FRONT,)),
    "story": (_U64, (_FRONT, _POINTER, _U64, _POINTER)),
    "stop_story": (None, (_FRONT,)),
    "start": (_U64, (_FRONT, _U64, _U64, _POINTER, _POINTER, _POINTER, _POINTER)),
    "drop": (None, (_FRONT, _U64)),
    "append": (None, (_FRONT, _U64, ctypes.c_char_p, _U64)),
    "replace": (None, (_FRONT, _U64, ctypes.c_char_p)),
    "lower": (_U64, (_FRONT, _U64, _U64, _U64)),
    "later": (None, (_FRONT, _U64, _U64, _U64)),
    "slots": (None, (_FRONT, _POINTER, _U64)),
    "fetched": (None, (_FRONT, _U64)),
    "allow": (None, (_FRONT, _U64, _U64)),
    "unmapped": (None, (_FRONT,)),
    "forget_addresses": (None, (_FRONT,)),
    "forget_code": (None, (_FRONT, _U64)),
    "code": (_U64, (_FRONT, _U64, _U64, _POINTER)),
    "wave": (None, (_FRONT, _U64, _POINTER)),
    "counts": (None, (_FRONT, _U64, ctypes.POINTER(Counts))),
    "table": (_U64, (_FRONT, _U64, _U64, _POINTER, _U64)),
}


class FrontLibrary(SharedObject):
    """The front's object."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "front_", _FUNCTIONS)
        self._speaks(self.version(), VERSION)


_ASKED: Final = ("CXX", "PATH", "XDG_CACHE_HOME", "HOME", "SLICC_CXXFLAGS")
"""What decides which compiler and which cache there is."""


def front_library() -> FrontLibrary | None:
    """The library, made once; None where none can be had: units do without it then."""
    return _library(os.getpid(), *(os.environ.get(name) for name in _ASKED))


@cache
def _library(*asked: object) -> FrontLibrary | None:
    texts = [*_SOURCES.glob("*.hpp"), _SOURCES / _UNIT]
    files = {path.name: path.read_text() for path in texts}
    try:
        objects = user_cache()
        recipe = Recipe(files, _UNIT, find_compiler(), headers=engine_headers_digest())
        return loaded(recipe.find(objects) or recipe.make(objects), FrontLibrary)
    except (ToolchainError, CacheError, LibraryError):
        return None
