"""Draws a leg: records a run of it and writes its page.

Invariant: the page is written whole or not at all, and shows the run that any replay makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from protocols.loader import AnyProtocol, LoadedProtocol
from protocols.transition_texts import texts_as_loaded
from slicc.text.files import Paths, several_paths
from tester.campaign.recording import record
from tester.campaign.run import loaded_leg
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.html.page import Page, write_page
from tester.diagnosis.listing import line_names, listing
from tester.execution.events import Finding
from tester.program.replay_file import Leg, ReplayError
from tester.shrink.search import finding_of


def draw(
    source: str | Path | Leg,
    path: str | Path,
    protocol: AnyProtocol | None = None,
    *,
    include: Paths = (),
) -> Recording:
    """Run a leg again, a replay file or a value, and write the page that shows it to ``path``.

    Raises what `tester.replay` does, ReplayError also when the page cannot be written.
    """
    directories = several_paths(include)
    leg, loaded = loaded_leg(source, protocol, directories)
    finding = finding_of(leg, loaded)
    try:
        return write_leg_page(Path(path), leg, loaded, finding, include=directories)
    except OSError as error:
        raise ReplayError(path, f"cannot be written: {error.strerror or error}") from None


def write_leg_page(
    path: Path,
    leg: Leg,
    protocol: LoadedProtocol,
    finding: Finding | None = None,
    *,
    include: Sequence[Path] = (),
    preludes: Sequence[Path] = (),
    report: str = "",
    command: str = "",
) -> Recording:
    """``finding``: what the leg is known to fail with. ``include``, ``preludes``: with which the
    protocol was loaded. ``report``, ``command``: see `Page`. Raises OSError."""
    recording = record(leg, protocol, finding)
    texts = texts_as_loaded(protocol, include, preludes)
    page = Page(
        texts=texts,
        listing=listing(leg, recording.finding),
        line_names=line_names(leg.program),
        report=report,
        command=command,
    )
    write_page(path, recording, page)
    return recording
