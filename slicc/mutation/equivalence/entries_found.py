"""Where the entries come from that a body has in hand.

Invariant: what is not understood may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc import ir
from slicc.ir.walk import expressions_in, statements_in
from slicc.mutation.reachability import bodies

_CACHE = "CacheMemory"
_DIRECTORY = "DirectoryMemory"


def found_by_name(machine: ir.Machine) -> frozenset[str]:
    """Caches whose entries are never those of a transition: a body that has one in hand has looked
    it up in this cache itself."""
    of_transitions = caches_of_transitions(machine)
    return frozenset() if of_transitions is None else _caches(machine) - of_transitions


def caches_of_transitions(machine: ir.Machine) -> frozenset[str] | None:
    """Caches that a transition's entry may be of; None: that is not known."""
    helped = any(_decides(s) for f in machine.functions for s in statements_in(f.body))
    if helped or _holds_pointers(machine) or not _allocates_new_only(machine):
        return None
    return _caches(machine) & _objects(machine, _of_transitions(machine))


def _caches(machine: ir.Machine) -> frozenset[str]:
    return frozenset(
        node.receiver.name
        for body in bodies(machine)
        for node in expressions_in(body)
        if isinstance(node, ir.CallMethod)
        and node.class_name == _CACHE
        and isinstance(node.receiver, ir.MachineObject)
    )


def found_or_made(function: ir.Function) -> str | None:
    """The directory of which the function returns a line's entry, which it makes where there is
    none; None: it is another function. To have it called earlier, or once more, changes nothing."""
    match function.body:
        case (
            ir.Declare(name=known, initial=looked),
            ir.If(
                ir.NullTest(valid=True, operand=ir.Local(name=tested)),
                (ir.Return(ir.Local(name=returned)),),
                (),
            ),
            ir.Return(made),
        ) if known == tested == returned:
            match uncast(looked), uncast(made):
                case (
                    ir.CallMethod(ir.MachineObject(name=one), kind, "lookup", (ir.Local(),)),
                    ir.CallMethod(
                        ir.MachineObject(name=other), _, "allocate", (ir.Local(), ir.NewEntry())
                    ),
                ) if one == other and kind == _DIRECTORY:
                    return one
    return None


def uncast(value: ir.Expr) -> ir.Expr:
    """The value itself."""
    while isinstance(value, ir.Cast):
        value = value.operand
    return value


def _holds_pointers(machine: ir.Machine) -> bool:
    return any(
        isinstance(field.type, ir.PointerType)
        for struct in machine.structs
        for field in struct.fields
    )


def _allocates_new_only(machine: ir.Machine) -> bool:
    calls = (
        node
        for body in bodies(machine)
        for node in expressions_in(body)
        if isinstance(node, ir.CallMethod)
        and node.class_name == _CACHE
        and node.method.startswith("allocate")
    )
    return all(isinstance(call.arguments[-1], ir.NewEntry) for call in calls)


def _decides(statement: ir.Stmt) -> bool:
    """Whether it says what the entry of a transition is."""
    match statement:
        case ir.Trigger() | ir.SetTransaction(field=ir.TransactionField.ENTRY):
            return True
        case _:
            return False


def _of_transitions(machine: ir.Machine) -> Iterator[ir.Stmt]:
    """Statements that the entry of a transition may come from."""
    for body in bodies(machine):
        statements = list(statements_in(body))
        if any(_decides(each) for each in statements):
            for each in statements:
                match each:
                    case ir.Declare(type=ir.PointerType()):
                        yield each
                    case ir.Assign(target=ir.Local(type=ir.PointerType())):
                        yield each
                    case _ if _decides(each):
                        yield each
                    case _:
                        pass


def _objects(machine: ir.Machine, statements: Iterable[ir.Stmt]) -> set[str]:
    """The objects that statements name, or functions that they call."""
    functions = {each.ref: each for each in machine.functions}
    waiting = [tuple(statements)]
    found: set[str] = set()
    while waiting:
        for node in expressions_in(waiting.pop()):
            match node:
                case ir.MachineObject(name=name):
                    found.add(name)
                case ir.CallFunction(function=ref) if ref in functions:
                    waiting.append(functions.pop(ref).body)
                case _:
                    pass
    return found
