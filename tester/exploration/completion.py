"""States from which no run completes a request, although one is outstanding.

A protocol that keeps a request going in circles never comes to rest, so that no state is a
deadlock. Which states those are can be said when all steps are known: the others are those that
lead to a step with a completion. Invariant: the answer is the state that was found first, so the
way to it is a shortest one.
"""

from __future__ import annotations

import numpy as np

from tester.exploration.native_search import Edges


def without_completion(edges: Edges) -> int | None:
    """The first state from which no run completes a request; None: there is none."""
    order = np.argsort(edges.prints, kind="stable")
    to = order[np.searchsorted(edges.prints, edges.to, sorter=order)]
    start = edges.start
    completing = np.zeros(len(edges.prints), np.bool_)
    completing[start[edges.completes]] = True
    wanted = np.zeros(len(edges.prints), np.bool_)
    wanted[start[edges.outstanding]] = True
    while True:
        open_ = ~completing[start]
        start, to = start[open_], to[open_]
        found = completing[to]
        if not found.any():
            break
        completing[start[found]] = True
    (stuck,) = np.nonzero(wanted & ~completing)
    return int(stuck[0]) if len(stuck) else None
