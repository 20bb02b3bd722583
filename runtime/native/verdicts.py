"""The native engine's verdict, from numbers to the author's words.

The engine knows kind, place, machine, state, event and action by number; what is missing beside
what the Python engine says is the values in its message. Invariant: the numbers are those of the
sources that the object was compiled from.
"""

from __future__ import annotations

import json

from runtime.controller.protocol_info import ProtocolInfo
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
        self._sites = json.loads(sources.files[_SITES])
        said = json.loads(sources.files[_METADATA])
        self._actions = said["actions"]
        self._machines = {machine["name"]: machine for machine in said["machines"]}
        self._controllers = [
            (machine.MACHINE, version)
            for machine in protocol.machines
            for version, _ in enumerate(description.instances_of(machine.MACHINE))
        ]

    def __call__(self, error: NativeError) -> ProtocolError:
        """The verdict."""
        kind = error.kind.value.replace("_", " ")
        said = ProtocolError(error.kind, f"{kind} (`--engine python` says more)")
        said.tick, said.address = error.tick, error.address
        if error.site:
            file, line, _ = self._sites[error.site]
            said.location = f"{file}:{line}"
        said.action = self._actions[error.action]
        if error.controller is not None:
            said.machine, said.version = self._controllers[error.controller]
            machine = self._machines[said.machine]
            said.state = _name(machine["states"], error.state)
            said.event = _name(machine["events"], error.event)
        return said


def _name(names: list[str], number: int | None) -> str | None:
    return names[number] if number is not None and 0 <= number < len(names) else None
