"""Relations between the events of executions, as boolean matrices.

A batch of executions is one array of shape (executions, events, events): an axiom is judged for
all of them at once, and small programs need no more than one batch.

Invariant: nothing here changes its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Relation = npt.NDArray[np.bool_]
"""Shape (..., n, n): from the row's event to the column's."""

Events = npt.NDArray[np.bool_]
"""A set of events, shape (n,)."""


def compose(one: Relation, other: Relation) -> Relation:
    """Along both, one after the other."""
    product: Relation = one @ other
    return product


def reflexive(relation: Relation) -> Relation:
    """The relation, or no step at all."""
    return relation | np.eye(relation.shape[-1], dtype=np.bool_)


def closure(relation: Relation) -> Relation:
    """Along one or more steps."""
    result = relation
    for _ in range(relation.shape[-1].bit_length()):
        longer = result | compose(result, result)
        if np.array_equal(longer, result):
            break
        result = longer
    return result


def restricted(relation: Relation, sources: Events, targets: Events) -> Relation:
    """Only from these events to those."""
    return relation & sources[:, None] & targets


def on_diagonal(relation: Relation) -> npt.NDArray[np.bool_]:
    """Whether an event is related to itself, for each execution."""
    return np.asarray(relation.diagonal(axis1=-2, axis2=-1).any(axis=-1))


def pairs(relation: Relation) -> Iterator[tuple[int, int]]:
    """The related events of one execution, shape (n, n), in their order."""
    for source, target in np.argwhere(relation):
        yield int(source), int(target)
