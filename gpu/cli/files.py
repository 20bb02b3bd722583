"""Opening what the command line names: code objects, or sources that become one."""

from __future__ import annotations

from pathlib import Path

from gpu.code_object import CodeObject


def open_code_object(path: Path) -> CodeObject:
    """Read a code object; compile a ``.cl`` file first.

    Raises `CodeObjectError`, and `CompileError` for sources.
    """
    if path.suffix == ".cl":
        from gpu.code_object.compile import compile_kernels

        return CodeObject.from_bytes(compile_kernels(path), str(path))
    return CodeObject.load(path)
