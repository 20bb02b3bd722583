"""The names that programs may rely on: exactly these, each importable, none imported too early."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
NAMES: Final = {
    "slicc": {
        "CannotRead",
        "CompileError",
        "CompiledProtocol",
        "Diagnostic",
        "InvalidEdit",
        "Machine",
        "Severity",
        "check_source",
        "compile",
        "compile_source",
    },
    "protocols": {"LoadedProtocol", "ProtocolBroken", "ProtocolMissing", "load", "shipped"},
    "runtime": {
        "Access",
        "AccessKind",
        "AtomicKind",
        "Client",
        "Consumer",
        "DataBlock",
        "DescriptionError",
        "ProtocolError",
        "ProtocolInfo",
        "Requester",
        "System",
        "SystemDescription",
        "build_system",
        "load_description",
    },
    "tester": {
        "ConfigError",
        "Finding",
        "Leg",
        "Program",
        "ReplayError",
        "Request",
        "Result",
        "Verdict",
        "Watcher",
        "draw",
        "generate",
        "load_leg",
        "load_trace",
        "replay",
        "run",
        "save_leg",
    },
    "gpu": {"Buffer", "CodeObject", "Device", "GpuError", "LocalBytes", "Signal"},
}


@pytest.mark.parametrize("package", NAMES)
def test_the_names_are_these_and_lead_somewhere(package: str) -> None:
    module = import_module(package)
    assert set(module.__all__) == NAMES[package]
    for name in NAMES[package]:
        assert getattr(module, name).__name__ == name
    assert NAMES[package] <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Unheard'"):
        module.Unheard  # noqa: B018


@pytest.mark.parametrize("package", NAMES)
def test_a_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_importing_the_packages_imports_nothing_else() -> None:
    """Time, in a form that no slow machine changes: what an import would have to wait for."""
    names = ", ".join(name for name in NAMES if name != "gpu")
    script = f"import sys, {names}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    ours = {module for module in loaded if module.partition(".")[0] in NAMES}
    assert ours == set(NAMES) - {"gpu"}
    assert not loaded & {"typing", "numpy", "networkx", "lark", "dataclasses"}
