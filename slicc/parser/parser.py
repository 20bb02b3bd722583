"""Text to syntax tree.

A text without mistakes takes one pass of lark's LALR parser, which builds nodes as it goes. Only a
text with mistakes pays for the search for causes (``slicc.parser.recovery``). Invariant: ``parse``
returns None exactly if it reported an error.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import cast

from lark import Lark
from lark.exceptions import UnexpectedInput

from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.limits import within_limits
from slicc.parser.table_cache import load_parser
from slicc.source import BUILTIN, SourceFile
from slicc.syntax import nodes as syntax


def parse(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """The tree of one file, includes not yet read.

    Every syntax error that can be distinguished goes to ``sink``; then the result is None.
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
        from slicc.parser.common_mistakes import explain
        from slicc.parser.older_text import parse_older
        from slicc.parser.recovery import report_syntax_errors

        unit = parse_older(source, parser, sink)
        if unit is None:
            report_syntax_errors(source, parser, sink, explain)
        return unit
    finally:
        builder.file = BUILTIN
        if collecting:
            gc.enable()


@cache
def _parser() -> tuple[Lark, TreeBuilder]:
    builder = TreeBuilder()
    return load_parser(builder), builder
