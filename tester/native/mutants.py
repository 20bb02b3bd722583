"""The native engine with one mutant chosen.

Invariant: one object serves all mutants of a study; only the block of a run says which one it is.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.native.build import Sizes, build, recipe
from runtime.native.ctypes_api import Library
from runtime.native.plan import Capacities, NotNative, Plans
from runtime.native.toolchain.compiler import Compiler
from runtime.native.toolchain.object_cache import Cache
from tester.native.leg import NativeProtocol
from tester.native.system import TESTER_CLIENTS, TesterSystem
from tester.program.replay_file import Leg

MUTANT_CLIENTS: Final = replace(
    TESTER_CLIENTS,
    functions={
        **TESTER_CLIENTS.functions,
        "choose_mutant": (ctypes.c_int64, (ctypes.c_void_p, ctypes.c_uint64)),
    },
)
"""The tester's, in an object that was compiled with mutants."""


class MutantProtocol(NativeProtocol):
    """Runs mutant ``number`` of an object; 0 is the original."""

    number = 0

    def system(self, leg: Leg, capacities: Capacities, agents: int) -> TesterSystem:
        system = super().system(leg, capacities, agents)
        if system.library.choose_mutant(system.address, self.number):
            raise ValueError(f"the compiled protocol has no mutant {self.number}")
        return system

    def chosen(self, number: int) -> MutantProtocol:
        """Another mutant, which does not inherit what a runaway made the pools grow to."""
        other = MutantProtocol.__new__(MutantProtocol)
        other.__dict__.update(self.__dict__)
        other.number = number
        return other


def mutant_protocol(
    loaded: LoadedProtocol, compiler: Compiler, cache: Cache, *, quickly: bool = False
) -> MutantProtocol:
    """The original, compiled together with its mutants when the first leg wants it. ``quickly``:
    without optimisation.

    Raises NotNative. Legs raise ToolchainError, CacheError, LibraryError.
    """
    sources = loaded.native
    if sources is None:
        raise NotNative(loaded.why_not_native or "the protocol was not compiled for it")
    objects: dict[Sizes, Library] = {}

    def library(sizes: Sizes, accesses: int) -> Library:
        found = objects.get(sizes)
        if found is None:
            how = recipe(sources, MUTANT_CLIENTS, sizes, compiler)
            how = how.tiers[0] if quickly else how
            found = objects[sizes] = build(how, MUTANT_CLIENTS, cache)
        return found

    return MutantProtocol(loaded.info, Plans(loaded.info, sources.shape), library)
