"""What nothing causes in systems without some of a protocol's machines.

Invariant: the answer is about the texts that the protocol was loaded from; for texts that are gone
there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from protocols.loader import LoadedProtocol, ProtocolBroken, ProtocolMissing, compiled_protocol

Unsent = dict[str, frozenset[tuple[str, str]]]
"""By machine: states and events."""


def unsent_cells(
    loaded: LoadedProtocol,
    present: Collection[str],
    include: Sequence[Path] = (),
    preludes: Sequence[Path] = (),
) -> Unsent:
    """``present``: the machines that the systems have. Empty where the texts cannot be read."""
    from slicc.analysis.sent import unsent

    try:
        if loaded.texts is not None:
            with loaded.texts.written() as (root, driver, written):
                compiled = compiled_protocol(str(driver), [root], written)
        else:
            name = loaded.identity.path or loaded.identity.name
            compiled = compiled_protocol(name, include, preludes)
    except (ProtocolMissing, ProtocolBroken, OSError):
        return {}
    return unsent(compiled.protocol, present)
