"""What a search for the least failing leg ended with: for people, and for programs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from slicc.text.data import json_text
from slicc.text.wording import first_few
from tester.diagnosis.listing import listing
from tester.profiles.machine_roles import find_roles
from tester.program.replay_file import save_leg
from tester.shrink.measure import Size
from tester.shrink.scripts import NOMINAL, script_of
from tester.shrink.search import Shrunk, finding_of

SUFFIX = ".min.leg"
_SHOWN: Final = 6
"""Delayed messages."""


def small_file(file: Path) -> Path:
    """Where the shrunk leg of a file goes by default."""
    return file if file.name.endswith(SUFFIX) else file.with_suffix(SUFFIX)


def save(shrunk: Shrunk, path: Path) -> dict[str, Path]:
    """Write the leg, and beside it those that failed otherwise; their files by kind.

    Raises ReplayError.
    """
    save_leg(shrunk.leg, path)
    others = {}
    for number, (kind, leg) in enumerate(shrunk.others.items(), 1):
        others[kind] = _other(path, str(number))
        save_leg(leg, others[kind])
    return others


def is_other(file: Path, path: Path) -> bool:
    """Whether `save` with ``path`` may write to the file as well."""
    number = re.search(r"-other(\d+)\.leg$", file.name)
    return number is not None and file.resolve() == _other(path, number[1]).resolve()


def _other(path: Path, number: str) -> Path:
    """The leg of that number that failed otherwise."""
    return path.with_name(f"{path.name.removesuffix('.leg')}-other{number}.leg")


def as_text(
    shrunk: Shrunk, protocol: LoadedProtocol, others: dict[str, Path], command: str
) -> list[str]:
    """Lines: what is left, the listing, how the search ended, and how to run it again."""
    return [
        f"{shrunk.after} (from {shrunk.before})",
        _system(shrunk),
        *listing(shrunk.leg, finding_of(shrunk.leg, protocol)),
        shrunk.ending,
        *_slip(shrunk),
        *(f"seen on the way: {kind}: {file}" for kind, file in others.items()),
        *_further(shrunk, others),
        command,
    ]


def _slip(shrunk: Shrunk) -> list[str]:
    """The last transitions, where they are not those of the leg that was found."""
    if shrunk.ended in ("", shrunk.ends) or not shrunk.ends:
        return []
    return [f"it ends with {shrunk.ends}; the leg that was found ended with {shrunk.ended}"]


def _further(shrunk: Shrunk, others: dict[str, Path]) -> list[str]:
    """Behind a search that was cut: another failure that may come down to less. One fault shows
    in several states: the same event of the same machine before other kinds, then the smallest."""
    if not shrunk.cut or not others:
        return []

    def order(kind: str) -> tuple[bool, int]:
        alike = _without_state(kind) == _without_state(shrunk.kind)
        return not alike, Size.of(shrunk.others[kind].program).accesses

    file = others[min(others, key=order)]
    return [f"any of them may come down to less: gpu-tester shrink {file}"]


def _without_state(kind: str) -> tuple[str, ...]:
    """Verdict, machine and event."""
    verdict, _, cell = kind.partition(" ")
    machine, _, pair = cell.partition(".")
    return verdict, machine, pair.rpartition(".")[2]


def as_json(
    shrunk: Shrunk,
    protocol: LoadedProtocol,
    file: Path,
    others: dict[str, Path],
    blamed: dict[str, object],
) -> str:
    """The report for programs. ``blamed``: what else is known of the leg."""
    after, description = shrunk.after, shrunk.leg.description
    return json_text(
        {
            "file": str(file),
            "verdict": shrunk.kind,
            "accesses": after.accesses,
            "operations": after.accesses - after.fetch_adds,
            "episodes": after.episodes,
            "threads": after.threads,
            "lines": after.lines,
            "first_level_caches": first_level_caches(protocol, description),
            "machines": {name: m.count for name, m in description.machines.items() if m.count},
            "delays": description.network.delays,
            "delayed_messages": len(script_of(shrunk.leg)),
            "accesses_before": shrunk.before.accesses,
            "candidates": shrunk.candidates,
            "seconds": round(shrunk.seconds, 3),
            "minimal": not shrunk.cut,
            "end": shrunk.ending,
            "last_transition": {"before": shrunk.ended, "after": shrunk.ends},
            **blamed,
            "others": {kind: str(path) for kind, path in others.items()},
        },
        indent=2,
    )


def first_level_caches(protocol: LoadedProtocol, description: SystemDescription) -> int:
    """Caches that agents use directly."""
    roles = find_roles(protocol.info, description)
    groups = {*roles.first, *roles.processors, *roles.fetchers, *roles.scalars}
    return sum(description.machines[name].count or 0 for name in groups)


def _system(shrunk: Shrunk) -> str:
    """``2 TCP, 1 TCC, 1 Directory; delays: none``, or the messages that are delayed."""
    description, script = shrunk.leg.description, script_of(shrunk.leg)
    machines = (f"{m.count} {name}" for name, m in description.machines.items() if m.count)
    delays: str = "none" if description.network.delays == NOMINAL else description.network.delays
    if script:
        late = [
            f"message {row.message} of {row.channel} on {row.line:#x} by {row.delay}"
            for row in script
        ]
        delays = first_few(late, _SHOWN)
        delays += " (they are in the .leg)" if len(late) > _SHOWN else ""
    return f"{', '.join(machines)}; delays: {delays}"
