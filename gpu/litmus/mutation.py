"""Code sequences with one mistake, and whether the tests notice.

A mutant is a test of which one operation has lost one step of its sequence: a wait, or one counter
of it, the invalidation, the bit of a load. Whether the test needs that step is for the memory model
to say, see `gpu.memory_model.weakening`; whether it shows, for the runs, one of which is steered to
what `gpu.litmus.steering` finds that the caches can do.

Invariant: a mutant is called needless by the memory model alone, and hidden only if no order of the
abstract machine's steps shows it; never because no run did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from gpu.litmus.kernel import counts_in_both, kind_of, sequence_for
from gpu.litmus.scenario import Test
from gpu.litmus.sequences import ACCESS, LDS_AND_SCALAR, VECTOR, WAIT, Sequence, Step
from gpu.litmus.series import outcome_of, steered_outcome
from gpu.litmus.single_run import Machine
from gpu.litmus.steering.abstract_machine import EVERY_RULE, Rule
from gpu.litmus.steering.search import Exhaustion, explore
from gpu.memory_model.model import judge
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import Fence, Load, Operation, Outcome, Program, Rmw, Space
from gpu.memory_model.weakening import Loss, losses, weaken
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """Step ``step`` of the sequence of an operation becomes ``instead``; None: nothing."""

    thread: int
    operation: int
    step: int
    original: Step
    instead: Step | None
    lost: tuple[Loss, ...]

    def sequence(self, thread: int, operation: int, sequence: Sequence) -> Sequence:
        """What is executed; see `gpu.litmus.kernel.Sequences`."""
        if (thread, operation) != (self.thread, self.operation):
            return sequence
        changed = () if self.instead is None else (self.instead,)
        return (*sequence[: self.step], *changed, *sequence[self.step + 1 :])

    def __str__(self) -> str:
        where = f"operation {self.operation + 1} of thread {self.thread + 1}"
        what = "left out" if self.instead is None else f"only {self.instead}"
        return f"{where}: {self.original}: {what}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """``shown_in``: the first run that ended as the unchanged test may not, `STEERED` or the number
    of one that is drawn. ``hidden``: why no run can; then ``states`` of the abstract machine were
    reached, which are all there are."""

    mutant: Mutant
    matters: bool
    shown_in: int | None = None
    hidden: str | None = None
    states: int = 0

    @property
    def missed(self) -> bool:
        """Whether the test needs what was lost, and nothing says why no run showed it."""
        return self.matters and self.shown_in is None and self.hidden is None


NOTHING_OUTSTANDING: Final = "its thread has no access before it that is not waited for"
"""Why a wait is hidden in a place where it waits for nothing."""
STEERED: Final = -1
"""The run that is steered to what the abstract machine can end with."""


def mutants(test: Test, processor: str) -> Iterator[Mutant]:
    """The mutants of all operations of waves. Threads of processors have no code sequences."""
    for number, thread in enumerate(test.program.threads):
        if thread.position.agent == "gpu":
            for place, operation in enumerate(thread.operations):
                said = sequence_for(processor, operation, test.rules is Rules.opencl)
                for step, original in enumerate(said):
                    for instead, gone in _slips(operation, original):
                        lost = _lost(test.program, operation, said, step, gone)
                        yield Mutant(number, place, step, original, instead, lost)


def _slips(operation: Operation, step: Step) -> Iterator[tuple[Step | None, tuple[str, ...]]]:
    """What may stand instead, and what is gone then."""
    if step.name != ACCESS:
        yield None, step.parts
    # The bit of an atomic operation returns a value and orders nothing.
    if (step.name == WAIT and len(step.parts) > 1) or (
        step.name == ACCESS and not isinstance(operation, Rmw)
    ):
        for part in step.parts:
            yield replace(step, parts=tuple(p for p in step.parts if p != part)), (part,)


def _lost(
    program: Program, operation: Operation, said: Sequence, step: int, gone: tuple[str, ...]
) -> tuple[Loss, ...]:
    """The guarantees that need what is gone, of those that the operation has."""
    found = _needing(program, operation, said, step, gone)
    return tuple(loss for loss in losses(operation) if loss in found)


def _needing(
    program: Program, operation: Operation, said: Sequence, step: int, gone: tuple[str, ...]
) -> set[Loss]:
    name = said[step].name
    if name == ACCESS:
        return {Loss.scope}
    if name != WAIT:
        return {Loss.acquire_beyond}
    behind = any(each.name == ACCESS for each in said[:step])
    acquires, releases = behind, not behind
    if isinstance(operation, Fence):
        acquires = releases = True
    found: set[Loss] = set()
    if VECTOR in gone:
        # Within a group the caches keep the order of global accesses, without a wait.
        found |= {Loss.acquire_beyond} if acquires else set()
        found |= {Loss.release_beyond} if releases else set()
    if LDS_AND_SCALAR in gone and _has_local(program):
        found |= {Loss.acquire} if acquires else set()
        found |= {Loss.release} if releases else set()
    if releases and found and isinstance(operation, Load):
        return {Loss.sequence}
    return found


def _has_local(program: Program) -> bool:
    return any(
        each.place.space is Space.local
        for thread in program.threads
        for each in thread.operations
        if not isinstance(each, Fence)
    )


def attempt(test: Test, machine: Machine, seed: int, runs: int, mutant: Mutant) -> Attempt:
    """All orders of the abstract machine; if one of them shows it, a steered run; if that does not,
    runs 0 to ``runs`` - 1 up to the first that does. None if the test does not need what is
    lost."""
    if not _matters(test, mutant):
        return Attempt(mutant, matters=False)
    allowed = judge(test.program, test.rules)

    def shows(outcome: Outcome) -> bool:
        return not allowed.allows(outcome)

    search = partial(explore, test, machine.processor, sequences=mutant.sequence, wanted=shows)
    every = search()
    if every.complete:
        why = _why_hidden(test, machine.processor, mutant, search)
        return Attempt(mutant, matters=True, hidden=why, states=every.states)
    way = search(whole=True).way
    if way is not None and shows(steered_outcome(test, machine, way, sequences=mutant.sequence)):
        return Attempt(mutant, matters=True, shown_in=STEERED)
    ends = partial(outcome_of, test, machine, seed, sequences=mutant.sequence)
    shown = (number for number in range(runs) if shows(ends(number)))
    return Attempt(mutant, matters=True, shown_in=next(shown, None))


def _why_hidden(
    test: Test, processor: str, mutant: Mutant, search: Callable[..., Exhaustion]
) -> str:
    """The rule of the machine without which it would show, or what the lost step comes to."""
    for rule in _rules(test, processor, mutant):
        if search(rules=EVERY_RULE - {rule}).way is not None:
            return str(rule)
    if mutant.original.name == WAIT:
        if _waits_for_nothing(test, processor, mutant):
            return NOTHING_OUTSTANDING
        return "what it orders is performed in that order, or waits for a value"
    if mutant.original.name == ACCESS:
        return "without glc a load gets what was newest when its line came, which suffices"
    return "no later load of the unit takes a line that was there before"


def _rules(test: Test, processor: str, mutant: Mutant) -> Iterator[Rule]:
    """The rules that may hide a mutant."""
    if _has_local(test.program):
        yield Rule.local
    left = () if mutant.instead is None else mutant.instead.parts
    if counts_in_both(processor) and LDS_AND_SCALAR in left:
        yield Rule.both


def _waits_for_nothing(test: Test, processor: str, mutant: Mutant) -> bool:
    """Whether all accesses of the thread before a wait have been waited for."""
    outstanding = False
    thread = test.program.threads[mutant.thread]
    for number, operation in enumerate(thread.operations[: mutant.operation + 1]):
        said = sequence_for(processor, operation, test.rules is Rules.opencl)
        own = number == mutant.operation
        for step in said[: mutant.step] if own else said:
            if step.name == ACCESS:
                outstanding = True
            elif step.name == WAIT and VECTOR in step.parts:
                outstanding = False
    return not outstanding


def row_of(test: Test, mutant: Mutant) -> str:
    """The row of the table that a mutant changes, and how."""
    operation = test.program.threads[mutant.thread].operations[mutant.operation]
    instead = "left out" if mutant.instead is None else f"only {mutant.instead}"
    return f"{kind_of(operation)} {operation.order} {operation.scope}: {mutant.original}: {instead}"


def _matters(test: Test, mutant: Mutant) -> bool:
    place = mutant.thread, mutant.operation
    return any(weaken(test.program, *place, loss, test.rules).matters for loss in mutant.lost)
