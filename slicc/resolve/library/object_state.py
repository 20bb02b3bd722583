"""State that a prelude gives to objects: the fields of a class, one set for each object.

A field becomes an object of the machine, which both engines keep like any other. Invariant: it is
made when a body first names it or calls a method that may.
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.declarations.parameters import declare_object
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import TypeSymbol, VariableKind, VariableSymbol


def state_of(scope: MachineScope, variable: VariableSymbol) -> dict[str, VariableSymbol]:
    """The fields of an object as variables of the machine; empty if its class has none."""
    if variable.kind not in (VariableKind.OBJECT, VariableKind.CONSTANT):
        return {}
    if not isinstance(variable.type, ir.ClassType) or variable.type.value:
        return {}
    known = scope.object_state.get(variable.ir_name)
    if known is None:
        known = scope.object_state[variable.ir_name] = {}
        owner: TypeSymbol | None = scope.symbol_of(variable.type)
        while owner is not None:
            for node in scope.stubs.find_state(owner.name):
                name = f"{variable.ir_name}_{node.name.text}"
                while name in scope.variables:
                    name += "_"
                made = declare_object(scope, node, name)
                scope.state_objects.append(made)
                known.setdefault(node.name.text, scope.variables[name])
            owner = owner.interface
    return known
