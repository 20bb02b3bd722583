"""``slicc graph``: the states of each machine and the transitions between them, drawn."""

from __future__ import annotations

import shutil
import sys

from slicc.book.state_diagram import GraphvizMissing, render_diagram, state_diagram
from slicc.cli.options import DiagnosticFormat, GraphFormat, GraphOptions
from slicc.cli.session import compiling
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole


def graph(options: GraphOptions) -> None:
    """Write a picture a machine."""
    drawing = shutil.which("dot") is not None
    format = (options.format or (GraphFormat.SVG if drawing else GraphFormat.DOT)).value
    with compiling(options.files, options) as session:
        session.require_different_names()
        session.require_directory(options.output)
        session.require_machine(options.machine)
        results = session.results(options.coverage)
        if results.study is not None:
            raise Stop("a graph shows coverage, no mutation study; slicc book shows both")
        for compiled in session.protocols:

            def in_table(chapter: str, anchor: str, page: str = compiled.protocol.name) -> str:
                """The page that ``slicc table`` writes into the same directory."""
                return f"{page}.html#{anchor}"

            for machine in compiled.protocol.machines:
                if options.machine in (None, machine.name):
                    name = f"{compiled.protocol.name}-{machine.name}.{format}"
                    name_of = compiled.protocol.name
                    diagram = state_diagram(machine, name_of, in_table, results.cells)
                    try:
                        content = render_diagram(diagram, format)
                    except GraphvizMissing as error:
                        raise Stop(str(error)) from None
                    print(write_whole(options.output / name, content, parents=True))
        texts_only = options.format is None and not drawing and session.protocols
        if texts_only and options.diagnostics is DiagnosticFormat.TEXT:
            print(
                "slicc: there is no program `dot` of Graphviz to draw pictures with, so the graphs "
                "are DOT texts",
                file=sys.stderr,
            )
