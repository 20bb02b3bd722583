"""The bounded buffers of the system that a protocol is shipped with, for the analysis.

Invariant: a description without a ``capacity`` costs no more than reading its text.
"""

from __future__ import annotations

from pathlib import Path

from slicc.analysis.blocking.waits import Capacities
from slicc.text.command.exit_status import Stop


def capacities_of(protocol: Path, system: Path | None) -> Capacities:
    """What ``system``, else the description beside the protocol's file, bounds. Raises Stop."""
    path = system or protocol.with_suffix(".toml")
    if system is None and not path.is_file():
        return {}
    if b"capacity" not in path.read_bytes():
        return {}
    from runtime.description import DescriptionError, load_description

    try:
        description = load_description(path)
    except DescriptionError as error:
        raise Stop(str(error)) from None
    return {
        (machine.of or name, buffer): stated.capacity
        for name, machine in description.machines.items()
        for buffer, stated in machine.buffers.items()
        if stated.capacity
    }
