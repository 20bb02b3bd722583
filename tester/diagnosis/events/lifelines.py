"""Who has a lifeline in a picture of a run, and in which order they stand.

Agents stand beside the controller whose port they use. Controllers with ports come before those
behind them, and first those whose agents do more than read back; memory is last. Invariant:
whatever an event names has a lifeline, and what no event names has none.
"""

from __future__ import annotations

from typing import Final

from slicc.text.lazy_dataclass import dataclass
from tester.diagnosis.events.line_events import AtPort, Event, Sent
from tester.diagnosis.events.message_tap import MEMORY
from tester.diagnosis.events.recording import FLUSHER, Recording
from tester.diagnosis.events.system_inspection import controller_name
from tester.execution.events import Role

AGENT: Final = "agent"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True)
class Lifeline:
    """``kind``: agent, controller or memory; ``machine``: of a controller."""

    name: str
    kind: str
    machine: str = ""


class Lifelines:
    """The lifelines of a recording, in order."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        ports: dict[str, str] = {}
        self._acting: set[str] = set()
        """Controllers whose agents access lines in the program itself."""
        others: dict[str, None] = {}
        for event in recording.events:
            if isinstance(event, AtPort):
                port = recording.port_of(event.request)
                ports.setdefault(recording.agent_of(event.request), port)
                if event.line >= 0 and event.request.role != Role.READ_BACK:
                    self._acting.add(port)
            else:
                others.setdefault(event.who)
                for hop in event.hops if isinstance(event, Sent) else ():
                    others.setdefault(hop.receiver)
        self.all = list(self._ordered(ports, others))
        self._numbers = {line.name: number for number, line in enumerate(self.all)}

    def of(self, event: Event) -> int:
        """The number of the lifeline that an event stands on."""
        if isinstance(event, AtPort):
            return self._numbers[self._recording.agent_of(event.request)]
        return self._numbers[event.who]

    def named(self, name: str) -> int:
        """The number of a controller's, or of memory's."""
        return self._numbers[name]

    def _ordered(self, ports: dict[str, str], others: dict[str, None]) -> list[Lifeline]:
        controllers = {controller_name(c): c for c in self._recording.run.system.controllers}
        with_port = [name for name in controllers if name in ports.values()]
        with_port.sort(key=lambda name: name not in self._acting)
        behind = [name for name in controllers if name not in with_port and name in others]
        found: list[Lifeline] = []
        for name in with_port:
            agents = [agent for agent, port in ports.items() if port == name]
            found += [Lifeline(agent, AGENT) for agent in sorted(agents, key=_natural)]
            if name in others:
                found.append(Lifeline(name, CONTROLLER, controllers[name].MACHINE))
        found += [Lifeline(name, CONTROLLER, controllers[name].MACHINE) for name in behind]
        known = {line.name for line in found}
        found += [Lifeline(agent, AGENT) for agent in ports if agent not in known | {FLUSHER}]
        if MEMORY in others:
            found.append(Lifeline(MEMORY, MEMORY))
        if FLUSHER in ports:
            found.append(Lifeline(FLUSHER, AGENT))
        return found


def _natural(name: str) -> tuple[str, int]:
    """``gpu2`` before ``gpu10``."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :] or 0)
