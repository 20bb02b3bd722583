"""Keeps what is slow to make: generated sources and compiled objects, for one user.

An entry is a directory of files with a seal that names their digests and the kind of machine
they were made on. Invariant: what :func:`Cache.find` returns is byte for byte what was stored
under that key on such a machine; anything else counts as absent and is made anew. Entries
appear whole, by renaming, so any number of processes may store the same one at once.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import json
import os
import platform
import shutil
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

FORMAT: Final = 1
MAX_ENTRIES: Final = 96
MAX_BYTES: Final = 1 << 29
_ABANDONED_AFTER: Final = 3600.0
"""Seconds after which the leavings of a process that died are swept away."""
_SEAL: Final = "seal.json"
_PROCESSORS: Final = Path("/proc/cpuinfo")
_MAX_SEAL: Final = 1 << 20


class CacheError(OSError):
    """Nothing can be stored anywhere; the message says where it was tried and why."""


def machine_tag() -> str:
    """Objects of one tag may be loaded on every machine of that tag."""
    bits = 8 * struct.calcsize("P")
    return f"{sys.platform}-{platform.machine()}-{bits}-{sys.byteorder}"


def processor_tag() -> str:
    """What this processor can do, for objects that are compiled for no other."""
    with suppress(OSError):
        for line in _PROCESSORS.read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith(("flags", "Features")):
                return line
    # Not known here (no Linux, no /proc): then such an object is for this one machine.
    return f"{platform.processor()} of {platform.node()}"


def key_of(*parts: str | bytes) -> str:
    """A name made of texts; different lists of texts have different names."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:40]


def digest_of_files(paths: Iterable[Path], root: Path) -> str:
    """One digest of the names and contents of files below ``root``."""
    parts: list[str | bytes] = []
    for path in sorted(paths, key=str):
        parts += [str(path)[len(str(root)) :], path.read_bytes()]
    return key_of(*parts)


class Cache:
    """Entries below one directory; :func:`user_cache` gives the user's own.

    ``note``: what the user should know about the place, or an empty string.
    """

    def __init__(self, root: Path, note: str = "") -> None:
        self.root = root
        self.note = note

    def find(self, kind: str, key: str) -> Path | None:
        """The directory of an entry that is whole and from such a machine."""
        entry = self.root / f"{kind}-{key}"
        if not _sound(entry, kind, key):
            return None
        with suppress(OSError):
            os.utime(entry / _SEAL)
        return entry

    def make(self, kind: str, key: str, fill: Callable[[Path], None]) -> Path:
        """The entry, made by ``fill(directory)`` if it is not there.

        What ``fill`` raises passes through, and then nothing is stored. A place that cannot be
        written or is full is replaced by a temporary directory. Raises CacheError.
        """
        found = self.find(kind, key)
        if found is not None:
            return found
        try:
            return self._stored(kind, key, fill)
        except OSError as error:
            if isinstance(error, CacheError):
                raise
            refuge = temporary_cache()
            if refuge.root == self.root:
                where = f"{self.root} cannot be written"
                raise CacheError(f"{where}: {error.strerror or error}") from None
            refuge.note = (
                f"{self.root} cannot be written ({error.strerror or error}): "
                "what is compiled is not kept"
            )
            self.root, self.note = refuge.root, refuge.note
            return self.make(kind, key, fill)

    def _stored(self, kind: str, key: str, fill: Callable[[Path], None]) -> Path:
        fresh = self.begin(kind)
        try:
            fill(fresh)
            return self.keep(fresh, kind, key)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def begin(self, kind: str) -> Path:
        """A directory to fill for :meth:`keep`, which no search finds. Raises OSError."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{kind}-", suffix=".new", dir=self.root))

    def keep(self, fresh: Path, kind: str, key: str) -> Path:
        """Make what was filled an entry; it moves there, whole. Raises OSError."""
        target = fresh.parent / f"{kind}-{key}"
        _seal(fresh, kind, key)
        self._install(fresh, target, kind, key)
        self.prune()
        return target

    def _install(self, fresh: Path, target: Path, kind: str, key: str) -> None:
        for _ in range(8):
            try:
                fresh.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise
            if self._stands_or_is_moved(target, kind, key):
                return
        raise OSError(f"{target} is damaged and cannot be replaced")

    def _stands_or_is_moved(self, target: Path, kind: str, key: str) -> bool:
        """Whether another process was faster; what is damaged is moved out of the way, whole.

        One process at a time: between another's look and its move, a third may have put a sound
        entry there and be reading it.
        """
        lock = os.open(target.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _sound(target, kind, key):
                return True
            forget(target)
            return False
        finally:
            os.close(lock)

    def prune(self) -> None:
        """Forget the entries that were not used for longest, and what dead processes left."""
        now = time.time()
        entries: list[tuple[float, int, Path]] = []
        try:
            found = list(self.root.iterdir())
        except OSError:
            return
        for path in found:
            with suppress(OSError):
                if path.name.startswith("."):
                    if path.name.endswith(".new") and now - _touched(path) > _ABANDONED_AFTER:
                        shutil.rmtree(path, ignore_errors=True)
                    continue
                size = sum(part.stat().st_size for part in path.iterdir())
                entries.append((_touched(path / _SEAL), size, path))
        entries.sort(reverse=True)
        total = 0
        for place, (_, size, path) in enumerate(entries):
            total += size
            if place >= MAX_ENTRIES or (total > MAX_BYTES and place):
                shutil.rmtree(path, ignore_errors=True)


def forget(entry: Path) -> None:
    """Remove an entry, whole at every moment; what has loaded it keeps it."""
    with suppress(OSError):
        away = Path(tempfile.mkdtemp(prefix=".bad-", suffix=".new", dir=entry.parent))
        with suppress(OSError):
            entry.rename(away / "entry")
        shutil.rmtree(away, ignore_errors=True)


def user_cache() -> Cache:
    """``$XDG_CACHE_HOME/slicc/native``, else ``~/.cache/slicc/native``, if it is ours alone.

    Otherwise a temporary directory, which lasts as long as this process.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = (Path(base) if base else Path.home() / ".cache") / "slicc" / "native"
    except RuntimeError as error:  # the user has none
        return temporary_cache(f"there is no home directory ({error})")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = _not_private(root)
        if why is None and not os.access(root, os.W_OK | os.X_OK):
            why = "it cannot be written"
    except OSError as error:
        why = error.strerror or str(error)
    if why is None:
        return Cache(root)
    return temporary_cache(f"{root} is not used: {why}; what is compiled is not kept")


_refuges: list[Path] = []


def temporary_cache(note: str = "") -> Cache:
    """A place of this process only. Raises CacheError if there is none."""
    if not _refuges or not _refuges[0].is_dir():
        try:
            directory = Path(tempfile.mkdtemp(prefix="slicc-native-"))
        except OSError as error:
            raise CacheError(
                f"no temporary directory can be made for compiled code: {error.strerror or error}"
            ) from None
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        _refuges[:] = [directory]
    return Cache(_refuges[0], note)


def write_all(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files of an entry. Names are plain names."""
    for name, content in files.items():
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (directory / name).write_bytes(data)


def _not_private(root: Path) -> str | None:
    status = root.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write there"
    return None


def _bytes_in(path: Path) -> int:
    """The size of a plain file: reading anything else may never end. Raises OSError."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return status.st_size


def _touched(path: Path) -> float:
    return path.stat().st_mtime


def _seal(directory: Path, kind: str, key: str) -> None:
    files = {}
    for path in sorted(directory.iterdir()):
        files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        path.chmod(0o600)
    seal = {"format": FORMAT, "kind": kind, "key": key, "machine": machine_tag(), "files": files}
    path = directory / _SEAL
    path.write_text(json.dumps(seal), encoding="utf-8")
    path.chmod(0o600)


def _sound(entry: Path, kind: str, key: str) -> bool:
    """Whether an entry holds exactly what its seal says, and was made for this machine."""
    try:
        if _not_private(entry) is not None or _bytes_in(entry / _SEAL) > _MAX_SEAL:
            return False
        seal = json.loads((entry / _SEAL).read_text(encoding="utf-8"))
        expected = {"format": FORMAT, "kind": kind, "key": key, "machine": machine_tag()}
        if any(seal.get(name) != value for name, value in expected.items()):
            return False
        files = seal["files"]
        names = {path.name for path in entry.iterdir()}
        return names == {*files, _SEAL} and all(
            _bytes_in(entry / name) <= MAX_BYTES
            and hashlib.sha256((entry / name).read_bytes()).hexdigest() == digest
            for name, digest in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
