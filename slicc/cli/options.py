"""What each verb of ``slicc`` takes; see `slicc.text.command.options`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from slicc.text.command.options import argument, one_of, option
from slicc.text.lazy_dataclass import dataclass


class DiagnosticFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"
    SARIF = "sarif"


TO_STDERR: Final = (DiagnosticFormat.TEXT, DiagnosticFormat.JSON)
"""The formats of verbs whose stdout holds something else than findings."""


class Color(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Engine(StrEnum):
    PYTHON = "python"
    NATIVE = "native"


class DiffFormat(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class Service(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"


class GraphFormat(StrEnum):
    DOT = "dot"
    SVG = "svg"
    PNG = "png"


_FINDINGS: Final = "How findings are written to stderr."
_TWO: Final[Any] = {
    "metavar": f"[{'|'.join(TO_STDERR)}]",
    "read": one_of({each.value: each for each in TO_STDERR}),
}


def _shipped() -> Iterable[str]:
    from protocols import shipped

    return shipped()


def _slugs() -> Iterable[str]:
    from slicc.diagnostics.registry import CODES

    return CODES


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerOptions:
    """What every verb takes that compiles."""

    include: tuple[Path, ...] = option(
        (), "A further directory to read included files from. Repeatable.", metavar="DIR"
    )
    prelude: tuple[Path, ...] = option(
        (),
        "Types, functions and constants that the protocols use and the runtime lacks. Repeatable.",
        metavar="FILE",
    )
    diagnostics: DiagnosticFormat = option(
        DiagnosticFormat.TEXT, _FINDINGS, "--format", "--diagnostics", shows_default=True, **_TWO
    )
    color: Color = option(Color.AUTO, "Whether findings are coloured.", shows_default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOptions(CompilerOptions):
    """What every verb takes that compiles files."""

    files: tuple[Path, ...] = argument(
        "Drivers (.slicc), or .sm files: these stand for the drivers beside them that include "
        "them. Or names of shipped protocols.",
        "FILE",
        complete=_shipped,
    )


def _slug(text: str) -> str:
    from slicc.diagnostics.registry import CODES
    from slicc.text.suggest import suggest

    if text not in CODES:
        close = suggest(text, CODES)
        hint = f"did you mean {close}?" if close else "`slicc explain` lists them"
        raise ValueError(f"there is no finding {text}; {hint}")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(FilesOptions):
    """``slicc check``."""

    diagnostics: DiagnosticFormat = option(
        DiagnosticFormat.TEXT,
        "How findings are written: text and json to stderr; annotations of a GitHub workflow, "
        "JUnit's XML and SARIF 2.1.0 to stdout.",
        "--format",
        "--diagnostics",
        shows_default=True,
    )
    analysis: bool = option(
        True, "Whether to look for mistakes of the protocol, too.", "--analysis/--no-analysis"
    )
    system: Path | None = option(
        None,
        "The system whose bounded buffers count; else the .toml file of the protocol's name.",
        metavar="TOML",
    )
    select: tuple[str, ...] = option(
        *((), "Of the warnings, only this one. Repeatable."),
        metavar="SLUG",
        read=_slug,
        complete=_slugs,
    )
    ignore: tuple[str, ...] = option(
        (), "Not this warning. Repeatable.", metavar="SLUG", read=_slug, complete=_slugs
    )
    warnings_are_errors: bool = option(
        False, "Exit with 1 if there is any warning, too.", "-Werror", "--warnings-are-errors"
    )
    fix: bool = option(
        False, "Show how errors that have one certain correction would be corrected, and ask."
    )
    yes: bool = option(False, "With --fix: write the corrections without asking.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions(FilesOptions):
    """``slicc compile``."""

    output: Path = option(
        *(Path("controllers"), "Where to write packages.", "--output", "-o"),
        metavar="DIR",
        shows_default=True,
    )
    engine: Engine = option(
        Engine.PYTHON,
        "python: a package of controllers. native: C++ sources, and their object in the cache.",
        shows_default=True,
    )


_RESULTS: Final = (
    "Show what was tested: a file that gpu-tester has written with --coverage (run, explore) or "
    "with mutate --format json. Repeatable."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions(FilesOptions):
    """``slicc graph``."""

    diagnostics: DiagnosticFormat = option(
        DiagnosticFormat.TEXT, _FINDINGS, shows_default=True, **_TWO
    )
    format: GraphFormat | None = option(
        None, "svg and png are drawn by Graphviz's dot; dot is text. svg, or dot without Graphviz."
    )
    output: Path = option(
        *(Path("graphs"), "Where to write graphs.", "--output", "-o"),
        metavar="DIR",
        shows_default=True,
    )
    machine: str | None = option(None, "Only this machine.", metavar="M")
    coverage: tuple[Path, ...] = option(
        (),
        "Colour transitions by a file that gpu-tester has written with --coverage. Repeatable.",
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(FilesOptions):
    """``slicc table``."""

    output: Path = option(
        *(Path("tables"), "Where to write tables.", "--output", "-o"),
        metavar="DIR",
        shows_default=True,
    )
    results: tuple[Path, ...] = option((), _RESULTS, "--results", "--coverage", metavar="FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOptions(CompilerOptions):
    """``slicc book``."""

    protocol: Path = argument(
        "A driver or .sm file, or a shipped protocol's name.", "PROTOCOL", complete=_shipped
    )
    output: Path = option(
        *(Path("book"), "Where to write the pages.", "--output", "-o"),
        metavar="DIR",
        shows_default=True,
    )
    results: tuple[Path, ...] = option((), _RESULTS, "--results", "--coverage", metavar="FILE")
    single: bool = option(False, "One page that holds all chapters.")
    runs: tuple[Path, ...] = option(
        (),
        "A run to show: a page that `gpu-tester report` writes, or a picture saved from one. "
        "Repeatable.",
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IrOptions(FilesOptions):
    """``slicc ir``."""

    verify: bool = option(
        False, "Check the invariants of what was understood instead of printing it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions(CompilerOptions):
    """``slicc system``."""

    protocol: Path = argument(
        "A driver or .sm file, or a shipped protocol's name.", "PROTOCOL", complete=_shipped
    )
    system: Path | None = option(None, "A description to complete.", metavar="TOML")
    assignments: tuple[str, ...] = option(
        (), "A field to change. Repeatable.", "--set", metavar="PATH=VALUE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(CompilerOptions):
    """``slicc diff``."""

    before: Path = argument(
        "The old version: a driver or .sm file, or a shipped protocol's name.",
        "BEFORE",
        complete=_shipped,
    )
    after: Path = argument("The new version.", "AFTER", complete=_shipped)
    diagnostics: DiagnosticFormat = option(
        DiagnosticFormat.TEXT, _FINDINGS, shows_default=True, **_TWO
    )
    format: DiffFormat = option(
        DiffFormat.TEXT, "How the difference is written.", shows_default=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LspOptions:
    """``slicc lsp``."""

    include: tuple[Path, ...] = option(
        (), "A further directory to read included files from. Repeatable.", metavar="DIR"
    )
    prelude: tuple[Path, ...] = option(
        (),
        "Types, functions and constants that the protocols use and the runtime lacks. Repeatable.",
        metavar="FILE",
    )
    coverage: Path | None = option(
        None,
        "Show behind transitions what a file says that gpu-tester has written with --coverage.",
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """``slicc new``."""

    name: str = argument("What the protocol is called: letters, digits and _.", "NAME")
    output: Path | None = option(
        None, "Where to write its files; NAME if not given.", "--output", "-o", metavar="DIR"
    )
    ci: Service | None = option(
        None, "Also write the file with which this service checks and tests it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CiOptions:
    """``slicc ci``."""

    service: Service = argument("github or gitlab.", "SERVICE")
    protocol: str = argument(
        "A driver or .sm file, or a shipped protocol's name.", "PROTOCOL", complete=_shipped
    )
    output: Path | None = option(
        *(None, "Where to write; the place where the service looks if not given."),
        *("--output", "-o"),
        metavar="FILE",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """``slicc explain``."""

    slug: str | None = argument(
        "The word in brackets behind `error`.", "SLUG", None, complete=_slugs
    )
