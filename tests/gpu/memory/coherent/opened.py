"""Memories at rest on the Python engine."""

from __future__ import annotations

from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import EngineChoice, LoadedSystem, choose_engine


def python_memory(loaded: LoadedSystem) -> CoherentMemory:
    return choose_engine(loaded, EngineChoice.python).memory
