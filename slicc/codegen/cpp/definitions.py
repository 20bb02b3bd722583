"""Enumerations and structures of a protocol as C++.

Invariant: a structure has no constructor, no pointer, and its padding is never read; its defaults
are set by ``set_defaults``, which does not change the runtime's fields in front.
"""

from __future__ import annotations

from slicc import ir
from slicc.codegen.cpp.emit.emitter import Emitter
from slicc.codegen.cpp.emit.expressions import Expressions
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.names import ProtocolNames
from slicc.codegen.cpp.source_sites import Sites
from slicc.codegen.cpp.types import Types, is_queue
from slicc.text import cpp_source

_BASES = {
    ir.StructKind.MESSAGE: " : Message",
    ir.StructKind.ENTRY: " : AbstractCacheEntry",
    ir.StructKind.TBE: " : TbeHeader",
    ir.StructKind.PLAIN: "",
}
LINE_FIELDS = ("addr", "LineAddress", "Addr", "Address", "address", "lineAddr", "PhysicalAddress")
"""The fields that may hold the line of a message; the first one that a class has is taken."""


def line_field(struct: ir.Struct) -> str | None:
    """The author's name of the field with the line of a message."""
    names = {field.name for field in struct.fields}
    return next((name for name in LINE_FIELDS if name in names), None)


NOT_A_KIND = ("MessageSize", "AccessMode", "Prefetch")
"""Enumerations that say how a message travels, not what it asks."""


def kind_field(struct: ir.Struct) -> ir.Field | None:
    """The field that says what a message asks; None: its class says it."""
    fields = (each for each in struct.fields if isinstance(each.type, ir.EnumType))
    return next((each for each in fields if each.name not in NOT_A_KIND), None)


def size_field(struct: ir.Struct) -> ir.Field | None:
    """The field with the size of a message in classes, for statistics."""
    fields = (each for each in struct.fields if isinstance(each.type, ir.EnumType))
    return next((each for each in fields if each.name == "MessageSize"), None)


def has_destination(struct: ir.Struct) -> bool:
    return any(
        field.name == "Destination"
        and isinstance(field.type, ir.ClassType)
        and field.type.name == "NetDest"
        for field in struct.fields
    )


class Definitions:
    """Writes definitions. ``kinds``: numbers of structures that share a pool with others."""

    def __init__(self, names: ProtocolNames, sites: Sites) -> None:
        self.names = names
        self.types = Types(names)
        self.scope = Scope(names, self.types, sites, None)
        self.kinds: dict[ir.TypeRef, int] = {}

    def enumeration(self, enum: ir.Enum_) -> str:
        out = Emitter()
        out.comment(enum.desc)
        with out.block(f"namespace {self.names.type(enum.ref)}"):
            for number, member in enumerate(enum.members):
                name = self.names.member(enum.ref, member.name)
                out.line(f"inline constexpr i32 {name} = {number};{cpp_source.beside(member.desc)}")
            out.line(f"inline constexpr i32 NUM = {len(enum.members)};")
        return out.text()

    def structure(self, struct: ir.Struct) -> str:
        """The structure and the functions on it that generated code and the runtime call."""
        out = Emitter()
        name = self.names.type(struct.ref)
        base = _BASES[struct.kind]
        if struct.ref in self.kinds:
            base = " : AnyEntry" if struct.kind is ir.StructKind.ENTRY else " : AnyRecord"
        out.comment(struct.desc)
        with out.block(f"struct {name}{base}", tail="};"):
            if struct.kind is ir.StructKind.MESSAGE:
                out.line(
                    f"static constexpr u16 TYPE = MessageType::{self.names.number(struct.ref)};"
                )
            self._check_queues(struct)
            for field in sorted(struct.fields, key=lambda field: self._size_class(field.type)):
                type_ = self.types.field(field.type, field.name, field.span)
                field_name = self.names.field(struct.ref, field.name)
                out.line(f"{type_} {field_name};{cpp_source.beside(field.desc)}")
        out.line("")
        self._defaults(out, struct, name)
        if struct.kind is ir.StructKind.MESSAGE:
            out.line("")
            self._assign(out, struct, name)
        if struct.kind is ir.StructKind.PLAIN:
            out.line("")
            self._equal(out, struct, name)
        if struct.kind is ir.StructKind.ENTRY:
            self._take_contents(out, struct, name)
        out.line("")
        self._mark(out, struct, name)
        return out.text()

    @staticmethod
    def _check_queues(struct: ir.Struct) -> None:
        """Copies of a structure would share what its queues hold."""
        for field in struct.fields:
            if is_queue(field.type) and struct.kind not in (ir.StructKind.TBE, ir.StructKind.ENTRY):
                raise Unsupported(
                    f"queues in messages and plain structures (`{field.name}`)", field.span
                )

    @staticmethod
    def _size_class(type_: ir.Type) -> int:
        """Scalars come first, next to the runtime's fields: ports and ``getState`` read them.
        Wide ones come before narrow ones, so that there is little padding."""
        match type_:
            case ir.ScalarType(kind=kind):
                return 1 if kind.bits == 32 else 2 if kind is ir.ScalarKind.BOOL else 0
            case ir.EnumType() | ir.ClassType(name="MachineID"):
                return 1
            case _:
                return 3

    def _fields(self, struct: ir.Struct) -> list[tuple[str, ir.Field]]:
        return [(self.names.field(struct.ref, each.name), each) for each in struct.fields]

    def _defaults(self, out: Emitter, struct: ir.Struct, name: str) -> None:
        expression = Expressions(self.scope)
        kind = self.kinds.get(struct.ref)
        context = "[[maybe_unused]] Context& x"
        with out.block(f"inline void set_defaults({context}, [[maybe_unused]] {name}& self)"):
            if kind is not None:
                out.line(f"self.kind = {kind};")
            for field, declared in self._fields(struct):
                expression.place = declared.span
                if isinstance(declared.default, ir.StringConst):
                    raise Unsupported("strings", declared.span)
                value = expression.converted(declared.default, declared.type, bare=True)
                out.line(f"self.{field} = {value.text};")

    def _assign(self, out: Emitter, struct: ir.Struct, name: str) -> None:
        out.comment("Take over every field; what the engine keeps of a message stays.")
        with out.block(f"inline void assign({name}& self, const {name}& other)"):
            out.line("self.touched = other.touched;")
            for field, _ in self._fields(struct):
                out.line(f"self.{field} = other.{field};")

    def _equal(self, out: Emitter, struct: ir.Struct, name: str) -> None:
        context = "[[maybe_unused]] const Context& x"
        head = f"inline bool equal({context}, const {name}& a, const {name}& b)"
        with out.block(head):
            for field, declared in self._fields(struct):
                same = f"a.{field} == b.{field}"
                match declared.type:
                    case ir.ClassType(name=class_name):
                        same = f"{class_name}_equal(x, a.{field}, b.{field})"
                    case ir.StructType():
                        same = f"equal(x, a.{field}, b.{field})"
                    case _:
                        pass
                out.line(f"if (!({same})) return false;")
            out.line("return true;")

    def _take_contents(self, out: Emitter, struct: ir.Struct, name: str) -> None:
        blocks = [
            field
            for field, each in self._fields(struct)
            if isinstance(each.type, ir.ClassType) and each.type.name == "DataBlock"
        ]
        if not blocks:
            return
        out.line("")
        out.comment("A new entry of a directory has memory's data.")
        with out.block(f"inline void take_contents(Context& x, {name}& self)"):
            for field in blocks:
                out.line(f"DataBlock_take_line(x, self.{field}, self.address);")

    def _mark(self, out: Emitter, struct: ir.Struct, name: str) -> None:
        marked = [field for field, each in self._fields(struct) if holds_lists(each.type)]
        head = (
            f"inline void mark_value([[maybe_unused]] Context& x, [[maybe_unused]] Marker& marker, "
            f"[[maybe_unused]] const {name}& self)"
        )
        with out.block(head):
            for field in marked:
                out.line(f"mark_value(x, marker, self.{field});")


def holds_lists(type_: ir.Type) -> bool:
    """Whether a value may hold logs of blocks or operations of masks, which stand in pools."""
    match type_:
        case (
            ir.StructType()
            | ir.ClassType(name="DataBlock" | "WriteMask" | "TriggerQueue" | "MN_TBEStorage")
        ):
            return True
        case _:
            return False
