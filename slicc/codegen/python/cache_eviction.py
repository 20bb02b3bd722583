"""Bounds the store of generated packages: entries that have not been used for long are evicted.

The modification time of an entry's directory is the time of its last use, to the hour. Invariant:
an entry used within a day is never evicted, so a package stays for as long as its import takes; an
entry is renamed before it is deleted, so that no process sees a part of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from slicc.codegen.python.package import MARKER

_HOUR = 3600.0
_DAY = 24 * _HOUR
UNUSED_DAYS = 30
MOST_ENTRIES = 100
"""Of older entries, this many of the latest are kept."""
_STAMP = ".pruned"


def note_use(entry: Path) -> None:
    """Record that the entry is used now. Raises OSError when there is none."""
    now = time.time()
    if entry.stat().st_mtime < now - _HOUR:
        os.utime(entry, (now, now))


def prune_daily(root: Path) -> None:
    """Evict old entries, at most once a day over all processes. Never fails: it is housekeeping."""
    stamp = root / _STAMP
    now = time.time()
    try:
        if stamp.exists() and stamp.stat().st_mtime > now - _DAY:
            return
        stamp.touch()
        _prune(root, now)
    except OSError:
        pass


def _prune(root: Path, now: float) -> None:
    used = {entry: _last_use(entry) for entry in root.iterdir() if entry.is_dir()}
    packages = sorted(
        (entry for entry in used if not entry.name.startswith(".") and _is_ours(entry)),
        key=lambda entry: used[entry],
        reverse=True,
    )
    # Directories of writers and evictions that were killed.
    forgotten = [entry for entry in used if entry.name.startswith(".")]
    for number, entry in enumerate(packages):
        if number >= MOST_ENTRIES or used[entry] < now - UNUSED_DAYS * _DAY:
            forgotten.append(entry)
    for entry in forgotten:
        if used[entry] < now - _DAY:
            _drop(entry)


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:  # another process has evicted it
        return time.time()


def _is_ours(entry: Path) -> bool:
    return not entry.is_symlink() and (entry / MARKER).is_file()


def _drop(entry: Path) -> None:
    """Two processes may evict the same entry: one of the renames fails."""
    aside = Path(tempfile.mkdtemp(prefix=".dropped.", dir=entry.parent))
    try:
        entry.rename(aside / "entry")
    except OSError:
        pass
    finally:
        shutil.rmtree(aside, ignore_errors=True)
