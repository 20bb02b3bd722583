"""Diagnostics for people: a headline, the lines it is about, what to do.

    error[unknown-action]: machine `L1Cache` has no action named `a_isueRequest`
       --> protocols/MI-cache.sm:459:5
        |
    456 |   transition(I, Store, IM) {
        |   ------------------------ in this transition
    459 |     a_isueRequest;
        |     ^^^^^^^^^^^^^ not declared in this machine
    help: did you mean `a_issueRequest`?

Invariant: no text of a protocol can control the reader's terminal; control characters and direction
marks are shown as replacement characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from slicc.diagnostics.model import SHOWN_PER_FILE, Diagnostic, Label, LeftOut, Severity
from slicc.source import Span
from slicc.text.escapes import inert
from slicc.text.lazy_dataclass import dataclass

TAB_WIDTH = 4
LINE_WIDTH = 120
"""Columns of source shown of one line; a longer line is cut around its labels."""

MESSAGE_WIDTH = 2000
"""Characters of one headline, label, note or help."""


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


def render_text(
    diagnostics: Iterable[Diagnostic], left_out: Iterable[LeftOut] = (), *, color: bool = False
) -> str:
    """All diagnostics in order, an empty line between them; ends in a newline unless empty."""
    style = COLORED if color else PLAIN
    parts = [render_one(diagnostic, style) for diagnostic in diagnostics]
    parts += [_more(one) for one in left_out]
    return "\n".join(parts)


def _more(left_out: LeftOut) -> str:
    numbers = ((left_out.errors, "error"), (left_out.warnings, "warning"))
    counts = " and ".join(f"{n} more {noun}{'' if n == 1 else 's'}" for n, noun in numbers if n)
    return f"and {counts} in {clean(left_out.file)}; the first {SHOWN_PER_FILE} are shown\n"


def render_one(diagnostic: Diagnostic, style: Style = PLAIN) -> str:
    """One diagnostic, ending in a newline."""
    tone = style.error if diagnostic.severity is Severity.ERROR else style.warning
    labels = [(diagnostic.primary, True), *((label, False) for label in diagnostic.secondary)]
    shown = [(label, primary) for label, primary in labels if label.span.file.text]
    lines = [label.span.line for label, _ in shown]
    margin = " " * len(str(max(lines, default=1)))

    title = f"{tone}{diagnostic.severity.value}[{diagnostic.slug}]{style.reset}"
    result = [f"{title}: {style.bold}{clean(diagnostic.headline)}{style.reset}"]
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
    result += [f"note: {clean(note)}" for note in diagnostic.notes]
    if diagnostic.help is not None:
        result.append(f"{style.help}help{style.reset}: {clean(diagnostic.help)}")
    return "\n".join(result) + "\n"


def _snippet(group: list[tuple[Label, bool]], margin: int, tone: str, style: Style) -> list[str]:
    """The labelled lines of one file, each followed by its underlines."""
    result = []
    by_line: dict[int, list[tuple[Label, bool]]] = {}
    for entry in group:
        by_line.setdefault(entry[0].span.line, []).append(entry)
    gutter = f"{' ' * margin} {style.gutter}|{style.reset}"
    for line, here in sorted(by_line.items()):
        here.sort(key=lambda entry: (entry[0].span.start, not entry[1]))
        number = f"{style.gutter}{line:>{margin}} |{style.reset}"
        while here:
            excerpt = Excerpt(here[0][0].span)
            result.append(f"{number} {excerpt.text}".rstrip())
            shown = 1
            while shown < len(here) and excerpt.shows(here[shown][0].span):
                shown += 1
            for label, primary in here[:shown]:
                paint = tone if primary else style.secondary
                marks = _underline(label, excerpt, "^" if primary else "-")
                result.append(f"{gutter} {marks[0]}{paint}{marks[1]}".rstrip() + style.reset)
            del here[:shown]
    return result


def _underline(label: Label, excerpt: Excerpt, mark: str) -> tuple[str, str]:
    """The indent of a label below its line, and its text."""
    span = label.span
    start, end = excerpt.columns(span)
    text = clean(label.text)
    end_line = span.file.position(span.end)[0]
    if end_line > span.line and span.end > span.start + 1:
        text = f"{text} (until line {end_line})".strip()
    return " " * start, f"{mark * (end - start)} {text}"


class Excerpt:
    """The part of a span's first line that is shown.

    Only characters near the span are read. Invariant: the cost of an excerpt does not depend
    on the length of its line.
    """

    def __init__(self, span: Span) -> None:
        begin, end = span.file.line_bounds(span.line)
        self._begin = max(begin, span.start - LINE_WIDTH)
        self._end = min(end, span.start + LINE_WIDTH)
        self._characters = span.file.text[self._begin : self._end]
        columns = _displayed(self._characters)
        self._first = 0
        if begin < self._begin or self._end < end or len(columns) > LINE_WIDTH:
            start = len(_displayed(self._characters[: span.start - self._begin]))
            self._first = max(0, min(start - LINE_WIDTH // 4, len(columns) - LINE_WIDTH))
            self._first += columns[self._first] == ""  # the second half of a wide character
        self._last = min(len(columns), self._first + LINE_WIDTH)
        self._before = "…" if begin < self._begin or self._first else ""
        self._after = "…" if self._end < end or self._last < len(columns) else ""
        shown = "".join(columns[self._first : self._last]).rstrip()
        self.text = f"{self._before}{shown}{self._after}"

    def shows(self, span: Span) -> bool:
        """Whether a span of the same line begins in the excerpt."""
        return self._column(span.start) < self._last + (self._after == "")

    def columns(self, span: Span) -> tuple[int, int]:
        """The columns in :attr:`text` of the part of a span that is shown."""
        start = max(self._column(span.start), self._first)
        end = max(min(self._column(span.end), self._last), start + 1)
        shift = len(self._before) - self._first
        return start + shift, end + shift

    def _column(self, offset: int) -> int:
        return len(_displayed(self._characters[: max(0, offset - self._begin)]))


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


def clean(text: str) -> str:
    """Text from a protocol, safe to print on one line of a terminal and not endless."""
    return inert(text if len(text) <= MESSAGE_WIDTH else f"{text[:MESSAGE_WIDTH]}…")
