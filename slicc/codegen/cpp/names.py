"""Final C++ names: the author's own wherever C++ and the runtime allow it.

Invariant: within one scope names are unique, none is a keyword, a macro or a name that generated
code itself uses, and a name depends on the protocol only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from slicc import ir
from slicc.codegen.body_analysis import Locals
from slicc.codegen.cpp import runtime_names


class Scope:
    """Chooses unique names."""

    def __init__(
        self, taken: Iterable[str] = (), forbidden: Callable[[str], bool] = runtime_names.is_taken
    ) -> None:
        self.taken = set(taken)
        self._forbidden = forbidden

    def claim(self, wanted: str, avoid: Container[str] = ()) -> str:
        """``wanted`` if it is free, else with something in front or behind."""
        # Names with a leading underscore, or two anywhere, belong to the compiler.
        name = wanted.strip("_") or "x"
        while "__" in name:
            name = name.replace("__", "_")
        if name != wanted:
            name = f"x_{name}"
        elif name[0].isdigit():
            name = f"x{name}"
        if self._forbidden(name) and self._forbidden(f"{name}_"):
            name = f"x_{name}"
        first = name
        count = 1
        while self._forbidden(name) or name in self.taken or name in avoid:
            name = f"{first}_" if count == 1 else f"{first}_{count}"
            count += 1
        assert name and "__" not in name and not name.startswith("_")
        self.taken.add(name)
        return name


_HEADERS = {
    ir.StructKind.PLAIN: frozenset[str](),
    ir.StructKind.MESSAGE: runtime_names.MESSAGE_FIELDS,
    ir.StructKind.ENTRY: runtime_names.ENTRY_FIELDS,
    ir.StructKind.TBE: runtime_names.RECORD_FIELDS,
}


_LIBRARY_MESSAGES = ("RubyRequest", "SequencerMsg", "MemoryMsg")


class ProtocolNames:
    """Names of types, members and fields. ``shared``: names in the protocol's namespace."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self._types: dict[ir.TypeRef, str] = {}
        self._members: dict[tuple[ir.TypeRef, str], str] = {}
        self._fields: dict[tuple[ir.TypeRef, str], str] = {}
        self.machines: dict[str, str] = {}
        structs = [*protocol.structs, *[s for m in protocol.machines for s in m.structs]]
        self.messages = {s.ref for s in structs if s.kind is ir.StructKind.MESSAGE}
        shared = Scope()
        self._declare(protocol.enums, protocol.structs, shared)
        for machine in protocol.machines:
            self.machines[machine.name] = shared.claim(machine.name)
        self.shared = frozenset(shared.taken)
        numbered = Scope(["FIRST_OF_PROTOCOL", "END", *_LIBRARY_MESSAGES], runtime_names.is_word)
        self._numbers = {
            struct.ref: numbered.claim(
                "_".join(filter(None, (struct.ref.machine, struct.ref.name)))
            )
            for struct in structs
            if struct.kind is ir.StructKind.MESSAGE and not struct.library
        }
        self._scopes: dict[str, Scope] = {}
        for machine in protocol.machines:
            scope = Scope(self.shared)
            # The names of states and events are ours to choose: every machine has one of each.
            self._types[machine.states.ref] = "State"
            self._types[machine.events.ref] = "Event"
            enums = [machine.states, machine.events, *machine.enums]
            if machine.request_types is not None:
                enums.append(machine.request_types)
            self._declare(enums, machine.structs, scope)
            self._scopes[machine.name] = scope

    def of_machine(self, name: str) -> Scope:
        """Names in the namespace of a machine, its functions included."""
        return self._scopes[name]

    def _declare(
        self, enums: Iterable[ir.Enum_], structs: Iterable[ir.Struct], scope: Scope
    ) -> None:
        for enum in enums:
            if enum.library or any((enum.ref, each.name) in self._members for each in enum.members):
                continue
            if enum.ref not in self._types:
                self._types[enum.ref] = scope.claim(enum.ref.name)
            members = Scope(["NUM"], runtime_names.is_word)
            for member in enum.members:
                self._members[enum.ref, member.name] = members.claim(member.name)
        for struct in structs:
            if struct.library or struct.ref in self._types:
                continue
            self._types[struct.ref] = scope.claim(struct.ref.name)
            fields = Scope(_HEADERS[struct.kind], runtime_names.is_word)
            for field in struct.fields:
                self._fields[struct.ref, field.name] = fields.claim(field.name)

    def defines(self, ref: ir.TypeRef) -> bool:
        """Whether the protocol defines the type itself; all others are the runtime's."""
        return ref in self._types

    def type(self, ref: ir.TypeRef) -> str:
        return self._types.get(ref, ref.name)

    def number(self, message: ir.TypeRef) -> str:
        """The name of a message's number: messages of different machines may share a name."""
        return self._numbers[message]

    def member(self, ref: ir.TypeRef, member: str) -> str:
        known = self._members.get((ref, member))
        if known is not None:
            return known
        # The library's own follow one simple rule.
        return f"{member}_" if runtime_names.is_word(member) or member == "None" else member

    def field(self, ref: ir.TypeRef, field: str) -> str:
        return self._fields.get((ref, field), field)


class MachineNames:
    """Functions and members of one machine."""

    def __init__(
        self, machine: ir.Machine, names: ProtocolNames, structs: Iterable[ir.Struct]
    ) -> None:
        """``structs``: those whose methods the machine may call."""
        scope = names.of_machine(machine.name)
        functions = [each for each in machine.functions if each.ref.owner is None]
        self.functions = {each.ref.name: scope.claim(each.ref.name) for each in functions}
        self.polls = {each.ref.name: scope.claim(each.ref.name) for each in machine.in_ports}
        self.actions = {each.ref.name: scope.claim(each.ref.name) for each in machine.actions}
        self._scope = scope
        self.methods = {
            method.ref: scope.claim(f"{method.ref.owner}_{method.ref.name}")
            for struct in structs
            for method in struct.methods
        }
        members = Scope(runtime_names.CONTROLLER_FIELDS, runtime_names.is_word)
        objects = [each.name for each in machine.parameters]
        objects += [each.name for each in machine.objects]
        self.objects = {name: members.claim(name) for name in dict.fromkeys(objects)}

    def locals(self, parameters: Iterable[str], variables: Locals) -> dict[str, str]:
        """C++ names of the parameters and locals of one body."""
        scope = Scope(self._scope.taken)
        return {
            name: scope.claim(name) for name in dict.fromkeys([*parameters, *variables.declared])
        }
