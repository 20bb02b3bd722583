"""Facts about bodies that backends need: what is read, what can end, what is changed.

Invariant: these functions look at the IR only and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from slicc import ir
from slicc.text.lazy_dataclass import dataclass

_PARTS: dict[type[ir.Node], tuple[str, ...]] = {}


def parts(kind: type[ir.Node]) -> tuple[str, ...]:
    """Names of the fields of a node class, which ``dataclasses`` would look up every time."""
    names = _PARTS.get(kind)
    if names is None:
        names = _PARTS[kind] = tuple(each.name for each in fields(kind) if each.name != "span")
    return names


def walk(root: object) -> Iterator[ir.Node]:
    """The node (or tuple of nodes) and every node below it, in reading order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(reversed(node))
        elif isinstance(node, ir.Node):
            yield node
            for name in reversed(parts(type(node))):
                value = getattr(node, name)
                if isinstance(value, (tuple, ir.Node)):
                    stack.append(value)


def assigns_part_of(local: str, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a body assigns fields of that local variable."""
    for node in walk(body):
        if isinstance(node, ir.Assign):
            target: ir.Expr = node.target
            while isinstance(target, ir.FieldAccess):
                target = target.receiver
            if target is not node.target and isinstance(target, ir.Local) and target.name == local:
                return True
    return False


@dataclass(frozen=True, slots=True)
class Locals:
    """Names that a body introduces, in reading order, and those whose value matters: which are
    used anywhere but as the target of a plain assignment.
    """

    declared: tuple[str, ...]
    read: frozenset[str]


def local_variables(body: tuple[ir.Stmt, ...]) -> Locals:
    declared: list[str] = []
    read: set[str] = set()
    stored: set[int] = set()
    for node in walk(body):
        match node:
            case ir.Local():
                if id(node) not in stored:
                    read.add(node.name)
            case ir.Assign(target=ir.Local()):
                # The target comes after its assignment in reading order.
                if node.copying is not ir.Copying.OVERWRITE:
                    stored.add(id(node.target))
            case ir.Declare():
                declared.append(node.name)
            case ir.Enqueue():
                declared.append(node.local)
                read.add(node.local)
            case ir.Peek():
                declared.append(node.local)
                if node.block_on or node.wake_up:
                    read.add(node.local)
            case _:
                pass
    return Locals(tuple(declared), frozenset(read))


def completes(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether control can reach the end of the body."""
    return all(_passes(statement) for statement in body)


def _passes(statement: ir.Stmt) -> bool:
    match statement:
        case ir.Return() | ir.Panic():
            return False
        case ir.Assert(condition=ir.BoolConst(value=False)):
            return False
        case ir.If():
            return completes(statement.then) or completes(statement.orelse)
        case ir.Peek():
            return completes(statement.body)
        case _:
            return True


def has_effect(node: ir.Expr) -> bool:
    """Whether evaluating the expression may do more than yield a value."""
    return any(
        isinstance(
            each,
            ir.CallFunction | ir.CallStructMethod | ir.CallMethod | ir.CallBuiltin | ir.PortCall,
        )
        for each in walk(node)
    )


_RESOURCE_FUNCTIONS = frozenset({"checkResourceAvailable", "recordRequestType"})


def resources_only_caches(machine: ir.Machine) -> bool:
    """Whether checks for request types concern only the banks of caches.

    True only if ``checkResourceAvailable`` and ``recordRequestType`` touch nothing except the
    methods of the same names of a CacheMemory. Where no cache has busy banks, the check can then
    be left out.
    """
    bodies = [each.body for each in machine.functions if each.written_name in _RESOURCE_FUNCTIONS]
    return bool(bodies) and all(_asks_caches_only(body) for body in bodies)


def _asks_caches_only(body: tuple[ir.Stmt, ...]) -> bool:
    for node in walk(body):
        if isinstance(node, ir.CallMethod):
            if node.class_name != "CacheMemory" or node.method not in _RESOURCE_FUNCTIONS:
                return False
        elif not isinstance(node, _HARMLESS):
            return False
    return True


_HARMLESS = (
    ir.If
    | ir.Return
    | ir.Evaluate
    | ir.Panic
    | ir.Trace
    | ir.IntConst
    | ir.BoolConst
    | ir.StringConst
    | ir.EnumConst
    | ir.Local
    | ir.MachineObject
    | ir.Binary
    | ir.Unary
    | ir.EnumToString
)


def entry_types(machine: ir.Machine) -> dict[str, ir.TypeRef]:
    """For each cache or directory of the machine, the entry structure that it holds.

    The language does not state it; it follows from what the protocol stores and from the casts of
    ``lookup``'s result. For the others the implicit entry type of the machine is assumed.
    """
    found: dict[str, ir.TypeRef] = {}
    for node in walk((machine.functions, machine.actions, machine.in_ports)):
        match node:
            case ir.Cast(
                type=ir.PointerType(ref=ref),
                operand=ir.CallMethod(receiver=ir.MachineObject(name=name)),
            ):
                found.setdefault(name, ref)
            case ir.CallMethod(
                receiver=ir.MachineObject(name=name),
                method="allocate" | "allocateVoid",
                arguments=(_, ir.NewEntry(type=ir.PointerType(ref=ref))),
            ):
                found.setdefault(name, ref)
            case _:
                pass
    return found
