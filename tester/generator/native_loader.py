"""The generator's native loops, as soon as they are compiled."""

from __future__ import annotations

from runtime.native.build import loaded
from runtime.native.tiered_object import COMPILE_ERRORS, Warn
from runtime.native.toolchain.compiler import Compiler, one_line
from runtime.native.toolchain.object_cache import Cache
from runtime.native.toolchain.pending_object import PendingObject
from tester.generator.native_loops import CompiledLoops, load_loops, loops_recipe


class PendingLoops:
    """The generator's native loops, once they are compiled; until then numpy does the same.

    ``warn``: called if they cannot be compiled or loaded.
    """

    def __init__(
        self, compiler: Compiler, cache: Cache, warn: Warn, optimised: bool = False
    ) -> None:
        self._warn = warn
        self._cache = cache
        self._loops: CompiledLoops | None = None
        self._pending: PendingObject | None = None
        try:
            how = loops_recipe(compiler)
            path = how.make(cache) if optimised else how.find(cache)
            if path is None:
                self._pending = how.begin(cache)
            else:
                self._loops = loaded(path, load_loops)
        except COMPILE_ERRORS as error:
            self._refuse(error)

    def __call__(self) -> CompiledLoops | None:
        """The loops if they are compiled by now."""
        pending = self._pending
        if pending is not None:
            try:
                path = pending.path()
                if path is None:
                    return None
                self._loops = loaded(path, load_loops)
            except COMPILE_ERRORS as error:
                pending.stop()
                self._refuse(error)
            self._pending = None
        return self._loops

    def close(self) -> None:
        """Stop a compilation that has not finished."""
        self()
        if self._pending is not None:
            self._pending.stop()
            self._pending = None

    def _refuse(self, error: Exception) -> None:
        self._warn(f"programs are generated without compiled code: {one_line(error)}")
