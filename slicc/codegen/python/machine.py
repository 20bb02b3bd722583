"""One machine as a controller class: the pieces that its template lays out.

Invariant: everything that has an order in the protocol (parameters, objects, ports, actions, cells)
appears in that order.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.python.definitions import Definitions, write_function
from slicc.codegen.python.emit import line_breaks, python_tree
from slicc.codegen.python.emit.emitter import Emitter
from slicc.codegen.python.emit.expressions import Expressions, Scope
from slicc.codegen.python.emit.python_tree import Code
from slicc.codegen.python.emit.statements import Statements
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.line_map import Marks, file_name
from slicc.codegen.python.names import MachineNames, ProtocolNames, local_names
from slicc.codegen.python.runtime_names import NAMED_CLASSES
from slicc.text import python_source
from slicc.text.escapes import visible
from slicc.text.lazy_dataclass import dataclass

_SHAPES = {
    (True, True): "EntryTbeController",
    (True, False): "EntryController",
    (False, True): "TbeController",
    (False, False): "PlainController",
}


@dataclass(frozen=True, slots=True)
class ControllerView:
    """What the template of a machine prints; every text is final and indented."""

    module: str
    docstring: str
    imports: str
    definitions: tuple[str, ...]
    name: str
    base: str
    title: str
    machine: str
    machine_type: str
    request_types: str | None
    states: str
    events: str
    permissions: tuple[str, ...]
    parameters: str
    construction: tuple[str, ...]
    in_ports: str
    resources_only_caches: bool
    methods: tuple[str, ...]
    rows: tuple[str, ...]


class ControllerWriter:
    """Prepares the view of one machine."""

    def __init__(self, names: ProtocolNames, machine: ir.Machine, marks: Marks) -> None:
        self.names = names
        self.machine = machine
        self.marks = marks
        self.imports = Imports()
        self.own = MachineNames(machine, names.for_locals)
        self.scope = Scope(names, self.imports, self.own, machine.name)
        self.expression = Expressions(self.scope)
        self.file = file_name(machine.span)

    def view(self, protocol: str) -> ControllerView:
        machine, imports = self.machine, self.imports
        runtime = imports.runtime
        runtime("ControllerContext")
        runtime("TransitionTable")
        if machine.cells:
            runtime("Transition")
        if machine.actions:
            runtime("Transaction")
        if machine.parameters:
            runtime("Parameter")
            runtime("BufferParameter")
        runtime("MachineType")
        if machine.in_ports:
            runtime("InPort")
        imports.add("typing", "ClassVar")
        definitions = Definitions(self.names, imports, self.marks, machine.name)
        enums = [machine.states, machine.events, *machine.enums]
        if machine.request_types is not None and machine.request_types not in enums:
            enums.insert(2, machine.request_types)
        own_enums = [each for each in enums if each.ref in self.names.defined]
        own_structs = [each for each in machine.structs if each.ref in self.names.defined]
        request_types = machine.request_types
        text = (
            f"Controller {machine.name} of protocol {protocol}, compiled from {visible(self.file)}."
        )
        return ControllerView(
            module=self.names.modules[machine.name],
            docstring="\n".join(python_source.docstring(text, 0)),
            definitions=(
                *[definitions.enumeration(each) for each in dict.fromkeys(own_enums)],
                *[definitions.structure(each) for each in own_structs],
            ),
            name=self.names.controllers[machine.name],
            base=runtime(_SHAPES[machine.entry is not None, machine.tbe is not None]),
            title="\n".join(
                python_source.docstring(machine.title or machine.name, line_breaks.INDENT)
            ),
            machine=python_source.string_literal(machine.name),
            machine_type=f"MachineType.{machine.machine_type or machine.name}",
            states=self.names.type(machine.states.ref),
            events=self.names.type(machine.events.ref),
            request_types=None if request_types is None else self.names.type(request_types.ref),
            permissions=tuple(self._permission(each) for each in machine.states.members),
            parameters=self._parameters(),
            construction=tuple(self._construction()),
            in_ports=self._in_ports(),
            resources_only_caches=body_analysis.resources_only_caches(machine),
            methods=tuple(self._methods()),
            rows=tuple(self._rows()),
            imports=imports.text(),
        )

    # -------------------------------------------------------------- declarations

    def _listing(self, indent: int, before: str, items: list[Code], after: str) -> str:
        """A tuple with a line for each item; only a single item may stand on the line itself."""
        out = Emitter(self.marks, indent)
        if len(items) < 2:
            out.statement(before, python_tree.tuple_of(tuple(items)), after)
            return out.text()
        out.line(f"{before}(")
        with out.indented():
            for item in items:
                out.statement("", item, ",")
        out.line(f"){after}")
        return out.text()

    def _permission(self, state: ir.EnumMember) -> str:
        permission = state.permission or ir.AccessPermission.NOT_PRESENT
        owner = self.imports.runtime("AccessPermission")
        return f"        {owner}.{permission.value},  # {state.name}"

    def _parameters(self) -> str:
        items = [self._parameter(each) for each in self.machine.parameters]
        if not items:
            return ""
        before = "PARAMETERS: ClassVar[tuple[Parameter | BufferParameter, ...]] = "
        return self._listing(line_breaks.INDENT, before, items, "")

    def _parameter(self, parameter: ir.MachineParameter) -> Code:
        arguments = [Code(python_source.string_literal(parameter.name))]
        type_ = parameter.type
        if isinstance(type_, ir.ClassType) and type_.name == "MessageBuffer":
            kind = "BufferParameter"
            if parameter.network is not None:
                link = parameter.network
                arguments.append(_keyword("direction", f'"{link.direction.value}"'))
                if link.virtual_network is not None:
                    arguments.append(_keyword("virtual_network", str(link.virtual_network)))
                if link.vnet_type is not None:
                    arguments.append(
                        _keyword("vnet_type", python_source.string_literal(link.vnet_type))
                    )
            if parameter.ordered_hint is not None:
                arguments.append(_keyword("ordered_hint", str(parameter.ordered_hint)))
        else:
            kind = "Parameter"
            arguments.append(Code(python_source.string_literal(_spelled(type_))))
            if parameter.default is not None:
                default = self.expression(parameter.default)
                arguments.append(_keyword("default", default.text))
            if parameter.pointer:
                arguments.append(_keyword("pointer", "True"))
        if parameter.desc:
            arguments.append(_keyword("desc", python_source.string_literal(parameter.desc)))
        return python_tree.call(Code(kind), *arguments)

    def _construction(self) -> list[str]:
        """Statements of ``__init__`` up to the binding of ports."""
        machine = self.machine
        out = Emitter(self.marks, 8)
        entries = body_analysis.entry_types(machine)
        for parameter in machine.parameters:
            name = self.own.objects[parameter.name]
            kind = self._built_type(parameter)
            held = entries.get(parameter.name, machine.entry)
            annotation = self.scope.annotation(parameter.type, held)
            if kind == "NetworkPort":
                annotation = self.imports.runtime(kind)
            literal = Code(python_source.string_literal(parameter.name))
            code = python_tree.method(Code("context"), "parameter", literal, Code(kind))
            out.statement(f"self.{name}: {annotation} = ", code, "", parameter.span)
        for each in machine.objects:
            name = self.own.objects[each.name]
            annotation = self.scope.annotation(each.type, entries.get(each.name, machine.entry))
            out.statement(f"self.{name}: {annotation} = ", self._object(each), "", each.span)
        backed = [(each.ref.name, each.buffer, each.span) for each in machine.in_ports]
        backed += [(each.ref.name, each.buffer, each.span) for each in machine.out_ports]
        for port, buffer, span in backed:
            source = Code(f"self.{self.own.object(buffer)}")
            out.statement(f"self.{self.own.ports[port]} = ", source, "", span)
        return out.lines

    def _built_type(self, parameter: ir.MachineParameter) -> str:
        """What the system passes: the class, without an element type."""
        if parameter.network is not None and parameter.network.direction is ir.NetworkDirection.TO:
            return self.imports.runtime("NetworkPort")
        annotation = self.scope.annotation(parameter.type).partition("[")[0]
        return "object" if annotation == "Any" else annotation

    def _object(self, node: ir.Object) -> Code:
        if node.initial is not None:
            return self.expression(node.initial)
        assert isinstance(node.type, ir.ClassType), "an object without a value is of a class"
        arguments = [self.expression(each) for each in node.arguments]
        if isinstance(node.type.element, ir.PointerType | ir.StructType):
            arguments.insert(0, Code(self.scope.type_name(node.type.element.ref)))
        if node.type.name == "MN_TBETable":
            # Its records are the machine's, and the choice among them depends on their states.
            assert self.machine.tbe is not None, "a table of records in a machine without any"
            states = self.scope.type_name(self.machine.states.ref)
            arguments[:0] = [Code(self.scope.type_name(self.machine.tbe)), Code(states)]
        if node.type.name in NAMED_CLASSES:
            arguments.append(Code(python_source.string_literal(node.name)))
        return python_tree.call(Code(self.imports.runtime(node.type.name)), *arguments)

    def _in_ports(self) -> str:
        return self._listing(12, "ports=", [self._in_port(p) for p in self.machine.in_ports], ",")

    def _in_port(self, port: ir.InPort) -> Code:
        name = self.own.ports[port.ref.name]
        arguments = [
            Code(python_source.string_literal(port.ref.name)),
            Code(f"self.{name}"),
            Code(f"self.{self.own.polls[port.ref.name]}"),
            _keyword("rank", str(port.rank)),
        ]
        if port.guarded:
            arguments.append(_keyword("guarded", "True"))
        for kind, handler in (
            ("resource", port.resource_stall_handler),
            ("protocol", port.protocol_stall_handler),
        ):
            if handler is not None:
                function = f"self.{self.own.functions[handler.name]}"
                arguments.append(_keyword(f"{kind}_stall_handler", function))
        return python_tree.call(Code("InPort"), *arguments)

    # -------------------------------------------------------------- methods

    def _methods(self) -> list[str]:
        machine = self.machine
        functions = [each for each in machine.functions if each.ref.owner is None]
        return [
            *[self._function(each) for each in functions],
            *[self._poll(each) for each in machine.in_ports],
            *[self._action(each) for each in machine.actions],
        ]

    def _function(self, function: ir.Function) -> str:
        out = Emitter(self.marks, line_breaks.INDENT)
        write_function(out, self.scope, function, self.own.functions[function.ref.name])
        return out.text()

    def _poll(self, port: ir.InPort) -> str:
        out = Emitter(self.marks, line_breaks.INDENT)
        result = self.imports.runtime("PollResult")
        out.line(f"def {self.own.polls[port.ref.name]}(self) -> {result}:", port.span)
        with out.indented():
            out.docstring(port.desc)
            self._body(out, port.body)
            out.line("return False")
        return out.text()

    def _action(self, action: ir.Action) -> str:
        out = Emitter(self.marks, line_breaks.INDENT)
        header = python_tree.call(
            Code(self.own.actions[action.ref.name]), Code("self"), Code("t: Transaction")
        )
        out.statement("def ", header, " -> None:", action.span)
        with out.indented():
            out.docstring(action.desc)
            self._body(out, action.body)
        return out.text()

    def _body(self, out: Emitter, body: tuple[ir.Stmt, ...]) -> None:
        variables = body_analysis.local_variables(body)
        names = local_names(self.names, (), variables)
        scope = replace(self.scope, locals=names)
        Statements(scope, out, variables.read).body(body)

    # -------------------------------------------------------------- table

    def _rows(self) -> list[str]:
        states, events = (
            self.names.type(self.machine.states.ref),
            self.names.type(self.machine.events.ref),
        )
        bodies = [self._transition(each) for each in self.machine.transitions]
        rows = []
        for cell in self.machine.cells:
            transition = self.machine.transitions[cell.transition]
            state = self.names.member(self.machine.states.ref, cell.state)
            event = self.names.member(self.machine.events.ref, cell.event)
            out = Emitter(self.marks, 8)
            before = f"({states}.{state}, {events}.{event}): "
            place = file_name(transition.span)
            place = f"{'' if place == self.file else place}:{transition.span.line}"
            out.statement(
                before, bodies[cell.transition], f",  # {visible(place)}", transition.span
            )
            rows.append(out.text())
        return rows

    def _transition(self, node: ir.Transition) -> Code:
        states = self.machine.states.ref
        match node.next.kind:
            case ir.NextKind.STAY:
                following = python_tree.NONE
            case ir.NextKind.COMPUTED:
                following = Code(self.imports.runtime("COMPUTED"))
            case ir.NextKind.STATE:
                assert node.next.state is not None
                following = self.expression.member(states, node.next.state)
        actions = tuple(Code(self.own.actions[each.name]) for each in node.actions)
        arguments = [following, python_tree.tuple_of(actions)]
        if node.needs:
            need = Code(self.imports.runtime("Need"))
            needs = [
                python_tree.call(
                    need,
                    Code(python_source.string_literal(self.own.slot_target(each.target))),
                    Code(str(each.count)),
                )
                for each in node.needs
            ]
            arguments.append(python_tree.keyword("needs", python_tree.tuple_of(tuple(needs))))
        if node.request_types and self.machine.request_types is not None:
            owner = self.machine.request_types.ref
            requests = tuple(self.expression.member(owner, each) for each in node.request_types)
            arguments.append(python_tree.keyword("requests", python_tree.tuple_of(requests)))
        if node.stalls:
            arguments.append(_keyword("stalls", "True"))
        return python_tree.call(Code("Transition"), *arguments)


def _keyword(name: str, value: str) -> Code:
    return python_tree.keyword(name, Code(value))


def _spelled(type_: ir.Type) -> str:
    """The author's name of a parameter's type."""
    match type_:
        case ir.ScalarType():
            return type_.kind.spelling
        case ir.ClassType():
            return type_.name
        case ir.EnumType() | ir.StructType() | ir.PointerType():
            return type_.ref.name
        case _:
            return "void"
