"""The protocol's own description in other sizes, each of which is worked out once.

A leg holds the completed description, in which sizes that follow from counts are filled in; what it
says beyond that is seen by comparison with these. Invariant: answers depend on the arguments alone;
the last ones are kept because rounds of a search ask again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import complete
from tester.campaign.drawing.known_defects import avoided
from tester.campaign.drawing.system import outline
from tester.errors import ConfigError
from tester.profiles.machine_roles import EVICTIONS_PARAMETER, Roles, find_roles

_OWN_STEPS: Final = frozenset({"count", "sets", "ways"})
_RELIED_ON: Final = frozenset({EVICTIONS_PARAMETER, "ordered"})
"""What processors and machines must be able to rely on: without it a right protocol fails, too."""

_ORDER: Final = frozenset({("network", "kind"), ("network", "bus")})
"""How messages pass each other, with every ``ordered``: no profile draws it, so a leg has it for
its protocol's sake."""

_Sizes = tuple[frozenset[str], tuple[tuple[str, object], ...]]
_Setting = tuple[tuple[str, ...], object]


class UsualSystems:
    """The usual systems of one protocol."""

    def __init__(self, protocol: LoadedProtocol) -> None:
        self.protocol: Final = protocol
        self._completed: dict[_Sizes, SystemDescription | None] = {}
        self._roles: tuple[SystemDescription, Roles] | None = None
        self._settings: tuple[SystemDescription, list[_Setting]] | None = None

    def completed(
        self, agents: Collection[str], counts: Mapping[str, object]
    ) -> SystemDescription | None:
        """The description with these counts and these groups of agents; None: they do not go
        together."""
        sizes = frozenset(agents), tuple(counts.items())
        if sizes not in self._completed:
            base = outline(self.protocol.written, self.protocol.description, agents)
            try:
                made = complete(base.override(counts), self.protocol.info)
            except (DescriptionError, ConfigError, LookupError):
                made = None
            self._completed[sizes] = made
        return self._completed[sizes]

    def roles(self, description: SystemDescription) -> Roles:
        """Roles of machines in a completed description."""
        if self._roles is None or self._roles[0] is not description:
            self._roles = description, find_roles(self.protocol.info, description)
        return self._roles[1]

    def counts(self, description: SystemDescription) -> dict[str, object]:
        """What a shape decides of a system's size, as assignments."""
        roles = self.roles(description)
        machines = (
            *(*roles.first, *roles.second, *roles.directories, *roles.processors),
            *(*roles.dmas, *roles.fetchers, *roles.scalars),
        )
        counts: dict[str, object] = {
            f"machine.{name}.count": description.machines[name].count for name in machines
        }
        for name, group in description.agents.items():
            counts[f"agents.{name}.wavefronts"] = group.wavefronts
            counts[f"agents.{name}.lanes"] = group.lanes
        return counts

    def settings(self, description: SystemDescription) -> list[_Setting]:
        """Fields that the protocol's own description, with these counts, has otherwise; and how."""
        if self._settings is None or self._settings[0] is not description:
            self._settings = description, self._settings_of(description)
        return self._settings[1]

    def _settings_of(self, description: SystemDescription) -> list[_Setting]:
        usual = self.completed(description.agents, self.counts(description))
        if usual is None:
            return []
        protocol = self.protocol
        ways = [
            structs.replace(defect, avoid=way)
            for defect in protocol.written.defects
            for way in (defect.avoid, *defect.instead)
        ]
        kept = {
            tuple(path.split(".")) for path in avoided(ways, protocol.written, protocol.description)
        }
        mine, theirs = description.to_dict(), usual.to_dict()
        for data in (mine, theirs):
            for name in ("agents", "requester", "handover", "gpu"):
                data.pop(name, None)  # a program was made for them
            data["network"].pop("delays", None)
            data["network"].pop("script", None)
        return [
            (path, value)
            for path, value in _differences(mine, theirs)
            if path not in kept | _ORDER and path[-1] not in _OWN_STEPS | _RELIED_ON
        ]


def _differences(mine: Any, theirs: Any) -> Iterator[_Setting]:
    """Paths of the values in which two descriptions differ, and what the second one has."""
    for name in sorted({*mine, *theirs}):
        one, other = mine.get(name), theirs.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            for path, value in _differences(one, other):
                yield (name, *path), value
        elif one != other:
            yield (name,), other
