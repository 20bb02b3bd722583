"""The directory of a campaign: where its files are, and that one process works there at a time.

Invariant: a directory that holds anything else is refused and left as it is; a lock ends with the
process that has it, however that ends, also where forks of it live on for the rest of a leg.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from slicc.text.files import why_not_writable
from tester.errors import ConfigError

DATABASE: Final = "campaign.sqlite"
FAILURES: Final = "failures"
_LOCK: Final = "lock"
_BESIDE: Final = ("", "-wal", "-shm", "-journal")
"""The database and what SQLite keeps beside it."""
_TAKEN: Final = (errno.EAGAIN, errno.EACCES)
_ASKING_SECONDS: Final = 0.2
"""A process that asks who has a lock has it for some microseconds itself."""
_PAUSE_SECONDS: Final = 0.01


class CampaignDirectory:
    """The paths in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.database = root / DATABASE
        self.failures = root / FAILURES

    @property
    def exists(self) -> bool:
        """Whether a campaign is there."""
        return self.database.exists()

    def check_not_kept(self, option: str, path: Path | None) -> None:
        """Raises ConfigError for a file of the campaign itself: writing it would end it."""
        if path is None:
            return
        target, root = path.resolve(), self.root.resolve()
        files = {root / _LOCK, *(root / f"{DATABASE}{ending}" for ending in _BESIDE)}
        if target in files or target.is_relative_to(root / FAILURES):
            raise ConfigError(f"{option} {path}: it is a file of the campaign itself")

    def require(self) -> None:
        """Raises ConfigError unless a campaign is there."""
        if not self.root.is_dir():
            reason = "it is not a directory" if self.root.exists() else "there is no such directory"
            raise ConfigError(f"{self.root}: {reason}")
        if not self.exists:
            raise ConfigError(f"{self.root}: no campaign is kept there (it has no {DATABASE})")

    def check(self) -> None:
        """Raises ConfigError if it is of no use for a campaign."""
        reason = why_not_writable(self.root)
        if reason is not None:
            raise ConfigError(f"{self.root}: cannot be written: {reason}")
        if self.root.exists() and not self.root.is_dir():
            raise ConfigError(f"{self.root}: it is not a directory")
        if self.root.is_dir() and not self.exists:
            others = sorted(path.name for path in self.root.iterdir() if path.name != _LOCK)
            if others:
                raise ConfigError(
                    f"{self.root}: it holds {others[0]} and no campaign; name a new directory"
                )

    def make(self) -> None:
        """Raises OSError."""
        self.root.mkdir(parents=True, exist_ok=True)

    def lock(self) -> Lock:
        return Lock(self.root / _LOCK)


class Lock:
    """A context manager; the file holds the number of the process that has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def __enter__(self) -> Lock:
        """Raises ConfigError if another process has it, OSError."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._take()
        except OSError as error:
            holder = self.holder()
            os.close(self._file)
            if error.errno not in _TAKEN:
                raise
            who = f" (process {holder})" if holder else ""
            raise ConfigError(
                f"{self._path.parent}: another gpu-tester campaign{who} is at work here"
            ) from None
        with suppress(OSError):  # a full disk: the number is for people
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def _take(self) -> None:
        """Again for a while, as another process may only ask who is at work. Raises OSError."""
        tries = _ASKING_SECONDS / _PAUSE_SECONDS
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # forks do not inherit it
                return
            except OSError as error:
                tries -= 1
                if error.errno not in _TAKEN or tries < 0:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            os.ftruncate(self._file, 0)
        os.close(self._file)

    def holder(self) -> int:
        """The process that works there, as far as is known; 0: none."""
        try:
            text = self._path.read_bytes()[:20].strip()
        except OSError:
            return 0
        return int(text) if text.isdigit() else 0

    def process_at_work(self) -> int:
        """The process that has it; 0: none. Not to be asked by that process itself, which would
        lose it."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return self.holder()
        finally:
            os.close(file)
        return 0
