"""A list of lines that knows how far it is indented and where each line came from.

``#line`` directives give compilers and debuggers the author's line. Invariant: they are written
only where counting on from the last one would be wrong, and the author's positions end where the
text of a function ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slicc.codegen import emitter
from slicc.codegen.python.line_map import file_name
from slicc.source import BUILTIN, Span
from slicc.text import cpp_source

_MARK = "\x1f"


class Emitter(emitter.Emitter):
    def mark(self, span: Span | None) -> str:
        return mark(span)

    def comment(self, text: str) -> None:
        self.lines += cpp_source.comment(text, self.indent)

    @contextmanager
    def block(self, head: str, span: Span | None = None, tail: str = "}") -> Iterator[None]:
        """``head {`` … ``tail``."""
        self.line(f"{head} {{".lstrip(), span)
        with self.indented():
            yield
        self.line(tail)


def mark(span: Span | None) -> str:
    """The end of a line until :func:`placed` replaces it. The file's name is a literal, which
    contains neither another mark nor a line end."""
    if span is None or span.file is BUILTIN:
        return ""
    return f"{_MARK}{span.line}{_MARK}{cpp_source.file_literal(file_name(span))}"


def placed(source: str, name: str) -> str:
    """The text of file ``name`` with ``#line`` directives in the place of marks."""
    made: list[str] = []
    away: tuple[str, int] | None = None
    leaving = False
    for line in source.split("\n"):
        code, _, place = line.partition(_MARK)
        if place:
            number, _, file = place.partition(_MARK)
            if leaving or (file, int(number)) != away:
                made.append(f"#line {number} {file}")
            made.append(code)
            away, leaving = (file, int(number) + 1), False
            continue
        if leaving and code:
            # Between two functions: back to the file itself.
            made.append(f"#line {len(made) + 2} {cpp_source.file_literal(name)}")
            away, leaving = None, False
        leaving = leaving or (away is not None and not code)
        made.append(code)
        if away is not None:
            away = (away[0], away[1] + 1)
    return "\n".join(made)
