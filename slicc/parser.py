"""Text to syntax tree.

A text without mistakes takes the short way: one pass of lark's LALR parser that builds nodes as
it goes. Only a text with mistakes pays for finding out what its author meant
(``slicc.syntax_errors``). Invariant: ``parse`` returns None exactly if it reported an error.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import cast

from lark import Lark
from lark.exceptions import UnexpectedInput

from slicc import syntax
from slicc.diagnostics.model import DiagnosticSink
from slicc.limits import within_limits
from slicc.parse_table import load_parser
from slicc.source import BUILTIN, SourceFile
from slicc.tree_builder import TreeBuilder


def parse(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """The tree of one file, includes not yet read.

    Every syntax error that can be told apart goes to ``sink``; then the result is None.
    """
    if not within_limits(source, sink):
        return None
    parser, builder = _parser()
    builder.file = source
    collecting = gc.isenabled()
    gc.disable()  # nothing built here is garbage: collecting would only walk it again and again
    try:
        return cast(syntax.Unit, parser.parse(source.text))
    except UnexpectedInput:
        from slicc.dialect.parsing import parse_older
        from slicc.syntax_errors import report_syntax_errors

        unit = parse_older(source, parser, sink)
        if unit is None:
            report_syntax_errors(source, parser, sink)
        return unit
    finally:
        builder.file = BUILTIN
        if collecting:
            gc.enable()


@cache
def _parser() -> tuple[Lark, TreeBuilder]:
    builder = TreeBuilder()
    return load_parser(builder), builder
