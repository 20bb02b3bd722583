"""What is shipped compiles without a finding, documents itself, and comes with a system."""

from __future__ import annotations

from functools import cache

import pytest

from runtime.description.inference import complete
from runtime.system.builder import build_system
from slicc import ir
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink
from tests.protocols.harness import PROTOCOLS, shipped

NAMES = sorted(path.stem for path in PROTOCOLS.glob("*.slicc"))


@cache
def compiled(name: str) -> tuple[ir.Protocol, DiagnosticSink]:
    sink = DiagnosticSink()
    found = compile_files([PROTOCOLS / f"{name}.slicc"], [PROTOCOLS], sink)
    assert len(found) == 1, sink.diagnostics
    return found[0].protocol, sink


def test_these_protocols_are_shipped() -> None:
    assert NAMES == [
        "GPU_VIPER",
        "GPU_VIPER_APU",
        "MESI_Two_Level",
        "MI",
        "MOESI_AMD_Base",
        "MSI",
        "MSI_Snoop",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_not_even_a_warning(name: str) -> None:
    assert list(compiled(name)[1].diagnostics) == []


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_described(name: str) -> None:
    protocol, _ = compiled(name)
    silent = []
    for machine in protocol.machines:
        silent += [f"{machine.name}: {a.ref.name}" for a in machine.actions if not a.desc]
        silent += [f"{machine.name}: {p.ref.name}" for p in machine.in_ports if not p.desc]
        for kind in (machine.states, machine.events):
            silent += [f"{machine.name}: {m.name}" for m in kind.members if not m.desc]
        for structure in machine.structs:
            silent += [f"{structure.ref.name}.{f.name}" for f in structure.fields if not f.desc]
    for structure in protocol.structs:
        if not structure.library:
            silent += [f"{structure.ref.name}.{f.name}" for f in structure.fields if not f.desc]
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_every_state_and_event_is_used(name: str) -> None:
    for machine in compiled(name)[0].machines:
        assert {cell.event for cell in machine.cells} == {m.name for m in machine.events.members}
        assert {cell.state for cell in machine.cells} == {m.name for m in machine.states.members}


@pytest.mark.parametrize("name", NAMES)
def test_the_description_beside_it_builds(name: str) -> None:
    protocol = shipped(name)
    system = build_system(protocol.info, complete(protocol.written, protocol.info), run_key=1)
    assert system.agents()


def ordered(name: str) -> set[str]:
    return {
        f"{machine}.{buffer}"
        for machine, described in shipped(name).written.machines.items()
        for buffer, written in described.buffers.items()
        if written.ordered
    }


def test_only_what_must_be_ordered_is() -> None:
    assert ordered("GPU_VIPER") == ordered("GPU_VIPER_APU")
    assert ordered("GPU_VIPER") == {
        "TCP.requestFromTCP",
        "TCC.requestFromTCP",
        "TCC.requestToNB",
        "Directory.requestFromCores",
        "Directory.requestToMemory",
    }
    assert ordered("MOESI_AMD_Base") == {"Directory.requestToMemory"}
    assert ordered("MSI") == {"L1Cache.forwardFromDir", "Directory.forwardToCache"}
    memory = ("requestToMemory", "responseFromMemory", "dataToBus")
    assert ordered("MSI_Snoop") == {f"Memory.{name}" for name in memory}
    assert ordered("MI") == ordered("MESI_Two_Level") == set()
