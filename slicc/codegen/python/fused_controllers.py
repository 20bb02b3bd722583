"""One machine in its fused form: the same controller, with the bodies of a transition as one.

Beside the readable module stands one that nobody needs to read. Its class derives from the
readable controller and overrides what runs all the time: the bodies of ports, where ``trigger``
is written out, and the transitions, one function for each. Invariant: whatever this form does
not cover runs in the readable form, and every line is mapped to the text and the action that it
came from, so that reports cannot tell the forms apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slicc import ir
from slicc.codegen import analysis
from slicc.codegen.python import layout, pycode
from slicc.codegen.python.dispatch import Dispatch
from slicc.codegen.python.emitter import Emitter
from slicc.codegen.python.fused_statements import Constants, FusedScope, FusedStatements
from slicc.codegen.python.fusion import Disturbance, Fusion, Head, Part
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.inlining import effect_of, with_permissions
from slicc.codegen.python.linemap import Marks, file_name
from slicc.codegen.python.names import MachineNames, ProtocolNames, local_names
from slicc.codegen.python.pycode import Code
from slicc.ir import TransactionField as Field
from slicc.text import python_source

_CELL_LOCALS = ("address", "cache_entry", "head", "index", "next_state", "tbe")
_TRANSACTION: Mapping[Field, Code] = {
    Field.ADDRESS: pycode.dotted("address"),
    Field.ENTRY: pycode.dotted("cache_entry"),
    Field.TBE: pycode.dotted("tbe"),
}


@dataclass(frozen=True, slots=True)
class FusedView:
    """What the template of a fused module prints."""

    module: str
    docstring: str
    imports: str
    constants: tuple[str, ...]
    name: str
    base: str
    methods: tuple[str, ...]
    rows: tuple[str, ...]


class FusedWriter:
    """Prepares the view of one machine."""

    def __init__(self, names: ProtocolNames, machine: ir.Machine, marks: Marks) -> None:
        self.names = names
        self.machine = machine
        self.marks = marks
        self.imports = Imports()
        self.own = MachineNames(machine, names.for_locals)
        self.constants = Constants(names.for_locals | {"FusedController"})
        self.functions = {f.ref.name: f for f in machine.functions if f.ref.owner is None}
        self.by_name = {f.written_name: f for f in self.functions.values()}
        self.disturbance = Disturbance(machine)
        self.dispatch = Dispatch(machine, self.functions, self.disturbance)
        self.queues = {p.ref for p in machine.in_ports if self.dispatch.is_queue(p.buffer)}
        self.actions = {each.ref: each for each in machine.actions}
        self.states = [each.name for each in machine.states.members]
        self.events = {each.name: index for index, each in enumerate(machine.events.members)}
        self.scope = FusedScope(
            names,
            self.imports,
            self.own,
            machine.name,
            home=names.modules[machine.name],
            constants=self.constants,
        )
        self._declare_constants()

    def _declare_constants(self) -> None:
        """Every member that may be mentioned gets its name before any local does."""
        bodies = (self.machine.functions, self.machine.in_ports, self.machine.actions)
        for node in analysis.walk(bodies):
            if isinstance(node, ir.EnumConst):
                owner = self.names.type(node.type.ref)
                member = "NUM"
                if node.member != "NUM":
                    member = self.names.member(node.type.ref, node.member)
                self.constants.declare(f"{owner}.{member}")
        for state in self.states:
            owner = self.names.type(self.machine.states.ref)
            self.constants.declare(f"{owner}.{self.names.member(self.machine.states.ref, state)}")
        for permission in ir.AccessPermission:
            self.constants.declare(f"AccessPermission.{permission.value}")

    def view(self, protocol: str) -> FusedView:
        machine = self.machine
        base = self.imports.add(f".{self.scope.home}", self.names.controllers[machine.name])
        self.imports.runtime("FusedController")
        polls = {each.ref: self._poll(each) for each in machine.in_ports}
        methods = list(polls.values())
        if polls:
            methods.insert(0, self._poll_ports(polls))
        if not self.dispatch.direct:
            methods.append(self._own_trigger())
        rows: list[str] = []
        cells: dict[int, list[ir.Cell]] = {}
        for cell in machine.cells:
            cells.setdefault(cell.transition, []).append(cell)
        for number, alike in cells.items():
            method = self._cell(machine.transitions[number], alike)
            if method is not None:
                methods.append(method)
                rows += [f"        {self._index(c)}: {_cell_name(alike)}," for c in alike]
        if rows:
            self.imports.add("typing", "ClassVar")
            self.imports.add("collections.abc", "Callable")
        constants = self.constants.definitions()
        if constants:
            self.imports.add("typing", "Final")
        words = (
            f"Controller {machine.name} of protocol {protocol}, compiled from "
            f"{file_name(machine.span)} to be run. Nobody needs to read this: {self.scope.home}.py "
            "says the same, and tests hold the two to the same runs."
        )
        return FusedView(
            module=self.names.fused_modules[machine.name],
            docstring="\n".join(python_source.docstring(words, 0)),
            imports=self.imports.text(),
            constants=tuple(f"{name}: Final = {member}" for name, member in constants),
            name=self.names.fused_controllers[machine.name],
            base=base,
            methods=tuple(methods),
            rows=tuple(sorted(rows, key=lambda row: int(row.partition(":")[0]))),
        )

    def _index(self, cell: ir.Cell) -> int:
        return self.states.index(cell.state) * (len(self.events) + 1) + self.events[cell.event]

    # -------------------------------------------------------------- ports

    def _poll_ports(self, polls: Mapping[ir.PortRef, str]) -> str:
        """``Controller._poll_ports`` with the ports of this machine written out.

        ``polls``: the text of every port's method, which tells what it may return.
        """
        out = Emitter(self.marks, layout.INDENT)
        ports = self.machine.in_ports
        out.line("def _poll_ports(self, left: int) -> int:")
        with out.indented():
            names = pycode.tuple_of(tuple(pycode.Atom(f"port_{n}") for n in range(len(ports))))
            listed = names.text if len(ports) == 1 else names.text[1:-1]
            out.statement(f"{listed} = ", pycode.dotted("self.ports"), "")
            for number, port in enumerate(ports):
                if self.dispatch.waits(port):
                    name = self.own.ports[port.ref.name]
                    out.line(f"messages_{number} = self.{name}.messages")
            out.line("while left:")
            with out.indented():
                for number, port in enumerate(ports):
                    uncounted = "return UNCOUNTED" in polls[port.ref]
                    self._poll_one(out, number, port, uncounted)
                out.line("if not self.woken:")
                with out.indented():
                    out.line("break")
                out.line("self.woken = False")
            out.line("return left")
        return "\n".join(out.lines)

    def _poll_one(self, out: Emitter, number: int, port: ir.InPort, uncounted: bool) -> None:
        if self.dispatch.waits(port):
            out.line(f"if messages_{number}:")
            with out.indented():
                self._poll_now(out, number, port, uncounted)
        else:
            self._poll_now(out, number, port, uncounted)

    def _poll_now(self, out: Emitter, number: int, port: ir.InPort, uncounted: bool) -> None:
        out.line(f"self.current = port_{number}")
        if not uncounted:
            out.line(f"if self.{self.own.polls[port.ref.name]}():")
            with out.indented():
                out.line("left -= 1")
                out.line("continue")
            return
        out.line(f"result = self.{self.own.polls[port.ref.name]}()")
        out.line("if result:")
        with out.indented():
            out.line(f"if result != {self.imports.runtime('UNCOUNTED')}:")
            with out.indented():
                out.line("left -= 1")
            out.line("continue")

    def _poll(self, port: ir.InPort) -> str:
        out = Emitter(self.marks, layout.INDENT)
        result = self.imports.runtime("PollResult")
        out.line(f"def {self.own.polls[port.ref.name]}(self) -> {result}:", port.span)
        body = self.dispatch.body(port)
        variables = analysis.local_variables(body)
        reserved = self.constants.names | {"index"}
        names = local_names(self.names, (), variables, reserved)
        with out.indented():
            scope = replace(self.scope, locals=names, transaction={})
            writer = FusedStatements(scope, out, variables.read, self.events, self.queues)
            writer.waiting = port.ref if self.dispatch.waits(port) else None
            writer.body(body)
            out.line("return False")
        return "\n".join(out.lines)

    def _own_trigger(self) -> str:
        """For ports that cannot have it written out."""
        out = Emitter(self.marks, layout.INDENT)
        header = ", ".join(["self", "event: int", "address: int", *self._pointers()])
        out.line(f"def trigger({header}) -> bool:")
        given = [each.partition(":")[0] for each in self._pointers()]
        with out.indented():
            asked = ", ".join([*reversed(given), "address"])
            out.line(f"state = self.getState({asked})")
            out.line(f"index = state * {len(self.events) + 1} + event")
            handed = ", ".join(["index", "address", *given, "None"])
            out.line(f"return self._cells[index]({handed})")
        return "\n".join(out.lines)

    def _pointers(self) -> list[str]:
        """Parameters for what the machine's shape has of entry and TBE.

        They change their type as actions go on, so they have none.
        """
        named = [("cache_entry", self.machine.entry), ("tbe", self.machine.tbe)]
        given = [name for name, type_ in named if type_ is not None]
        return [f"{name}: {self.imports.add('typing', 'Any')}" for name in given]

    # -------------------------------------------------------------- transitions

    def _cell(self, node: ir.Transition, cells: list[ir.Cell]) -> str | None:
        """The function for all cells of a transition; None if it has to run as it is written."""
        actions = [self.actions[each] for each in node.actions]
        computed = node.next.kind is ir.NextKind.COMPUTED
        if any(_leaves(action) for action in actions):
            return None
        if computed and "getNextState" not in self.by_name:
            return None
        if any(self._calls(action, _TRANSITION_BUILTINS) for action in actions):
            return None
        heads = {self.dispatch.heads.get(each.event) for each in cells}
        head = heads.pop() if len(heads) == 1 else None
        fusion = Fusion(
            self.names,
            self.disturbance,
            self.constants.names | set(_CELL_LOCALS),
            None if head is None else (head, "head"),
        )
        parts = [] if node.stalls else fusion.parts(actions)
        out = Emitter(self.marks, layout.INDENT)
        out.statement("def ", self._cell_header(cells, head, fusion), " -> bool:", node.span)
        with out.indented():
            if computed:
                call = f"self.{self.own.functions[self.by_name['getNextState'].ref.name]}(address)"
                out.line(f"next_state = {call}", node.span)
            self._needs(out, node)
            if node.stalls:
                out.line("return self._protocol_stall()")
            else:
                for part in parts:
                    self._part(out, part)
                self._conclude(out, node, cells)
        return "\n".join(out.lines)

    def _cell_header(self, cells: list[ir.Cell], head: Head | None, fusion: Fusion) -> Code:
        parameters = ["self", "index: int", "address: int", *self._pointers()]
        if head is not None and "head" in fusion.used:
            parameters.append(f"head: {self.scope.type_name(head[1])}")
        else:
            parameters.append("_: object")
        return pycode.call(
            pycode.Atom(_cell_name(cells)), *[pycode.Atom(each) for each in parameters]
        )

    def _calls(self, action: ir.Action, builtins: frozenset[str]) -> bool:
        return any(
            isinstance(node, ir.CallBuiltin | ir.CallFunction) and self._is_one(node, builtins)
            for node in analysis.walk(action.body)
        )

    def _is_one(self, node: ir.CallBuiltin | ir.CallFunction, builtins: frozenset[str]) -> bool:
        if isinstance(node, ir.CallBuiltin):
            return node.name in builtins
        return any(
            isinstance(inner, ir.CallBuiltin) and inner.name in builtins
            for inner in analysis.walk(self.functions[node.function.name].body)
        )

    def _needs(self, out: Emitter, node: ir.Transition) -> None:
        """Slots by name of the object, then request types, as ``Controller._blocked`` asks."""
        targets = [(self.own.slot_target(each.target), each) for each in node.needs]
        for name, need in sorted(targets, key=lambda target: target[0]):
            kind = self._class_of(need.target)
            if kind == "TBETable":
                full = f"len(self.{name}.records) + {need.count} > self.{name}.capacity"
                code: Code = pycode.Atom(full)
            else:
                count = pycode.Atom(str(need.count))
                free = pycode.method(pycode.dotted(f"self.{name}"), "areNSlotsAvailable", count)
                code = pycode.negation(free)
                if kind == "MessageBuffer":
                    limited = pycode.dotted(f"self.{name}.capacity")
                    code = pycode.operation(limited, "and", code)
            out.statement("if ", code, ":")
            with out.indented():
                out.line("return self._resource_stall()")
        owner = self.machine.request_types
        if node.request_types and owner is not None:
            taken = [self.scope_member(owner.ref, each) for each in node.request_types]
            asked = sorted(dict.fromkeys(node.request_types))
            requests = [self.scope_member(owner.ref, each) for each in asked]
            code = pycode.operation(
                pycode.dotted("self._arrays"),
                "and",
                pycode.negation(
                    pycode.method(
                        pycode.Atom("self"),
                        "_take_arrays",
                        pycode.tuple_of(tuple(requests)),
                        pycode.tuple_of(tuple(taken)),
                        pycode.Atom("address"),
                    )
                ),
            )
            out.statement("if ", code, ":")
            with out.indented():
                out.line("return self._resource_stall()")

    def scope_member(self, ref: ir.TypeRef, member: str) -> Code:
        return self._statements(Emitter(self.marks, 0), {}, frozenset()).expression.member(
            ref, member
        )

    def _class_of(self, name: str) -> str:
        named: list[ir.MachineParameter | ir.Object] = [*self.machine.parameters]
        for each in [*named, *self.machine.objects]:
            if each.name == name and isinstance(each.type, ir.ClassType):
                return each.type.name
        return ""

    def _statements(
        self, out: Emitter, names: Mapping[str, str], reads: frozenset[str]
    ) -> FusedStatements:
        scope = replace(self.scope, locals=names, transaction=_TRANSACTION)
        return FusedStatements(scope, out, reads, self.events, self.queues)

    def _part(self, out: Emitter, part: Part) -> None:
        self.marks.action = self.own.actions[part.action.name]
        self._statements(out, part.locals, part.reads).body(part.body)
        self.marks.action = None

    def _conclude(self, out: Emitter, node: ir.Transition, cells: list[ir.Cell]) -> None:
        """The count, the line's new state and permission, and who watches."""
        following = self._following(out, node, cells)
        out.line("self.counts[index] += 1")
        span = node.span
        entry = ir.TransactionValue(Field.ENTRY, ir.UNKNOWN, span=span)
        tbe = ir.TransactionValue(Field.TBE, ir.UNKNOWN, span=span)
        address = ir.TransactionValue(Field.ADDRESS, ir.ADDR, span=span)
        has_entry, has_tbe = self.machine.entry is not None, self.machine.tbe is not None
        pointers = (*([entry] if has_entry else []), address, following)
        self._call(out, "setState", (*([tbe] if has_tbe else []), *pointers))
        self._call(out, "setAccessPermission", pointers)
        out.line("if self.observer is not None:")
        writer = self._statements(out, {"next state": "next_state"}, frozenset())
        with out.indented():
            new = writer.expression(following)
            arguments = [pycode.Atom("index"), pycode.Atom("address"), new]
            out.statement("", pycode.method(pycode.Atom("self"), "_observed", *arguments), "")
        out.line("return True")

    def _following(
        self, out: Emitter, node: ir.Transition, cells: list[ir.Cell]
    ) -> ir.EnumConst | ir.Local:
        type_ = ir.EnumType(self.machine.states.ref)
        match node.next.kind:
            case ir.NextKind.STATE:
                assert node.next.state is not None
                return ir.EnumConst(node.next.state, type_, span=node.span)
            case ir.NextKind.STAY:
                states = {each.state for each in cells}
                if len(states) == 1:
                    return ir.EnumConst(states.pop(), type_, span=node.span)
                out.line(f"next_state = index // {len(self.events) + 1}")
            case ir.NextKind.COMPUTED:
                pass
        return ir.Local("next state", type_, span=node.span)

    def _call(self, out: Emitter, name: str, arguments: tuple[ir.Expr, ...]) -> None:
        """A call of a function of the author's, or what it does."""
        function = self.by_name[name]
        attribute = self.own.functions[function.ref.name]
        body = effect_of(function, arguments)
        writer = self._statements(out, {"next state": "next_state"}, frozenset())
        if body is None:
            codes = [writer.expression(each) for each in arguments]
            out.statement("", pycode.method(pycode.Atom("self"), attribute, *codes), "")
            return
        self.marks.action = attribute
        writer.body(with_permissions(body, self.machine))
        self.marks.action = None


_TRANSITION_BUILTINS = frozenset({"curTransitionEvent", "curTransitionNextState"})


def _cell_name(cells: list[ir.Cell]) -> str:
    """Unique: every cell belongs to one transition. Authors' names never start like this."""
    return f"_on_{cells[0].state}_{cells[0].event}"


def _leaves(action: ir.Action) -> bool:
    """Whether the action ends in the middle, which must not end the transition."""
    for node in analysis.walk(action.body):
        match node:
            case ir.Return() | ir.Trigger() | ir.CheckOnCacheProbe():
                return True
            case ir.Peek() if node.block_on is not None:
                return True
            case _:
                pass
    return False
