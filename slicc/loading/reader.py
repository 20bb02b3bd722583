"""Reading protocol files: bounded, regular files only, UTF-8 only.

Invariant: nothing is read that is not a regular file of at most :data:`SIZE_LIMIT` bytes.
"""

from __future__ import annotations

import os
import os.path
import stat
from pathlib import Path

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import SourceFile, Span

SIZE_LIMIT = 16 * 1024 * 1024
"""Bytes of one file."""


class CannotRead(Exception):
    """A file named on the command line cannot be read; the message says which and why."""


class Unreadable(Exception):
    """A file that cannot be read; the message is the operating system's reason."""


def real_path(path: Path) -> Path:
    """With symbolic links followed as far as they lead; unlike ``resolve`` it never raises."""
    return Path(os.path.realpath(path))


def read_bytes(path: Path) -> bytes:
    """Up to one byte more than the limit; :class:`Unreadable` if that is not possible."""
    try:
        # O_NONBLOCK: opening a named pipe without a writer would block forever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise Unreadable("not a regular file")
            return stream.read(SIZE_LIMIT + 1)
    except IsADirectoryError:
        raise Unreadable("it is a directory") from None
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from None


def decode(name: str, content: bytes, sink: DiagnosticSink) -> SourceFile | None:
    """The text of a file; None, and an error, if it is too large or not UTF-8."""
    sink.reading(name)
    if len(content) > SIZE_LIMIT:
        source = SourceFile(name, content[:200].decode("utf-8", "replace"))
        sink.error(
            "file-too-large",
            f"a file of more than {SIZE_LIMIT // 1024 // 1024} MiB",
            Span(source, 0, 0),
        )
        return None
    try:
        return SourceFile(name, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        offset = len(content[: error.start].decode("utf-8"))
        source = SourceFile(name, content.decode("utf-8", "replace"))
        sink.error(
            "not-utf8",
            "the file is not UTF-8 text",
            Span(source, offset, offset + 1),
            f"byte 0x{content[error.start]:02x}",
            help="save the file with the encoding UTF-8",
        )
        return None
