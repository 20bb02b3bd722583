"""Suggestions for unknown names, beyond names with a similar spelling.

Invariant: a suggestion is made only when it is the only explanation.
"""

from __future__ import annotations

from slicc.resolve.bodies.context import Body, BodyKind
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import TypeKind, did_you_mean

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
    return did_you_mean(name, body.locals.names()) or _suggest_member(body, name)


def _suggest_member(body: Body, name: str) -> str | None:
    """``Ask`` where ``Event:Ask`` is meant."""
    scope = body.scope
    symbols = dict(scope.types if body.machine is None else body.machine.parent.types)
    symbols.update(scope.types)
    owners = [s.name for s in symbols.values() if s.kind is TypeKind.ENUM and name in s.members]
    return f"did you mean `{owners[0]}:{name}`?" if len(owners) == 1 else None


def suggest_action(scope: MachineScope, name: str) -> str | None:
    """Help for a name in a transition that is no action."""
    if name == "z_stall":
        return 'declare it: `action(z_stall, "z") { }`'
    if name in scope.functions:
        return f"`{name}` is a function; call it in an action"
    return did_you_mean(name, scope.actions)
