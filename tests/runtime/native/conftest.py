"""Fixtures of tests that compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.native.toolchain.compiler import Compiler, find_compiler
from tests.tester.native.equality import loaded, native_engine


@pytest.fixture
def real() -> Compiler:
    native_engine(loaded("MI"))  # skips where there is no compiler
    return find_compiler()


@pytest.fixture
def place(real: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("SLICC_CXXFLAGS", raising=False)
    root = tmp_path / "user" / "slicc" / "native"
    root.mkdir(mode=0o700, parents=True)
    return root
