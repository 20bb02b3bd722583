"""Suggestions for unknown names, beyond names with a similar spelling, and names for a cursor.

Invariant: a suggestion is made only when it is the only explanation; nothing is offered for a name
that an author wrote.
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.bodies.context import Body, BodyKind
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import (
    TypeKind,
    TypeSymbol,
    VariableKind,
    VariableSymbol,
    did_you_mean,
)
from slicc.resolve.scope.uses import NameKind, Offer

_EVENT = "Event"
"""What in-ports trigger, whatever else has a member of that name."""
_INSIDE = {"in_msg": "`peek`", "out_msg": "`enqueue`"}
_NULL_TEST = "test with `is_valid(…)` or `is_invalid(…)`"
_ELSEWHERE = {
    "True": "write `true`",
    "False": "write `false`",
    **dict.fromkeys(("null", "NULL", "nullptr", "None"), _NULL_TEST),
}
"""What values are called in other languages."""
_KINDS = {"tbe": "TBE", "cache_entry": "entry"}


def suggest_variable(body: Body, name: str) -> str | None:
    """Help for a name that is no variable here."""
    if name in _INSIDE:
        return f"`{name}` exists inside {_INSIDE[name]} only"
    if name == "address" or name in _KINDS:
        if body.kind is BodyKind.ACTION:
            return f"this machine has no {_KINDS.get(name, 'address')} type"
        return f"`{name}` exists in actions only; a function takes it as a parameter"
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    return did_you_mean(name, body.locals.names()) or _suggest_member(body, name)


def _suggest_member(body: Body, name: str) -> str | None:
    """``Ask`` where ``Event:Ask`` is meant."""
    scope = body.scope
    symbols = dict(scope.types if body.machine is None else body.machine.parent.types)
    symbols.update(scope.types)
    owners = [s.name for s in symbols.values() if s.kind is TypeKind.ENUM and name in s.members]
    if body.kind is BodyKind.IN_PORT and _EVENT in owners:
        owners = [_EVENT]
    return f"did you mean `{owners[0]}:{name}`?" if len(owners) == 1 else None


def suggest_action(scope: MachineScope, name: str) -> str | None:
    """Help for a name in a transition that is no action."""
    if name == "z_stall":
        return 'declare it: `action(z_stall, "z") { }`'
    if name in scope.functions:
        return f"`{name}` is a function; call it in an action"
    return did_you_mean(name, scope.actions)


# ------------------------------------------------------------------ for the cursor of an editor

PORT_OPERATIONS = tuple(operation.value for operation in ir.PortOperation)


def offer_values(body: Body, name: str) -> None:
    """Variables, functions, and the types with which an expression or a statement may begin."""
    uses = body.scope.completes(name)
    if uses is None:
        return
    for each in dict.fromkeys(body.locals.names()):
        variable = body.locals.find(each)
        if variable is not None:
            kind = NameKind.VARIABLE if variable.port is None else NameKind.PORT
            uses.offers.append(Offer(each, kind, variable.type))
    uses.offer(dict.fromkeys(body.scope.function_names()), NameKind.FUNCTION)
    uses.offer(dict.fromkeys(body.scope.type_names()), NameKind.TYPE)


def offer_members(body: Body, name: str, owner: VariableSymbol | TypeSymbol | None) -> None:
    """Fields and methods of a type; operations of an in-port."""
    uses = body.scope.completes(name)
    if uses is None:
        return
    if isinstance(owner, TypeSymbol):
        for each in dict.fromkeys(owner.field_names()):
            field = owner.find_field(each)
            uses.offers.append(Offer(each, NameKind.FIELD, None if field is None else field.type))
        if owner.kind is not TypeKind.ENUM:
            uses.offer(dict.fromkeys(owner.method_names()), NameKind.METHOD)
    elif owner is not None and owner.kind is VariableKind.IN_PORT:
        uses.offer(PORT_OPERATIONS, NameKind.METHOD)
