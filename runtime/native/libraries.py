"""The compiled code of a run, each leg on the best there is when it begins.

Invariant: which code a leg runs on changes its time and nothing else.

Forks only look into the cache, where they find what their parent has finished; it is asked for
now and then with :meth:`Libraries.look`.
"""

from __future__ import annotations

import os
from typing import Final

from runtime.native.build import Sizes, Sources, recipe
from runtime.native.form import Form, Say
from runtime.native.library import Library
from runtime.native.object_cache import Cache
from runtime.native.toolchain import Compiler
from runtime.native.trained import LaterTrained, Trainer

LARGE_LEG: Final = 1_000_000
"""A leg of so many lane accesses waits for the optimised code rather than run without."""


class NotHere(RuntimeError):
    """A leg that a worker process would have to compile for; its parent runs it."""


class Libraries:
    """The compiled forms of one protocol, each made when first asked for.

    ``optimised``: no quick code will do. ``warn``: told when the optimised code failed to come.
    ``trainer``: None: nothing is trained, nor used if it was.
    """

    def __init__(
        self,
        sources: Sources,
        compiler: Compiler,
        cache: Cache,
        warn: Say,
        optimised: bool = False,
        trainer: Trainer | None = None,
    ) -> None:
        self._sources = sources
        self._compiler = compiler
        self._cache = cache
        self._warn = warn
        self._optimised = optimised
        self._trainer = trainer
        self._owner = os.getpid()
        self._forms: dict[Sizes, Form] = {}

    def __call__(self, sizes: Sizes, accesses: int = 0) -> Library:
        """What a leg of so many lane accesses is to run on.

        Raises ToolchainError, CacheError, LibraryError; NotHere in a worker.
        """
        form = self._forms.get(sizes)
        if form is None:
            form = self._forms[sizes] = self._form(sizes)
        large = accesses >= LARGE_LEG
        if os.getpid() != self._owner:
            form.find()
        elif form.library is None:
            form.make(self._optimised or large)
        else:
            form.look(large)
        if form.library is None:
            raise NotHere(f"no object for {sizes}")
        return form.library

    @property
    def quick(self) -> bool:
        """Whether optimised code is still to come."""
        return any(form.quick for form in self._forms.values())

    @property
    def began_quick(self) -> bool:
        """Whether legs ran on code that was not optimised."""
        return any(form.began_quick for form in self._forms.values())

    @property
    def trained(self) -> bool:
        """Whether there is trained code by now."""
        return any(form.trained for form in self._forms.values())

    def look(self) -> None:
        """Store what was finished meanwhile, for workers to find."""
        for form in self._forms.values():
            form.look()

    def close(self) -> None:
        """Give up what is not finished."""
        for form in self._forms.values():
            form.close()

    def _form(self, sizes: Sizes) -> Form:
        how = recipe(self._sources, sizes, self._compiler)
        trainer = self._trainer
        later = None if trainer is None else LaterTrained(how, sizes, self._cache, trainer)
        return Form(how, self._cache, self._warn, later)
