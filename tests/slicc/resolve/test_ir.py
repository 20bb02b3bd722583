"""The IR of two small machines, read as text: copies, pointers, references and slot needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc import ir
from slicc.compiler import compile_files, compile_text
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir.printer import print_machine, print_protocol
from slicc.ir.verifier import verify
from tests.conftest import Golden

FOLDER = Path(__file__).parents[1] / "ir_cases"


def compiled(name: str) -> ir.Protocol:
    sink = DiagnosticSink()
    found = compile_files([FOLDER / f"{name}.sm"], [], sink)
    assert sink.diagnostics == []
    return found[0].protocol


@pytest.mark.parametrize("name", ["copying", "needs"])
def test_printed_ir(name: str, golden: Golden) -> None:
    protocol = compiled(name)
    assert verify(protocol) == []
    golden(f"ir_{name}", print_protocol(protocol))


def test_needs_are_sums_over_everything_a_transition_may_run() -> None:
    machine = compiled("needs").machines[0]
    first = machine.transitions[0]
    assert {need.target: need.count for need in first.needs} == {"again": 2, "tbes": 1, "tx": 4}


def test_same_text_same_ir() -> None:
    assert compiled("copying") == compiled("copying")
    assert print_machine(compiled("needs").machines[0]) == print_machine(
        compiled("needs").machines[0]
    )


def test_callees_stand_before_their_callers() -> None:
    names = [function.ref.name for function in compiled("needs").machines[0].functions]
    assert names.index("inner") < names.index("outer")
    assert names.index("pick_int") < names.index("functionalWrite")


def test_locals_have_one_meaning_per_body() -> None:
    port = compiled("needs").machines[0].in_ports[1]
    text = print_machine(compiled("needs").machines[0])
    assert port.guarded
    assert "TBE* tbe_2 := self.tbes.lookup(controller.makeLineAddress(in_msg.addr))" in text
    assert "trigger Event:Wait at in_msg.addr tbe tbe_2" in text


def test_a_long_chain_of_calls_is_no_problem() -> None:
    text = (FOLDER / "needs.sm").read_text()
    chain = "".join(f"int f{n}(int n) {{ return f{n + 1}(n); }}\n" for n in range(1500))
    chain += "int f1500(int n) { return n; }\n"
    sink = DiagnosticSink()
    protocol = compile_text(text.replace("  bool onStall()", f"{chain}  bool onStall()"), sink)
    assert protocol is not None
    names = [function.ref.name for function in protocol.machines[0].functions]
    assert names.index("f1500") < names.index("f1499") < names.index("f0")
