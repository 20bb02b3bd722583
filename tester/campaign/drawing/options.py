"""What a run is asked for: all that its legs depend on, besides their numbers.

Invariant: numbers are within their limits, from a command line and from a program alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import UnionType
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description import DefectDescription
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.drawing.known_defects import avoided_defects
from tester.errors import ConfigError
from tester.execution.leg import DEADLOCK_LIMIT
from tester.limits import LIMITS
from tester.profiles import profiles

NO_END: Final = 1 << 40
"""Episodes that no run has: legs are whole."""

_KINDS: Final[Mapping[str, tuple[type | UnionType, str]]] = {
    "fixed": (Mapping, "a mapping of names to values"),
    "assignments": (Mapping, "a mapping of paths to values"),
    "one_request_per_lane": (bool | None, "True, False or None"),
    "known_defects": (bool, "True or False"),
    "attack": (tuple, "a tuple of names"),
    "avoid": (tuple, "a tuple of names"),
}
"""Of what programs pass, besides numbers: a string is a sequence of names, too, but of none that
was meant."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a command line may fix. ``fixed`` are the profiles' options, ``assignments`` fields of
    the system description, which are set last. Raises ConfigError."""

    seed: int
    episodes: int
    profile: str = profiles.DEFAULT
    fixed: Mapping[str, object] = field(default_factory=dict)
    assignments: Mapping[str, object] = field(default_factory=dict)
    one_request_per_lane: bool | None = None
    known_defects: bool = False
    """Whether known defects, which the description avoids, are attacked as well."""
    attack: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    """Names of single defects to attack, and to avoid whatever else is said."""
    left_out: tuple[DefectDescription, ...] = ()
    """What is avoided besides (`tester.campaign.left_out`)."""
    without_variants: frozenset[str] = frozenset()
    """What variants of the system are called that no leg draws."""
    leg_episodes: int | None = None
    deadlock_limit: int = DEADLOCK_LIMIT
    version: str = ""

    def __post_init__(self) -> None:
        for name in ("seed", "episodes", "leg_episodes", "deadlock_limit"):
            value = getattr(self, name)
            drawn = name == "leg_episodes" and value is None
            refusal = None if drawn else LIMITS[name].refusal(value)
            if refusal is not None:
                raise ConfigError(f"{name} is {value!r}, {refusal}")
        for name, (kinds, needed) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds):
                raise ConfigError(f"{name} is {value!r}, {needed} is needed")

    def avoided(self, protocol: LoadedProtocol) -> list[DefectDescription]:
        """The known defects that are kept out of the way."""
        known = avoided_defects(protocol, self.known_defects, self.attack, self.avoid)
        return [*known, *self.left_out]
