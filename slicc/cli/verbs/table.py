"""``slicc table``: the tables of states and events as HTML pages."""

from __future__ import annotations

from slicc.book.transition_table import protocol_page
from slicc.cli.options import TableOptions
from slicc.cli.session import compiling
from slicc.text.files import write_whole


def table(options: TableOptions) -> None:
    """Write a page a protocol."""
    with compiling(options.files, options) as session:
        session.require_different_names()
        session.require_directory(options.output)
        results = session.results(options.results)
        for compiled in session.protocols:
            page = protocol_page(compiled.protocol, compiled.sources, results)
            print(
                write_whole(
                    options.output / f"{compiled.protocol.name}.html", page.encode(), parents=True
                )
            )
