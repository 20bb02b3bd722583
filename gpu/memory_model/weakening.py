"""Which guarantees a program needs: what it may end with once an operation has lost one.

A mutation of a code sequence (a wait left out, an invalidation, a bit of a load) takes a guarantee
from an operation. It matters for a program if the model then allows more than before: an outcome
that was forbidden, or anything at all because there is a data race. A mutation that matters and
never shows is one that the tests, or the machine, miss.

    losses                      instructions of the code sequences for GFX6 to GFX9
    acquire                     waits behind an access
    acquire beyond the group    buffer_wbinvl1, buffer_wbinvl1_vol
    release                     waits in front of a store or an atomic operation, in a fence
    release beyond the group    of these, s_waitcnt vmcnt(0)
    sequence                    waits in front of a seq_cst load
    scope                       glc of an atomic load

Invariant: an operation without one of its guarantees is weaker in no other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Final

from gpu.memory_model.model import Race, judge
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import Fence, Load, Operation, Order, Outcome, Program, Store
from gpu.memory_model.scopes import Scope
from slicc.text.lazy_dataclass import dataclass


class Loss(StrEnum):
    """What an operation may lose."""

    acquire = "acquire"
    acquire_beyond = "acquire beyond the group"
    release = "release"
    release_beyond = "release beyond the group"
    sequence = "sequence"
    scope = "scope"


@dataclass(frozen=True, slots=True)
class Weakening:
    """``gained``: outcomes that were forbidden; if there are ``races``, every outcome is allowed,
    and these are the ones that need nothing else."""

    thread: int
    index: int
    loss: Loss
    gained: tuple[Outcome, ...]
    races: tuple[Race, ...]

    @property
    def matters(self) -> bool:
        """Whether the program needs what was lost."""
        return bool(self.gained or self.races)


def weakenings(program: Program, rules: Rules = Rules.hsa) -> Iterator[Weakening]:
    """Each guarantee of each operation, taken away alone. Raises `events.TooLarge`."""
    for thread, each in enumerate(program.threads):
        for index, operation in enumerate(each.operations):
            for loss in losses(operation):
                yield weaken(program, thread, index, loss, rules)


def weaken(
    program: Program, thread: int, index: int, loss: Loss, rules: Rules = Rules.hsa
) -> Weakening:
    """One guarantee less. Raises ValueError if the operation has no such guarantee."""
    before, after = judge(program, rules), judge(without(program, thread, index, loss), rules)
    gained = () if before.undefined else set(after.outcomes).difference(before.outcomes)
    races = () if before.undefined else after.races
    return Weakening(thread, index, loss, tuple(sorted(gained)), races)


def losses(operation: Operation) -> list[Loss]:
    """What an operation has to lose."""
    return [loss for loss in Loss if _weaker(operation, loss) is not None]


def without(program: Program, thread: int, index: int, loss: Loss) -> Program:
    """The program with one guarantee less. Raises ValueError."""
    operations = program.threads[thread].operations
    weaker = _weaker(operations[index], loss)
    if weaker is None:
        raise ValueError(f"operation {index + 1} of thread {thread + 1} has no {loss} to lose")
    changed = replace(
        program.threads[thread],
        operations=(*operations[:index], *weaker, *operations[index + 1 :]),
    )
    threads = (*program.threads[:thread], changed, *program.threads[thread + 1 :])
    return replace(program, threads=threads)


def _weaker(operation: Operation, loss: Loss) -> tuple[Operation, ...] | None:
    if loss is Loss.scope:
        return _narrower(operation)
    if loss is Loss.sequence:
        return _unordered(operation)
    beyond = loss in (Loss.acquire_beyond, Loss.release_beyond)
    if beyond and operation.scope <= Scope.work_group:
        return None
    lost = Order.acquire if loss in (Loss.acquire, Loss.acquire_beyond) else Order.release
    order = _reduced(operation, lost)
    if order is None:
        return None
    kept = (
        ()
        if order is Order.relaxed and isinstance(operation, Fence)
        else (replace(operation, order=order),)
    )
    if not beyond:
        return kept
    spaces = operation.spaces if isinstance(operation, Fence) else {operation.place.space}
    fence = Fence(lost, Scope.work_group, frozenset(spaces), operation.when)
    return (*kept, fence) if lost is Order.acquire else (fence, *kept)


def _narrower(operation: Operation) -> tuple[Operation, ...] | None:
    """Work-group scope instead of a wider one. Of loads alone: stores and atomic operations are
    performed where all can see them."""
    if not isinstance(operation, Load) or operation.order is Order.non_atomic:
        return None
    if operation.scope > Scope.work_group:
        return (replace(operation, scope=Scope.work_group),)
    return None


def _unordered(operation: Operation) -> tuple[Operation, ...] | None:
    if operation.order is not Order.seq_cst:
        return None
    if isinstance(operation, Load):
        return (replace(operation, order=Order.acquire),)
    order = Order.release if isinstance(operation, Store) else Order.acq_rel
    return (replace(operation, order=order),)


_KEPT: Final = {
    Order.acquire: {Order.acquire: Order.relaxed, Order.acq_rel: Order.release},
    Order.release: {Order.release: Order.relaxed, Order.acq_rel: Order.acquire},
}
"""What is left of an order without acquire, or without release."""


def _reduced(operation: Operation, lost: Order) -> Order | None:
    order = operation.order
    if order is Order.seq_cst:
        order = Order.acq_rel
        if isinstance(operation, Load):
            order = Order.acquire
        elif isinstance(operation, Store):
            order = Order.release
    return _KEPT[lost].get(order)
