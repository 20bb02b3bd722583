"""Trees of texts without findings, kept between runs: an edit changes one file of many.

Loading a tree takes a quarter of the time that parsing takes. Invariant: a tree is used only for
the very text, under the name, that it was made from, by the same parser; it comes from a file of
the user's own that is byte for byte what was stored (``slicc.text.kept.private_files``).
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Final

from slicc.garbage import uncollected
from slicc.parser.plain_parser import lark_version
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.kept import private_files

LEAST: Final = 2_000
"""Characters: shorter texts are parsed in a few milliseconds."""
_MOST: Final = 200
"""Trees that are kept, of the texts used last."""
_PARSING: Final = ("parser", "syntax", "dialect")
"""Folders of what trees depend on."""


def kept_tree(path: Path, source: SourceFile) -> syntax.Unit | None:
    """The tree of a text, if it is kept."""
    if len(source.text) < LEAST:
        return None
    payload = private_files.load(_name(path))
    if payload is None or not payload.startswith(_version()):
        return None
    try:
        with uncollected():
            of, unit = pickle.loads(memoryview(payload)[len(_version()) :])
        return unit if (of.name, of.text) == (source.name, source.text) else None
    except Exception:  # an unusable file is no error, for any content
        return None


def keep_tree(path: Path, source: SourceFile, unit: syntax.Unit) -> None:
    """Keep the tree of a text in place of the last one of that file."""
    if len(source.text) < LEAST:
        return
    try:
        content = pickle.dumps((source, unit), protocol=5)
    except RecursionError:  # few texts nest so deeply
        return
    private_files.store(_name(path), _version() + content, _MOST)


def _name(path: Path) -> str:
    return f"tree-{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()}"


@cache
def _version() -> bytes:
    """A digest of what makes trees."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(sys.version.encode() + lark_version())
    files = [each for folder in _PARSING for each in _files(root / folder)]
    for path in (root / "source.py", root / "text" / "lazy_dataclass.py", *files):
        content = path.read_bytes()
        digest.update(f"\0{path.name}\0{len(content)}\0".encode() + content)
    return digest.digest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".py", ".lark"))
