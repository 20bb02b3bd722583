"""What a check found, as values that every format is rendered from.

The compiler's diagnostics and the tester's failures become these; `sarif`, `github` and `junit`
know neither. Texts are as the user wrote them: each format escapes. Invariant: the rule of a
finding is one of the rules that its document declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from slicc.text.lazy_dataclass import dataclass


class Level(StrEnum):
    """How bad a finding is; the values are those of SARIF and of GitHub."""

    error = "error"
    warning = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """Lines and columns count from 1, columns in characters; 0: not known. ``file`` is relative to
    the working directory, or absolute. The end is the first column after the finding."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of finding. ``page``: what to read about it."""

    slug: str
    title: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding. ``related``: other places that belong to it. ``identity``: what stays equal when
    the same is found again in another run, if its message and place do not."""

    rule: str
    level: Level
    message: str
    place: Place | None = None
    related: Sequence[tuple[Place, str]] = ()
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """What found it."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a case failed; ``text``: the whole report."""

    rule: str
    message: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One check that passed or failed, of a ``group`` of its kind."""

    group: str
    name: str
    fault: Fault | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """All cases of a command. ``properties``: what it ran with. ``error``: why it ended otherwise
    than by its cases."""

    name: str
    cases: Sequence[Case]
    seconds: float = 0.0
    properties: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def place_name(path: Path) -> str:
    """A file as `Place` has it: relative to the working directory if it is below it."""
    whole, here = path.resolve(), Path.cwd().resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else whole.as_posix()
