"""What an exploration came to, as text and as JSON.

Invariant: whatever was left out of the search (bounds, reductions, operations that no agent
did) stands beside the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import expm1
from typing import Any, Final

from protocols.loader import LoadedProtocol
from runtime.errors import ErrorKind
from runtime.native.system import ChoiceKind, ErrorWord, NativeError
from runtime.native.verdicts import Verdicts
from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass
from slicc.text.wording import listed
from tester.exploration import operations
from tester.exploration.exploration import (
    Conclusion,
    ErrorTrace,
    Exploration,
    OutOfTime,
    Step,
)
from tester.exploration.invariants.language import Invariant
from tester.exploration.native_search import Choice, Rules
from tester.exploration.native_words import BEFOREHAND, FindingKind, SearchEnd
from tester.exploration.operations import OPERATIONS, Target
from tester.exploration.small_system import (
    ENGINES,
    FIRST_ADDRESS,
    LINE_BYTES,
    SmallSystem,
    metadata,
)

_LIBRARY_MESSAGES: Final = ("", "RubyRequest", "SequencerMsg", "MemoryMsg")
_HEADLINES: Final = {
    FindingKind.VALUE: "a load returned a value that no order of the stores explains",
    FindingKind.OLD_VALUE: "a fetch-add returned a value that no order of the fetch-adds explains",
    FindingKind.DEADLOCK: "deadlock: nothing is under way, and something was never answered",
    FindingKind.LEAK: "leak: nothing is under way, and something is left that should be gone",
    FindingKind.TWO_WRITERS: (
        "two private caches may use a line at once, and one of them may write it"
    ),
    FindingKind.INVARIANT: "an invariant does not hold",
    FindingKind.NO_END: "steps without end",
    FindingKind.NO_COMPLETION: (
        "a request is outstanding, and no run from there completes any without further accesses"
    ),
}


class Namer:
    """Names of one protocol in one system."""

    def __init__(self, protocol: LoadedProtocol, system: SmallSystem) -> None:
        self.protocol = protocol
        self.system = system
        known: dict[str, Any] = dict(metadata(protocol))
        self._machines = known["machines"]
        self._messages = (*_LIBRARY_MESSAGES, *known["messages"])

    def message(self, number: int) -> str:
        return str(self._messages[number])

    def events(self, machine: int) -> list[str]:
        """By number."""
        names: list[str] = self._machines[machine]["events"]
        return names

    def line(self, address: int) -> str:
        return f"line {(address - FIRST_ADDRESS) // LINE_BYTES}"

    def place(self, operation: int, where: int) -> str:
        target = self._target(operation)
        if target is Target.NOTHING:
            return ""
        if target is Target.LOCATION:
            line, location = divmod(where, self.system.bounds.locations)
            return f"line {line}" + chr(ord("a") + location)
        return f"word of line {where}" if target is Target.WORD else f"line {where}"

    def _target(self, operation: int) -> Target:
        """Atomic operations of programs are about locations."""
        target = OPERATIONS[operation].target
        of_program = target is Target.WORD and not self.system.counts_words
        return Target.LOCATION if of_program else target

    def choice(self, choice: Choice) -> str:
        if choice.kind is ChoiceKind.ISSUE:
            agent = self.system.agents[choice.what].name
            verb = OPERATIONS[choice.which].verb
            if self._target(choice.which) is not OPERATIONS[choice.which].target:
                verb = "performs its atomic operation on"
            early, where = divmod(choice.where, BEFOREHAND)
            text = f"{agent} {verb} {self.place(choice.which, where)}".rstrip()
            return f"{text} beforehand" if early else text
        if choice.kind is ChoiceKind.WAKE:
            return f"{self.system.controllers[choice.what]} looks at what waits"
        line = "" if choice.line is None else f" of {self.line(choice.line)}"
        if choice.kind is ChoiceKind.ALARM:
            return f"the alarm{line} goes off in {self.system.controllers[choice.target or 0]}"
        name = self.message(choice.type or 0)
        if choice.target is None:
            return f"the bus carries {name}{line}"
        buffer = self.system.buffers[choice.target]
        return f"{name}{line} arrives in {buffer}"

    def transitions(self, step: Step) -> Iterator[str]:
        for each in step.transitions:
            machine = self._machines[self.system.machines[each.controller]]
            states = machine["states"]
            change = states[each.state]
            if each.next != each.state:
                change += f" -> {states[each.next]}"
            name = self.system.controllers[each.controller]
            yield f"{name:<14} {self.line(each.line)}  {machine['events'][each.event]:<16} {change}"

    def headline(self, finding: ErrorTrace, invariants: Sequence[Invariant] = ()) -> str:
        if finding.kind is FindingKind.ERROR:
            return self._error(finding)
        text = _HEADLINES[finding.kind]
        if finding.kind is FindingKind.INVARIANT:
            return f"{text}: {invariants[finding.judgement.value - 1].text}"
        judged = finding.judgement
        of_value = finding.kind in (FindingKind.VALUE, FindingKind.OLD_VALUE)
        if not of_value or judged.agent is None or judged.where is None:
            return text
        agent = self.system.agents[judged.agent].name
        operation = 0 if finding.kind is FindingKind.VALUE else operations.NAMES.index("atomic")
        return f"{text} ({agent}, {self.place(operation, judged.where)})"

    def _error(self, finding: ErrorTrace) -> str:
        error = finding.judgement.error
        native = NativeError(
            list(ErrorKind)[(error[ErrorWord.KIND] or 1) - 1],
            error[ErrorWord.SITE] or 0,
            error[ErrorWord.CONTROLLER],
            None,
            error[ErrorWord.ADDRESS],
            error[ErrorWord.STATE],
            error[ErrorWord.EVENT],
            error[ErrorWord.ACTION] or 0,
        )
        assert self.protocol.native is not None
        names = Verdicts(self.protocol.native, self.protocol.info, self.system.description)
        verdict = names(native)
        parts = [native.kind.value.replace("_", " ")]
        if verdict.machine is not None:
            parts.append(f"in {verdict.machine} {verdict.version}")
        if verdict.state is not None:
            parts.append(f"state {verdict.state}")
        if verdict.event is not None:
            parts.append(f"event {verdict.event}")
        if verdict.action is not None:
            parts.append(f"action {verdict.action}")
        if verdict.location is not None:
            parts.append(f"({verdict.location})")
        return " ".join(parts)


def omission_probability(states: int, bits: int) -> float:
    """That two different states had one fingerprint, so that one of them was left out."""
    return -expm1(-states * (states - 1) / 2.0 ** (bits + 1))


def system_lines(found: Exploration) -> Iterator[str]:
    """What exactly was explored."""
    system, rules = found.system, found.rules
    yield f"system: {', '.join(system.controllers)}; caches of one frame"
    for agent in system.agents:
        order = "ordered by acquires" if agent.relaxed else "linearizable"
        yield f"agent {agent.name}: {', '.join(agent.operations)} ({order}, one at a time)"
    bounds = system.bounds
    yield f"lines: {bounds.lines}, locations: {bounds.locations} of 4 bytes in each"
    if system.counts_words:
        yield f"fetch-adds: {bounds.increments} of each agent to each line's word"
    kept = sorted(system.buffers[number] for number in system.ordered)
    yield f"order: kept by {', '.join(kept) or 'no buffer'}; all others deliver in any order"
    if system.description.network.kind == "bus":
        yield "bus: what it carries arrives at all its receivers at once, in any order otherwise"
    for invariant in rules.invariants:
        yield f"invariant: {invariant.text}"
    bound = f"at most {rules.bound} before anything is begun" if rules.bound else "unbounded"
    yield f"messages under way: {bound}"
    reductions = []
    if len(system.renamings) > 1:
        reductions.append(f"symmetry ({len(system.renamings)} renamings)")
    if rules.local_steps and system.served_in_order:
        reductions.append("memory serves its ordered queue at once: no order is lost")
    if rules.local_steps and system.spent:
        reductions.append("acknowledgements that change nothing in any state are not delivered")
    if rules.commuting_steps:
        reductions.append("steps that commute are made in one order")
    if system.times:
        reductions.append(f"{len(system.times)} fields that only measure or count are no state")
    if system.timed:
        reductions.append(f"what {listed(system.timed)} asserts of times is not judged")
    if rules.to_rest:
        reductions.append("controllers run to rest: orders in between are left out")
    if rules.eager_memory:
        reductions.append("memory is reached at once: orders of that are left out")
    yield f"reductions: {', '.join(reductions) or 'none'}"


def summary(found: Exploration) -> str:
    stats = found.statistics
    return (
        f"{stats.states:,} states, {stats.steps:,} steps ({stats.made:,} made), "
        f"depth {stats.depth}, "
        f"at most {stats.under_way} messages under way, {len(found.cells)} cells"
    )


def not_judged(rules: Rules) -> str:
    """What is said of a complete search that had too many steps for `NativeSearch.stuck`."""
    steps = f"more than {rules.most_edges:,} steps"
    return f"that requests can always be completed was not judged: {steps}"


def verdict_line(found: Exploration, namer: Namer) -> tuple[str, str]:
    """The word, and what stands behind it."""
    if found.finding is not None:
        steps = len(found.finding.trace)
        return (
            "FOUND",
            f"{namer.headline(found.finding, found.rules.invariants)}, after {steps} steps",
        )
    if found.conclusion is Conclusion.EXHAUSTED:
        chance = omission_probability(found.statistics.states, 128 if found.rules.wide else 64)
        within = ""
        if found.statistics.withheld:
            within = f" within the bound of {found.rules.bound} messages"
        text = f"clean{within}; a state was left out with probability {chance:.1g}"
        if not found.completion_judged:
            text += f"; {not_judged(found.rules)}"
        return "EXHAUSTED", text
    return "LIMIT", _limit(found, namer)


def _limit(found: Exploration, namer: Namer) -> str:
    stats = found.statistics
    why = {
        SearchEnd.FULL: f"{stats.states:,} states",
        SearchEnd.MEMORY: "memory is full",
        SearchEnd.REFUSED: f"a state has {found.reason}",
        SearchEnd.CONTINUES: (
            "the time is over" if isinstance(found.interruption, OutOfTime) else "interrupted"
        ),
    }[found.end]
    # States at rest are judged when their level is expanded, and the last one was not to its end.
    text = f"{why}; clean so far, complete for every run of at most {max(stats.depth - 1, 0)} steps"
    if found.complete_bound is not None:
        text += " and for every run in which nothing is begun while "
        text += f"{found.complete_bound} messages are under way"
    if found.piled_up is not None:
        type_, count = found.piled_up
        was = "was" if count == 1 else "were"
        text += f"; {count} {namer.message(type_)} {was} under way at once"
    return text


def outside(found: Exploration, namer: Namer) -> str:
    """What a search that found nothing says nothing about: what the system could do with other
    options, and, where all runs are known, transitions that none of them makes."""
    system = found.system
    ways = {"--engines": [each for each in system.idle if each == ENGINES]}
    ways["--ops"] = [each for each in system.idle if each != ENGINES]
    ways["--lines"] = ["replacements"] if system.bounds.lines == 1 else []
    ways["--locations"] = ["false sharing"] if system.bounds.locations == 1 else []
    parts = [f"{', '.join(names)} ({option})" for option, names in ways.items() if names]
    missed = [each for each in _cells(found, namer) if each.missed]
    if missed and found.conclusion is Conclusion.EXHAUSTED:
        of_each = [f"{each.machine} {len(each.missed)} of {each.defined}" for each in missed]
        parts.append(f"transitions (--cells): {', '.join(of_each)}")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _MachineCells:
    """``missed``: names of those of the ``defined`` that no run made. ``left_open``: events that
    are not delivered at all, whose cells are not counted."""

    machine: str
    defined: int
    missed: tuple[str, ...]
    left_open: tuple[str, ...]


def _cells(found: Exploration, namer: Namer) -> Iterator[_MachineCells]:
    spent = found.system.spent if found.rules.local_steps else frozenset[str]()
    for number, machine in enumerate(namer.protocol.info.machines):
        left_open = tuple(
            event for event in namer.events(number) if f"{machine.MACHINE}.{event}" in spent
        )
        defined = [
            cell
            for cell, row in machine.TRANSITIONS.items()
            if not row.stalls and namer.events(number)[cell[1]] not in left_open
        ]
        made = {(cell.state, cell.event) for cell in found.cells if cell.machine == number}
        missed = tuple(
            f"({machine.STATES.name_of(state)}, {machine.EVENTS.name_of(event)})"
            for state, event in sorted(defined)
            if (state, event) not in made
        )
        yield _MachineCells(machine.MACHINE, len(defined), missed, left_open)


def cell_lines(found: Exploration, namer: Namer) -> Iterator[str]:
    """By machine: how many transitions were made, and which were not in this system. Those of
    messages that are not delivered at all are left open."""
    for each in _cells(found, namer):
        text = f"{each.machine}: {each.defined - len(each.missed)} of {each.defined} cells reached"
        text += f"; not: {', '.join(each.missed)}" if each.missed else ""
        yield text + (f"; not delivered: {', '.join(each.left_open)}" if each.left_open else "")


def trace_lines(finding: ErrorTrace, namer: Namer) -> Iterator[str]:
    """The way to a finding, a step a line with its transitions below."""
    for number, step in enumerate(finding.trace, 1):
        yield f"{number:>4}  {namer.choice(step.choice)}"
        for text in namer.transitions(step):
            yield f"          {text}"


def as_json(found: Exploration, namer: Namer, leg: dict[str, object] | None = None) -> str:
    """``leg``: what is said of the counterexample's."""
    stats = found.statistics
    word, text = verdict_line(found, namer)
    data: dict[str, Any] = {
        "protocol": namer.protocol.info.name,
        "verdict": word.lower(),
        "text": text,
        "system": list(system_lines(found)),
        "states": stats.states,
        "steps": stats.steps,
        "steps_made": stats.made,
        "depth": stats.depth,
        "under_way": stats.under_way,
        "complete_bound": found.complete_bound,
        "cells": list(cell_lines(found, namer)),
        "outside": outside(found, namer),
    }
    if found.finding is not None:
        data["trace"] = [
            {"step": namer.choice(step.choice), "transitions": list(namer.transitions(step))}
            for step in found.finding.trace
        ]
    if leg is not None:
        data["leg"] = leg
    return json_text(data, indent=1)
