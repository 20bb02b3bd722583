"""The axioms: what makes a candidate execution one that the memory model allows.

Each axiom is a relation that must have no cycle, or relate no event to itself. Clauses are of the
OpenCL 3.0 API specification (section 3.3, the memory model, by heading), of the HSA Platform System
Architecture specification 1.2 (chapter 3, the memory consistency model, by subject), and of C11,
where OpenCL cites it.

Invariant: a stronger order or a wider scope only adds to what an axiom relates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.memory_model.ordering import Executions
from gpu.memory_model.relations import (
    Relation,
    closure,
    compose,
    on_diagonal,
    restricted,
)
from slicc.text.lazy_dataclass import dataclass

Parts = tuple[tuple[str, Relation], ...]
"""Relations along which, one after the other, an event may not reach itself; with a name each."""


@dataclass(frozen=True, slots=True)
class Axiom:
    """``parts``: of a batch, the sequences of relations that are forbidden to close a cycle.
    ``repeated``: not even by going through them several times."""

    name: str
    clause: str
    parts: Callable[[Executions], Iterator[Parts]]
    repeated: bool = False

    def broken(self, executions: Executions) -> npt.NDArray[np.bool_]:
        """Whether the axiom is broken, for each execution of the batch."""
        result = np.zeros(len(executions.batch.picks), np.bool_)
        for parts in self.parts(executions):
            cycle = parts[0][1]
            for _, part in parts[1:]:
                cycle = compose(cycle, part)
            result |= on_diagonal(closure(cycle) if self.repeated else cycle)
        return result


def _happens_before(executions: Executions) -> Iterator[Parts]:
    """Happens-before of a plane has no cycle."""
    for before in executions.happens_before.values():
        yield (("happens before", before),)


def _coherence(executions: Executions) -> Iterator[Parts]:
    """Nothing happens before what precedes it in its cell: a write, a read of an earlier write."""
    for plane, before in executions.happens_before.items():
        here = executions.frame.of_spaces(plane)
        steps = restricted(executions.batch.steps, here, here)
        yield ("happens before", before), ("precedes in coherence order", steps)


def _update(executions: Executions) -> Iterator[Parts]:
    """No write comes between the two halves of a read-modify-write."""
    updates = executions.frame.updates
    everything = np.ones_like(updates)
    yield (
        ("reads what precedes", restricted(executions.batch.fr, updates, everything)),
        ("precedes in coherence order", restricted(executions.batch.co, everything, updates)),
    )


def _access(executions: Executions) -> Iterator[Parts]:
    """An atomic access of several cells takes effect in all of them at once."""
    frame, batch = executions.frame, executions.batch
    atomic = frame.atomic
    whole = frame.same_footprint & atomic[:, None] & atomic
    order = ("precedes in coherence order", (batch.rf | batch.co | batch.fr) & whole)
    yield order, order


def _total_order(executions: Executions) -> Iterator[Parts]:
    """Seq_cst operations whose scopes include each other have an order that agrees with
    happens-before and coherence order, and with what reads read; a seq_cst fence stands for the
    accesses before it and behind it."""
    frame = executions.frame
    from_fence, between, to_fence = executions.seq_cst_steps
    order = compose(from_fence, compose(between, to_fence))
    among = restricted(order & frame.inclusive, frame.seq_cst, frame.seq_cst)
    yield (("precedes in the order of seq_cst", among & ~np.eye(frame.size, dtype=np.bool_)),)


AXIOMS: Final = (
    Axiom(
        "happens-before has no cycle",
        "OpenCL 3.0 API, Memory Ordering Rules: no cycle in global- or local-happens-before; "
        "HSA PSA 1.2, chapter 3: heterogeneous-happens-before is a partial order",
        _happens_before,
    ),
    Axiom(
        "coherence",
        "OpenCL 3.0 API, Memory Ordering Rules: write-write, read-read, read-write and write-read "
        "coherence (C11 5.1.2.4, 15 to 18); HSA PSA 1.2, chapter 3: coherent order",
        _coherence,
    ),
    Axiom(
        "atomicity of read-modify-writes",
        "OpenCL 3.0 API, Atomic Operations (C11 7.17.3, 12); HSA PSA 1.2, chapter 3: atomic "
        "operations",
        _update,
    ),
    Axiom(
        "atomicity of accesses",
        "OpenCL 3.0 API, Atomic Operations, note on relaxed operations: indivisible; HSA PSA 1.2, "
        "chapter 3: atomic operations",
        _access,
    ),
    Axiom(
        "order of seq_cst operations",
        "OpenCL 3.0 API, Atomic Operations: a single total order (C11 7.17.3, 6 and 9 to 11), by "
        "inclusive scopes as in HSA PSA 1.2, chapter 3: sequentially consistent synchronization "
        "order of each scope instance",
        _total_order,
        repeated=True,
    ),
)


def consistent(executions: Executions) -> npt.NDArray[np.bool_]:
    """Whether no axiom is broken, for each execution of the batch."""
    result = np.ones(len(executions.batch.picks), np.bool_)
    for axiom in AXIOMS:
        result &= ~axiom.broken(executions)
    return result
