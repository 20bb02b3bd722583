"""One object for all mutants: what is written twice, what once, and that all of it compiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slicc import ir
from slicc.codegen.cpp import package
from slicc.codegen.cpp.mutants.differences import NotAVariant, differences
from slicc.codegen.files import Package
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.mutants import mutants
from tests.slicc.codegen.cpp.tools import assert_compiles, compiled

BODY = """
    tbe.n := helper(tbe.n); wakeUpAllBuffers(address);
    peek(rx_in, Note) {
      enqueue(tx_out, Note, lat) {
        out_msg.addr := address; out_msg.Destination.add(in_msg.from);
        out_msg.MessageSize := MessageSizeType:Control;
      }
    }"""
FUNCTIONS = "int helper(int a) { if (a == 3) { return 1; } return a; }"


def made() -> tuple[ir.Protocol, list[Mutant], Package]:
    protocol = compiled(BODY, functions=FUNCTIONS)
    found = list(mutants(protocol))
    return protocol, found, package(protocol, [mutant.ir for mutant in found])


def test_the_original_is_not_touched() -> None:
    protocol, _, with_mutants = made()
    alone = package(protocol)
    for name in ("types.hpp", "L1Cache.hpp"):
        head, _, tail = with_mutants.files[name].partition("// The machine again")
        assert alone.files[name].startswith(head.rstrip())
        assert bool(tail) is name.startswith("L1")
    assert "mutant" not in alone.files["protocol.cpp"]


def test_a_body_is_written_once_for_each_mutant_of_it() -> None:
    _, found, files = made()
    text = files.files["L1Cache.hpp"]
    for number, mutant in enumerate(found, 1):
        is_row = "." in mutant.changed
        assert text.count(f"(Variant<{number}>, ") == (0 if is_row else 1), mutant.name
        assert f"case {number}:" in text


def test_what_calls_a_changed_function_is_written_again() -> None:
    protocol, found, _ = made()
    only = [each for each in found if each.changed == "helper"]
    text = package(protocol, [each.ir for each in only]).files["L1Cache.hpp"]
    again = text.partition("struct Mutants")[2]
    assert "a_act(Context& x" in again and "helper(Variant<1>" in again
    assert "getEntry(Context& x" not in again


def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    assert_compiles(made()[2], tmp_path)


def test_it_is_the_same_every_time() -> None:
    assert made()[2].files == made()[2].files


def test_other_changes_are_refused() -> None:
    protocol, found, _ = made()
    machine = protocol.machines[0]
    renamed = replace(protocol, machines=(replace(machine, title="other"),))
    with pytest.raises(NotAVariant):
        differences(protocol, [renamed])
    with pytest.raises(NotAVariant):
        differences(protocol, [protocol])
    places = differences(protocol, [each.ir for each in found]).machine_of
    assert places == (0,) * len(found)
    assert {each.operator for each in found} >= {Operator.NEXT_STATE, Operator.CONDITION_NEGATED}
