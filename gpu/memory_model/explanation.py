"""Why an outcome is allowed or forbidden, as text: an execution, or a cycle.

An outcome is forbidden if each execution that ends so breaks an axiom; the one shown breaks the
fewest, with the shortest cycle. Invariant: what is printed follows from the program, the outcome
and the rules alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np

from gpu.memory_model.axioms import AXIOMS, Axiom, Parts
from gpu.memory_model.events import Frame
from gpu.memory_model.model import candidates, judge, witnesses
from gpu.memory_model.ordering import Executions, Rules
from gpu.memory_model.program import Outcome, Program
from gpu.memory_model.relations import Relation, compose, on_diagonal, pairs, restricted
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """From one event to another: ``how`` they are related."""

    source: int
    how: str
    target: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """What an axiom forbids. ``steps`` end where they begin."""

    axiom: Axiom
    frame: Frame
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [f"breaks: {self.axiom.name} [{self.axiom.clause}]"]
        for step in self.steps:
            lines += [f"  {self.frame.name(step.source)}", f"    -> {step.how}"]
        return "\n".join([*lines, f"  {self.frame.name(self.steps[0].source)}"])


def explain(program: Program, outcome: Outcome, rules: Rules = Rules.hsa) -> str:
    """A witness if the outcome is allowed, else what forbids it. Raises `events.TooLarge`."""
    ending = ", ".join(f"{term}={value}" for term, value in zip(program.terms, outcome))
    allowed = judge(program, rules)
    found = next(witnesses(program, outcome, rules), None)
    lines = [] if found is None else list(_witness(*found))
    if allowed.undefined:
        lines.append(f"the program is undefined, by a data race of {allowed.races[0]}")
    if lines:
        return "\n".join([f"allowed: {ending}", *lines])
    cycle = forbidden_by(program, outcome, rules)
    why = "no execution computes these values" if cycle is None else str(cycle)
    return f"forbidden: {ending}\n{why}"


def forbidden_by(program: Program, outcome: Outcome, rules: Rules = Rules.hsa) -> Cycle | None:
    """What an execution with a forbidden outcome breaks; None: nothing computes these values."""
    cycles = [_cycles(each, number) for each, number in candidates(program, outcome, rules)]
    best = min(filter(None, cycles), key=lambda each: (len(each), _length(each)), default=None)
    return min(best, key=lambda cycle: len(cycle.steps)) if best else None


def _length(cycles: list[Cycle]) -> int:
    return min(len(cycle.steps) for cycle in cycles)


def _cycles(executions: Executions, number: int) -> list[Cycle]:
    """One cycle of each axiom that an execution breaks."""
    result = []
    for axiom in AXIOMS:
        found = [
            cycle
            for parts in axiom.parts(executions)
            if (cycle := _cycle(axiom, executions, number, parts)) is not None
        ]
        result += sorted(found, key=lambda cycle: len(cycle.steps))[:1]
    return result


def _cycle(axiom: Axiom, executions: Executions, number: int, parts: Parts) -> Cycle | None:
    mine = [
        (name, np.broadcast_to(each, executions.batch.rf.shape)[number]) for name, each in parts
    ]
    if axiom.repeated:
        (name, relation), *_ = mine
        corners = [(name, a, b) for a, b in _loop(relation)]
    else:
        corners = _corners(mine)
    if not corners:
        return None
    steps = tuple(
        step
        for name, source, target in corners
        for step in _steps(executions, number, name, source, target)
    )
    return Cycle(axiom, executions.frame, steps)


def _loop(relation: Relation) -> list[tuple[int, int]]:
    """A shortest cycle of a relation."""
    graph = nx.DiGraph(list(pairs(relation)))
    loops = (
        [source, *nx.shortest_path(graph, target, source)]
        for source, target in graph.edges
        if nx.has_path(graph, target, source)
    )
    best: list[int] = min(loops, key=lambda loop: len(loop), default=[])
    return list(pairwise(best))


def _corners(parts: list[tuple[str, Relation]]) -> list[tuple[str, int, int]]:
    """An event that reaches itself along the parts, and where each part ends on the way."""
    whole = parts[0][1]
    for _, part in parts[1:]:
        whole = compose(whole, part)
    if not on_diagonal(whole):
        return []
    start = int(np.flatnonzero(whole.diagonal())[0])
    if len(parts) == 1:
        return [(parts[0][0], start, start)]
    (one, first), (other, second) = parts
    middle = int(np.flatnonzero(first[start] & second[:, start])[0])
    return [(one, start, middle), (other, middle, start)]


def _steps(
    executions: Executions, number: int, name: str, source: int, target: int
) -> Iterator[Step]:
    """The single steps behind one step of a cycle."""
    if name.endswith("seq_cst"):
        before, between, behind = (
            np.broadcast_to(each, executions.batch.rf.shape)[number]
            for each in executions.seq_cst_steps
        )
        reached = compose(between, behind)[:, target]
        first = int(np.flatnonzero(before[source] & reached)[0])
        last = int(np.flatnonzero(between[first] & behind[:, target])[0])
        yield from _path(executions, number, source, first)
        yield from _path(executions, number, first, last)
        yield from _path(executions, number, last, target)
    else:
        yield from _path(executions, number, source, target)


_WORDS = {
    "rf": "is read by",
    "co": "is before in coherence order",
    "fr": "reads a value from before",
    "sw": "synchronises with",
    "po": "program order",
}


def _path(executions: Executions, number: int, source: int, target: int) -> list[Step]:
    """From one event to another: directly, else by program order and synchronisation, else along
    their cell."""
    frame, batch = executions.frame, executions.batch
    relations = {"rf": batch.rf[number], "co": batch.co[number], "fr": batch.fr[number]}
    for name, relation in relations.items():
        if relation[source, target]:
            return [Step(source, _WORDS[name], target)]
    if source == target:
        return []
    graphs: list[nx.DiGraph[int]] = [nx.DiGraph(), nx.DiGraph()]
    for plane, synchronises in executions.synchronises.items():
        here = frame.of_spaces(plane)
        for name, relation in (("po", frame.program_order), ("sw", synchronises[number])):
            graphs[0].add_edges_from(pairs(restricted(relation, here, here)), how=_WORDS[name])
    for name, relation in relations.items():
        graphs[1].add_edges_from(pairs(relation), how=_WORDS[name])
    for graph in graphs:
        if source in graph and target in graph and nx.has_path(graph, source, target):
            path = nx.shortest_path(graph, source, target)
            return [Step(a, graph.edges[a, b]["how"], b) for a, b in pairwise(path)]
    raise AssertionError("events of a cycle are related")


def _witness(executions: Executions, number: int) -> Iterator[str]:
    """What each read reads, and the orders of writes where there are several."""
    frame, pick = executions.frame, executions.batch.picks[number]
    for cell, order in zip(frame.cells, pick):
        for read, write in order.sources.items():
            yield f"  {frame.name(read)} reads from {frame.name(write)}"
        if len(order.writes) > 2:
            names = "; ".join(frame.name(write) for write in order.writes[1:])
            yield f"  {cell.instance[2]} is written in this order: {names}"
