"""The system of a leg: the protocol's description in a drawn shape, completed again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import (
    AgentsDescription,
    DefectDescription,
    SystemDescription,
    VariantDescription,
)
from runtime.description.inference import complete, unsized
from runtime.description.variants import assignments
from runtime.prng import Prng
from tester.campaign.drawing.known_defects import avoided, one_way
from tester.campaign.drawing.options import Options
from tester.profiles import limited_resources, machine_roles, profiles


class Systems:
    """Draws the systems of a run's legs."""

    def __init__(self, protocol: LoadedProtocol, options: Options) -> None:
        self._protocol = protocol
        self._options = options
        self._outlines: dict[tuple[str, ...], SystemDescription] = {}
        """By the groups of agents that are away, what legs make their systems of."""

    @cached_property
    def _avoided(self) -> list[DefectDescription]:
        return self._options.avoided(self._protocol)

    def draw(
        self, shape: profiles.Shape, drawn: Sequence[VariantDescription], prng: Prng
    ) -> SystemDescription:
        """The protocol's description in a shape, completed again from what was written.

        Shapes change counts, and what completion computes from counts must follow. Nothing follows
        from what is set last: room in tables and buffers, and ways of processors.
        """
        whole = self._protocol.description
        written = self._protocol.written
        away = tuple(machine_roles.idle(shape, whole))
        base = self._outlines.get(away)
        if base is None:
            base = self._outlines[away] = outline(written, whole, set(whole.agents) - set(away))
        changes = machine_roles.overrides(shape, self._protocol.info, whole)
        if self._options.one_request_per_lane is not None:
            for name, requester in whole.requesters.items():
                if (requester.class_name or "").endswith("Coalescer"):
                    path = f"requester.{name}.one_request_per_lane"
                    changes[path] = self._options.one_request_per_lane
        changes |= assignments(drawn, self._protocol.info, whole)
        defects = [one_way(each, prng) for each in self._avoided]
        changes |= avoided(defects, base, whole)
        # Agents that are away in this leg have no fields to be set.
        gone = tuple(f"agents.{name}." for name in away)
        changes |= {
            path: value
            for path, value in self._options.assignments.items()
            if not path.startswith(gone)
        }
        shaped = base.override(changes)
        completed = complete(shaped, self._protocol.info)
        later = limited_resources.limits(shape, self._protocol.info, completed)
        later |= machine_roles.atomic_ways(shape, self._protocol.accepted, completed)
        later |= machine_roles.loads_ahead(self._protocol.accepted, completed)
        later = {path: value for path, value in later.items() if path not in changes}
        return completed.override(later) if later else completed


def outline(
    written: SystemDescription, whole: SystemDescription, there: Collection[str]
) -> SystemDescription:
    """A description as written, with the requesters and groups of agents of the completed one, as
    far as they are there, but without what follows from counts: those can be set now.
    """
    return structs.replace(
        written,
        requesters=written.requesters or {name: unsized(r) for name, r in whole.requesters.items()},
        agents={
            name: written.agents.get(name)
            or AgentsDescription(a.requester, a.kind, a.wavefronts, a.lanes, a.without)
            for name, a in whole.agents.items()
            if name in there
        },
        handovers=tuple(h for h in written.handovers if {h.giver, h.taker} <= set(there)),
        variants=(),
        defects=(),
    )
