"""What names mean at an expression: its machine, its body, and the null checks made before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from slicc import ir
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.names import MachineNames, ProtocolNames
from slicc.codegen.cpp.source_sites import Sites
from slicc.codegen.cpp.types import Types
from slicc.codegen.integer_rules import CannotEmit
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class MachineFacts:
    """What expressions of one machine need to know about it.

    ``buffers``: port -> the buffer behind it; ``classes``: object -> its class (a wire is a
    MessageBuffer); ``senders``: buffers that the network serves;
    ``optional``: objects that a system may leave out; ``acts``: function -> what it may do.
    """

    names: MachineNames
    machine: ir.Machine
    buffers: Mapping[ir.PortRef, str]
    classes: Mapping[str, str]
    senders: frozenset[str]
    optional: frozenset[str]
    acts: dict[ir.FunctionRef, Acts] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """What names mean in one body, and which action it belongs to (None: a function).

    ``known``: pointers, by their text, that are not null at the current statement.
    """

    names: ProtocolNames
    types: Types
    sites: Sites
    facts: MachineFacts | None
    action: str | None = None
    locals: Mapping[str, str] = field(default_factory=dict)
    owner: ir.TypeRef | None = None
    known: set[str] = field(default_factory=set)

    def local(self, name: str) -> str:
        return self.locals.get(name, name)

    @property
    def machine(self) -> MachineFacts:
        if self.facts is None:
            raise CannotEmit("something of a controller where there is none")
        return self.facts
