"""Files that spare a later run some work, in a directory that only the user can write.

The directory is ``$XDG_CACHE_HOME/slicc`` or ``~/.cache/slicc``. Invariant: they are not required.
What is unusable (absent, not writable, owned by another user, damaged) counts as absent and what
cannot be stored is not, both without a message.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

_FORMAT: Final = b"slicc private file 1\n"
_HEADER: Final = len(_FORMAT) + hashlib.sha256().digest_size


def load(name: str) -> bytes | None:
    """What was stored under a name, byte for byte."""
    directory = private_directory()
    if directory is None:
        return None
    try:
        descriptor = os.open(directory / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not _is_private(status):
                return None
            content = stream.read()
    except OSError:
        return None
    payload = content[_HEADER:]
    return payload if content[:_HEADER] == _header(payload) else None


def store(name: str, payload: bytes, most: int | None = None) -> None:
    """Write under a temporary name, then rename: readers see all of it or none.

    ``most``: how many files of its kind (what the name begins with, up to a hyphen) may be there;
    those that were written first go.
    """
    import tempfile  # which takes as long as reading a file

    directory = private_directory()
    if directory is None:
        return
    try:
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".private-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(_header(payload) + payload)
            Path(temporary).replace(directory / name)
            if most is not None:
                _prune(directory, f"{name.partition('-')[0]}-", most)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError:  # a full disk is no error here
        return


def _prune(directory: Path, prefix: str, most: int) -> None:
    there = [each for each in os.scandir(directory) if each.name.startswith(prefix)]
    if len(there) > most:
        there.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
        for each in there[most:]:
            Path(each).unlink(missing_ok=True)


def private_directory() -> Path | None:
    """The user's cache directory for slicc, created if missing; None if it is not private."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        parent = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        directory = parent / "slicc"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except (OSError, RuntimeError):
        return None
    if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
        return None
    return directory


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user owns and can write it. Windows has no such notion."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _header(payload: bytes) -> bytes:
    return _FORMAT + hashlib.sha256(payload).digest()
