"""Errors of code objects and of the arguments of kernels. Invariant: reading any bytes as a code
object raises no other exception than `CodeObjectError`.
"""

from __future__ import annotations

from gpu.errors import GpuError


class CodeObjectError(GpuError, ValueError):
    """A file is no code object that can be read, or not one that this model runs.

    ``path``: the file, or what stands for it. ``offset``: byte in the file, if there is one.
    """

    def __init__(self, path: str, message: str, offset: int | None = None) -> None:
        place = path if offset is None else f"{path}: offset {offset:#x}"
        super().__init__(f"{place}: {message}")
        self.path = path
        self.message = message
        self.offset = offset


class ArgumentError(GpuError, ValueError):
    """The values given for a kernel's arguments do not fit them."""


class CompileError(GpuError, RuntimeError):
    """A kernel's source could not be compiled: no compiler, or the compiler's message."""
