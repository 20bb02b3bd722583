"""The store of generated packages stays bounded: what nobody has used for long is dropped.

The time of an entry's directory says when it was last used, to the hour. Invariant: what was used
within a day is never touched, so a package is there for as long as it takes to import it; what is
dropped leaves its name in one step, so that nobody sees half of it.
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
"""Of the others, so many of the latest are kept."""
_STAMP = ".pruned"


def note_use(entry: Path) -> None:
    """The entry is used now. Raises OSError when there is none."""
    now = time.time()
    if entry.stat().st_mtime < now - _HOUR:
        os.utime(entry, (now, now))


def prune_daily(root: Path) -> None:
    """Drop old entries, if nobody has looked for a day. Never fails: it is housekeeping."""
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
    # Directories of writers that were killed, and of droppers.
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
    except OSError:  # another process has dropped it
        return time.time()


def _is_ours(entry: Path) -> bool:
    return not entry.is_symlink() and (entry / MARKER).is_file()


def _drop(entry: Path) -> None:
    """Two processes may drop the same entry: one of the renames fails."""
    aside = Path(tempfile.mkdtemp(prefix=".dropped.", dir=entry.parent))
    try:
        entry.rename(aside / "entry")
    except OSError:
        pass
    finally:
        shutil.rmtree(aside, ignore_errors=True)
