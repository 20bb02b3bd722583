"""Diagnostics for people: a headline, the lines it is about, what to do.

    error[unknown-action]: machine `L1Cache` has no action named `a_isueRequest`
       --> protocols/MI-cache.sm:459:5
        |
    456 |   transition(I, Store, IM) {
        |   ------------------------ in this transition
    459 |     a_isueRequest;
        |     ^^^^^^^^^^^^^ not declared in this machine
    help: did you mean `a_issueRequest`?

Invariant: nothing that a protocol contains can steer the reader's terminal; control characters
and direction marks are shown as replacement characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from slicc.diagnostics.model import Diagnostic, Label, Severity
from slicc.source import SourceFile
from slicc.text.escapes import inert

TAB_WIDTH = 4
LINE_WIDTH = 120
"""Columns of source shown of one line; a longer line is cut around its label."""


@dataclass(frozen=True, slots=True)
class Style:
    """Escape sequences; all empty without colours."""

    error: str = ""
    warning: str = ""
    gutter: str = ""
    secondary: str = ""
    bold: str = ""
    help: str = ""
    reset: str = ""


PLAIN = Style()
COLORED = Style(
    error="\x1b[1;31m",
    warning="\x1b[1;33m",
    gutter="\x1b[34m",
    secondary="\x1b[36m",
    bold="\x1b[1m",
    help="\x1b[32m",
    reset="\x1b[0m",
)


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """All diagnostics in order, an empty line between them; ends in a newline unless empty."""
    style = COLORED if color else PLAIN
    return "\n".join(render_one(diagnostic, style) for diagnostic in diagnostics)


def render_one(diagnostic: Diagnostic, style: Style = PLAIN) -> str:
    """One diagnostic, ending in a newline."""
    tone = style.error if diagnostic.severity is Severity.ERROR else style.warning
    labels = [(diagnostic.primary, True), *((label, False) for label in diagnostic.secondary)]
    shown = [(label, primary) for label, primary in labels if label.span.file.text]
    lines = [label.span.line for label, _ in shown]
    margin = " " * len(str(max(lines, default=1)))

    title = f"{tone}{diagnostic.severity.value}[{diagnostic.slug}]{style.reset}"
    result = [f"{title}: {style.bold}{inert(diagnostic.headline)}{style.reset}"]
    files: dict[str, list[tuple[Label, bool]]] = {}
    for label, primary in labels:
        files.setdefault(label.span.file.name, []).append((label, primary))
    for number, (name, group) in enumerate(files.items()):
        arrow = "-->" if number == 0 else ":::"
        line, column = group[0][0].span.file.position(group[0][0].span.start)
        place = f"{inert(name)}:{line}:{column}" if group[0][0].span.file.text else inert(name)
        result.append(f"{margin}{style.gutter}{arrow}{style.reset} {place}")
        if group[0][0].span.file.text:
            result.append(f"{margin} {style.gutter}|{style.reset}")
            result += _snippet(group, len(margin), tone, style)
    result += [f"note: {inert(note)}" for note in diagnostic.notes]
    if diagnostic.help is not None:
        result.append(f"{style.help}help{style.reset}: {inert(diagnostic.help)}")
    return "\n".join(result) + "\n"


def _snippet(group: list[tuple[Label, bool]], margin: int, tone: str, style: Style) -> list[str]:
    """The labelled lines of one file, each followed by its underlines."""
    file = group[0][0].span.file
    result = []
    for line in sorted({label.span.line for label, _ in group}):
        here = [(label, primary) for label, primary in group if label.span.line == line]
        here.sort(key=lambda entry: (entry[0].span.start, not entry[1]))
        ranges = [_columns(file, label, line) for label, _ in here]
        text = _displayed(file.line_text(line))
        first, last = _window(text, ranges)
        shown = "".join(text[first:last]).rstrip()
        before, after = ("…" if first else ""), ("…" if last < len(text) else "")
        number = f"{style.gutter}{line:>{margin}} |{style.reset}"
        result.append(f"{number} {before}{shown}{after}".rstrip())
        for (label, primary), (start, end) in zip(here, ranges, strict=True):
            start, end = max(start, first), max(min(end, last), start + 1)
            mark = ("^" if primary else "-") * (end - start)
            words = inert(label.text)
            end_line = file.position(label.span.end)[0]
            if end_line > line and label.span.end > label.span.start + 1:
                words = f"{words} (until line {end_line})".strip()
            indent = " " * (start - first + len(before))
            paint = tone if primary else style.secondary
            gutter = f"{' ' * margin} {style.gutter}|{style.reset}"
            result.append(f"{gutter} {indent}{paint}{mark} {words}".rstrip() + style.reset)
    return result


def _columns(file: SourceFile, label: Label, line: int) -> tuple[int, int]:
    """Display columns, from 0, of the part of a label that lies in its first line."""
    text = file.line_text(line)
    begin = label.span.column - 1
    end = min(begin + max(label.span.end - label.span.start, 1), max(len(text), begin + 1))
    start_column = len(_displayed(text[:begin]))
    return start_column, max(len(_displayed(text[:end])), start_column + 1)


def _window(text: list[str], ranges: list[tuple[int, int]]) -> tuple[int, int]:
    """Which display columns of a line to show."""
    if len(text) <= LINE_WIDTH:
        return 0, len(text)
    start = min(start for start, _ in ranges)
    first = max(0, min(start - LINE_WIDTH // 4, len(text) - LINE_WIDTH))
    return first, first + LINE_WIDTH


def _displayed(text: str) -> list[str]:
    """One element per column of a terminal.

    Tabs become spaces, a wide character is followed by an empty element, and a combining one
    joins the element before it.
    """
    columns: list[str] = []
    for char in text:
        if char == "\t":
            columns += " " * (TAB_WIDTH - len(columns) % TAB_WIDTH)
        elif unicodedata.combining(char) and columns:
            columns[-1] += char
        else:
            columns.append(inert(char))
            if unicodedata.east_asian_width(char) in "WF":
                columns.append("")
    return columns
