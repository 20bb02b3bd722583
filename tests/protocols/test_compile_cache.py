"""What an earlier run made is found again, and nothing else is executed."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocols import compile_cache, shipped
from protocols.compile_cache import remembered
from protocols.loader import load_protocol
from runtime.native.toolchain.object_cache import user_cache
from tests.slicc.codegen.tools import plant_bytecode

DRIVER = shipped()["MI"]


def forget_modules() -> None:
    for name in [each for each in sys.modules if each.startswith("slicc_compiled_mi_")]:
        del sys.modules[name]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stored package of MI, as a run left it that has ended."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forget_modules()
    load_protocol("MI", native=True)
    forget_modules()
    [package] = (tmp_path / "slicc" / "python").glob("mi_*")
    yield package
    forget_modules()


def entry() -> Path:
    [found] = user_cache().root.glob("front-*")
    return found


def test_nothing_is_compiled_again(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compile_cache, "compile_all", refuse)
    found = remembered(DRIVER, [])
    assert found is not None
    assert found.info.name == "MI"
    assert not (stored / "__pycache__").exists()


@pytest.mark.parametrize("module", ["__init__", "types"])
def test_planted_bytecode_is_not_run(stored: Path, module: str) -> None:
    plant_bytecode(stored / f"{module}.py")
    found = remembered(DRIVER, [])
    assert found is not None
    assert found.info.machine("L1Cache").MACHINE == "L1Cache"


def test_a_changed_source_is_not_run(stored: Path) -> None:
    (stored / "types.py").write_text("raise SystemExit", encoding="utf-8")
    assert remembered(DRIVER, []) is None


def test_a_further_file_is_not_run(stored: Path) -> None:
    (stored / "typing.py").write_text("raise SystemExit", encoding="utf-8")
    assert remembered(DRIVER, []) is None


def test_changed_code_is_not_run(stored: Path) -> None:
    planted = marshal.dumps({"__init__.py": compile("raise SystemExit", "x", "exec")})
    (entry() / compile_cache._CODE).write_bytes(planted)
    assert remembered(DRIVER, []) is None
    assert compile_cache._codes(entry(), compile_cache._digest(b"another")) is None


def test_what_has_no_cpp_is_not_found_by_who_wants_it(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_protocol("MI").native is None
    assert len(list(user_cache().root.glob("front-*"))) == 1, "that with C++ serves both"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert load_protocol("MI").native is None
    assert remembered(DRIVER, [], native=False) is not None
    assert remembered(DRIVER, []) is None
    assert load_protocol("MI", native=True).native is not None
    found = remembered(DRIVER, [])
    assert found is not None and found.native is not None
