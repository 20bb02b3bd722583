"""How the ports of one machine get to its transitions: IR in, IR out.

A port's body is prepared so that ``trigger`` can be written out where it stands: arguments are
locals, the state is an expression. Also found here: which message a transition may take over
from the port that triggers it. Invariant: bodies do what they did, in the same order, and the
places of statements that can fail are those of the author's text that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from slicc import ir
from slicc.codegen.analysis import walk
from slicc.codegen.python.fusion import Disturbance, Head
from slicc.codegen.python.inlining import Functions, cannot_fail, is_atomic, value_of
from slicc.source import Span


@dataclass(frozen=True, slots=True)
class DirectTrigger(ir.Trigger):
    """A trigger whose parts are simple. ``message``: the local with the port's head, or None."""

    state: ir.Expr
    message: str | None


@dataclass(frozen=True, slots=True)
class _Peeked:
    """Where a body is: its port if nothing in it changes the head, and the head's local."""

    port: ir.PortRef | None
    head: Head | None = None
    local: str = ""

    def inside(self, node: ir.Peek) -> _Peeked:
        if node.port != self.port:
            return self
        return _Peeked(self.port, (node.port, node.message), node.local)


class Dispatch:
    """The trigger sites of one machine.

    ``direct``: every trigger names its event and finds the state without a call.
    ``heads``: by event, the head that all triggers of it hand over.
    """

    def __init__(self, machine: ir.Machine, functions: Functions, disturbance: Disturbance) -> None:
        self.machine = machine
        self.functions = functions
        self.disturbance = disturbance
        self._get_state = next(
            (each for each in functions.values() if each.written_name == "getState"), None
        )
        sites = [
            site for port in machine.in_ports for site in _sites(port.body, self._outside(port))
        ]
        self.direct = all(self._is_direct(node) for node, _ in sites)
        self.heads = self._agreed(sites) if self.direct else {}

    def _outside(self, port: ir.InPort) -> _Peeked:
        # A handler that does not restart the port may have changed its head all the same.
        handlers = port.resource_stall_handler or port.protocol_stall_handler
        quiet = not handlers and not self.disturbance.by(port.body)
        return _Peeked(port.ref if quiet else None)

    @staticmethod
    def _agreed(sites: list[tuple[ir.Trigger, _Peeked]]) -> dict[str, Head]:
        found: dict[str, set[Head | None]] = {}
        for node, place in sites:
            assert isinstance(node.event, ir.EnumConst), "direct machines name events"
            found.setdefault(node.event.member, set()).add(place.head)
        agreed = {event: heads.pop() for event, heads in found.items() if len(heads) == 1}
        return {event: head for event, head in agreed.items() if head is not None}

    def _is_direct(self, node: ir.Trigger) -> bool:
        """Whether the trigger will be one, once its arguments are locals."""

        def local(value: ir.Expr | None) -> ir.Expr | None:
            if value is None or is_atomic(value):
                return value
            return ir.Local("argument", value.type, span=value.span)

        simple = replace(node, entry=local(node.entry), tbe=local(node.tbe))
        return isinstance(node.event, ir.EnumConst) and self._state(simple) is not None

    def _state(self, node: ir.Trigger) -> ir.Expr | None:
        """The state of the line, as an expression that cannot fail; None if it takes a call."""
        function = self._get_state
        if function is None:
            return None
        arguments = (*(each for each in (node.tbe, node.entry) if each is not None), node.address)
        if len(arguments) != len(function.parameters):
            return None
        call = ir.CallFunction(function.ref, arguments, function.result, span=node.span)
        found = value_of(call, self.functions)
        return found[0] if found is not None and cannot_fail(found[0]) else None

    # -------------------------------------------------------------- bodies

    def waits(self, port: ir.InPort) -> bool:
        """Whether the port is polled only when its queue has a head."""
        return port.guarded and self.is_queue(port.buffer)

    def body(self, port: ir.InPort) -> tuple[ir.Stmt, ...]:
        """The body with its triggers ready, and without the question whether there is a head
        where nobody would have polled without one.
        """
        body = port.body
        match body:
            case (ir.If(condition=ir.PortCall(), then=then, orelse=()),) if self.waits(port):
                body = then
            case _:
                pass
        taken = {node.name for node in walk(body) if isinstance(node, ir.Declare)}
        taken |= {node.local for node in walk(body) if isinstance(node, ir.Peek)}
        return self._prepared(body, _Fresh(taken), self._outside(port))

    def is_queue(self, name: str) -> bool:
        """Whether the system hands the machine a message buffer under that name."""
        return any(
            each.name == name
            and isinstance(each.type, ir.ClassType)
            and each.type.name in {"MessageBuffer", "WireBuffer"}
            for each in self.machine.parameters
        )

    def _prepared(
        self, body: tuple[ir.Stmt, ...], fresh: _Fresh, place: _Peeked
    ) -> tuple[ir.Stmt, ...]:
        made: list[ir.Stmt] = []
        for statement in body:
            match statement:
                case ir.Declare():
                    made.append(self._declared(statement))
                case ir.If():
                    then = self._prepared(statement.then, fresh, place)
                    orelse = self._prepared(statement.orelse, fresh, place)
                    made.append(replace(statement, then=then, orelse=orelse))
                case ir.Peek():
                    inner = self._prepared(statement.body, fresh, place.inside(statement))
                    made.append(replace(statement, body=inner))
                case ir.Trigger() if self.direct:
                    made += self._ready(statement, fresh, place)
                case _:
                    made.append(statement)
        return tuple(made)

    def _declared(self, node: ir.Declare) -> ir.Declare:
        found = value_of(node.initial, self.functions)
        if found is None or node.copying is not ir.Copying.REBIND:
            return node
        value, span = found
        return replace(node, initial=value, span=span)

    def _ready(self, node: ir.Trigger, fresh: _Fresh, place: _Peeked) -> Iterator[ir.Stmt]:
        """Declarations of the arguments that are not simple, then the trigger."""
        before: list[ir.Stmt] = []

        def simple(value: ir.Expr, wanted: str, span: Span) -> ir.Expr:
            if is_atomic(value):
                return value
            name = fresh.name(wanted, value.type)
            declared = ir.Declare(name, value.type, value, ir.Copying.REBIND, span=span)
            before.append(self._declared(declared))
            return ir.Local(name, value.type, span=value.span)

        made = replace(
            node,
            address=simple(node.address, "line", node.span),
            entry=node.entry and simple(node.entry, "entry", node.span),
            tbe=node.tbe and simple(node.tbe, "record", node.span),
        )
        yield from before
        state = self._state(made)
        assert state is not None, "all triggers of this machine are direct"
        assert isinstance(made.event, ir.EnumConst)
        handed = place.head is not None and self.heads.get(made.event.member) == place.head
        yield DirectTrigger(
            made.event,
            made.address,
            made.entry,
            made.tbe,
            state,
            place.local if handed else None,
            span=node.span,
        )


def _sites(body: tuple[ir.Stmt, ...], place: _Peeked) -> Iterator[tuple[ir.Trigger, _Peeked]]:
    for statement in body:
        match statement:
            case ir.Trigger():
                yield statement, place
            case ir.If():
                yield from _sites(statement.then, place)
                yield from _sites(statement.orelse, place)
            case ir.Peek():
                yield from _sites(statement.body, place.inside(statement))
            case _:
                pass


class _Fresh:
    """Names for declarations that no author wrote: one per wish and type."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._made: dict[tuple[str, ir.Type], str] = {}

    def name(self, wanted: str, type_: ir.Type) -> str:
        known = self._made.get((wanted, type_))
        if known is None:
            known = wanted
            while known in self._taken:
                known += "_"
            self._taken.add(known)
            self._made[wanted, type_] = known
        return known
