"""The cells that an exploration reached, for a coverage file.

Invariant: a system is called exhausted only if nothing was left out of it: no state by a limit, no
order by a bound or by a reduction that leaves orders out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from protocols.loader import LoadedProtocol
from slicc.coverage.cells import Cell, Cells, MachineCells, System
from tester.exploration.exploration import Conclusion, Exploration
from tester.exploration.report import Namer, system_lines


def machines_of(found: Exploration, protocol: LoadedProtocol) -> list[str]:
    """Those that the system has."""
    classes = protocol.info.machines
    return [classes[number].MACHINE for number in sorted(set(found.system.machines))]


def cells_of(
    found: Exploration,
    protocol: LoadedProtocol,
    namer: Namer,
    unsent: Mapping[str, Collection[Cell]],
) -> Cells:
    """``unsent``: what nothing causes in the system, by machine."""
    present = machines_of(found, protocol)
    cells = Cells(protocol.identity.name, protocol.identity.digest)
    for machine in protocol.info.machines:
        if machine.MACHINE not in present:
            continue
        states, events = tuple(machine.STATES.members()), tuple(machine.EVENTS.members())
        counts = {
            (states[state], events[event]): 0
            for (state, event), row in machine.TRANSITIONS.items()
            if not row.stalls
        }
        never = frozenset(cell for cell in unsent.get(machine.MACHINE, ()) if cell in counts)
        cells.machines[machine.MACHINE] = MachineCells(states, events, counts, unsent=never)
    for cell, way in found.ways.items():
        known = cells.machines[protocol.info.machines[cell.machine].MACHINE]
        name = known.states[cell.state], known.events[cell.event]
        if name in known.counts:
            known.ways[name] = tuple(namer.choice(choice) for choice in way)
    whole = [name for name in present if name not in _left_open(found)]
    if is_whole(found) and whole:
        what = "; ".join(system_lines(found))
        cells.exhausted = (System(what, tuple(whole)),)
    return cells


def _left_open(found: Exploration) -> set[str]:
    """Machines with messages that were not delivered, so that these cells were not made."""
    return {event.split(".")[0] for event in found.system.spent if found.rules.local_steps}


def is_whole(found: Exploration) -> bool:
    """Whether every run of the system was explored."""
    rules = found.rules
    reduced = rules.to_rest or rules.eager_memory
    return (
        found.conclusion is Conclusion.EXHAUSTED and not found.statistics.withheld and not reduced
    )
