"""Which file an include names, and whether it may be read.

The file is searched in the directory of the including file, then in the roots. It is read only if,
with symbolic links followed, it lies inside a directory the user named: the directory of a file
on the command line, or one given with ``--include``. The parent of the former is searched for plain
names too (CHI keeps its driver one level below the common files), but ``..`` may not lead into it.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from slicc.loading.reader import real_path
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be read. ``display`` is the path as authors would write it."""

    path: Path
    display: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """``tried``: the paths that were searched."""

    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """The file is not, or not certainly, inside the roots. ``reason`` completes a sentence."""

    reason: str


class IncludeRoots:
    """The directories of one protocol: of its root file, and those of ``--include``."""

    def __init__(self, root_file: Path, include_directories: Iterable[Path]) -> None:
        self.directories = [root_file.parent, *include_directories]
        self.parent = Path(os.path.normpath(root_file.parent / ".."))
        self._strict = [real_path(path) for path in self.directories]
        self._strict.append(real_path(root_file).parent)

    def find(self, written: str, including: Path) -> Found | NotFound | Outside:
        """The file that ``include "written";`` in the file ``including`` names."""
        if "\0" in written or not written.strip():
            return NotFound(())
        if PurePosixPath(written).is_absolute() or PureWindowsPath(written).is_absolute():
            return Outside("its path is absolute")
        climbs = ".." in PurePosixPath(written).parts
        tried = []
        for base in self._bases(including.parent):
            candidate = base / written
            display = os.path.normpath(candidate)
            if display in tried:
                continue
            tried.append(display)
            if not _exists(candidate):
                continue
            real = real_path(candidate)
            allowed = list(self._strict)
            home = real_path(base)
            parent = real_path(self.parent)
            if not climbs and home.is_relative_to(parent) and not self._inside(home):
                allowed.append(parent)
            if any(real.is_relative_to(directory) for directory in allowed):
                return Found(candidate, display)
            return Outside(f"it leads to `{display}`, outside of the protocol's directories")
        return NotFound(tuple(tried))

    def _inside(self, directory: Path) -> bool:
        return any(directory.is_relative_to(root) for root in self._strict)

    def _bases(self, own: Path) -> list[Path]:
        return [own, self.directories[0], self.parent, *self.directories[1:]]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name the file system cannot hold
        return False
