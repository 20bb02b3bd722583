"""Preludes given by the user, and the library files of the checkout a protocol lies in."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.compile_cache import _key
from runtime.errors import ErrorKind, ProtocolError
from slicc import ir
from slicc.codegen.cpp import package as native_package
from slicc.codegen.python.importer import load_package
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink, Severity
from slicc.ir.verifier import verify
from slicc.loading.reader import CannotRead
from tests.slicc.case_runner import PARTS, differences, expectations

FOLDER = Path(__file__).parents[2] / "preludes"
PROTOCOL = FOLDER / "protocol.sm"


def _compiled(sink: DiagnosticSink, *preludes: str) -> CompiledProtocol | None:
    paths = [FOLDER / name for name in preludes]
    found = compile_files([PROTOCOL], [FOLDER.parent], sink, paths)
    return found[0] if found else None


@pytest.fixture(scope="module")
def compiled() -> CompiledProtocol:
    sink = DiagnosticSink()
    found = _compiled(sink, "good.sm")
    assert found is not None, sink.diagnostics
    assert verify(found.protocol) == []
    return found


def test_without_its_prelude_a_protocol_is_refused() -> None:
    sink = DiagnosticSink()
    assert _compiled(sink) is None
    assert any(found.slug == "unknown-machine" for found in sink.diagnostics)


def test_a_prelude_is_one_of_the_sources(compiled: CompiledProtocol) -> None:
    """Caches are keyed by the texts of the sources, so a changed prelude is another protocol."""
    assert Path(compiled.sources[-1].name).name == "good.sm"


def test_functions_become_functions_of_the_machine(compiled: CompiledProtocol) -> None:
    (machine,) = compiled.protocol.machines
    names = {function.ref.name for function in machine.functions}
    assert {"isHotLine", "Sequencer_isWarm", "HeatTable_heat", "forecast"} <= names


def test_objects_that_the_prelude_speaks_for_are_no_parameters(compiled: CompiledProtocol) -> None:
    (machine,) = compiled.protocol.machines
    assert "heats" not in {parameter.name for parameter in machine.parameters}


def test_a_machine_type_of_ones_own_borrows_one(compiled: CompiledProtocol) -> None:
    (machine,) = compiled.protocol.machines
    assert machine.name == "Gateway"
    controller = load_package(compiled.protocol).PROTOCOL.machine("Gateway")
    assert machine.machine_type == "MiscNode"
    assert controller.MACHINE == "Gateway"


def test_both_backends_take_it(compiled: CompiledProtocol) -> None:
    assert native_package(compiled.protocol).files


def test_an_external_function_ends_the_run(compiled: CompiledProtocol) -> None:
    (machine,) = compiled.protocol.machines
    (forecast,) = [each for each in machine.functions if each.ref.name == "forecast"]
    assert isinstance(forecast.body[0], ir.Panic)
    controller = load_package(compiled.protocol).PROTOCOL.machine("Gateway")
    with pytest.raises(ProtocolError, match=r"good\.sm:\d+ declares it without a body") as raised:
        controller.forecast(controller.__new__(controller), 0, 1)
    assert raised.value.kind is ErrorKind.PANIC


@pytest.mark.parametrize("name", ["bad.sm", "wrong.sm"])
def test_mistakes_in_a_prelude_are_reported_where_they_are(name: str) -> None:
    sink = DiagnosticSink()
    assert _compiled(sink, name, "good.sm") is None
    found = [each for each in sink.diagnostics if each.severity is Severity.ERROR]
    assert differences(expectations(FOLDER / name), found) == []


def test_of_two_bodies_the_first_counts() -> None:
    sink = DiagnosticSink()
    found = _compiled(sink, "good.sm", "second.sm")
    assert found is not None, sink.diagnostics
    (machine,) = found.protocol.machines
    (kept,) = [each for each in machine.functions if each.written_name == "isHotLine"]
    assert Path(kept.span.file.name).name == "good.sm"


def test_a_prelude_that_is_not_there() -> None:
    with pytest.raises(CannotRead, match=r"cannot read the prelude .*missing\.sm"):
        _compiled(DiagnosticSink(), "missing.sm")


def test_types_of_the_library_beside_a_protocol_count(tmp_path: Path) -> None:
    """A fork declares its types in its own copies of the library's files."""
    (tmp_path / "RubySlicc_Exports.sm").write_text(
        'enumeration(MachineType) { L1Cache, desc="a"; Gateway, desc="b"; }\n'
        'enumeration(Mood, default="Mood_Calm") { Calm, desc="c"; Busy, desc="d"; }\n'
    )
    (tmp_path / "Own.sm").write_text(
        'machine(MachineType:Gateway, "g") : MessageBuffer * rx, network="From", '
        'virtual_network="0", vnet_type="request"; {\n'
        '  state_declaration(State, default="Gateway_State_I") { I, AccessPermission:Invalid; }\n'
        "  enumeration(Event) { Ask; }\n"
        "  State getState(Addr a) { return State:I; }\n"
        "  void setState(Addr a, State s) { }\n"
        "  AccessPermission getAccessPermission(Addr a) { return AccessPermission:Invalid; }\n"
        "  void setAccessPermission(Addr a, State s) { }\n"
        "  void functionalRead(Addr a, Packet *pkt) { functionalMemoryRead(pkt); }\n"
        "  int functionalWrite(Addr a, Packet *pkt) { return 0; }\n"
        "  in_port(rx_in, MemoryMsg, rx) {\n"
        "    if (rx_in.isReady(clockEdge())) {\n"
        "      Mood mood := Mood:Busy;\n"
        "      if (mood == Mood:Calm) { trigger(Event:Ask, intToAddress(0)); }\n"
        "    }\n"
        "  }\n"
        '  action(p_pop, "p") { rx_in.dequeue(clockEdge()); }\n'
        "  transition(I, Ask) { p_pop; }\n"
        "}\n"
    )
    sink = DiagnosticSink()
    found = compile_files([tmp_path / "Own.sm"], [], sink)
    assert found, sink.diagnostics
    assert not sink.error_count
    assert [enum.ref.name for enum in found[0].protocol.enums if not enum.library] == ["Mood"]


LIBRARY = (
    'NodeID version;\nexternal_type(Address);\nexternal_type(int, primitive="yes");\n'
    'structure(NetDest, external="yes", non_obj="yes") { void add(MachineID); void spin(int); }'
    "enumeration(MemoryRequestType) { MEMORY_READ; MEMORY_WB; MEMORY_SCRUB; }"
)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _driver(path: Path) -> Path:
    """A protocol that calls what only the library above declares."""
    return _write(
        path,
        (PARTS / "messages.sm").read_text()
        + 'machine(MachineType:L1Cache, "s") : MessageBuffer * rx, network="From", '
        'virtual_network="0", vnet_type="request"; MessageBuffer * tx, network="To", '
        'virtual_network="0", vnet_type="request"; Cycles latency := 3; {\n'
        + (PARTS / "body.sm").read_text()
        + 'action(x_extra, "x") { tbe.waiting.spin(1); Address a := address; unblock(a); }\n'
        "void unblock(Address a) { assert(MemoryRequestType:MEMORY_SCRUB == scrub()); }\n"
        "MemoryRequestType scrub() { return MemoryRequestType:MEMORY_SCRUB; }\n"
        "transition(I, Extra) { x_extra; p_pop; }\n}\n",
    )


def _spin_ends_the_run(compiled: CompiledProtocol) -> bool:
    (machine,) = compiled.protocol.machines
    (spin,) = [each for each in machine.functions if each.ref.name == "NetDest_spin"]
    return isinstance(spin.body[0], ir.Panic)


def test_a_fork_s_own_library_file_is_a_prelude(tmp_path: Path) -> None:
    """What a library declares and only its simulator has: calls compile, and end the run."""
    library = _write(tmp_path / "one" / "RubySlicc_Types.sm", LIBRARY)
    driver = _driver(tmp_path / "other" / "Own.sm")
    sink = DiagnosticSink()
    assert compile_files([driver], [], sink) == []
    assert {each.slug for each in sink.diagnostics if each.severity is Severity.ERROR} == {
        "unknown-method",
        "unknown-enum-member",
    }
    (compiled,) = compile_files([driver], [], DiagnosticSink(), [library])
    assert _spin_ends_the_run(compiled)


@pytest.mark.parametrize("library", ["src/mem/ruby/protocol", "src/mem/protocol"])
@pytest.mark.parametrize("driver", ["src/learning_gem5/part3", "src/xyz", "src/mem/x/own"])
def test_the_library_of_the_checkout_is_found(tmp_path: Path, library: str, driver: str) -> None:
    _write(tmp_path / library / "RubySlicc_Types.sm", LIBRARY)
    sink = DiagnosticSink()
    (compiled,) = compile_files([_driver(tmp_path / driver / "Own.sm")], [], sink)
    assert _spin_ends_the_run(compiled)
    (warned,) = [each for each in sink.diagnostics if each.slug == "external-call"]
    assert "`NetDest_spin`" in warned.headline
    assert "--prelude" in (warned.help or "")


def test_what_is_cached_depends_on_the_library_of_the_checkout(tmp_path: Path) -> None:
    driver = _write(tmp_path / "src/xyz/Own.slicc", 'protocol "Own"; include "Own.sm";')
    library = tmp_path / "src/mem/protocol/RubySlicc_Types.sm"
    keys = [_key(driver, (), ())]
    for text in (LIBRARY, LIBRARY + "\n"):
        _write(library, text)
        keys.append(_key(driver, (), ()))
    assert len(set(keys)) == 3
