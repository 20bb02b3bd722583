"""Fields of messages, cache entries and transaction records, as names and texts.

A block of data is written as two hexadecimal digits a byte, lowest address first, behind a mark, so
that a page can show the bytes of interest. Invariant: looking changes nothing, and every value has
a text, whatever its class.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.network.network import Topology
from runtime.system.inspection import attributes
from runtime.types.message import Message, kind_field
from runtime.types.messages import AccessPermission
from runtime.types.values import DataBlock, MachineID, NetDest, WriteMask
from tester.diagnosis.events.line_events import Fields, Held
from tester.diagnosis.events.message_text import mask_text
from tester.diagnosis.events.system_inspection import entry_of, record_of

BLOCK: Final = "#"
"""What the text of a block of data begins with."""
NO_BYTE: Final = "no byte"
"""The text of an empty mask."""
NONE: Final = "none"
"""The text of no machine, and of an empty set of them."""
_OF_THE_RUNTIME: Final = frozenset(
    {"address", "cache", "index", "way", "read_set", "write_set", "locked_by"}
)


def block_text(data: bytes) -> str:
    """A block of data."""
    return BLOCK + data.hex()


def held_by(controller: Any, line: int) -> Held:
    """What a controller has of a line now."""
    entry, record = entry_of(controller, line), record_of(controller, line)
    return Held(_fields(controller, entry), _fields(controller, record))


def message_fields(message: Message, topology: Topology) -> Fields:
    """All that the sender set, but for what kind of message it is."""
    hidden = kind_field(message)
    found = []
    for name, text in message.fields():
        if name != hidden and name != "pkt":
            value = getattr(message, name)
            found.append((name, _special(value, topology) or text))
    return tuple(found)


def _fields(controller: Any, record: object) -> Fields:
    if record is None:
        return ()
    found = []
    for name, value in attributes(record):
        if name in _OF_THE_RUNTIME or name.startswith("_"):
            continue
        if name == "permission":
            text = AccessPermission.name_of(value)
        elif name.endswith("State") and isinstance(value, int):
            text = controller.STATES.name_of(value)
        else:
            text = _special(value, controller.topology) or repr(value)
        found.append((name, text))
    return tuple(found)


def _special(value: object, topology: Topology) -> str:
    """The text of a value whose own is not for readers; empty: its own is."""
    if isinstance(value, DataBlock):
        return block_text(value.data.to_bytes(topology.line_size, "little"))
    if isinstance(value, WriteMask):
        return mask_text(value) or NO_BYTE
    if isinstance(value, MachineID) and value.node < 0:
        return NONE
    if isinstance(value, NetDest):
        return ", ".join(repr(topology.nodes[node]) for node in value.nodes()) or NONE
    return ""
