"""What transitions do with the message that triggered them.

Invariant: a transition is judged only by events for the line of the message itself; what makes
room for another line leaves that line's message where it is.
"""

from __future__ import annotations

from collections import Counter

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, Rule, cells, finding

_SHARE = 3
"""A port's messages are expected to be popped if at most one transition in three leaves them."""


def _kept(facts: MachineFacts) -> Findings:
    judged = [
        (transition, ports)
        for transition in facts.machine.transitions
        if (ports := _ports(facts, transition))
    ]
    total: Counter[ir.PortRef] = Counter()
    keeping: Counter[ir.PortRef] = Counter()
    for transition, ports in judged:
        for port in ports:
            total[port] += 1
            keeping[port] += not facts.consumes(transition, ports)
    stalling = _stalling(facts)
    again = Counter(
        port
        for transition, ports in judged
        for port in ports
        if not facts.consumes(transition, ports) and _looked_at_again(transition, stalling)
    )
    for transition, ports in judged:
        port = min(ports, key=lambda ref: ref.name)
        usual = keeping[port] * _SHARE > total[port] > keeping[port]
        if facts.consumes(transition, ports) or usual:
            continue
        if again[port] > 1 and _looked_at_again(transition, stalling):
            continue  # a habit of this machine
        if port in facts.processor_ports and transition.next.kind is not ir.NextKind.STAY:
            continue
        where = cells(transition.states, transition.events)
        yield finding(
            "message-kept",
            f"the transition for {where} leaves its message at the head of `{port.name}`",
            transition.span,
            "it neither pops, recycles nor stalls the message",
            notes=[
                "the message triggers again at once, in the state that this transition leads to"
            ],
            help=_popping(facts, port),
        )


def _stalling(facts: MachineFacts) -> set[tuple[str, str]]:
    """Cells that leave their message at the head, or stall it."""
    return {
        (cell.state, cell.event)
        for cell in facts.machine.cells
        if facts.machine.transitions[cell.transition].stalls
        or any(effects.waits for _, effects in facts.of(facts.machine.transitions[cell.transition]))
    }


def _looked_at_again(transition: ir.Transition, stalling: set[tuple[str, str]]) -> bool:
    """Whether the message is left on purpose, for the state that the transition leads to."""
    if transition.next.kind is ir.NextKind.STAY:
        return False
    if transition.next.kind is ir.NextKind.COMPUTED:
        return True
    return any((transition.next.state or "", event) in stalling for event in transition.events)


def _ports(facts: MachineFacts, transition: ir.Transition) -> set[ir.PortRef]:
    """The ports that trigger all the events of a transition, if each does for its own line."""
    found: set[ir.PortRef] = set()
    for event in transition.events:
        sources = facts.sources.get(event, set())
        if not sources or not all(s.own and s.port in facts.queues for s in sources):
            return set()
        found |= {source.port for source in sources}
    return found


def _popping(facts: MachineFacts, port: ir.PortRef) -> str | None:
    for action in facts.machine.actions:
        if facts.effects[action.ref].certain_pops == [port] and len(action.body) == 1:
            return f"`{action.ref.name}` pops it"
    return None


def _wrong(facts: MachineFacts) -> Findings:
    """Actions that pop or look at a port whose message did not trigger the transition."""
    reported: set[tuple[ir.ActionRef, str]] = set()
    for transition in facts.machine.transitions:
        for event in transition.events:
            ports = {source.port for source in facts.sources.get(event, set())}
            if not ports or not ports & facts.queues:
                continue
            for action, effects in facts.of(transition):
                wrong = (set(effects.certain_pops) | effects.waits) - ports
                if wrong and (action, event) not in reported:
                    reported.add((action, event))
                    other = min(ref.name for ref in wrong)
                    own = " or ".join(sorted(f"`{ref.name}`" for ref in ports))
                    yield finding(
                        "wrong-port",
                        f"`{action.name}` takes the message of `{other}`, but `{event}` comes "
                        f"from {own}",
                        transition.span,
                        "in this transition",
                    )


def _twice(facts: MachineFacts) -> Findings:
    for transition in facts.machine.transitions:
        pops: Counter[ir.PortRef] = Counter()
        for _, effects in facts.of(transition):
            pops.update(effects.certain_pops)
        for port, count in pops.items():
            if count > 1:
                where = cells(transition.states, transition.events)
                yield finding(
                    "popped-twice",
                    f"the transition for {where} pops `{port.name}` {count} times",
                    transition.span,
                    "the next message is lost",
                )


RULES = (
    Rule(("message-kept",), _kept),
    Rule(("wrong-port",), _wrong),
    Rule(("popped-twice",), _twice),
)
