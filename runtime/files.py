"""Reading a file that a command line names, whatever stands behind the name.

Invariant: reading takes no more memory than the caller allows, and never waits for a process that
may not come.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)


def read_bounded(path: str | Path, most: int) -> bytes:
    """Up to one byte more than ``most``, which reveals a file that is too large: it may be a device
    that never ends. A named pipe without a writer is empty. Raises OSError."""
    try:
        with open(path, "rb", opener=_open) as stream:
            if _NO_WAIT:
                os.set_blocking(stream.fileno(), True)
            return stream.read(most + 1)
    except ValueError as error:
        raise OSError(str(error)) from None


def _open(path: str, flags: int) -> int:
    """Opening a named pipe without a writer would wait for ever."""
    return os.open(path, flags | _NO_WAIT)
