"""What a body reads and writes, as far as the order of two bodies, or the lack of one, can matter.

Names of fields stand for the fields of all entries and records, so that no two ways to one entry
are taken for two entries. Invariant: what is not understood reads and writes everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slicc import ir
from slicc.ir.walk import (
    children,
    direct_expressions,
    expressions_in,
    inner_blocks,
    statements_in,
)
from slicc.mutation.equivalence.counted_fields import counted_fields
from slicc.mutation.equivalence.entries_found import found_by_name, found_or_made
from slicc.mutation.equivalence.resources import ENTRY, EVERYTHING, HINT, RECORD, Effects
from slicc.mutation.reachability import bodies

_MEMORY_QUEUE: Final = "responseFromMemory"
"""Whose head `dequeueMemRespQueue` takes; a machine that calls it names a buffer so."""
_TABLES: Final = frozenset({"TBETable", "MN_TBETable", "TBEStorage"})
_HINTS: Final = frozenset({"setMRU", "setMRU_entry"})
"""And all methods whose names begin with ``profile``."""
_STATISTICS: Final = "profileMsgDelay"
_LOOKS: Final = frozenset(
    {"lookup", "isTagPresent", "cacheAvail", "cacheProbe", "isPresent", "getNullEntry"}
)
_ADDITIONS: Final = frozenset({"add", "addNetDest"})
_PURE: Final = frozenset(
    {
        "mapAddressToMachine",
        "mapAddressToRange",
        "machineIDToMachineType",
        "machineIDToNodeID",
        "machineCount",
        "addressOffset",
        "createMachineID",
        "getOffset",
        "makeLineAddress",
        "clockEdge",
        "curCycle",
        "max_tokens",
        "zero_time",
    }
)


class EffectsOfMachine:
    """The effects of a machine's actions."""

    def __init__(self, machine: ir.Machine) -> None:
        self._machine = machine
        self._functions = {function.ref: function for function in machine.functions}
        self._buffers = {port.ref: port.buffer for port in machine.in_ports}
        self._buffers |= {port.ref: port.buffer for port in machine.out_ports}
        self._waiting = {
            self._buffers[node.port]
            for body in bodies(machine)
            for node in statements_in(body)
            if isinstance(node, ir.StallAndWait)
        }
        self._found_by_name = found_by_name(machine)
        found = {action.ref: self._of(action.body) for action in machine.actions}
        counted = counted_fields(machine, found)
        self._actions = {ref: each.with_hints(counted) for ref, each in found.items()}

    def of_action(self, action: ir.ActionRef, waiting: frozenset[str] | None = None) -> Effects:
        """``waiting``: buffers whose messages may wait for the line; None: all that ever do.

        What wakes a line changes the queues in which something may wait for it.
        """
        found = self._actions[action]
        if waiting is None or ("waiting", "*") not in found.writes:
            return found
        calm = {("queue", buffer) for buffer in self._waiting - waiting}
        popped = {("queue", b) for b in self._popped(action)}
        return replace(found, writes=found.writes - (calm - popped))

    def _popped(self, action: ir.ActionRef) -> set[str]:
        """Buffers whose head the action takes itself."""
        body = next(each.body for each in self._machine.actions if each.ref == action)
        taken = {
            self._buffers[node.port]
            for node in expressions_in(body)
            if isinstance(node, ir.PortCall)
        }
        stalled = {
            self._buffers[node.port]
            for node in statements_in(body)
            if isinstance(node, ir.StallAndWait | ir.WakeupPort)
        }
        return taken | stalled

    def _kind(self, pointer: ir.PointerType) -> str:
        return RECORD if pointer.ref == self._machine.tbe else ENTRY

    def _of(self, body: tuple[ir.Stmt, ...]) -> Effects:
        found = Effects()
        self._body(body, found, ())
        return found

    # -------------------------------------------------------------- statements

    def _body(
        self, body: tuple[ir.Stmt, ...], into: Effects, calls: tuple[ir.FunctionRef, ...]
    ) -> None:
        for statement in body:
            self._statement(statement, into)
            for node in direct_expressions(statement):
                self._expression(node, into, calls)
            for inner in inner_blocks(statement):
                self._body(inner, into, calls)

    def _statement(self, statement: ir.Stmt, into: Effects) -> None:
        match statement:
            case ir.Assign(target=target):
                self._changed(target, into)
            case ir.Peek(port=port, block_on=None, wake_up=None):
                into.reads.add(("queue", self._buffers[port]))
            case ir.Enqueue(port=port):
                into.writes.add(("sent", self._buffers[port]))
            case ir.StallAndWait(port=port):
                into.writes |= {("queue", self._buffers[port]), ("waiting", "*")}
            case ir.WakeupPort(port=port):
                into.writes |= {("queue", self._buffers[port]), ("waiting", "*")}
            case ir.SetTransaction(field=pointer):
                into.writes.add(("pointer", pointer.value))
            case (
                ir.Declare()
                | ir.Evaluate()
                | ir.If()
                | ir.Return()
                | ir.CheckAllocate()
                | ir.Assert()
                | ir.Panic()
                | ir.Trace()
                | ir.TransitionComment()
            ):
                pass
            case _:
                into.writes.add(EVERYTHING)

    def _changed(self, target: ir.Expr, into: Effects) -> None:
        """Something is assigned, or changed in place."""
        while True:
            match target:
                case ir.FieldAccess(receiver=receiver, name=name):
                    if isinstance(receiver.type, ir.PointerType):
                        into.writes.add((self._kind(receiver.type), name))
                        return
                    target = receiver
                case ir.Local():
                    return  # of this body, or a message that is being built
                case ir.MachineObject(name=name):
                    into.writes.add(("object", name))
                    return
                case _:
                    into.writes.add(EVERYTHING)
                    return

    # -------------------------------------------------------------- expressions

    def _expression(self, node: ir.Expr, into: Effects, calls: tuple[ir.FunctionRef, ...]) -> None:
        match node:
            case ir.CallMethod(
                receiver=ir.FieldAccess(receiver=owner, name=name), class_name="NetDest"
            ) if node.method in _ADDITIONS and isinstance(owner.type, ir.PointerType):
                for child in (owner, *node.arguments):
                    self._expression(child, into, calls)
                into.adds.add((self._kind(owner.type), name))
                return
            case _:
                pass
        for child in children(node):
            self._expression(child, into, calls)
        match node:
            case ir.FieldAccess(receiver=receiver, name=name):
                if isinstance(receiver.type, ir.PointerType):
                    into.reads.add((self._kind(receiver.type), name))
            case ir.TransactionValue(field=pointer):
                into.reads.add(("pointer", pointer.value))
            case ir.MachineObject(name=name):
                into.reads.add(("object", name))
            case ir.CallMethod():
                self._method(node, into)
            case ir.CallFunction(function=ref, arguments=arguments):
                self._function(ref, arguments, into, calls)
            case ir.CallBuiltin(name=name):
                self._builtin(name, into)
            case ir.PortCall(port=port, operation=operation):
                queue = ("queue", self._buffers[port])
                changes = operation in (ir.PortOperation.DEQUEUE, ir.PortOperation.RECYCLE)
                (into.writes if changes else into.reads).add(queue)
            case ir.CallStructMethod():
                into.writes.add(EVERYTHING)
            case _:
                pass

    def _method(self, node: ir.CallMethod, into: Effects) -> None:
        match node.receiver:
            case ir.MachineObject(name=name):
                if node.method in _HINTS or node.method.startswith("profile"):
                    into.writes.add((HINT, name))
                elif node.method not in _LOOKS:
                    into.writes.add(("object", name))
                    if "allocate" in node.method and name not in self._found_by_name:
                        of_records = node.class_name in _TABLES
                        into.writes.add((RECORD if of_records else ENTRY, "*"))
                    for argument in node.arguments:
                        if isinstance(argument.type, ir.ClassType) and argument.type.value:
                            self._changed_argument(argument, into)
            case receiver if node.mutates:
                self._changed(receiver, into)
            case receiver if not isinstance(receiver.type, ir.ClassType | ir.PointerType):
                into.writes.add(EVERYTHING)
            case receiver if isinstance(receiver.type, ir.PointerType):
                into.writes.add((self._kind(receiver.type), "*"))  # a method of entries
            case _:
                pass

    def _changed_argument(self, argument: ir.Expr, into: Effects) -> None:
        """A requester may write into a line that it is given."""
        if isinstance(argument, ir.FieldAccess):
            self._changed(argument, into)

    def _function(
        self,
        ref: ir.FunctionRef,
        arguments: tuple[ir.Expr, ...],
        into: Effects,
        calls: tuple[ir.FunctionRef, ...],
    ) -> None:
        function = self._functions.get(ref)
        if function is None or ref in calls:
            into.writes.add(EVERYTHING)
            return
        if directory := found_or_made(function):
            into.adds.add(("object", directory))
            return
        for parameter, argument in zip(function.parameters, arguments):
            if parameter.by_reference:
                self._changed(argument, into)
        self._body(function.body, into, (*calls, ref))

    def _builtin(self, name: str, into: Effects) -> None:
        if name.lower().startswith("wakeup"):
            into.writes |= {("queue", buffer) for buffer in self._waiting}
            into.writes.add(("waiting", "*"))
        elif name == "dequeueMemRespQueue":
            into.writes.add(("queue", _MEMORY_QUEUE))
        elif name == _STATISTICS:
            into.writes.add((HINT, name))
        elif name not in _PURE:
            into.writes.add(EVERYTHING)
