"""Final Python names: the author's own wherever Python and the runtime allow it.

Invariant: within one namespace names are unique, none is a keyword or a name that generated code
itself uses, and a name depends on the protocol only (not on hashing).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Container, Iterable

from slicc import ir
from slicc.codegen.body_analysis import Locals
from slicc.codegen.python.runtime_names import (
    CONTROLLER_ATTRIBUTES,
    CONTROLLER_HOOKS,
    ENTRY_ATTRIBUTES,
    ENUMERATION_ATTRIBUTES,
    MESSAGE_ATTRIBUTES,
    RUNTIME_MODULES,
    STRUCT_ATTRIBUTES,
    TBE_ATTRIBUTES,
)

BUILTINS = frozenset(
    {"bool", "dict", "int", "isinstance", "list", "object", "property", "str", "super", "tuple"}
)
"""Builtins that generated code uses; a local of that name would capture them."""

_MODULE_RESERVED = frozenset(RUNTIME_MODULES) | BUILTINS | {"PROTOCOL", "annotations", "types"}


class Namespace:
    """Chooses unique names."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def claim(self, wanted: str, avoid: Container[str] = ()) -> str:
        """``wanted`` if it is free, else with as many trailing underscores as needed."""
        # Leading underscores mean something to Python (private, mangled, dunder): move them.
        bare = wanted.lstrip("_")
        name = bare + "_" * (len(wanted) - len(bare))
        if not bare or bare[0].isdigit():
            name = f"x{name}"
        while keyword.iskeyword(name) or name in self._taken or name in avoid:
            name += "_"
        self._taken.add(name)
        return name

    def reserve(self, names: Iterable[str]) -> None:
        self._taken.update(names)


def method_name(name: str) -> str:
    """Methods of structures keep the author's name, which the runtime may call them by."""
    return f"{name}_" if keyword.iskeyword(name) else name


def snake(name: str) -> str:
    """``CorePair`` -> ``core_pair``, ``L1Cache`` -> ``l1cache``, ``GPU_VIPER`` -> ``gpu_viper``."""
    snake_case = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    snake_case = re.sub(r"[^a-z0-9]+", "_", snake_case.lower()).strip("_")
    return f"p_{snake_case}" if not snake_case or snake_case[0].isdigit() else snake_case


class ProtocolNames:
    """Names of packages, modules, types, members and fields of one protocol."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self.package = Namespace(["test"]).claim(snake(protocol.name))
        self._types: dict[ir.TypeRef, str] = {}
        self._members: dict[tuple[ir.TypeRef, str], str] = {}
        self._fields: dict[tuple[ir.TypeRef, str], str] = {}
        self.field_types: dict[tuple[ir.TypeRef, str], ir.Type] = {}
        self.modules: dict[str, str] = {}
        self.controllers: dict[str, str] = {}
        self.defined: set[ir.TypeRef] = set()
        """Types that the package defines itself; all others are the runtime's."""
        shared = Namespace(_MODULE_RESERVED)
        for machine in protocol.machines:
            self.controllers[machine.name] = shared.claim(f"{machine.name}Controller")
        self._declare(protocol.enums, protocol.structs, shared)
        module_names = Namespace(["init", "types", "linemap", "test"])
        for machine in protocol.machines:
            self.modules[machine.name] = module_names.claim(snake(machine.name))
            local = Namespace(shared._taken)
            enums = [machine.states, machine.events, *machine.enums]
            if machine.request_types is not None:
                enums.append(machine.request_types)
            self._declare(enums, machine.structs, local)
        self.for_locals = shared._taken | set(self._types.values()) | BUILTINS | {"self", "t"}
        """Names that no local may have."""

    def _declare(
        self, enums: Iterable[ir.Enum_], structs: Iterable[ir.Struct], scope: Namespace
    ) -> None:
        for enum in enums:
            if enum.library or enum.ref in self._types:
                continue
            self.defined.add(enum.ref)
            self._types[enum.ref] = scope.claim(enum.ref.name)
            members = Namespace(ENUMERATION_ATTRIBUTES)
            for member in enum.members:
                self._members[enum.ref, member.name] = members.claim(member.name)
        for struct in structs:
            for field in struct.fields:
                self.field_types[struct.ref, field.name] = field.type
            if struct.library or struct.ref in self._types:
                continue
            self.defined.add(struct.ref)
            self._types[struct.ref] = scope.claim(struct.ref.name)
            fields = Namespace(_FIELD_RESERVED[struct.kind])
            fields.reserve([method_name(method.ref.name) for method in struct.methods])
            for field in struct.fields:
                self._fields[struct.ref, field.name] = fields.claim(field.name)

    def type(self, ref: ir.TypeRef) -> str:
        return self._types.get(ref, ref.name)

    def member(self, ref: ir.TypeRef, member: str) -> str:
        """A member of an enumeration; the runtime follows the same rule for its own."""
        known = self._members.get((ref, member))
        if known is not None:
            return known
        return f"{member}_" if keyword.iskeyword(member) else member

    def field(self, ref: ir.TypeRef, field: str) -> str:
        return self._fields.get((ref, field), field)


_FIELD_RESERVED = {
    ir.StructKind.PLAIN: STRUCT_ATTRIBUTES,
    ir.StructKind.MESSAGE: MESSAGE_ATTRIBUTES,
    ir.StructKind.ENTRY: ENTRY_ATTRIBUTES,
    ir.StructKind.TBE: TBE_ATTRIBUTES,
}


def local_names(
    names: ProtocolNames, parameters: Iterable[str], variables: Locals
) -> dict[str, str]:
    """Python names of the parameters and locals of one body.

    A local that is never read starts with an underscore, as linters expect.
    """
    scope = Namespace(names.for_locals)
    final = {name: scope.claim(name) for name in parameters}
    for name in variables.declared:
        if name not in final:
            final[name] = scope.claim(name)
            if name not in variables.read:
                final[name] = f"_{final[name]}"
    return final


class MachineNames:
    """Attributes of one controller class.

    ``module`` are the names of the module around it: the class body reads them, so no method may
    have one of them (an action `State` would hide the enumeration).
    """

    def __init__(self, machine: ir.Machine, module: Container[str]) -> None:
        scope = Namespace(CONTROLLER_ATTRIBUTES)
        functions = [function for function in machine.functions if function.ref.owner is None]
        # Functions first: the runtime calls some of them by the author's name.
        self.functions = {each.ref.name: scope.claim(each.ref.name, module) for each in functions}
        scope.reserve(CONTROLLER_HOOKS)
        self.variables = frozenset(each.name for each in machine.objects)
        """Objects of its body, which actions may assign to."""
        objects = [each.name for each in machine.parameters]
        objects += [each.name for each in machine.objects]
        self.objects = {name: scope.claim(name) for name in dict.fromkeys(objects)}
        ports = [each.ref.name for each in machine.in_ports]
        ports += [each.ref.name for each in machine.out_ports]
        self.ports = {name: scope.claim(name) for name in ports}
        self.polls = {
            port.ref.name: scope.claim(f"{self.ports[port.ref.name]}_poll", module)
            for port in machine.in_ports
        }
        self.actions = {
            each.ref.name: scope.claim(each.ref.name, module) for each in machine.actions
        }

    def object(self, name: str) -> str:
        """A parameter or body object; parameters that all machines inherit keep their name."""
        return self.objects.get(name, name)

    def slot_target(self, name: str) -> str:
        """The target of a need for slots: an object, or the object behind a port."""
        return self.objects[name] if name in self.objects else self.ports.get(name, name)
