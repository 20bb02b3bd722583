"""What an editor keeps of a compilation: the uses of names, and the scopes to look names up in.

Invariant: a declaration is a use of itself, so that references include it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from slicc import ir
from slicc.resolve.bodies.bodies import action_body, function_body, port_body
from slicc.resolve.declarations.prototypes import prototype
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import FunctionSymbol, TypeSymbol
from slicc.resolve.scope.uses import NameKind, Offer, Use, Uses
from slicc.source import BUILTIN
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class Index:
    """Filled by ``resolve``. ``scope`` is None until it has begun."""

    uses: Uses = field(default_factory=Uses)
    scope: GlobalScope | None = None
    machines: dict[str, MachineScope] = field(default_factory=dict)
    protocol: ir.Protocol | None = None
    """What resolve made, errors or not."""

    def begin(self, scope: GlobalScope) -> None:
        """Forget what an earlier attempt at the same protocol noted."""
        self.uses, self.machines, self.protocol = Uses(), {}, None
        self.scope, scope.uses = scope, self.uses

    def note_declarations(self) -> None:
        """Enter the declarations that no lookup has met."""
        scopes = [] if self.scope is None else [self.scope, *self.machines.values()]
        for scope in scopes:
            self.uses.found += _declared(scope)

    def offers(self, machine: MachineScope, node: syntax.Declaration) -> list[Offer]:
        """What could stand at the cursor in one declaration of a machine resolved before."""
        uses = Uses()
        machine.uses = uses
        try:
            _resolve_alone(machine, node)
        finally:
            machine.uses = self.uses
        return uses.offers


def _resolve_alone(machine: MachineScope, node: syntax.Declaration) -> None:
    match node:
        case syntax.Action():
            action_body(machine, node)
        case syntax.InPort():
            port_body(machine, node)
        case syntax.Function(body=syntax.Block()):
            name = node.name.text
            function = ir.FunctionRef(machine.name, None, name)
            called = replace(prototype(machine, node), function=function)
            function_body(machine, FunctionSymbol(called, node, machine.name))
        case _:
            pass


def _declared(scope: GlobalScope) -> Iterator[Use]:
    for symbol in scope.types.values():
        if symbol.span.file is not BUILTIN:
            yield Use(symbol.span, symbol.span, NameKind.TYPE, symbol.type)
            yield from _parts(symbol)
    for functions in scope.functions.values():
        for each in functions:
            span = each.overload.span
            yield Use(span, span, NameKind.FUNCTION, each.overload.result)
    for overloads in scope.prototypes.values():
        for overload in overloads:
            yield Use(overload.span, overload.span, NameKind.FUNCTION, overload.result)
    if isinstance(scope, MachineScope):
        yield from _declared_in_machine(scope)


def _declared_in_machine(scope: MachineScope) -> Iterator[Use]:
    name = scope.node.type.member.span
    yield Use(name, name, NameKind.MACHINE)
    for variable in scope.variables.values():
        kind = NameKind.VARIABLE if variable.port is None else NameKind.PORT
        if variable.span.file is not BUILTIN:
            yield Use(variable.span, variable.span, kind, variable.type)
    for action in scope.actions.values():
        yield Use(action.node.name.span, action.node.name.span, NameKind.ACTION)


def _parts(symbol: TypeSymbol) -> Iterator[Use]:
    for member in symbol.members.values():
        yield Use(member, member, NameKind.MEMBER, symbol.type)
    for each in symbol.fields.values():
        yield Use(each.span, each.span, NameKind.FIELD, each.type)
    for overloads in symbol.methods.values():
        for overload in overloads:
            if overload.span.file is not BUILTIN:
                yield Use(overload.span, overload.span, NameKind.METHOD, overload.result)
