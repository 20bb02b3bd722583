"""Parsers of lark whose LALR tables are kept between runs.

Building a table takes a third of a second, loading it a tenth of that. Invariant: the copy is never
required. If there is none of this version (``slicc.text.kept.private_files``), the table is built
anew without a message.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Mapping
from typing import Any

import lark

from slicc.text.kept import private_files


def load_grammar(
    grammar: str, options: Mapping[str, object], transformer: object = None
) -> lark.Lark:
    """A parser of a grammar that has ``options``, from the cache if possible.

    ``transformer``: what builds the tree while it parses, for LALR; None: trees are lark's own.
    """
    name = f"grammar-{_key(grammar, options)}.table"
    parser = _load(name, transformer)
    if parser is None:
        parser = _build(grammar, options, transformer)
        _store(name, parser)
    return parser


def _key(grammar: str, options: Mapping[str, object]) -> str:
    parts = (grammar, repr(sorted(options.items())), lark.__version__, sys.version)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _build(grammar: str, options: Mapping[str, Any], transformer: Any) -> lark.Lark:
    return lark.Lark(grammar, transformer=transformer, **options)


def _load(name: str, transformer: object) -> lark.Lark | None:
    payload = private_files.load(name)
    if payload is None:
        return None
    try:
        parser: lark.Lark = lark.Lark.__new__(lark.Lark)
        # The entry that lark's own cache and its stand-alone parsers use: `load` takes no
        # transformer.
        parser._load(io.BytesIO(payload), transformer=transformer)
        return parser
    except Exception:  # an unusable cache is no error, for any content of the file
        return None


def _store(name: str, parser: lark.Lark) -> None:
    buffer = io.BytesIO()
    parser.save(buffer, exclude_options=("transformer",))
    private_files.store(name, buffer.getvalue())
