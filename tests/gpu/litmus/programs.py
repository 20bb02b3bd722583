"""Programs of the tests."""

from __future__ import annotations

from gpu.litmus import scenario
from gpu.litmus.kernel import Sequences, as_written
from gpu.litmus.single_run import Machine, run_instances
from gpu.litmus.situation import Situation
from gpu.memory_model.program import (
    Guard,
    Load,
    Order,
    Outcome,
    Place,
    Program,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position, Scope
from slicc.scenario_text.parser import parse_scenario
from slicc.source import SourceFile

X, F = Place("x"), Place("f")
ELSEWHERE = Position("gpu", 1)


def message_passing(
    release: Order, acquire: Order, scope: Scope, reader: Position = ELSEWHERE
) -> Program:
    """Data behind a flag; the reader looks at the data if it sees the flag."""
    return Program(
        (
            Thread("P0", Position("gpu", 0), (Store(X, 1), Store(F, 1, release, scope))),
            Thread(
                "P1", reader, (Load(F, "r0", acquire, scope), Load(X, "r1", when=Guard("r0", 1)))
            ),
        )
    )


CHAIN = """scenario "ISA2: a group's release, then the agent's"
model hsa
P0 @ group 0, wave 0           | P1 @ group 0, wave 1                 | P2 @ group 1
store x = 1                    | load y -> r0 acquire work-group      | load z -> r0 acquire agent
store y = 1 release work-group | if r0 = 1: store z = 1 release agent | if r0 = 1: load x -> r1

forbidden P2:r0 = 1 and P2:r1 = 0
"""
"""The release of a work-group does not wait for stores to global memory, in LLVM's table; P1 cannot
wait for those of P0."""


def run_once(
    program: Program, situation: Situation, machine: Machine, sequences: Sequences = as_written
) -> Outcome:
    """What a launch of one instance ends with."""
    (outcome,) = run_instances(program, situation, machine, sequences=sequences)
    return outcome


def read(text: str) -> scenario.Test:
    """A test from its text."""
    return scenario.read_test(parse_scenario(SourceFile("test.litmus", text)))
