"""Every driver of gem5 v24.0 compiles, unmodified, to what the language reference counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc import ir
from slicc.codegen.python.writer import write_package
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir.verifier import verify
from tests.gem5.checkout import Counts, expected_counts

pytestmark = pytest.mark.gem5


def _compiled(driver: Path) -> CompiledProtocol:
    sink = DiagnosticSink()
    found = compile_files([driver], [], sink)
    assert not sink.error_count, "\n".join(str(each) for each in sink.diagnostics)
    assert len(found) == 1
    return found[0]


def _counts(machine: ir.Machine) -> Counts:
    return Counts(
        tbe=machine.tbe is not None,
        entry=None if machine.entry is None else machine.entry.name,
        parameters=len(machine.parameters),
        objects=len(machine.objects),
        states=len(machine.states.members),
        events=len(machine.events.members),
        actions=len(machine.actions),
        cells=len(machine.cells),
        stalls=sum(_stalls(machine, cell) for cell in machine.cells),
        request_types=0 if machine.request_types is None else len(machine.request_types.members),
        ports=tuple(
            port.ref.name + (f":{port.rank}" if port.rank else "") for port in machine.in_ports
        ),
    )


def _stalls(machine: ir.Machine, cell: ir.Cell) -> bool:
    return machine.transitions[cell.transition].stalls


def test_compiles(driver: Path, tmp_path: Path) -> None:
    """Checked, verified, and written as Python controllers."""
    compiled = _compiled(driver)
    assert verify(compiled.protocol) == []
    assert write_package(compiled.protocol, tmp_path).is_dir()


def test_counts(driver: Path) -> None:
    """Machine by machine; MSI is not in the language reference."""
    expected = expected_counts()
    for machine in _compiled(driver).protocol.machines:
        key = (Path(machine.span.file.name).stem, machine.name)
        if driver.stem == "MSI" and key not in expected:
            continue
        assert _counts(machine) == expected[key], key
