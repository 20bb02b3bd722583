"""Imports the generated package of a protocol that was just compiled.

The package is stored in a directory that only this user can write, under a name made of its
contents, so that tracebacks and debuggers find its text. Invariant: the imported modules are those
just generated, from memory; a stored package that differs is replaced, an unused one is evicted.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from slicc import ir
from slicc.codegen.python.cache_eviction import note_use, prune_daily
from slicc.codegen.python.package import Package, package
from slicc.codegen.python.source_import import compile_all, import_package, module_name
from slicc.codegen.python.writer import holds, store


def load_package(protocol: ir.Protocol) -> ModuleType:
    """Import the package of a protocol; ``PROTOCOL`` in it is its ``ProtocolInfo``.

    Equal protocols give the same module. Raises ``GenerationError`` for a protocol that cannot
    be written as Python, ``OSError`` when no directory can be written.
    """
    made = package(protocol)
    digest = hashlib.sha256()
    for name, text in made.files.items():
        digest.update(f"{name}\0{len(text)}\0{text}".encode("utf-8", "surrogatepass"))
    name = f"{made.name}_{digest.hexdigest()[:16]}"
    module = module_name(name)
    if module in sys.modules:
        return import_package(module, Path(), {})
    directory = _stored(made, name)
    return import_package(module, directory, compile_all(directory, made.files))


def _stored(made: Package, name: str) -> Path:
    for directory in (_user_cache, _temporary):
        root = directory()
        if root is None:
            continue
        target = root / name
        if not _is_there(target, made):
            try:
                store(made, target)
            except OSError:
                # Another process may have stored the same package at the same moment.
                if not _is_there(target, made):
                    continue
        prune_daily(root)
        return target
    raise OSError("no directory for compiled protocols can be written")


def _is_there(target: Path, made: Package) -> bool:
    """Whether the store holds exactly this package; if so, its use is recorded."""
    with contextlib.suppress(OSError):  # not there, or not ours to mark
        note_use(target)
    return holds(target, made)


def _user_cache() -> Path | None:
    """``$XDG_CACHE_HOME/slicc/python``, if it is ours alone."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        directory = (Path(base) if base else Path.home() / ".cache") / "slicc" / "python"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except (OSError, RuntimeError):
        return None
    private = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return directory if private and ours else None


def _temporary() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="slicc-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
