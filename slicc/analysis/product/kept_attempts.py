"""What machines did with messages, kept between runs: an edit changes little of it.

Invariant: what is kept is what would be worked out again. An attempt is used only if the texts on
which it depends are those that it was made from, in this version of the compiler, and comes from a
file of the user's own (``slicc.text.kept.private_files``). Attempts at which something certainly
goes wrong are not kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from slicc.analysis.product.dependencies import Cell, Dependencies, NoBlock
from slicc.analysis.product.exploration import SYSTEMS
from slicc.analysis.product.local import Attempt, Held, Memory, Move, Outcome
from slicc.analysis.product.machine import Model
from slicc.garbage import uncollected
from slicc.source import SourceFile
from slicc.text.kept import private_files

_NEW: Final = 20
"""The file is written if more than one of so many attempts is new."""
_MOST: Final = 20_000
"""Attempts of one protocol; with more of them all are forgotten."""
_FILES: Final = 50
"""Protocols whose attempts are kept, of those checked last."""


class KeptAttempts:
    """The attempts of a protocol. ``path``: its driver; ``sources``: all of its texts."""

    def __init__(self, path: Path, sources: Iterable[SourceFile]) -> None:
        digest = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape"))
        self._name = f"attempts-{digest.hexdigest()}"
        self._sources = tuple(sources)
        self._loaded = 0
        self._dependencies: Dependencies | None = None

    def memories(self, models: Sequence[Model]) -> list[Memory]:
        """By system, what is still true of what was kept."""
        memories = [Memory() for _ in SYSTEMS]
        payload = private_files.load(self._name)
        if payload is None or not payload.startswith(_version()):
            return memories
        try:
            self._dependencies = Dependencies(models, self._sources)
            with uncollected():
                kept = pickle.loads(memoryview(payload)[len(_version()) :])
                filled = [
                    _fill(memory, system, models, self._dependencies)
                    for memory, system in zip(memories, kept, strict=True)
                ]
        except Exception:  # an unusable file is no error, for any content
            return [Memory() for _ in SYSTEMS]
        self._loaded = sum(filled) if sum(filled) <= _MOST else 0
        return memories if self._loaded else [Memory() for _ in SYSTEMS]

    def keep(self, models: Sequence[Model], memories: Sequence[Memory]) -> None:
        """Store what was worked out, if there is enough of it that was not kept before."""
        number = sum(len(_lasting(memory, model)) for memory in memories for model in models)
        if (number - self._loaded) * _NEW <= number:
            return
        try:
            dependencies = self._dependencies or Dependencies(models, self._sources)
        except NoBlock:
            return
        with uncollected():
            content = pickle.dumps([_system(each, models, dependencies) for each in memories], 5)
        private_files.store(self._name, _version() + content, _FILES)


def _lasting(memory: Memory, model: Model) -> list[tuple[Any, Attempt]]:
    """The attempts of a machine that are kept: what certainly goes wrong is not."""
    return [
        (key, attempt)
        for key, attempt in memory.attempts[model].items()
        if all(unsure for _, unsure in attempt.happenings)
    ]


def _system(memory: Memory, models: Sequence[Model], dependencies: Dependencies) -> Any:
    """The attempts of one system, as tuples."""
    held = [(one.objects, one.tables, one.waiting, one.asked) for one in memory.held]
    machines = []
    for index, model in enumerate(models):
        attempts = [
            (key, tuple(one.looked), one.doubtful, one.polls, [*map(_plain, one.outcomes)])
            for key, one in _lasting(memory, model)
        ]
        cells = {(state, event) for each in attempts for _, state, event in each[1]}
        digests = {cell: dependencies.cell(index, cell) for cell in sorted(cells)}
        machines.append((model.type, dependencies.machines[index], digests, attempts))
    return held, [*memory.messages], machines


def _plain(outcome: Outcome) -> tuple[Any, ...]:
    move = outcome.move
    made = move.machine, move.state, move.event, move.next, move.source, move.message
    return made, outcome.guessed, outcome.held, outcome.head, outcome.woken, outcome.sent


def _fill(memory: Memory, system: Any, models: Sequence[Model], dependencies: Dependencies) -> int:
    """Put what is still true into a memory; how many attempts that is."""
    held, messages, machines = system
    for content in held:
        memory.held.of(Held(*content))
    for content in messages:
        memory.messages.of(content)
    number = 0
    for index, (model, (machine_type, digest, digests, attempts)) in enumerate(
        zip(models, machines, strict=True)
    ):
        if (machine_type, digest) != (model.type, dependencies.machines[index]):
            continue
        same = {each for each, of in digests.items() if dependencies.cell(index, each) == of}
        true = memory.attempts[model] = dict(_true(model, attempts, same))
        number += len(true)
    return number


def _true(model: Model, attempts: Any, same: set[Cell]) -> Iterator[tuple[Any, Attempt]]:
    """The attempts that ask for nothing but cells that are the same."""
    for key, looked, doubtful, polls, outcomes in attempts:
        if all((state, event) in same for _, state, event in looked):
            made = [_outcome(model, *each) for each in outcomes]
            yield key, Attempt(made, [], set(looked), doubtful, polls)


def _outcome(model: Model, made: tuple[Any, ...], *rest: Any) -> Outcome:
    machine, state, event, after, source, message = made
    row = model.row(state, event)
    assert row is not None
    return Outcome(Move(machine, state, event, after, row, source, message), *rest)


@cache
def _version() -> bytes:
    """A digest of what makes attempts: this compiler, as it is installed."""
    digest = hashlib.sha256(sys.version.encode())
    folders = [str(Path(__file__).parents[2])]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".lark", ".sm")):
                    status = entry.stat()
                    made = f"\0{entry.path}\0{status.st_size}\0{status.st_mtime_ns}"
                    digest.update(made.encode("utf-8", "surrogateescape"))
    return digest.digest()
