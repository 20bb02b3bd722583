"""The error for protocols that the native engine cannot run, with a message for the user."""

from __future__ import annotations

from slicc.codegen.python.line_map import file_name
from slicc.source import BUILTIN, Span


class Unsupported(ValueError):
    """The protocol is fine; the native engine lacks something that it uses."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        self.what = what
        self.place = ""
        if span is not None and span.file is not BUILTIN:
            self.place = f"{file_name(span)}:{span.line}"
        where = f" ({self.place})" if self.place else ""
        super().__init__(f"the native engine has no {what}{where}")
