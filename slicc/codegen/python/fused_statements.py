"""Bodies as fused modules write them: the shortest Python that does the same.

Invariant: what differs from ``statements`` and ``expressions`` is how fast a line runs, never
what it does or in which order; every shortcut of the runtime's classes is spelled here.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from slicc import ir
from slicc.codegen.analysis import walk
from slicc.codegen.python import pycode
from slicc.codegen.python.dispatch import DirectTrigger
from slicc.codegen.python.emitter import Emitter
from slicc.codegen.python.expressions import Expressions, Scope
from slicc.codegen.python.names import Namespace
from slicc.codegen.python.pycode import Code
from slicc.codegen.python.statements import Statements


class Constants:
    """Members of enumerations as constants of the module: an attribute of a class costs more.

    Names are handed out for every member that the machine mentions, so that no local takes one;
    those that the text uses are defined.
    """

    def __init__(self, reserved: set[str]) -> None:
        self._scope = Namespace(reserved)
        self._names: dict[str, str] = {}
        self._used: set[str] = set()

    def declare(self, member: str) -> None:
        """``member`` as in ``State.I``."""
        if member not in self._names:
            self._names[member] = self._scope.claim(member.replace(".", "_"))

    def use(self, member: str) -> str:
        self.declare(member)
        self._used.add(member)
        return self._names[member]

    @property
    def names(self) -> set[str]:
        return set(self._names.values())

    def definitions(self) -> list[tuple[str, str]]:
        """(name, member) of those in use, by member."""
        return [(self._names[member], member) for member in sorted(self._used)]


@dataclass(slots=True)
class FusedScope(Scope):
    """``home``: the module that defines the machine's own types."""

    home: str = ""
    constants: Constants = field(default_factory=lambda: Constants(set()))

    def type_name(self, ref: ir.TypeRef) -> str:
        name = Scope.type_name(self, ref)
        if ref in self.names.defined and ref.machine is not None:
            return self.imports.add(f".{self.home}", name)
        return name


class FusedExpressions(Expressions):
    """Expressions in a :class:`FusedScope`."""

    scope: FusedScope

    def member(self, ref: ir.TypeRef, member: str) -> Code:
        return pycode.Atom(self.scope.constants.use(super().member(ref, member).text))

    def __call__(self, node: ir.Expr) -> Code:
        match node:
            case ir.CallBuiltin(name="mapAddressToMachine", arguments=(address, kind)):
                topology = pycode.attribute(self.scope.this, "topology")
                return pycode.method(topology, "map_address", self(kind), self(address))
            case _:
                return super().__call__(node)


class FusedStatements(Statements):
    """Writes one body.

    ``events`` numbers the machine's events; ``queues`` are the ports on message buffers.
    """

    def __init__(
        self,
        scope: FusedScope,
        out: Emitter,
        reads: frozenset[str],
        events: Mapping[str, int],
        queues: Set[ir.PortRef],
    ) -> None:
        super().__init__(scope, out, reads)
        self.queues = queues
        self.expression = FusedExpressions(scope)
        self.events = events
        self.waiting: ir.PortRef | None = None
        """A port whose queue is known to have a head."""
        self._valid: set[str] = set()
        """Texts of pointers that are not null here."""

    # -------------------------------------------------------------- transitions

    def _trigger(self, node: ir.Trigger) -> None:
        if not isinstance(node, DirectTrigger):
            super()._trigger(node)
            return
        out = self.out
        assert isinstance(node.event, ir.EnumConst)
        stride, event = len(self.events) + 1, self.events[node.event.member]
        index = pycode.operation(self.expression(node.state), "*", pycode.Atom(str(stride)))
        if event:
            index = pycode.operation(index, "+", pycode.Atom(str(event)))
        out.statement("index = ", index, "", node.span)
        arguments = [
            pycode.Atom("index"),
            *[
                self.expression(each)
                for each in (node.address, node.entry, node.tbe)
                if each is not None
            ],
            pycode.NONE if node.message is None else self.scope.local(node.message),
        ]
        cell = pycode.subscript(pycode.dotted("self._cells"), pycode.Atom("index"))
        out.statement("if ", pycode.call(cell, *arguments), ":", node.span)
        with out.indented():
            out.line("return True", node.span)

    # -------------------------------------------------------------- pointers

    def _if(self, node: ir.If) -> None:
        match node:
            case ir.If(condition=ir.NullTest(valid=True, operand=operand), orelse=()):
                text = self.expression(operand).text
                self.out.statement("if ", self.expression(node.condition), ":", node.span)
                self._valid.add(text)
                self.block(node.then)
                self._valid.discard(text)
            case _:
                super()._if(node)

    def statement(self, node: ir.Stmt) -> None:
        match node:
            case ir.SetTransaction():
                self._valid.discard(self.scope.transaction[node.field].text)
            case ir.Assign(target=ir.Local(name=name)):
                self._valid.discard(self.scope.local(name).text)
            case _:
                pass
        super().statement(node)

    def _evaluate(self, node: ir.Evaluate) -> None:
        match node.expression:
            case ir.PortCall(operation=ir.PortOperation.DEQUEUE, port=port) if port in self.queues:
                drop = pycode.method(self.expression.port(port), "drop")
                self.out.statement("", drop, "", node.span)
                return
            case ir.CallMethod(receiver=target) if isinstance(node, SoleMachine):
                alone = pycode.attribute(self.expression(node.machine), "alone")
                self.out.statement(f"{self.expression(target).text} = ", alone, "", node.span)
                return
            case ir.CallMethod(
                class_name="AbstractCacheEntry",
                method="changePermission",
                receiver=receiver,
                arguments=(ir.EnumConst() as permission,),
            ):
                entry = self.expression(receiver)
                if entry.text in self._valid:
                    self._change_permission(entry, self.expression(permission), node)
                    return
            case _:
                pass
        super()._evaluate(node)

    def _change_permission(self, entry: Code, permission: Code, node: ir.Evaluate) -> None:
        """The method returns at once if there is nothing to change; so it is asked beforehand."""
        same = pycode.operation(pycode.attribute(entry, "permission"), "!=", permission)
        self.out.statement("if ", same, ":", node.span)
        with self.out.indented():
            change = pycode.method(entry, "changePermission", permission)
            self.out.statement("", change, "", node.span)

    # -------------------------------------------------------------- messages

    def _peek(self, node: ir.Peek) -> None:
        if node.port != self.waiting or node.local not in self.reads:
            super()._peek(node)
            return
        # What `peek` checks is checked here, and `peek` called for its verdict.
        self.waiting = None
        out, kind = self.out, self.scope.type_name(node.message)
        local, port = self.scope.local(node.local).text, self.expression.port(node.port)
        head = pycode.subscript(pycode.attribute(port, "messages"), pycode.Atom("0"))
        out.statement(f"{local}: {kind} = ", head, "  # type: ignore[assignment]", node.span)
        out.line(f"if {local}.__class__ is not {kind}:", node.span)
        with out.indented():
            checked = pycode.method(port, "peek", pycode.Atom(kind))
            out.statement(f"{local} = ", checked, "", node.span)
        self._peeked(node, pycode.Atom(local), port)

    def _enqueue(self, node: ir.Enqueue) -> None:
        for name in node.fresh:
            node = _with_sole_machine(node, name)
        super()._enqueue(node)


@dataclass(frozen=True, slots=True)
class SoleMachine(ir.Evaluate):
    """``set.add(machine)`` where the set is new and nothing else is ever added."""

    machine: ir.Expr


def _with_sole_machine(node: ir.Enqueue, name: str) -> ir.Enqueue:
    """The same message, whose set ``name`` is not made to be filled if it gets one machine."""
    mentions = [
        each
        for each in walk(node.body)
        if isinstance(each, ir.FieldAccess)
        and each.name == name
        and isinstance(each.receiver, ir.Local)
        and each.receiver.name == node.local
    ]
    for position, statement in enumerate(node.body):
        match statement:
            case ir.Evaluate(
                expression=ir.CallMethod(
                    class_name="NetDest", method="add", receiver=receiver, arguments=(machine,)
                ) as addition
            ) if len(mentions) == 1 and receiver is mentions[0]:
                sole = SoleMachine(addition, machine, span=statement.span)
                body = (*node.body[:position], sole, *node.body[position + 1 :])
                fresh = tuple(each for each in node.fresh if each != name)
                return replace(node, body=body, fresh=fresh)
            case _:
                pass
    return node
