"""The results of a study on disk: a line for each, behind a line that says of which study.

Invariant: a file is only appended to, line by line, so that a process that is killed loses what was
under way and nothing else; a file of another study is refused, never overwritten.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from slicc.coverage.mutants import SCHEMA
from slicc.text.data import json_text
from tester.errors import ConfigError
from tester.mutation.outcome import MutantOutcome

FILE: Final = "mutants.jsonl"
_MOST_BYTES: Final = 1 << 28

Head = dict[str, Any]
"""What a study depends on: protocol, digest, seed, budget, profile."""


class Journal:
    """A context manager. ``outcomes``: the last one of each mutant, by name."""

    def __init__(self, directory: Path, head: Head) -> None:
        self._path = directory / FILE
        self._head = {"schema": SCHEMA, **head}
        self.outcomes: dict[str, MutantOutcome] = {}

    def __enter__(self) -> Journal:
        """Read what is there. Raises ConfigError, OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self._path.open("a+b")
        try:
            self._lock()
            end = self._read()
            self._stream.truncate(end)  # a line that was cut off
            if end == 0:
                self._line(self._head)
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()

    def add(self, outcome: MutantOutcome) -> None:
        """Write one down. Raises OSError."""
        self.outcomes[outcome.mutant] = outcome
        self._line(outcome.to_json())

    def _line(self, value: object) -> None:
        self._stream.write(f"{json_text(value, compact=True)}\n".encode())
        self._stream.flush()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{self._path}: another gpu-tester mutate is at work here") from None

    def _read(self) -> int:
        """The length of the whole lines."""
        if os.fstat(self._stream.fileno()).st_size > _MOST_BYTES:
            raise ConfigError(f"{self._path}: more than {_MOST_BYTES:,} bytes are no study of ours")
        self._stream.seek(0)
        content = self._stream.read()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                value = json.loads(line)
                if number == 1:
                    self._check(value)
                else:
                    outcome = MutantOutcome.from_json(value)
                    self.outcomes[outcome.mutant] = outcome
            except ConfigError:
                raise
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigError(f"{self._path}:{number}: no line of a mutation study") from None
        return len(whole)

    def _check(self, head: Any) -> None:
        if not isinstance(head, dict) or head.get("schema") != SCHEMA:
            raise ValueError
        for key, value in self._head.items():
            if head.get(key) != value:
                raise ConfigError(
                    f"{self._path}:1: it is a study with {key} {head.get(key)!r}, not {value!r}; "
                    "name another directory, or give the options that it was made with"
                )
