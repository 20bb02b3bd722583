"""``slicc check``: what is wrong with protocols, and how large they are."""

from __future__ import annotations

from slicc.cli.options import FilesOptions
from slicc.cli.session import compiling, counted


def check(options: FilesOptions) -> None:
    """Report everything that is wrong."""
    with compiling(options.files, options) as session:
        for compiled in session.protocols:
            machines = compiled.protocol.machines
            cells = sum(len(machine.cells) for machine in machines)
            print(
                f"{compiled.protocol.name}: {counted(len(machines), 'machine')}, "
                f"{counted(cells, 'transition')}"
            )
