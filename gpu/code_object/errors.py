"""What is wrong with a code object or with the arguments of a kernel.

Invariant: whatever bytes are read as a code object, nothing but a `CodeObjectError` comes out.
"""

from __future__ import annotations


class CodeObjectError(ValueError):
    """A file is no code object that can be read, or not one that this model runs.

    ``path``: the file, or what stands for it. ``offset``: byte in the file that is meant, when
    there is one.
    """

    def __init__(self, path: str, message: str, offset: int | None = None) -> None:
        place = path if offset is None else f"{path}: offset {offset:#x}"
        super().__init__(f"{place}: {message}")
        self.path = path
        self.message = message
        self.offset = offset


class ArgumentError(ValueError):
    """The values given for a kernel's arguments do not fit them."""


class CompileError(RuntimeError):
    """A kernel's source could not be compiled: no compiler, or what the compiler said."""
