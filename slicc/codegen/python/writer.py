"""A generated package on disk: all of it or nothing.

Everything is made in memory, written to a new directory beside the target, and renamed into
place. Invariant: a directory that this module did not make is never replaced.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from slicc import ir
from slicc.codegen.python.errors import NotOurPackage as NotOurPackage
from slicc.codegen.python.package import LINE_MAP, MARKER, Package, package


def write_package(protocol: ir.Protocol, out_dir: Path) -> Path:
    """Write the package of a protocol into ``out_dir`` and return its directory.

    An older package of the same name is replaced. Raises ``NotOurPackage`` when something else
    has that name, ``NotInRuntime`` when the protocol uses what the runtime does not offer,
    ``OSError`` when the file system refuses; the target is then as it was.
    """
    made = package(protocol)
    return store(made, out_dir / made.name)


def store(made: Package, target: Path) -> Path:
    """Put a package into the directory ``target``. One that is stored already is left alone:
    another process may be importing it."""
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        contents = fresh / "new"
        contents.mkdir()
        for name, text in made.files.items():
            (contents / name).write_text(text, encoding="utf-8", newline="\n")
        if holds(target, made):
            return target
        if target.exists():
            # A directory cannot be renamed over another: the old one is renamed first.
            target.rename(fresh / "old")
        try:
            contents.rename(target)
        except OSError:
            if (fresh / "old").exists() and not target.exists():
                (fresh / "old").rename(target)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def holds(target: Path, made: Package) -> bool:
    """Whether the directory has all files of the package, unchanged, and no others."""
    try:
        there = {entry.name for entry in os.scandir(target)} - {"__pycache__"}
        return there == set(made.files) and all(
            (target / name).read_text(encoding="utf-8") == text for name, text in made.files.items()
        )
    except (OSError, UnicodeDecodeError):
        return False


def _check_replaceable(target: Path) -> None:
    if target.is_symlink():
        raise NotOurPackage(target, "it is a symbolic link")
    if not target.exists():
        return
    if not target.is_dir():
        raise NotOurPackage(target, "it is a file")
    names = {entry.name for entry in os.scandir(target)} - {"__pycache__"}
    if not names:
        return
    missing = {"__init__.py", LINE_MAP, MARKER} - names
    if missing:
        raise NotOurPackage(target, f"it has no {sorted(missing)[0]}")
    foreign = sorted(name for name in names - {LINE_MAP, MARKER} if not name.endswith(".py"))
    if foreign:
        raise NotOurPackage(target, f"it holds {foreign[0]}")
