"""Class definitions of enumerations and structures.

Invariant: a class stands on its own lines with its docstring, defaults come from the IR, and
fields keep the author's order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.integer_rules import is_mutable
from slicc.codegen.python.emit import line_breaks, python_tree
from slicc.codegen.python.emit.emitter import Emitter
from slicc.codegen.python.emit.expressions import Expressions, Scope
from slicc.codegen.python.emit.python_tree import Code
from slicc.codegen.python.emit.statements import Statements
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.line_map import Marks
from slicc.codegen.python.names import ProtocolNames, local_names, method_name
from slicc.text import python_source
from slicc.text.escapes import one_line


class Definitions:
    """Writes definitions of one module: that of ``machine_name``, or the shared types (None)."""

    def __init__(
        self, names: ProtocolNames, imports: Imports, marks: Marks, machine_name: str | None
    ) -> None:
        self.names = names
        self.imports = imports
        self.marks = marks
        self.machine_name = machine_name

    def enumeration(self, enum: ir.Enum_) -> str:
        out = Emitter(self.marks, 0)
        base = self.imports.runtime("Enumeration")
        out.line(f"class {self.names.type(enum.ref)}({base}):", enum.span)
        with out.indented():
            if one_line(enum.desc):
                out.docstring(enum.desc)
                out.blank()
            for number, member in enumerate(enum.members):
                name = self.names.member(enum.ref, member.name)
                final = self.imports.add("typing", "Final")
                described(out, f"{name}: {final} = ", Code(str(number)), member)
            if out.lines[-1] == "":
                out.lines.pop()
        return out.text()

    def structure(self, struct: ir.Struct) -> str:
        out = Emitter(self.marks, 0)
        name = self.names.type(struct.ref)
        match struct.kind:
            case ir.StructKind.MESSAGE:
                base = f"({self.imports.runtime('Message')})"
            case ir.StructKind.ENTRY:
                base = f"({self.imports.runtime('AbstractCacheEntry')})"
            case ir.StructKind.TBE | ir.StructKind.PLAIN:
                base = ""
            case _:
                assert_never(struct.kind)
        out.line(f"class {name}{base}:", struct.span)
        with out.indented():
            if one_line(struct.desc):
                out.docstring(struct.desc)
                out.blank()
            if struct.kind is ir.StructKind.MESSAGE:
                self._class_defaults(out, struct)
            else:
                self._slots(out, struct)
            if struct.kind is ir.StructKind.PLAIN:
                self._value_methods(out, struct)
            for method in struct.methods:
                if struct.fields or struct.kind is not ir.StructKind.MESSAGE:
                    out.blank()
                self._method(out, struct, method)
            if out.lines[-1] == "":
                out.lines.pop()
        return out.text()

    # -------------------------------------------------------------- fields

    def _scope(self, struct: ir.Struct) -> Scope:
        return Scope(self.names, self.imports, None, self.machine_name, owner=struct.ref)

    def _class_defaults(self, out: Emitter, struct: ir.Struct) -> None:
        scope = self._scope(struct)
        expression = Expressions(scope)
        for field in struct.fields:
            name = self.names.field(struct.ref, field.name)
            before = f"{name}: {scope.annotation(field.type)} = "
            described(out, before, expression(field.default), field)
        self._enumerations(out, struct, scope)

    def _enumerations(self, out: Emitter, struct: ir.Struct, scope: Scope) -> None:
        """Which fields hold members of which enumeration: for those who print a message."""
        held = {
            self.names.field(struct.ref, field.name): scope.type_name(field.type.ref)
            for field in struct.fields
            if isinstance(field.type, ir.EnumType)
        }
        if not held:
            return
        out.blank()
        out.line(f"ENUMERATIONS: {self.imports.add('typing', 'ClassVar')} = {{")
        with out.indented():
            for name, enumeration in held.items():
                out.line(f'"{name}": {enumeration},')
        out.line("}")

    def _slots(self, out: Emitter, struct: ir.Struct) -> None:
        scope = self._scope(struct)
        expression = Expressions(scope)
        names = [self.names.field(struct.ref, field.name) for field in struct.fields]
        slots = ["address", *names] if struct.kind is ir.StructKind.TBE else names
        literals = [Code(f'"{name}"') for name in slots]
        out.statement("__slots__ = ", python_tree.tuple_of(tuple(literals)), "")
        out.blank()
        out.line("def __init__(self) -> None:", struct.span)
        with out.indented():
            if struct.kind is ir.StructKind.ENTRY:
                out.line("super().__init__()")
            elif struct.kind is ir.StructKind.TBE:
                out.line("self.address: int = 0")
            for name, field in zip(names, struct.fields, strict=True):
                before = f"self.{name}: {scope.annotation(field.type)} = "
                described(out, before, expression(field.default), field)

    def _value_methods(self, out: Emitter, struct: ir.Struct) -> None:
        """Methods that make a plain structure a value: copy, assignment, comparison."""
        name = self.names.type(struct.ref)
        fields = [(self.names.field(struct.ref, each.name), each.type) for each in struct.fields]
        out.blank()
        out.line(f"def copy(self) -> {name}:")
        with out.indented():
            out.line(f"new = {name}()")
            out.line("new.assign(self)")
            out.line("return new")
        out.blank()
        out.line(f"def assign(self, other: {name}) -> None:")
        with out.indented():
            for field, type_ in fields:
                value = Code(f"other.{field}")
                if is_mutable(type_):
                    value = python_tree.method(value, "copy")
                out.statement(f"self.{field} = ", value, "")
        out.blank()
        out.line("def __eq__(self, other: object) -> bool:")
        with out.indented():
            same = python_tree.call(Code("isinstance"), Code("other"), Code(name))
            for field, _ in fields:
                equal = python_tree.operation(Code(f"self.{field}"), "==", Code(f"other.{field}"))
                same = python_tree.operation(same, "and", equal)
            out.statement("return ", same, "")

    def _method(self, out: Emitter, struct: ir.Struct, method: ir.Function) -> None:
        write_function(out, self._scope(struct), method, method_name(method.ref.name))


# ------------------------------------------------------------------ shared with controllers


def write_function(out: Emitter, scope: Scope, function: ir.Function, name: str) -> None:
    """A function with a body, as a method. ``scope`` without locals."""
    variables = body_analysis.local_variables(function.body)
    names = [each.name for each in function.parameters]
    scope = replace(scope, locals=local_names(scope.names, names, variables))
    parameters = [Code("self")]
    for each in function.parameters:
        local = scope.local(each.name).text
        parameters.append(Code(f"{local}: {scope.annotation(each.type)}"))
    header = python_tree.call(Code(name), *parameters)
    out.statement("def ", header, f" -> {scope.annotation(function.result)}:", function.span)
    with out.indented():
        out.docstring(function.desc)
        Statements(scope, out, variables.read).function(function)


def described(out: Emitter, before: str, value: Code, node: ir.EnumMember | ir.Field) -> None:
    """A declaration with the author's description beside it, or above when there is no room."""
    comment = python_source.comment(node.desc, 0)
    after = f"  {comment[0]}" if len(comment) == 1 else ""
    room = line_breaks.WIDTH - out.indent
    if comment and (not after or len(f"{before}{value.text}{after}") > room):
        out.comment(node.desc)
        after = ""
    out.statement(before, value, after, node.span)
