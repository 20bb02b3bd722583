"""What a user library adds to ours: types, members, fields, functions, constants.

Extensions come from the user's prelude file, or from the library files of the checkout that
contains the protocol. Invariant: only declarations, not yet resolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from slicc import prelude
from slicc.diagnostics.model import DiagnosticSink
from slicc.dialect.renamed import TYPES
from slicc.ir.type_rules import SCALARS
from slicc.prelude.classes import OPAQUE_CLASSES
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass

IN_PORT = "InPort"
"""The class that methods of in-ports are declared in."""

_NOT_TYPES = {IN_PORT, "OutPort", *TYPES}
"""Declared by libraries, but not ordinary types here, or known under other names."""


@dataclass(slots=True)
class Extensions:
    """``members`` and ``fields`` are of library types, ``methods`` of library or external ones."""

    types: list[syntax.Declaration] = field(default_factory=list)
    members: dict[str, list[syntax.EnumerationMember]] = field(default_factory=dict)
    fields: dict[str, list[syntax.ObjectDeclaration]] = field(default_factory=dict)
    methods: dict[str, list[syntax.Function]] = field(default_factory=dict)
    functions: list[syntax.Function] = field(default_factory=list)
    constants: list[syntax.ObjectDeclaration] = field(default_factory=list)
    state: dict[str, list[syntax.ObjectDeclaration]] = field(default_factory=dict)
    """Fields of classes: every object has its own."""
    classes: set[str] = field(default_factory=set)
    """External classes whose methods the user provides."""

    def add(self, declarations: Iterable[syntax.Declaration], sink: DiagnosticSink | None) -> None:
        """Add the declarations of a prelude file; others are reported (skipped without a sink)."""
        for node in declarations:
            match node:
                case syntax.Enumeration():
                    self._add_enumeration(node)
                case syntax.Structure():
                    self._add_structure(node)
                case syntax.ExternType():
                    if not is_library_type(node.type.text) and node.type.text not in _NOT_TYPES:
                        self.types.append(node)
                        self.classes.add(node.type.text)
                case syntax.Function():
                    self.functions.append(node)
                case syntax.ObjectDeclaration() if node.initial is not None:
                    self.constants.append(node)
                case _ if sink is not None:
                    sink.error(
                        "invalid-prelude",
                        "a prelude holds types, functions and constants",
                        node.span,
                        "belongs into a protocol",
                    )

    @property
    def is_empty(self) -> bool:
        return not (self.types or self.members or self.fields or self.methods or self.functions)

    def beside(self, other: Extensions) -> Extensions:
        """These extensions, with what they do not have of ``other``."""
        own = {_name(node) for node in self.types}
        merged = replace(self, types=[*self.types], members=dict(self.members))
        merged.types += [node for node in other.types if _name(node) not in own]
        merged.fields = {**other.fields, **self.fields}
        merged.state = {**other.state, **self.state}
        merged.functions = [*self.functions, *other.functions]
        merged.methods = {
            owner: [*self.methods.get(owner, ()), *other.methods.get(owner, ())]
            for owner in {**self.methods, **other.methods}
        }
        merged.classes = self.classes | other.classes
        for name, members in other.members.items():
            mine = self.members.get(name, [])
            known = {member.name.text for member in mine}
            merged.members[name] = [*mine, *(m for m in members if m.name.text not in known)]
        return merged

    def _add_enumeration(self, node: syntax.Enumeration) -> None:
        row = prelude.ENUMERATIONS.get(node.type.text)
        if row is None:
            if node.type.text not in _NOT_TYPES:
                self.types.append(node)
            return
        known = row.names()
        more = [member for member in node.members if member.name.text not in known]
        if more:
            self.members.setdefault(node.type.text, []).extend(more)

    def _add_structure(self, node: syntax.Structure) -> None:
        name = node.type.text
        if name in prelude.STRUCTURES:
            for member in node.members:
                if isinstance(member, syntax.ObjectDeclaration):
                    self.fields.setdefault(name, []).append(member)
                else:
                    self.methods.setdefault(name, []).append(member)
        elif "external" in node.pairs or is_library_type(name):
            if not is_library_type(name) and name not in _NOT_TYPES:
                self.types.append(node)
            self.classes.add(name)
            for member in node.members:
                if isinstance(member, syntax.Function):
                    self.methods.setdefault(name, []).append(member)
                else:
                    self.state.setdefault(name, []).append(member)
        elif name not in _NOT_TYPES:
            self.types.append(node)


def _name(node: syntax.Declaration) -> str:
    assert isinstance(node, syntax.Enumeration | syntax.Structure | syntax.ExternType)
    return node.type.text


def is_library_type(name: str) -> bool:
    """Whether our own library has a type of that name."""
    return (
        name in prelude.ENUMERATIONS
        or name in prelude.STRUCTURES
        or name in prelude.CLASSES
        or name in OPAQUE_CLASSES
        or name in SCALARS
    )
