"""Where a code object came from, as a text that loaders, debuggers and profilers exchange.

Invariant: reading what was written gives the same value.
Source: LLVM "User Guide for AMDGPU Backend", "Loaded Code Object Path Uniform Resource Identifier".
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from gpu.code_object.errors import CodeObjectError
from slicc.text.lazy_dataclass import dataclass

FILE: Final = "file://"
MEMORY: Final = "memory://"
_RANGE: Final = re.compile(
    r"(.*?)(?:[#?]offset=([0-9a-fA-FxX]+)&size=([0-9a-fA-FxX]+))?", re.DOTALL
)
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19}")
_KEPT: Final = "/_.~-"


@dataclass(frozen=True, slots=True)
class CodeObjectUri:
    """A part of a file (``path``), or of the memory of process ``process``. ``size`` None: the
    whole file."""

    path: str = ""
    process: int = 0
    offset: int = 0
    size: int | None = None

    def __str__(self) -> str:
        where = FILE + quote(self.path, safe=_KEPT) if self.path else f"{MEMORY}{self.process}"
        return where if self.size is None else f"{where}#offset={self.offset:#x}&size={self.size}"


def is_uri(text: str) -> bool:
    """Whether it begins as one."""
    return text.startswith((FILE, MEMORY))


def read_uri(text: str) -> CodeObjectUri:
    """Raises CodeObjectError for what the grammar does not have."""
    match = _RANGE.fullmatch(text)
    assert match is not None, "it takes every text"
    where, offset, size = match.groups()
    numbers = (0, None) if offset is None else (_number(offset, text), _number(size, text))
    if where.startswith(FILE) and len(where) > len(FILE):
        path = unquote_to_bytes(where[len(FILE) :]).decode("utf-8", "surrogateescape")
        return CodeObjectUri(path, offset=numbers[0], size=numbers[1])
    process = where.removeprefix(MEMORY)
    if where.startswith(MEMORY) and _NUMBER.fullmatch(process) and numbers[1] is not None:
        return CodeObjectUri(process=int(process, 10), offset=numbers[0], size=numbers[1])
    raise CodeObjectError(
        text, "no URI of a code object: file://PATH or memory://PROCESS, #offset=N&size=N"
    )


def _number(text: str, whole: str) -> int:
    """A C literal."""
    if _NUMBER.fullmatch(text) is None:
        raise CodeObjectError(whole, f"{text!r} is no number of C")
    if text[:2].lower() == "0x":
        return int(text, 16)
    return int(text, 8) if text.startswith("0") else int(text)
