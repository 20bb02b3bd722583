"""What a search for the least failing leg ended with: for people, and for programs."""

from __future__ import annotations

from pathlib import Path

from protocols.loader import LoadedProtocol
from slicc.text.data import json_text
from tester.program.replay_file import save_leg
from tester.shrink.listing import listing
from tester.shrink.search import Shrunk, finding_of

SUFFIX = ".min.leg"


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
        others[kind] = path.with_name(f"{path.name.removesuffix('.leg')}-other{number}.leg")
        save_leg(leg, others[kind])
    return others


def as_text(
    shrunk: Shrunk, protocol: LoadedProtocol, others: dict[str, Path], command: str
) -> list[str]:
    """Lines: what is left, the listing, how the search ended, and how to run it again."""
    return [
        f"shrunk: {shrunk.after} (from {shrunk.before})",
        f"  {_system(shrunk, protocol)}",
        *(f"  {line}".rstrip() for line in listing(shrunk.leg, finding_of(shrunk.leg, protocol))),
        f"  {shrunk.ending}",
        *(f"  seen on the way: {kind}: {file}" for kind, file in others.items()),
        f"  {command}",
    ]


def as_json(shrunk: Shrunk, file: Path, others: dict[str, Path]) -> str:
    """The same for programs."""
    after = shrunk.after
    return json_text(
        {
            "file": str(file),
            "verdict": shrunk.kind,
            "accesses": after.accesses,
            "operations": after.accesses - after.fetch_adds,
            "episodes": after.episodes,
            "threads": after.threads,
            "lines": after.lines,
            "accesses_before": shrunk.before.accesses,
            "candidates": shrunk.candidates,
            "seconds": round(shrunk.seconds, 3),
            "minimal": not shrunk.cut,
            "others": {kind: str(path) for kind, path in others.items()},
        },
        indent=2,
    )


def _system(shrunk: Shrunk, protocol: LoadedProtocol) -> str:
    """``2 TCP, 1 TCC, 1 Directory; delays nominal``."""
    description = shrunk.leg.description
    machines = (f"{m.count} {name}" for name, m in description.machines.items() if m.count)
    return f"{', '.join(machines)}; delays {description.network.delays}"
