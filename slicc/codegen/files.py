"""Writing results: whole files or none.

Invariant: whoever looks at a path sees the old file or the new one, never half of either.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """What a backend makes of a protocol. ``files``: name -> contents, in the order in which they
    are worth reading."""

    name: str
    files: dict[str, str]


def write_file(path: Path, content: bytes) -> Path:
    """Write under a temporary name beside ``path`` and rename. Makes missing directories.

    Returns ``path``. Raises ``OSError`` if the file system refuses; then nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say where
        raise
    return path
