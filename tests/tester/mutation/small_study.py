"""A study of MI with few mutants, compiled once for all tests."""

from __future__ import annotations

from functools import cache

from protocols.mutated import MutatedProtocol, load_mutated
from runtime.native.toolchain.compiler import find_compiler
from runtime.native.toolchain.object_cache import user_cache
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import NO_END, Options
from tester.mutation.engines import Engine, NativeEngine, PythonEngine
from tester.mutation.study import Study
from tester.native.mutants import mutant_protocol


@cache
def mutated() -> MutatedProtocol:
    """Every 31st mutant: all operators of bodies, and some of each of rows."""
    return load_mutated("MI", lambda found: found[::31])


@cache
def native() -> Engine:
    return NativeEngine(mutant_protocol(mutated().loaded, find_compiler(), user_cache()))


@cache
def python() -> Engine:
    return PythonEngine(mutated())


def campaign() -> Campaign:
    return Campaign(mutated().loaded, Options(3, NO_END, leg_episodes=8))


def study(engine: Engine | None = None) -> Study:
    return Study(mutated(), campaign(), engine or native())
