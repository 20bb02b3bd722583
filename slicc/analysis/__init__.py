"""What is probably wrong with a protocol as a protocol, found before it runs.

Rules read the transitions of one machine; walks step small systems of the whole protocol.
Invariant: only warnings, in an order that depends on the text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from slicc import ir
from slicc.analysis import counts, networks, queues, storage, unused, wakeups
from slicc.analysis.blocking import cycles
from slicc.analysis.blocking.waits import Capacities
from slicc.analysis.facts import MachineFacts
from slicc.analysis.product.kept_attempts import KeptAttempts
from slicc.analysis.reachable import SLUGS, STEPS, miscounted, reachable, walked
from slicc.diagnostics.model import Diagnostic

RULES = (*queues.RULES, *wakeups.RULES, *storage.RULES, *networks.RULES, *counts.RULES)


def analyse(
    protocol: ir.Protocol,
    slugs: Collection[str] | None = None,
    steps: int = STEPS,
    capacities: Callable[[], Capacities] = dict,
    kept: KeptAttempts | None = None,
) -> list[Diagnostic]:
    """The findings with these slugs; all if None.

    ``steps``: how far walks go. ``capacities``: the bounded buffers of the system. ``kept``: what
    machines did in earlier walks; only for a protocol that is as its texts say.
    """
    found: list[Diagnostic] = []
    machines = [MachineFacts(protocol, machine) for machine in protocol.machines]
    for facts in machines:
        for rule in RULES:
            if slugs is None or not set(rule.slugs).isdisjoint(slugs):
                found += rule.find(facts)
    if slugs is None or not set(cycles.SLUGS).isdisjoint(slugs):
        found += cycles.cycles(machines, capacities)
    if slugs is None or not set(SLUGS).isdisjoint(slugs):
        known = {(each.slug, each.primary.span) for each in found}
        met = walked(protocol, steps, kept)
        if slugs is None or "wrong-count" in slugs:
            found += miscounted(protocol, met, steps)
        walks = reachable(protocol, met)
        found += (each for each in walks if (each.slug, each.primary.span) not in known)
    if slugs is None or not set(unused.SLUGS).isdisjoint(slugs):
        found += unused.unused(protocol)
    return found if slugs is None else [each for each in found if each.slug in slugs]
