"""Where a run may write, asked before it starts, and writing files whole.

Invariant: whoever looks at a path sees the old file or the new one, never half of either.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write under another name beside ``path`` and rename. Raises OSError; leaves nothing then.

    A device or pipe (``/dev/null``) is written to: it must not be replaced by a file.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def why_not_writable(directory: Path) -> str | None:
    """Why no file could be made in a directory that may not exist yet; None if one could."""
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return f"{place} is not a directory"
    if not os.access(place, os.W_OK | os.X_OK):
        return f"{place} may not be written to"
    return None
