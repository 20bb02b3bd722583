"""Cases: small ``.sm`` files beside their test, with the findings written on the offending lines.

    transition(I, Load) { a_isueRequest; }    // error: [unknown-action] did you mean

Behind the slug may stand a piece of the text that must occur in the finding (headline, labels,
notes or help). Several expectations on one line each begin with ``//``. Invariant: what is found
and what is written agree exactly, line by line; an unexpected finding fails like a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from slicc.compiler import compile_files
from slicc.diagnostics.model import Diagnostic, DiagnosticSink
from slicc.diagnostics.registry import CODES
from slicc.ir.verifier import verify

PARTS = Path(__file__).parent / "cases" / "parts"
"""Texts that cases include: messages, and the inside of a small machine."""

EXPECTATION = re.compile(
    r"//\s*(error|warning): \[([a-z0-9-]+)\][ \t]*(.*?)(?=\s*//\s*(?:error|warning): \[|$)"
)


@dataclass(frozen=True)
class Expectation:
    """One comment. ``text`` may be empty: then only slug and line must agree."""

    file: str
    line: int
    severity: str
    slug: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity}: [{self.slug}] {self.text}".rstrip()


def expectations(path: Path) -> list[Expectation]:
    """The expectations written in a file."""
    text = path.read_bytes().decode("utf-8", "replace")
    return [
        Expectation(path.name, number, match[1], match[2], match[3].strip())
        for number, line in enumerate(text.split("\n"), start=1)
        for match in EXPECTATION.finditer(line)
    ]


def message_text(found: Diagnostic) -> str:
    """Everything a finding says, for looking up an expected piece of text."""
    labels = [found.primary.text, *(label.text for label in found.secondary)]
    return "\n".join([found.headline, *labels, *found.notes, found.help or ""])


def differences(expected: Iterable[Expectation], found: Iterable[Diagnostic]) -> list[str]:
    """What is missing, unexpected, or says something else; empty when all agree."""
    problems = []
    left = list(found)
    for wanted in expected:
        for candidate in left:
            span = candidate.primary.span
            if (
                Path(span.file.name).name == wanted.file
                and span.line == wanted.line
                and candidate.slug == wanted.slug
                and candidate.severity.value == wanted.severity
                and wanted.text in message_text(candidate)
            ):
                left.remove(candidate)
                break
        else:
            problems.append(f"missing:    {wanted}")
    problems += [
        f"unexpected: {extra.primary.span}: {extra.severity.value}: "
        f"[{extra.slug}] {extra.headline} | {extra.primary.text} | {extra.help}"
        for extra in left
    ]
    return problems


def check_case(
    path: Path,
    compile: Callable[[Path, DiagnosticSink], object],
    companions: Iterable[Path] = (),
) -> None:
    """Run ``compile`` on a case and compare its findings with the comments in ``path``.

    ``companions`` are further files (includes) whose comments count. What ``compile`` returns is
    ignored.
    """
    sink = DiagnosticSink()
    compile(path, sink)
    unregistered = sorted({found.slug for found in sink.diagnostics} - CODES.keys())
    assert not unregistered, f"slugs without a page: {unregistered}"
    wanted = [entry for file in (path, *companions) for entry in expectations(file)]
    problems = differences(wanted, sink.diagnostics)
    assert not problems, "\n".join([f"{path}:", *problems])


def cases_beside(module: str) -> list[Path]:
    """Those of a test module."""
    return sorted((Path(module).parent / "cases").glob("*.sm"))


def check_protocol(path: Path) -> None:
    """A case that is a whole protocol: it is compiled, and what comes of it is verified."""

    def compiled(path: Path, sink: DiagnosticSink) -> None:
        for each in compile_files([path], [PARTS.parent], sink):
            assert verify(each.protocol) == []

    check_case(path, compiled)
