"""Suggestions for unknown names, beyond names with a similar spelling, and names for a cursor.

Invariant: a suggestion is made only when it is the only explanation; nothing is offered for a name
that an author wrote.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir, prelude
from slicc.diagnostics.other_languages import instead_of, method_instead_of
from slicc.ir import type_rules
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
_RUN_BY_TRANSITIONS = (
    "actions are run by transitions; what several actions do belongs in a function"
)
_INSIDE = {"in_msg": "`peek`", "out_msg": "`enqueue`"}
_KINDS = {"tbe": "TBE", "cache_entry": "entry"}


def suggest_variable(body: Body, name: str) -> str | None:
    """Help for a name that is no variable here."""
    if name in _INSIDE:
        return f"`{name}` exists inside {_INSIDE[name]} only"
    if name == "address" or name in _KINDS:
        if body.kind is BodyKind.ACTION:
            return f"this machine has no {_KINDS.get(name, 'address')} type"
        return f"`{name}` exists in actions only; a function takes it as a parameter"
    if name in prelude.STATEMENT_FUNCTIONS:
        return f"call it: `{name}()`"
    return (
        instead_of(name)
        or did_you_mean(name, body.locals.names())
        or _suggest_member(body, name)
        or _suggest_member_in_cpp(body, name)
    )


def _suggest_member(body: Body, name: str) -> str | None:
    """``Ask`` where ``Event:Ask`` is meant."""
    scope = body.scope
    symbols = dict(scope.types if body.machine is None else body.machine.parent.types)
    symbols.update(scope.types)
    owners = [s.name for s in symbols.values() if s.kind is TypeKind.ENUM and name in s.members]
    if body.kind is BodyKind.IN_PORT and _EVENT in owners:
        owners = [_EVENT]
    return f"did you mean `{owners[0]}:{name}`?" if len(owners) == 1 else None


def _suggest_member_in_cpp(body: Body, name: str) -> str | None:
    """``State:I`` for ``State_I`` and ``L1Cache_State_I``, as controllers in C++ have it."""
    machine = "" if body.machine is None else f"{body.machine.name}_"
    words = name.removeprefix(machine).split("_")
    for count in range(1, len(words)):
        owner, member = "_".join(words[:count]), "_".join(words[count:])
        symbol = body.scope.find_type(owner)
        if symbol is not None and symbol.kind is TypeKind.ENUM and member in symbol.members:
            return f"did you mean `{owner}:{member}`?"
    return None


def suggest_no_variable(body: Body, name: str) -> str | None:
    """Help for an action, a type or a function that stands as a value."""
    if body.machine is not None and name in body.machine.actions:
        return _RUN_BY_TRANSITIONS
    found = body.scope.find_type(name)
    if found is None:
        return f"call it: `{name}(…)`" if body.scope.find_functions(name) else None
    return f"its members are written `{name}:…`" if found.kind is TypeKind.ENUM else None


def suggest_function(body: Body, name: str) -> str | None:
    """Help for a call of a name that is no function."""
    if body.machine is not None and name in body.machine.actions:
        return _RUN_BY_TRANSITIONS
    if body.scope.find_type(name) is not None:
        return f"`{name}` is a type; numbers are converted by functions, as `intToCycles(n)`"
    return instead_of(name) or did_you_mean(name, body.scope.function_names())


def suggest_method(name: str, methods: Iterable[str]) -> str | None:
    """Help for a name that a type, or a port, has no method of."""
    known = method_instead_of(name, methods := tuple(methods))
    return did_you_mean(name, methods) if known is None else f"did you mean `{known}`?"


def suggest_truth(found: ir.Type, negated: bool = False) -> str | None:
    """Help for a value that is tested as if it were true or false."""
    if isinstance(found, ir.PointerType):
        return f"write `{'is_invalid' if negated else 'is_valid'}(…)`"
    return f"compare it: `… {'==' if negated else '!='} 0`" if found == ir.INT else None


_INTO = {
    ("MachineID", "NetDest"): "fill the set with `add(…)`",
    ("NodeID", "Set"): "fill the set with `add(…)`",
    ("int", "bool"): "write `true` or `false`",
    ("int", "uint32_t"): "declare it as `int`",
    ("int", "uint64_t"): "declare it as `int`",
    ("int", "Cycles"): "convert with `intToCycles`",
    ("int", "Tick"): "convert with `intToTick`",
    ("int", "Addr"): "convert with `intToAddress`",
    ("int", "NodeID"): "convert with `intToID`",
    ("NodeID", "int"): "convert with `IDToInt`",
    ("Addr", "int"): "convert with `addressToInt`",
    ("Cycles", "Tick"): "convert with `cyclesToTicks`",
    ("Tick", "Cycles"): "convert with `ticksToCycles`",
}


def suggest_conversion(value: ir.Expr, wanted: ir.Type) -> str | None:
    """Help for a value of one type where another one is wanted."""
    if isinstance(value.type, ir.VoidType):
        allocates = isinstance(value, ir.CallMethod) and value.method == "allocate"
        if allocates and isinstance(wanted, ir.PointerType):
            return "`allocate` returns nothing; behind it, write `set_tbe(TBEs[address]);`"
        return "a call that returns nothing is a statement of its own"
    return _INTO.get((type_rules.describe(value.type), type_rules.describe(wanted)))


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
