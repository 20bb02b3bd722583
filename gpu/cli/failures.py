"""Which exceptions are the user's: they become one message and exit status 2."""

from __future__ import annotations


def in_words(error: Exception) -> str | None:
    """What to print; None for a fault of the model itself."""
    from gpu.cli.argument_text import ArgumentTextError
    from gpu.cli.sizes import SizeError
    from gpu.code_object import ArgumentError, CodeObjectError, CompileError

    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    ours = (ArgumentTextError, SizeError, ArgumentError, CodeObjectError, CompileError)
    return str(error) if isinstance(error, ours) else None
