"""One machine as C++: the pieces that its template lays out.

Invariant: everything that has an order in the protocol (parameters, objects, ports, actions, cells)
appears in that order; the steps of a transition have the order given in docs/semantics.md.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp import reachable_functions
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.definitions import holds_lists
from slicc.codegen.cpp.emit.emitter import Emitter
from slicc.codegen.cpp.emit.expressions import Expressions
from slicc.codegen.cpp.emit.scope import MachineFacts, Scope
from slicc.codegen.cpp.emit.statements import Statements
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.names import MachineNames, ProtocolNames
from slicc.codegen.cpp.runtime_names import (
    ALIASES,
    CREATED_OBJECTS,
    OBJECT_CLASSES,
    PORT_CLASSES,
    REQUESTERS,
    TRACKING,
)
from slicc.codegen.cpp.source_sites import Sites
from slicc.codegen.cpp.transition_switch import TableParts, Transitions
from slicc.codegen.cpp.types import Types
from slicc.codegen.python.line_map import file_name
from slicc.codegen.python.names import MachineNames as ReportedNames
from slicc.codegen.python.names import ProtocolNames as ReportedProtocol
from slicc.text import cpp_source
from slicc.text.lazy_dataclass import dataclass

_MAX_PORTS = 64
_MAX_WAIT_BITS = 128
_KNOWN_OBJECTS = frozenset(OBJECT_CLASSES)


@dataclass(frozen=True, slots=True)
class MachineView:
    """What the template of a machine prints; every text is final."""

    name: str
    number: int
    file: str
    protocol: str
    transaction: tuple[str, ...]
    prototypes: tuple[str, ...]
    functions: tuple[str, ...]
    actions: tuple[str, ...]
    transitions: tuple[str, ...]
    ports: tuple[str, ...]
    start: str
    wakeup: str
    latency: str
    prefetch: str
    mark: str
    mutants: str = ""


class MachineWriter:
    """Prepares the view of one machine."""

    def __init__(
        self,
        names: ProtocolNames,
        reported: ReportedProtocol,
        sites: Sites,
        protocol: ir.Protocol,
        machine: ir.Machine,
    ) -> None:
        structs = (*protocol.structs, *machine.structs)
        self.protocol = protocol
        self.machine = machine
        self.names = names
        self.sites = sites
        self.types = Types(names)
        self.own = MachineNames(machine, names, structs)
        self.reported = ReportedNames(machine, reported.for_locals)
        self.functions = reachable_functions.functions_of(machine, structs)
        self.actions = reachable_functions.actions_of(machine)
        buffers = {port.ref: port.buffer for port in machine.in_ports}
        buffers |= {port.ref: port.buffer for port in machine.out_ports}
        self.facts = MachineFacts(
            self.own,
            machine,
            buffers,
            self._classes(),
            frozenset(each.name for each in machine.parameters if is_sender(each)),
            _optional(machine),
        )
        self.scope = Scope(names, self.types, sites, self.facts)
        self.waiting = self._waiting()
        self.numbers: dict[ir.FunctionRef | ir.ActionRef, int] = {}
        """Functions that may fail, with their numbers as actions of reports."""
        self._check_ports()

    @property
    def parts(self) -> TableParts:
        """What the writer of the table works on."""
        return TableParts(
            self.names, self.own, self.reported, self.facts, self.machine, self.numbers
        )

    @property
    def waits(self) -> bool:
        """Whether messages are ever stalled for a line."""
        bodies = [each.body for each in self.functions]
        bodies += [each.body for each in self.actions]
        return any(isinstance(node, ir.StallAndWait) for node in body_analysis.walk(tuple(bodies)))

    @property
    def tracks(self) -> bool:
        """Whether the machine tracks transactions in progress."""
        bodies = (self.machine.functions, self.machine.in_ports, self.machine.actions)
        return any(
            isinstance(node, ir.CallBuiltin) and node.name in TRACKING
            for node in body_analysis.walk(bodies)
        )

    @property
    def wait_bits(self) -> int:
        """Pairs of a rank and a buffer whose messages may be stalled."""
        ranks = {port.rank for port in self.machine.in_ports}
        return len(ranks) * len(self.waiting)

    def _waiting(self) -> frozenset[str]:
        """Buffers whose messages may be stalled for a line."""
        machine = self.machine
        bodies = (machine.functions, machine.in_ports, machine.actions)
        return frozenset(
            self.facts.buffers[node.port]
            for node in body_analysis.walk(bodies)
            if isinstance(node, ir.StallAndWait)
        )

    def _classes(self) -> dict[str, str]:
        """The class of every parameter and object that has one."""
        members: list[ir.MachineParameter | ir.Object] = list(self.machine.parameters)
        members += self.machine.objects
        classes = {each.name: _class_of(each.type) for each in members}
        return {name: ALIASES.get(kind, kind) for name, kind in classes.items()}

    @property
    def required(self) -> list[str]:
        """Objects that the machine uses without checking that the system has them."""
        return [
            each.name
            for each in self.machine.parameters
            if _class_of(each.type) in ("CacheMemory", "DirectoryMemory")
            and each.name not in self.facts.optional
        ]

    def _check_ports(self) -> None:
        for port in self.machine.in_ports:
            kind = self.facts.classes[port.buffer]
            if kind not in PORT_CLASSES:
                raise Unsupported(f"in-ports on a `{kind}`", port.span)
        count = len(self.machine.in_ports)
        if count > _MAX_PORTS:
            raise Unsupported(f"machines with {count} in-ports", self.machine.span)
        if self.wait_bits > _MAX_WAIT_BITS:
            what = f"machines with {len(self.waiting)} queues whose messages wait at {count} ports"
            raise Unsupported(what, self.machine.span)

    # -------------------------------------------------------------- the structure

    def structure(self) -> str:
        """The controller: parameters and objects."""
        out = Emitter()
        out.comment(self.machine.title)
        with out.block("struct Machine : Controller", tail="};"):
            members: list[ir.MachineParameter | ir.Object] = list(self.machine.parameters)
            members += self.machine.objects
            for each in members:
                type_ = self._member(each)
                if type_ is not None:
                    out.line(
                        f"{type_} {self.own.objects[each.name]};{cpp_source.beside(each.desc)}"
                    )
        return out.text()

    def _member(self, node: ir.MachineParameter | ir.Object) -> str | None:
        """The type of a parameter or object; None if this engine never reads it."""
        match node.type:
            case ir.ScalarType(kind=ir.ScalarKind.STRING):
                return None
            case ir.ClassType(value=False, name=name) if name not in _KNOWN_OBJECTS:
                return None
            case ir.PointerType():
                raise Unsupported("pointers that outlive a wake-up", node.span)
            case _:
                return self.types(node.type, node.span)

    # -------------------------------------------------------------- everything else

    def view(self) -> MachineView:
        functions = tuple(self.function(each) for each in self.functions)
        prototypes = tuple(f"{self._head(each)};" for each in self.functions)
        actions = tuple(self.action(each) for each in self.actions)
        for each in self.functions:
            if each.ref.owner is None:
                name = self.reported.functions[each.ref.name]
                self.numbers[each.ref] = self.sites.action(name)
        transitions = Transitions(self.parts)
        ports = tuple(self.poll(each) for each in self.machine.in_ports)
        return MachineView(
            name=self.names.machines[self.machine.name],
            number=self.protocol.machines.index(self.machine),
            file=cpp_source.in_comment(file_name(self.machine.span)),
            protocol=self.protocol.name,
            transaction=tuple(self._transaction()),
            prototypes=prototypes,
            functions=functions,
            actions=actions,
            transitions=tuple(transitions.texts()),
            ports=ports,
            start=self._start(),
            wakeup=self.wakeup(),
            latency=self._latency(),
            prefetch=self._prefetch(),
            mark=self._mark(),
        )

    def _transaction(self) -> list[str]:
        fields = ["u64 address;"]
        if self.machine.entry is not None:
            fields.append(f"{self.names.type(self.machine.entry)}* cache_entry;")
        if self.machine.tbe is not None:
            fields.append(f"{self.names.type(self.machine.tbe)}* tbe;")
        return fields

    # -------------------------------------------------------------- bodies

    def _head(self, function: ir.Function) -> str:
        """A function up to its body; parameters that are never read have no name."""
        names = self._locals(function)
        result = self.types(function.result, function.span)
        if function.by_reference:
            result += "&"
        parameters = ["Context& x", "Machine& c"]
        name = self.own.functions.get(function.ref.name, "")
        if function.ref.owner is not None:
            name = self.own.methods[function.ref]
            owner = ir.TypeRef(function.ref.machine, function.ref.owner)
            const = "" if _changes_itself(function) else "const "
            parameters = ["Context& x", f"{const}{self.names.type(owner)}& self"]
        for each in function.parameters:
            parameters.append(f"{self.types.parameter(each)} {names[each.name]}")
        return f"inline {result} {name}({', '.join(parameters)})"

    def _locals(self, function: ir.Function) -> dict[str, str]:
        variables = body_analysis.local_variables(function.body)
        return self.own.locals([each.name for each in function.parameters], variables)

    def function(self, function: ir.Function) -> str:
        out = Emitter()
        out.comment(function.desc)
        owner = None
        if function.ref.owner is not None:
            owner = ir.TypeRef(function.ref.machine, function.ref.owner)
        facts = None if owner is not None else self.facts
        scope = replace(
            self.scope, facts=facts, locals=self._locals(function), owner=owner, known=set()
        )
        leave = "return;"
        default = ""
        if not isinstance(function.result, ir.VoidType):
            expression = Expressions(scope)
            value = expression.default(function.result, function.span).text
            if function.by_reference:
                value = f"scratch<{self.types(function.result, function.span)}>(x)"
            leave = default = f"return {value};"
        top = len(out.lines)
        with out.block(self._head(function), function.span):
            body = Statements(scope, out, leave)
            body.body(function.body)
            if default and body_analysis.completes(function.body):
                out.line(default)
        if body.acts & Acts.PLACED:
            # Restores the caller's place when this function is left.
            head, separator, mark = out.lines[top].partition("\x1f")
            out.lines[top] = f"{head} const Place place(x);{separator}{mark}"
        self.facts.acts[function.ref] = body.acts
        return out.text()

    def action(self, action: ir.Action) -> str:
        out = Emitter()
        out.comment(action.desc)
        name = self.own.actions[action.ref.name]
        head = f"inline void {name}(Context& x, Machine& c, Transaction& t)"
        with out.block(head, action.span):
            body = self._body(out, action.body, self.reported.actions[action.ref.name], "return;")
        if body.acts & (Acts.FAILS | Acts.NULLS):
            number = self.sites.action(self.reported.actions[action.ref.name])
            self.numbers[action.ref] = number
        return out.text()

    def poll(self, port: ir.InPort) -> str:
        out = Emitter()
        out.comment(port.desc)
        name = self.own.polls[port.ref.name]
        body = port.body
        match body:
            case (ir.If(condition=ir.PortCall(), then=then, orelse=()),) if port.guarded:
                body = then
            case _:
                pass
        with out.block(f"inline Poll {name}(Context& x, Machine& c)", port.span):
            self._body(out, body, self.reported.polls[port.ref.name], "return POLL_RAN;")
            if body_analysis.completes(body):
                out.line("return POLL_NOTHING;")
        return out.text()

    def _body(self, out: Emitter, body: tuple[ir.Stmt, ...], action: str, leave: str) -> Statements:
        names = self.own.locals((), body_analysis.local_variables(body))
        scope = replace(self.scope, action=action, locals=names, known=set())
        writer = Statements(scope, out, leave)
        writer.body(body)
        return writer

    # -------------------------------------------------------------- construction and running

    def _start(self) -> str:
        out = Emitter()
        head = (
            "inline void start([[maybe_unused]] Context& x, Machine& c, "
            "[[maybe_unused]] const PlanWords& words)"
        )
        with out.block(head):
            if self.machine.parameters:
                out.line("const u64* parameters = words.list(PLAN_PARAMETERS);")
            for number, parameter in enumerate(self.machine.parameters):
                type_ = self._member(parameter)
                if type_ is not None:
                    value = self._given(parameter, type_, f"parameters[{number}]")
                    name = self.own.objects[parameter.name]
                    out.line(f"c.{name} = {value};", parameter.span)
                    if parameter.name in self.required:
                        out.line(f"required(x, c.{name});")
            if any("word" in _creation(each) for each in self.machine.objects):
                out.line("const u64* objects = words.list(PLAN_OBJECTS);")
            for number, each in enumerate(self.machine.objects):
                self._object(out, number, each)
            ranks = sorted({port.rank for port in self.machine.in_ports})
            for port in self.machine.in_ports:
                waits = port.buffer in self.waiting
                buffer = f"c.{self.own.objects[port.buffer]}" if waits else "NIL"
                out.line(f"controller_port(c, {buffer}, {ranks.index(port.rank)});", port.span)
        return out.text()

    def _given(self, parameter: ir.MachineParameter, type_: str, word: str) -> str:
        if _class_of(parameter.type) == "DirectoryMemory":
            made = f"DirectoryMemory_create(x, c.machine, c.machineID, {word} != 0)"
            return f"{word} == NONE ? NIL : {made}"
        if _class_of(parameter.type) == "RubyPrefetcher":
            return f"{word} == NONE ? NIL : RubyPrefetcher_create(x, c.id)"
        if type_ == "bool":
            return f"{word} != 0"
        return word if type_ == "u64" else f"static_cast<{type_}>({word})"

    def _object(self, out: Emitter, number: int, node: ir.Object) -> None:
        if self._member(node) is None:
            return
        name = self.own.objects[node.name]
        if node.initial is None:
            kind = _class_of(node.type)
            if kind == "MN_TBEStorage":
                expression = Expressions(self.scope)
                parts = ", ".join(expression(each).text for each in node.arguments)
                out.line(f"MN_TBEStorage_start(c.{name}, {parts});", node.span)
                return
            if not _creation(node):
                raise Unsupported(f"objects of class `{kind}`", node.span)
            kind = ALIASES.get(kind, kind)
            made = f"{kind}_create({_creation(node).format(word=f'objects[{number}]')})"
            out.line(f"c.{name} = {made};", node.span)
            return
        expression = Expressions(self.scope)
        expression.place = node.span
        value = expression(node.initial)
        if value.acts & Acts.PLACED:
            out.line(f"x.site = {expression.site()};")
        out.line(f"c.{name} = {value.text};", node.span)

    def wakeup(self) -> str:
        out = Emitter()
        with out.block("inline void wakeup(Context& x, Machine& c)"):
            out.line("u32 left = controller_begin(x, c);")
            out.line("u64 passes = 0;")
            with out.block("while (left && !troubled(x))"):
                for port in self.machine.in_ports:
                    self._poll_one(out, port)
                out.line("if (!controller_pass(x, c, passes)) break;")
            out.line("controller_end(x, c, left);")
        return out.text()

    def _poll_one(self, out: Emitter, port: ir.InPort) -> None:
        name = self.own.polls[port.ref.name]
        action = self.sites.action(self.reported.polls[port.ref.name])
        head = ""
        if port.guarded:
            kind = self.facts.classes[port.buffer]
            head = f"if ({kind}_isReady(x, c.{self.own.objects[port.buffer]}))"
        with out.block(head):
            out.line(f"controller_poll(x, c, Port::{name}, {action});")
            with out.block(f"if (const Poll polled = {name}(x, c))"):
                out.line("left -= polled == POLL_RAN;")
                out.line("continue;")

    def _latency(self) -> str:
        function = reachable_functions.by_name(self.machine, "mandatoryQueueLatency")
        if function is None or len(function.parameters) != 1:
            return "c.mandatory_queue_latency"
        return f"static_cast<u64>({self.own.functions[function.ref.name]}(x, c, kind))"

    def _prefetch(self) -> str:
        """The author's function for lines to be prefetched; empty if there is none."""
        function = reachable_functions.by_name(self.machine, reachable_functions.PREFETCH)
        if function is None or function not in self.functions or len(function.parameters) != 2:
            return ""
        return self.own.functions[function.ref.name]

    def _mark(self) -> str:
        out = Emitter()
        head = (
            "inline void mark([[maybe_unused]] Context& x, [[maybe_unused]] const Machine& c, "
            "[[maybe_unused]] Marker& marker)"
        )
        with out.block(head):
            for each in self.machine.objects:
                if holds_lists(each.type):
                    out.line(f"mark_value(x, marker, c.{self.own.objects[each.name]});")
        return out.text()


def is_sender(parameter: ir.MachineParameter) -> bool:
    """Whether the network serves the buffer."""
    link = parameter.network
    return (
        link is not None
        and link.direction is ir.NetworkDirection.TO
        and link.virtual_network is not None
    )


def _optional(machine: ir.Machine) -> frozenset[str]:
    """Objects that the author checks for before using them."""
    bodies = (machine.functions, machine.in_ports, machine.actions)
    found = set()
    for node in body_analysis.walk(bodies):
        match node:
            case ir.NullTest(operand=ir.MachineObject(name=name) as operand):
                if _class_of(operand.type) not in REQUESTERS:
                    found.add(name)
            case _:
                pass
    return frozenset(found)


def _class_of(type_: ir.Type) -> str:
    return type_.name if isinstance(type_, ir.ClassType) else ""


def _creation(node: ir.Object) -> str:
    """The arguments that create an object of the runtime; empty for values and unknown classes."""
    return CREATED_OBJECTS.get(_class_of(node.type), "")


def _changes_itself(function: ir.Function) -> bool:
    """Whether a method of a structure changes it."""
    for node in body_analysis.walk(function.body):
        match node:
            case ir.Assign(target=target):
                root: ir.Expr = target
            case ir.CallMethod(receiver=receiver, mutates=True):
                root = receiver
            case _:
                continue
        while isinstance(root, ir.FieldAccess):
            root = root.receiver
        if isinstance(root, ir.SelfField):
            return True
    return False
