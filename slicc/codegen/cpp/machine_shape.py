"""What the host of a native protocol must know about its machines, as a JSON text.

Python controllers are built by their constructors; the native engine gets sizes in machine words
instead, object by object. Invariant: objects are listed in the order of their declaration.
"""

from __future__ import annotations

from slicc import ir
from slicc.text.data import json_text

FILE_NAME = "shape.json"


def shape_text(protocol: ir.Protocol) -> str:
    """Per machine: (name, class of the runtime or nothing for a plain value) of its objects."""
    shape = {
        machine.name: [(each.name, _class(each)) for each in machine.objects]
        for machine in protocol.machines
    }
    return json_text(shape)


def _class(each: ir.Object) -> str:
    if each.initial is None and isinstance(each.type, ir.ClassType):
        return each.type.name
    return ""
