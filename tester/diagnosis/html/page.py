"""Writes the page that shows a run: one file, which needs nothing besides itself.

Texts of protocols, programs and files reach the page through the template, which escapes mark-up,
or as JSON (`slicc.text.data.script_json`), which the page's script writes as text only; of scripts
the page allows that one alone, by its hash. Invariant: the same recording gives the same bytes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from protocols.transition_texts import Cell, TransitionText
from slicc.text.data import script_json
from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text
from slicc.text.templates import render
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.html.page_data import page_data

_SCRIPTS: Final = ("dom", "model", "layout", "diagram", "panels", "tables", "main")
_PACKAGE: Final = "tester.diagnosis.html"


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a page shows besides the run itself.

    ``texts``: of the protocol's transitions. ``listing``: the program, a line a row;
    ``line_names``: what it calls lines. ``report``: the failure as text.
    ``command``: what runs it again.
    """

    texts: Mapping[Cell, TransitionText]
    listing: Sequence[str] = ()
    line_names: Mapping[int, str]
    report: str = ""
    command: str = ""


def write_page(path: Path, recording: Recording, page: Page) -> Path:
    """The file is written whole or not at all. Raises OSError."""
    return write_whole(path, page_of(recording, page).encode("utf-8", "replace"))


def page_of(recording: Recording, page: Page) -> str:
    """The page as text."""
    from markupsafe import Markup

    leg, finding = recording.leg, recording.finding
    script = _script()
    verdict = "passed" if finding is None else finding.verdict.value
    name = leg.protocol.name
    return render(
        _PACKAGE,
        "page.html.jinja",
        escape=True,
        title=page_text(f"{name}: {verdict}, seed {leg.seed}, leg {leg.number}"),
        verdict=verdict,
        passed=finding is None,
        headline=page_text(_headline(recording)),
        about=[page_text(line) for line in _about(recording, page)],
        listing=[(page_text(line), "<--" in line) for line in page.listing],
        report=page_text(page.report),
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        diagram_style=Markup(_asset("diagram.css")),
        page_style=Markup(_asset("page.css")),
        data=Markup(script_json(page_data(recording, page.texts, page.line_names))),
        script=Markup(script),
    )


def _headline(recording: Recording) -> str:
    finding = recording.finding
    if finding is None:
        return f"{recording.leg.program.episodes:,} episodes, every byte as expected"
    return f"at tick {finding.tick:,}: {finding.headline}"


def _about(recording: Recording, page: Page) -> list[str]:
    leg, error = recording.leg, recording.run.outcome.error
    lines = []
    if error is not None and error.machine is not None:
        where = f"in {error.machine} {error.version}"
        where += f", state {error.state}, event {error.event}" if error.state else ""
        where += f", action {error.action}" if error.action else ""
        lines.append(where + (f" ({error.location})" if error.location else ""))
    profile = f", profile {leg.profile}" if leg.profile else ""
    lines.append(
        f"{leg.protocol.name}, seed {leg.seed}, leg {leg.number}{profile}; "
        f"{recording.history.transitions:,} transitions, {recording.run.outcome.ticks:,} ticks"
    )
    if recording.dropped:
        lines.append(f"The first {recording.dropped:,} events are not on this page.")
    if page.command:
        lines.append(page.command)
    return lines


@cache
def _script() -> str:
    """The scripts as one, in a scope of its own."""
    texts = [_asset(f"{name}.js") for name in _SCRIPTS]
    return f'"use strict";(() => {{\n{"".join(texts)}}})();\n'


@cache
def _asset(name: str) -> str:
    return (files(_PACKAGE) / "assets" / name).read_text(encoding="utf-8")
