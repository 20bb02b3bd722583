"""The LALR table of ``grammar.lark``, kept between runs.

Building it takes a third of a second, loading it a tenth of that. The copy is kept in a directory
that only the user can write (``$XDG_CACHE_HOME/slicc`` or ``~/.cache/slicc``). Invariant: the
cache is never required. If it is unusable (absent, not writable, owned by another user, damaged,
made by another version), the table is built anew without a message.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import lark

from slicc.parser.ast_builder import TreeBuilder

OPTIONS = {
    "start": "unit",
    "parser": "lalr",
    "lexer": "basic",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}
"""How the grammar is used; the test of the grammar adds ``strict``."""

_FORMAT = b"slicc parse table 1\n"


def grammar_text() -> str:
    """The text of ``grammar.lark``."""
    return files("slicc.parser").joinpath("grammar.lark").read_text(encoding="utf-8")


def load_parser(builder: TreeBuilder) -> lark.Lark:
    """A parser that builds the tree with ``builder``, from the cache if possible."""
    grammar = grammar_text()
    directory = private_directory()
    if directory is None:
        return _build(grammar, builder)
    path = directory / f"grammar-{_key(grammar)}.table"
    parser = _load(path, builder)
    if parser is None:
        parser = _build(grammar, builder)
        _store(path, parser)
    return parser


def private_directory() -> Path | None:
    """The user's cache directory for slicc, created if missing; None if it is not private."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        parent = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        directory = parent / "slicc"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
    except (OSError, RuntimeError):
        return None
    if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
        return None
    return directory


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user owns and can write it. Windows has no such notion."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _key(grammar: str) -> str:
    parts = (grammar, repr(sorted(OPTIONS.items())), lark.__version__, sys.version)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _build(grammar: str, builder: TreeBuilder) -> lark.Lark:
    return lark.Lark(grammar, transformer=builder, **OPTIONS)


def _load(path: Path, builder: TreeBuilder) -> lark.Lark | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not _is_private(status):
                return None
            content = stream.read()
        header = len(_FORMAT) + hashlib.sha256().digest_size
        payload = content[header:]
        if content[:header] != _FORMAT + hashlib.sha256(payload).digest():
            return None
        parser: lark.Lark = lark.Lark.__new__(lark.Lark)
        # The entry that lark's own cache and its stand-alone parsers use: `load` takes no
        # transformer.
        parser._load(io.BytesIO(payload), transformer=builder)
        return parser
    except Exception:  # an unusable cache is no error, for any content of the file
        return None


def _store(path: Path, parser: lark.Lark) -> None:
    """Write under a temporary name, then rename: readers see all of it or none."""
    try:
        buffer = io.BytesIO()
        parser.save(buffer, exclude_options=("transformer",))
        payload = buffer.getvalue()
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".table-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(_FORMAT + hashlib.sha256(payload).digest() + payload)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except Exception:  # as above
        return
