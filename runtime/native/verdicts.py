"""The native engine's verdict, from numbers to the author's names.

The engine knows kind, place, machine, state, event and action by number; of what the Python
engine reports only the values in the message are missing. Invariant: the numbers are those of the
sources that the object was compiled from.
"""

from __future__ import annotations

import json

from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.source_location import port_location, transition_location
from runtime.controller.wakeup import Controller
from runtime.description import SystemDescription
from runtime.errors import ProtocolError
from runtime.native.build import Sources
from runtime.native.system import NativeError

_SITES = "sites.json"
_METADATA = "metadata.json"


class Verdicts:
    """Names of one protocol in one system. ``description`` is complete."""

    def __init__(
        self, sources: Sources, protocol: ProtocolInfo, description: SystemDescription
    ) -> None:
        self._sources = sources
        self._protocol = protocol
        self._controllers = [
            (machine.MACHINE, version)
            for machine in protocol.machines
            for version, _ in enumerate(description.instances_of(machine.MACHINE))
        ]

    def __call__(self, error: NativeError) -> ProtocolError:
        """The verdict. Few runs have one, so what it needs is read now."""
        sites = json.loads(self._sources.files[_SITES])
        metadata = json.loads(self._sources.files[_METADATA])
        machines = {machine["name"]: machine for machine in metadata["machines"]}
        kind = error.kind.value.replace("_", " ")
        verdict = ProtocolError(error.kind, f"{kind} (`--engine python` says more)")
        verdict.tick, verdict.address = error.tick, error.address
        if error.site:
            file, line, _ = sites[error.site]
            verdict.location = f"{file}:{line}"
        verdict.action = metadata["actions"][error.action]
        if error.controller is not None:
            verdict.machine, verdict.version = self._controllers[error.controller]
            machine = machines[verdict.machine]
            verdict.state = _name(machine["states"], error.state)
            verdict.event = _name(machine["events"], error.event)
            if not error.site:
                verdict.location = _declared(
                    self._protocol.machine(verdict.machine), error, verdict
                )
        return verdict


def _declared(machine: type[Controller], error: NativeError, verdict: ProtocolError) -> str | None:
    """The place of the transition, else of the port, for a verdict without a statement."""
    if error.state is not None and error.event is not None:
        return transition_location(machine, error.state, error.event) or None
    return None if verdict.action is None else port_location(machine, verdict.action)


def _name(names: list[str], number: int | None) -> str | None:
    return names[number] if number is not None and 0 <= number < len(names) else None
