"""Other statements are what an author can write: they compile, and name what is there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slicc import ir
from slicc.compiled import CompiledProtocol
from slicc.ir.verifier import verify
from slicc.ir.walk import expressions_in
from slicc.mutation.other_statements import OtherStatement, OtherStatements
from tests.slicc.mutation.test_mutants import of, small


def changes(compiled: CompiledProtocol) -> dict[str, list[OtherStatement]]:
    """By body."""
    found: dict[str, list[OtherStatement]] = {}
    for machine in compiled.protocol.machines:
        statements = OtherStatements(compiled.protocol, machine)
        for declared in statements.declarations:
            of_body = [each for others in statements.of(declared) for each in others]
            found[f"{machine.name}.{declared.ref.name}"] = of_body
    return found


def words(body: str) -> set[str]:
    return {each.words for each in changes(small())[f"L1Cache.{body}"]}


def changed(protocol: ir.Protocol, other: OtherStatement) -> ir.Protocol:
    machines = [
        other.machine if each.name == other.machine.name else each for each in protocol.machines
    ]
    return replace(protocol, machines=tuple(machines))


@pytest.mark.parametrize(
    "name", ["small", "MSI", pytest.param("GPU_VIPER", marks=pytest.mark.slow)]
)
def test_they_are_right_and_differ(name: str) -> None:
    compiled = small() if name == "small" else of(name)[0]
    for others in changes(compiled).values():
        for other in others:
            protocol = changed(compiled.protocol, other)
            assert protocol != compiled.protocol, other.words
            assert not list(verify(protocol)), other.words


def test_no_change_of_a_statement_comes_twice() -> None:
    protocol = of("MSI")[0].protocol
    for machine in protocol.machines:
        statements = OtherStatements(protocol, machine)
        for declared in statements.declarations:
            for others in statements.of(declared):
                texts = [(each.words, each.span) for each in others]
                assert len(set(texts)) == len(texts)


def test_what_operators_do_is_undone() -> None:
    assert "if who has the line: `tbe.Sharers.add(in_msg.Requestor)` is missing" in words("s_share")
    assert "if `in_msg.Dirty && tbe.pendingAcks == 1` is negated" in words("requests_in")


def test_a_statement_is_left_out_and_one_of_another_body_is_added() -> None:
    found = words("s_share")
    assert "without `tbe.pendingAcks := tbe.Sharers.count()`" in found
    assert "with `tbe.TBEState := state` in addition" not in found, "there is no state here"


def test_a_field_that_is_not_set_and_one_that_is() -> None:
    """A message says that it is dirty, or that it is a Nack, which no text of the machine does."""
    found = words("a_answer")
    assert {
        "with `true` in place of `tbe.Dirty`",
        "with `in_msg.Requestor` in place of `machineID`",
        "with `out_msg.Destination.remove(machineID)` in addition",
    } <= found
    assert not any("MessageSize" in each for each in found)


def test_parts_of_conditions_and_other_events() -> None:
    found = words("requests_in")
    assert {
        "with `in_msg.Dirty` in place of `in_msg.Dirty && tbe.pendingAcks == 1`",
        "if `in_msg.Dirty && tbe.pendingAcks == 1` is false",
        "with `Event:Get` in place of `Event:Put`",
    } <= found


def test_a_function_has_no_transaction_though_a_parameter_is_called_so() -> None:
    """``tbe`` of ``setState`` is what it was called with."""
    for machine in small().protocol.machines:
        statements = OtherStatements(small().protocol, machine)
        for declared in statements.declarations:
            for others in statements.of(declared) if not isinstance(declared, ir.Action) else ():
                for other in others:
                    assert not any(
                        isinstance(node, ir.TransactionValue)
                        for body in (*other.machine.functions, *other.machine.in_ports)
                        for node in expressions_in(body.body)
                    ), other.words


def test_what_is_counted_adds_up() -> None:
    found = words("s_share")
    assert "with `tbe.pendingAcks + tbe.Sharers.count()` in place of `tbe.Sharers.count()`" in found
