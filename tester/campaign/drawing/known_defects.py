"""Known defects of a protocol, and how a leg's system keeps them out of the way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import structs

from protocols.known_defects import may_show
from protocols.loader import LoadedProtocol
from runtime.description import DefectDescription, SystemDescription
from runtime.prng import Prng
from slicc.text.wording import listed


def avoided_defects(
    protocol: LoadedProtocol, known_defects: bool, attack: Collection[str], avoid: Collection[str]
) -> list[DefectDescription]:
    """The known defects that are kept out of the way; for the rest see `Options`."""
    there = [
        defect
        for defect in protocol.written.defects
        if defect.called in avoid or not (known_defects or defect.called in attack)
    ]
    return [*there, *(defect for defect in protocol.absent_defects if defect.called in avoid)]


def resembling(
    place: str, undefined: bool, protocol: LoadedProtocol, avoid: Collection[str]
) -> list[str]:
    """What a report says of a failure at ``place``, a transition, ``undefined`` or not: of known
    defects that are not kept out of the way, because the text of their transitions is another one.
    They may be in it all the same, and hide what its author changed."""
    there = [
        defect
        for defect in protocol.absent_defects
        if defect.called not in avoid and may_show(structs.replace(defect, same=""), protocol.info)
    ]
    if not there:
        return []
    alike = [defect for defect in there if _fails_at(defect, place, undefined)]
    return [
        *(f"this may be {defect.called}: {_described(defect)}" for defect in alike),
        f"not kept out of the way: {listed([defect.called for defect in there])}. The transitions "
        "there are not those of the text that this is known of. --avoid NAME does it",
    ]


def _fails_at(defect: DefectDescription, place: str, undefined: bool) -> bool:
    """Whether a defect fails in this transition: if it lacks some, in one that there is not, and
    what it lacks in some states it may lack in others."""
    if undefined or defect.lacks:
        lacks = {_without_state(cell) for cell in defect.lacks}
        return undefined and _without_state(place) in lacks
    return place in {".".join(needed.split(".")[:3]) for needed in defect.needs}


def _without_state(cell: str) -> tuple[str, ...]:
    machine, _, *event = cell.split(".")
    return machine, *event


def _described(defect: DefectDescription) -> str:
    return f"{defect.what} ({defect.where})" if defect.where else defect.what


def one_way(defect: DefectDescription, prng: Prng) -> DefectDescription:
    """The defect with one of the ways in which it is avoided."""
    ways = defect.weight + len(defect.instead)
    drawn = prng.fork(defect.drawn_with or defect.called).below(ways) - defect.weight
    return structs.replace(defect, avoid=defect.instead[drawn]) if drawn >= 0 else defect


def avoided(
    defects: Iterable[DefectDescription],
    description: SystemDescription,
    whole: SystemDescription,
) -> dict[str, object]:
    """Assignments under which none of the defects shows, as far as they concern what is there."""
    there: Mapping[str, Collection[str]] = {
        "agents": description.agents,
        "requester": description.requesters,
        "machine": whole.machines,
    }
    found: dict[str, object] = {}
    for defect in defects:
        for path, value in defect.avoid.items():
            kind, _, rest = path.partition(".")
            if kind not in there or rest.partition(".")[0] in there[kind]:
                before = found.get(path)
                if isinstance(before, tuple) and isinstance(value, tuple):
                    value = (*before, *value)
                found[path] = value
    return found
