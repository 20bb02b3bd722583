"""The trained form of one object: found in the cache, or made beside the legs when it is time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Protocol

from runtime.native.build import PendingObject, Recipe, Sizes
from runtime.native.object_cache import Cache
from runtime.native.toolchain import ToolchainError
from runtime.native.training import Exercise


class Trainer(Protocol):
    """When to train, and on what."""

    @property
    def first(self) -> bool:
        """Whether it is to be done before anything runs."""

    @property
    def lessons(self) -> str:
        """Names what the exercise is: objects that have learnt other things are others."""

    def due(self) -> bool:
        """Whether it is time."""

    def exercise(self, sizes: Sizes) -> Exercise:
        """For an object of these sizes."""


class LaterTrained:
    """``how``: the recipe of the same object untrained, for systems of ``sizes``."""

    def __init__(self, how: Recipe, sizes: Sizes, cache: Cache, trainer: Trainer) -> None:
        self._how = how.trained(trainer.lessons)
        self._sizes = sizes
        self._cache = cache
        self._trainer = trainer
        self._pending: PendingObject | None = None

    @property
    def asked_for(self) -> bool:
        """Whether it is to be there before the first leg."""
        return self._trainer.first

    def found(self) -> Path | None:
        """What is in the cache. Raises ToolchainError where nothing can be trained."""
        return self._recipe().find(self._cache)

    def first(self) -> Path | None:
        """The same, made now if it is asked for. Raises ToolchainError, OSError."""
        path = self.found()
        return self._begin().wait() if path is None and self.asked_for else path

    def look(self) -> Path | None:
        """What there is now; begins when it is time. Raises ToolchainError, OSError."""
        if self._pending is not None:
            return self._pending.path()
        if not self._trainer.due():
            return None
        path = self.found()  # another run may have made it
        if path is None:
            self._begin()
        return path

    def stop(self) -> None:
        """Give it up, if it is not finished."""
        if self._pending is not None:
            with suppress(ToolchainError, OSError):
                self._pending.path()  # keeps it, if it is
            self._pending.stop()

    def _recipe(self) -> Recipe:
        if self._how is None:
            raise ToolchainError("only code that g++ compiles without SLICC_CXXFLAGS can be")
        return self._how

    def _begin(self) -> PendingObject:
        exercise = self._trainer.exercise(self._sizes)
        self._pending = self._recipe().begin_training(self._cache, exercise)
        return self._pending
