"""The bounded buffers of the system that a protocol is shipped with, for the analysis.

Invariant: a description without a ``capacity`` costs no more than reading its text.
"""

from __future__ import annotations

from pathlib import Path

from slicc.analysis.blocking.waits import Capacities
from slicc.text.command.exit_status import Stop


def capacities_beside(protocol: Path) -> Capacities:
    """What the description beside the protocol's file bounds, if there is one. Raises Stop."""
    path = protocol.with_suffix(".toml")
    if not path.is_file() or b"capacity" not in path.read_bytes():
        return {}
    return capacities_of(path)


def capacities_of(system: Path) -> Capacities:
    """What a description bounds. Raises Stop for what is no description."""
    from runtime.description import DescriptionError, load_description

    try:
        description = load_description(system)
    except DescriptionError as error:
        raise Stop(str(error)) from None
    return {
        (machine.of or name, buffer): stated.capacity
        for name, machine in description.machines.items()
        for buffer, stated in machine.buffers.items()
        if stated.capacity
    }
