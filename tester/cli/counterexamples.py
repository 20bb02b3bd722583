"""Writes the leg of a counterexample and the page that shows it, for `gpu-tester explore`.

Invariant: what is said of the leg is what a run of it came to; a full disk costs the files, not the
report.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from protocols.loader import LoadedProtocol
from slicc.text.command.version import installed_version
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.explore import ExploreOptions
from tester.exploration.counterexample.counterexample import Counterexample, counterexample
from tester.exploration.exploration import Exploration
from tester.program.replay_file import Leg, ReplayError, save_leg
from tester.shrink.leg_page import write_leg_page


@dataclass(frozen=True, slots=True)
class Written:
    """``trouble``: what could not be written."""

    of: Counterexample
    path: Path | None = None
    page: Path | None = None
    command: str = ""
    trouble: tuple[str, ...] = field(default=())

    def lines(self) -> Iterator[str]:
        """For a report."""
        if self.of.same:
            yield f"leg: fails in the same way ({self.of.kind})"
        else:
            yield f"leg: {self.of.difference}"
        if self.path is not None:
            yield f"  {self.command}"
        if self.page is not None:
            yield f"  {self.page} shows it"
        yield from self.trouble

    def as_table(self) -> dict[str, object]:
        """For programs."""
        return {
            "file": None if self.path is None else str(self.path),
            "page": None if self.page is None else str(self.page),
            "same": self.of.same,
            "kind": self.of.kind,
            "difference": self.of.difference,
        }


def write_counterexample(
    found: Exploration, protocol: LoadedProtocol, options: ExploreOptions
) -> Written:
    """Write the counterexample of an exploration that found something."""
    made = counterexample(found, protocol, installed_version())
    if made.leg is None:
        return Written(made)
    bounds = found.system.bounds
    name = f"{protocol.identity.name}-{bounds.caches}x{bounds.lines}-explore"
    path = options.output / f"{name}.leg"
    command = shlex.join(["gpu-tester", "replay", str(path), *options.protocol_words()])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_leg(made.leg, path)
    except (OSError, ReplayError) as error:
        return Written(made, trouble=(f"no leg: {error}",))
    page = path.with_suffix(".html")
    try:
        _draw(made, made.leg, protocol, options, page, command)
    except OSError as error:
        return Written(made, path, None, command, (f"no page: {error}",))
    return Written(made, path, page, command)


def _draw(
    made: Counterexample,
    leg: Leg,
    protocol: LoadedProtocol,
    options: ExploreOptions,
    page: Path,
    command: str,
) -> None:
    write_leg_page(
        page,
        leg,
        protocol,
        made.finding,
        include=options.include,
        preludes=options.prelude,
        command=command,
    )
