"""``slicc graph``: the states of each machine and the transitions between them, drawn."""

from __future__ import annotations

from slicc.cli.options import GraphOptions
from slicc.cli.session import compiling
from slicc.codegen.state_diagram import GraphvizMissing, render_diagram, state_diagram
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole


def graph(options: GraphOptions) -> None:
    """Write a picture a machine."""
    format = options.format.value
    with compiling(options.files, options) as session:
        session.require_different_names()
        session.require_directory(options.output)
        session.require_machine(options.machine)
        for compiled in session.protocols:
            for machine in compiled.protocol.machines:
                if options.machine in (None, machine.name):
                    name = f"{compiled.protocol.name}-{machine.name}.{format}"
                    diagram = state_diagram(machine, compiled.protocol.name)
                    try:
                        content = render_diagram(diagram, format)
                    except GraphvizMissing as error:
                        raise Stop(str(error)) from None
                    print(write_whole(options.output / name, content, parents=True))
