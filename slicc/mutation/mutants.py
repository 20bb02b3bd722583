"""Every mutant of a protocol.

Invariant: the order and the names depend on the text alone; no two mutants are the same edit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from slicc import ir
from slicc.mutation.body_operators import body_mistakes
from slicc.mutation.mutant import Mistake, Mutant
from slicc.mutation.transition_operators import transition_mistakes


def mutants(protocol: ir.Protocol) -> Sequence[Mutant]:
    """Every mutant, machine by machine: rows of the table first, then bodies."""
    found: list[Mutant] = []
    names: Counter[str] = Counter()
    seen: set[tuple[str, int, int, str]] = set()
    for place, machine in enumerate(protocol.machines):
        for mistake in _mistakes(protocol, machine):
            span = mistake.edit.span
            edit = (span.file.name, span.start, span.end, mistake.edit.replacement)
            if edit in seen:
                continue  # a file that two machines share, or two ways to the same text
            seen.add(edit)
            parts = (machine.name, mistake.changed, mistake.operator.value, mistake.detail)
            name = ":".join(part for part in parts if part)
            names[name] += 1
            if names[name] > 1:
                name = f"{name}~{names[name]}"
            found.append(_mutant(protocol, place, mistake, name))
    return tuple(found)


def _mistakes(protocol: ir.Protocol, machine: ir.Machine) -> Iterator[Mistake]:
    yield from transition_mistakes(machine)
    yield from body_mistakes(protocol, machine)


def _mutant(protocol: ir.Protocol, place: int, mistake: Mistake, name: str) -> Mutant:
    machines = protocol.machines
    changed = (*machines[:place], mistake.machine, *machines[place + 1 :])
    return Mutant(
        name,
        mistake.operator,
        mistake.machine.name,
        mistake.changed,
        mistake.span,
        mistake.description,
        mistake.edit,
        replace(protocol, machines=changed),
    )
