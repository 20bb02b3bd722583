"""From names to memories, by way of both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.errors import HostError
from gpu.host.device import Device
from gpu.memory.coherent import factory
from gpu.memory.coherent.factory import EngineChoice, EngineMissing, choose_engine, load_system
from gpu.memory.coherent.native_backend import NativeBackend
from gpu.memory.coherent.python_backend import PythonBackend
from runtime.description import DescriptionError
from runtime.native.toolchain.compiler import TIERS, ToolchainError, find_compiler
from runtime.native.toolchain.pending_object import stop_all
from tests.gpu.memory.coherent.streams import loaded
from tests.tester.native.equality import loaded as known
from tests.tester.native.equality import native_engine
from tests.tester.native.tiers import compiler_that


def refuse() -> None:
    raise ToolchainError("there is no C++ compiler\nsee docs")


def test_without_a_compiler_it_is_the_python_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "find_compiler", refuse)
    chosen = choose_engine(loaded("GPU_VIPER"), EngineChoice.auto)
    assert isinstance(chosen.memory.backend, PythonBackend)
    assert chosen.words == "Python engine, because there is no C++ compiler"
    with pytest.raises(EngineMissing, match="--engine native: there is no C"):
        choose_engine(loaded("GPU_VIPER"), EngineChoice.native)


def test_with_one_it_is_the_native_engine() -> None:
    chosen = choose_engine(loaded("GPU_VIPER"), EngineChoice.auto)
    if isinstance(chosen.memory.backend, PythonBackend):
        pytest.skip(chosen.words)
    assert isinstance(chosen.memory.backend, NativeBackend)
    assert chosen.words.startswith("native engine, compiled by")


def test_devices_take_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "find_compiler", refuse)
    assert Device("GPU_VIPER", cus=1).engine.startswith("Python engine, because")
    assert Device("GPU_VIPER", cus=1, engine="python").engine == "Python engine"
    with pytest.raises(HostError, match="no C"):
        Device("GPU_VIPER", cus=1, engine="native")
    with pytest.raises(HostError, match="no engine 'steam'; there are auto, python, native"):
        Device("GPU_VIPER", cus=1, engine="steam")


@pytest.mark.slow
def test_devices_of_one_process_share_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    native_engine(known("GPU_VIPER"))  # skips where there is no compiler
    note = tmp_path / "note"
    compiler = compiler_that(tmp_path, find_compiler(), f"echo $how >> {note}")
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    for seed in range(3):
        choose_engine(loaded("GPU_VIPER"), EngineChoice.native, seed)
    stop_all()
    words = note.read_text().split()
    assert [word for word in words if word != "none"] == list(TIERS[:2])


@pytest.mark.parametrize(
    ("path", "there"), [("Vector", "4 Vector"), ("TCC", "2 TCC"), ("TCP", "1 Front, 4 Vector")]
)
def test_a_count_that_something_else_decides_cannot_be_set(path: str, there: str) -> None:
    with pytest.raises(DescriptionError, match=rf"\(--cus, --tccs\): {there}$"):
        load_system("GPU_VIPER", cus=4, tccs=2, settings={f"machine.{path}.count": 8})
    load_system("GPU_VIPER", cus=4, tccs=2, settings={"machine.TCC.count": 2})
