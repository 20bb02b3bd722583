"""What a protocol's controllers did, by name: how often each event occurred in each state.

Independent of the protocol. A load that finds an invalid line is a miss and one that finds a valid
line a hit, whatever a protocol calls its states; so the pairs themselves are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu.memory.coherent.system_selection import KernelSystem

Executed = dict[str, dict[str, dict[str, int]]]
"""Group of machines -> event -> state -> executions; pairs that never ran are omitted."""


def executed(kernel: KernelSystem, count: Callable[[int, int, int], int]) -> Executed:
    """``count``: executions of a pair, by number of the controller, of state and event.

    Groups in the protocol's order, events and states in that of their declaration.
    """
    found: Executed = {}
    controller = 0
    machine: Any  # generated classes have more than their base
    for machine in kernel.protocol.machines:
        states, events = machine.STATES.members(), machine.EVENTS.members()
        pairs = sorted((event, state) for state, event in machine.TRANSITIONS)
        for group, _ in kernel.description.instances_of(machine.MACHINE):
            by_event = found.setdefault(group, {})
            for event, state in pairs:
                times = count(controller, state, event)
                if times:
                    by_state = by_event.setdefault(events[event], {})
                    by_state[states[state]] = by_state.get(states[state], 0) + times
            controller += 1
    return {group: by_event for group, by_event in found.items() if by_event}
