"""The native engine where there is no ``/proc``: other systems than Linux, and bare containers."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

import tester
from runtime.native import system
from runtime.native.toolchain import object_cache
from tests.compiling import compiler


@pytest.fixture
def without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(object_cache, "_PROCESSORS", tmp_path / "cpuinfo")


@pytest.mark.usefixtures("without_proc")
def test_memory_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (system.available_memory() or 0) > 1 << 20
    monkeypatch.setattr(system.os, "sysconf", lambda name: int("no number"))
    assert system.available_memory() is None


@pytest.mark.usefixtures("without_proc")
def test_objects_for_this_processor_are_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the processor's abilities are not known, another machine may lack some."""
    here = object_cache.processor_tag()
    monkeypatch.setattr(platform, "node", lambda: "another")
    assert object_cache.processor_tag() != here


@pytest.mark.slow
@pytest.mark.usefixtures("without_proc")
def test_a_native_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    result = tester.run("MI", episodes=20, seed=1, engine="native")
    assert result.passed
