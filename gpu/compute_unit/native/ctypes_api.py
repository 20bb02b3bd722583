"""The issue engine's functions, compiled on first use and called through ctypes.

Invariant: an object with another version of the interface is refused when it is loaded.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from gpu.compute_unit.native.layout import VERSION, Config, Counts, State
from gpu.isa.native.lane_functions import HELD
from runtime.native.build import Recipe, loaded
from runtime.native.build import headers_digest as engine_headers_digest
from runtime.native.ctypes_api import LibraryError, SharedObject
from runtime.native.toolchain.compiler import ToolchainError, find_compiler
from runtime.native.toolchain.object_cache import CacheError, user_cache

_U64: Final = ctypes.c_uint64
_ENGINE: Final = ctypes.c_void_p
_POINTER: Final = ctypes.c_void_p
_UNIT: Final = "issue_engine.cpp"
_SOURCES: Final = Path(__file__).parent / "cpp"

_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "version": (_U64, ()),
    "new": (_ENGINE, (ctypes.POINTER(Config), ctypes.POINTER(State))),
    "free": (None, (_ENGINE,)),
    "run": (_U64, (_ENGINE, _POINTER, _POINTER, _POINTER)),
    "answered": (None, (_ENGINE, _U64)),
    "replayed": (None, (_ENGINE,)),
    "request_log": (_U64, (_ENGINE, _POINTER, _U64, _POINTER)),
    "stop_logging": (None, (_ENGINE,)),
    "start": (_U64, (_ENGINE, _U64, _U64, _POINTER, _POINTER, _POINTER, _POINTER)),
    "drop": (None, (_ENGINE, _U64)),
    "append": (None, (_ENGINE, ctypes.c_char_p, _U64)),
    "replace": (None, (_ENGINE, _U64, ctypes.c_char_p)),
    "lower": (_U64, (_ENGINE, _U64, _U64, _U64)),
    "later": (None, (_ENGINE, _U64, _U64, _U64)),
    "slots": (None, (_ENGINE, _POINTER, _U64)),
    "came": (None, (_ENGINE, _POINTER, _U64)),
    "place": (None, (_ENGINE, _U64, _U64, _U64, _U64, _U64, _U64)),
    "hand_back": (_U64, (_ENGINE, _POINTER)),
    "retire": (_U64, (_ENGINE, _U64)),
    "notice": (_U64, (_ENGINE, _POINTER)),
    "under_way": (_U64, (_ENGINE, _POINTER, _U64)),
    "allow": (None, (_ENGINE, _U64, _U64)),
    "unmapped": (None, (_ENGINE,)),
    "forget_addresses": (None, (_ENGINE,)),
    "forget_code": (None, (_ENGINE, _U64)),
    "code": (_U64, (_ENGINE, _U64, _U64, _POINTER)),
    "wave": (None, (_ENGINE, _U64, _POINTER)),
    "counts": (None, (_ENGINE, _U64, ctypes.POINTER(Counts))),
    "table": (_U64, (_ENGINE, _U64, _U64, _POINTER, _U64)),
}


class IssueEngineLibrary(SharedObject):
    """The shared object of the issue engine."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "issue_engine_", _FUNCTIONS)
        self._check_version(self.version(), VERSION)


_ASKED: Final = ("CXX", "PATH", "XDG_CACHE_HOME", "HOME", "SLICC_CXXFLAGS")
"""The environment variables that select the compiler and the cache."""


def issue_engine_library() -> IssueEngineLibrary | None:
    """The library, built once; None where it cannot be built: units then run without it."""
    return _library(os.getpid(), *(os.environ.get(name) for name in _ASKED))


@cache
def _library(*asked: object) -> IssueEngineLibrary | None:
    texts = [*_SOURCES.glob("*.hpp"), _SOURCES / _UNIT, HELD]
    files = {path.name: path.read_text() for path in texts}
    try:
        objects = user_cache()
        recipe = Recipe(files, _UNIT, find_compiler(), headers=engine_headers_digest())
        return loaded(recipe.find(objects) or recipe.make(objects), IssueEngineLibrary)
    except (ToolchainError, CacheError, LibraryError):
        return None
