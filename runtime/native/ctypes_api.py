"""The functions of one compiled protocol, called through ctypes.

Invariant: an object that speaks another version of the interface is refused when it is loaded,
before any block is given to it. Every function takes the block as an address; only the object knows
its layout.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ABI: Final = 7

Functions = Mapping[str, tuple[Any, tuple[Any, ...]]]
"""By name: what a function returns and takes."""

_U64 = ctypes.c_uint64
_I64 = ctypes.c_int64
_BLOCK = ctypes.c_void_p
_WORDS = ctypes.c_void_p
_VIEW = ctypes.c_void_p

_FUNCTIONS: Final[Functions] = {
    "abi": (_U64, ()),
    "constant": (_U64, (_U64,)),
    "system_size": (_U64, (_WORDS, _U64)),
    "start": (_I64, (_BLOCK, _U64, _WORDS, _U64)),
    "run": (_I64, (_BLOCK, _VIEW, _U64)),
    "run_traced": (_I64, (_BLOCK, _VIEW, _U64, _WORDS, _U64, _WORDS)),
    "zero_memory": (None, (_BLOCK,)),
    "memory_echoes": (_U64, (_BLOCK,)),
    "write_memory": (_I64, (_BLOCK, _U64, _WORDS, _U64)),
    "read_memory": (_I64, (_BLOCK, _U64, _WORDS, _U64)),
    "count": (None, (_WORDS,)),
    "next_tick": (_I64, (_BLOCK,)),
    "now": (_U64, (_BLOCK,)),
    "trace_hash": (_U64, (_BLOCK,)),
    "transitions": (_U64, (_BLOCK,)),
    "error": (None, (_BLOCK, _WORDS)),
    "pool": (None, (_BLOCK, _WORDS)),
    "leaks": (_U64, (_BLOCK,)),
    "counts": (None, (_BLOCK, _U64, _WORDS)),
    "written_lines": (_U64, (_BLOCK, _WORDS, _WORDS, _U64)),
}


class LibraryError(RuntimeError):
    """A file that is no object of ours, or of another version."""


class SharedObject:
    """A loaded object of ours. Its functions are attributes, without their prefix.

    ``functions``: by name, what they return and take. Raises LibraryError.
    """

    def __init__(self, path: Path, prefix: str, functions: Functions) -> None:
        self.path = path
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            why = str(error).removeprefix(f"{path}: ")
            raise LibraryError(f"{path} cannot be loaded: {why}") from None
        self._functions: dict[str, Callable[..., int]] = {}
        for name, (result, arguments) in functions.items():
            try:
                function = loaded[f"{prefix}{name}"]
            except AttributeError:
                raise LibraryError(f"{path} has no function {prefix}{name}") from None
            function.restype = result
            function.argtypes = arguments
            self._functions[name] = function

    def __getattr__(self, name: str) -> Callable[..., int]:
        try:
            function: Callable[..., int] = self.__dict__["_functions"][name]
        except KeyError:
            raise AttributeError(name) from None
        self.__dict__[name] = function  # found without this method from now on
        return function

    def _check_version(self, found: int, version: int) -> None:
        if found != version:
            raise LibraryError(f"{self.path} has version {found} of the interface, not {version}")


class Library(SharedObject):
    """The object of one protocol. ``functions``: besides those that every object has."""

    def __init__(self, path: Path, functions: Functions) -> None:
        super().__init__(path, "slicc_", {**_FUNCTIONS, **functions})
        self._check_version(self.abi(), ABI)
        self.line_bytes = self.constant(0)
        self.node_words = self.constant(1)
