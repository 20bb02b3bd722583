"""The actions of one transition as one body: IR in, IR out.

Actions of one transition look at the same messages again and again. Here every look but the
first is dropped, as long as nothing in between can have changed the head of the queue, and the
locals of all actions get names that do not clash. Invariant: statements keep their order, and
a dropped peek would have found the message that the kept one found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slicc import ir
from slicc.codegen.analysis import local_variables, walk
from slicc.codegen.python.names import Namespace, ProtocolNames
from slicc.codegen.python.runtime_names import words

Head = tuple[ir.PortRef, ir.TypeRef]
"""The oldest message of a port, seen as a message of a type."""

_QUERIES = frozenset(
    {
        ir.PortOperation.IS_READY,
        ir.PortOperation.IS_EMPTY,
        ir.PortOperation.IS_STALL_MAP_EMPTY,
        ir.PortOperation.STALL_MAP_SIZE,
        ir.PortOperation.HAS_STALLED,
        ir.PortOperation.GET_SIZE,
    }
)
_QUIET_CLASSES = words(
    "CacheMemory DirectoryMemory NetworkPort PerfectCacheMemory TBETable TimerTable"
)
_QUIET_BUILTINS = words(
    "clockEdge createMachineID curCycle curTick cyclesToTicks getOffset machineCount "
    "makeLineAddress makeNextStrideAddress mapAddressToDownstreamMachine mapAddressToMachine "
    "mapAddressToRange profileMsgDelay respondsTo ticksToCycles"
)


class Disturbance:
    """Which parts of a machine may change what stands at the head of its ports."""

    def __init__(self, machine: ir.Machine) -> None:
        self._functions: dict[str, bool] = {}
        for function in machine.functions:
            # Callees come first; a function that calls itself counts as unknown.
            if function.ref.owner is None:
                self._functions[function.ref.name] = self.by(function.body)

    def by(self, part: object) -> bool:
        """Whether running the statement, or body, may change a head."""
        return any(self._disturbs(node) for node in walk(part))

    def _disturbs(self, node: ir.Node) -> bool:
        match node:
            case ir.PortCall():
                return node.operation not in _QUERIES
            case ir.StallAndWait() | ir.WakeupPort() | ir.CheckOnCacheProbe():
                return True
            case ir.Peek():
                return node.wake_up is not None
            case ir.CallMethod(receiver=receiver):
                value = isinstance(receiver.type, ir.ClassType) and receiver.type.value
                pointer = isinstance(receiver.type, ir.PointerType)
                return not (value or pointer or node.class_name in _QUIET_CLASSES)
            case ir.CallBuiltin(home=ir.BuiltinHome.CONTROLLER):
                return node.name not in _QUIET_BUILTINS
            case ir.CallFunction():
                return self._functions.get(node.function.name, True)
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Part:
    """What one action became: ``locals`` maps the author's names to final ones."""

    action: ir.ActionRef
    body: tuple[ir.Stmt, ...]
    locals: Mapping[str, str]
    reads: frozenset[str]


class Fusion:
    """Merges the actions of one transition.

    ``head``: the message that the caller hands over and the name of the parameter it is in.
    ``reserved``: what no local may be called.
    """

    def __init__(
        self,
        names: ProtocolNames,
        disturbance: Disturbance,
        reserved: Iterable[str],
        head: tuple[Head, str] | None,
    ) -> None:
        self.disturbance = disturbance
        self.scope = Namespace(names.for_locals | set(reserved))
        self.known: dict[Head, str] = {}
        self.used: set[str] = set()
        """Names of messages that some action reads."""
        self._sent: dict[tuple[str, ir.TypeRef], str] = {}
        if head is not None:
            self.known[head[0]] = head[1]

    def parts(self, actions: Sequence[ir.Action]) -> list[Part]:
        made = [self._part(action) for action in actions]
        return [replace(part, reads=self._reads(part)) for part in made]

    def _reads(self, part: Part) -> frozenset[str]:
        """Also what only a later action reads."""
        later = {name for name, final in part.locals.items() if final in self.used}
        return part.reads | later

    def _part(self, action: ir.Action) -> Part:
        variables = local_variables(action.body)
        final: dict[str, str] = {}
        peeked = [node.local for node in walk(action.body) if isinstance(node, ir.Peek)]
        if all(variables.declared.count(name) == 1 for name in peeked):
            body = self._merged(action.body, final)
        else:
            # One name for several things: what is merged could not be told apart.
            body = action.body
            if self.disturbance.by(body):
                self.known.clear()
        for name, message in _sent(body):
            if name not in final:
                key = (name, message)
                final[name] = self._sent.get(key) or self._sent.setdefault(
                    key, self.scope.claim(name)
                )
        for name in variables.declared:
            if name not in final:
                final[name] = self.scope.claim(name)
                if name not in variables.read:
                    final[name] = f"_{final[name]}"
        self.used |= {final[name] for name in variables.read}
        return Part(action.ref, body, final, variables.read)

    def _merged(self, body: tuple[ir.Stmt, ...], final: dict[str, str]) -> tuple[ir.Stmt, ...]:
        made: list[ir.Stmt] = []
        for statement in body:
            match statement:
                case ir.Peek(block_on=None, wake_up=None):
                    head = (statement.port, statement.message)
                    name = self.known.get(head)
                    if name is None:
                        name = self.known[head] = self.scope.claim(statement.local)
                        made.append(replace(statement, body=()))
                    final[statement.local] = name
                    made += self._merged(statement.body, final)
                case ir.If():
                    if self.disturbance.by(statement.condition):
                        self.known.clear()
                    before = self.known
                    self.known = dict(before)
                    then = self._merged(statement.then, final)
                    after = self.known
                    self.known = dict(before)
                    orelse = self._merged(statement.orelse, final)
                    self.known = {
                        head: name for head, name in after.items() if self.known.get(head) == name
                    }
                    made.append(replace(statement, then=then, orelse=orelse))
                case ir.Enqueue():
                    inner = self._merged(statement.body, final)
                    made.append(replace(statement, body=inner))
                    if self.disturbance.by((statement.latency, statement.bypass)):
                        self.known.clear()
                case _:
                    made.append(statement)
                    if self.disturbance.by(statement):
                        self.known.clear()
        return tuple(made)


def _sent(body: tuple[ir.Stmt, ...]) -> list[tuple[str, ir.TypeRef]]:
    return [(node.local, node.message) for node in walk(body) if isinstance(node, ir.Enqueue)]
