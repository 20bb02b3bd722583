"""Readable text of the IR, for goldens and ``slicc ir``.

Close to SLICC, but nothing is implicit: copying, casts, fresh fields, slot needs and the kind of
every name are written out. Invariant: equal IR gives equal text; positions are not printed.
"""

from __future__ import annotations

from slicc import ir
from slicc.ir.expression_printer import expression, statements, type_text
from slicc.text.escapes import quoted

__all__ = ["print_machine", "print_protocol"]


def print_protocol(protocol: ir.Protocol) -> str:
    """The whole protocol. Library types are only listed by name."""
    lines = [f"protocol {protocol.name}"]
    library = [e.ref.name for e in protocol.enums if e.library]
    library += [s.ref.name for s in protocol.structs if s.library]
    if library:
        lines.append(f"library {', '.join(library)}")
    for enum in protocol.enums:
        if not enum.library:
            lines += ["", *enumeration_lines(enum, "")]
    for struct in protocol.structs:
        if not struct.library:
            lines += ["", *structure_lines(struct, "")]
    for machine in protocol.machines:
        lines += ["", *_machine(machine)]
    return "\n".join(lines) + "\n"


def print_machine(machine: ir.Machine) -> str:
    """One machine."""
    return "\n".join(_machine(machine)) + "\n"


def enumeration_lines(enum: ir.Enum_, indent: str) -> list[str]:
    """An enumeration."""
    members = [
        m.name if m.permission is None else f"{m.name} ({m.permission.value})" for m in enum.members
    ]
    return [f"{indent}enum {enum.ref.name} default {enum.default}: {', '.join(members)}"]


def structure_lines(struct: ir.Struct, indent: str) -> list[str]:
    """A structure with its methods."""
    lines = [f"{indent}{struct.kind.value} {struct.ref.name}"]
    for field in struct.fields:
        default = expression(field.default)
        lines.append(f"{indent}  {type_text(field.type)} {field.name} = {default}")
    for method in struct.methods:
        lines += function_lines(method, indent + "  ")
    return lines


def function_lines(function: ir.Function, indent: str) -> list[str]:
    """A function."""
    parameters = ", ".join(
        f"{type_text(p.type)} {'&' if p.by_reference else ''}{p.name}" for p in function.parameters
    )
    result = type_text(function.result) + ("&" if function.by_reference else "")
    head = f"{indent}function {result} {function.ref.name}({parameters})"
    return [head, *statements(function.body, indent + "  ")]


def _needs(needs: tuple[ir.SlotNeed, ...]) -> str:
    return "" if not needs else " needs " + ", ".join(f"{n.target}*{n.count}" for n in needs)


def parameter_lines(parameter: ir.MachineParameter) -> list[str]:
    """A parameter of a machine."""
    text = f"  parameter {type_text(parameter.type)}{'*' if parameter.pointer else ''} "
    text += parameter.name
    link = parameter.network
    if link is not None:
        text += f" {link.direction.value.lower()} network"
        if link.virtual_network is not None:
            text += f" {link.virtual_network} ({link.vnet_type})"
    if parameter.default is not None:
        text += f" = {expression(parameter.default)}"
    return [text]


def object_lines(found: ir.Object) -> list[str]:
    """An object of a machine."""
    text = f"  object {type_text(found.type)} {found.name}"
    if found.initial is not None:
        return [f"{text} = {expression(found.initial)}"]
    return [f"{text}({', '.join(expression(a) for a in found.arguments)})"]


def in_port_lines(port: ir.InPort) -> list[str]:
    """An in-port."""
    text = f"  in_port {port.ref.name}: {type_text(port.message)} from {port.buffer}"
    text += f" rank {port.rank}{' guarded' if port.guarded else ''}"
    for word, handler in (
        ("resource", port.resource_stall_handler),
        ("protocol", port.protocol_stall_handler),
    ):
        if handler is not None:
            text += f" on {word} stall {handler.name}()"
    return [text, *statements(port.body, "    ")]


def out_port_lines(port: ir.OutPort) -> list[str]:
    """An out-port."""
    return [f"  out_port {port.ref.name}: {port.message.name} to {port.buffer}"]


def action_lines(action: ir.Action) -> list[str]:
    """An action."""
    head = f'  action {action.ref.name} "{action.short}"{_needs(action.needs)}'
    return [head, *statements(action.body, "    ")]


def _transition(number: int, transition: ir.Transition) -> list[str]:
    next_state = {
        ir.NextKind.STAY: "",
        ir.NextKind.STATE: f" -> {transition.next.state}",
        ir.NextKind.COMPUTED: " -> *",
    }[transition.next.kind]
    head = f"  transition {number}: {{{', '.join(transition.states)}}} "
    head += f"{{{', '.join(transition.events)}}}{next_state}"
    if transition.request_types:
        head += f" requests {', '.join(transition.request_types)}"
    head += _needs(transition.needs) + (" stalls" if transition.stalls else "")
    return [head, f"    {'; '.join(action.name for action in transition.actions) or '(nothing)'}"]


def _machine(machine: ir.Machine) -> list[str]:
    implicit = [
        f"{word} {ref.name}"
        for word, ref in (("tbe", machine.tbe), ("entry", machine.entry))
        if ref is not None
    ]
    lines = [
        f"machine {machine.name} {quoted(machine.title)} {', '.join(implicit) or 'no tbe or entry'}"
    ]
    for parameter in machine.parameters:
        lines += parameter_lines(parameter)
    enums = [machine.states, machine.events, *machine.enums]
    if machine.request_types is not None:
        enums.insert(2, machine.request_types)
    for enum in enums:
        lines += enumeration_lines(enum, "  ")
    for struct in machine.structs:
        lines += structure_lines(struct, "  ")
    for found in machine.objects:
        lines += object_lines(found)
    for function in machine.functions:
        lines += function_lines(function, "  ")
    for out_port in machine.out_ports:
        lines += out_port_lines(out_port)
    for in_port in machine.in_ports:
        lines += in_port_lines(in_port)
    for action in machine.actions:
        lines += action_lines(action)
    for number, transition in enumerate(machine.transitions):
        lines += _transition(number, transition)
    cells = " ".join(f"{c.state}/{c.event}={c.transition}" for c in machine.cells)
    lines.append(f"  cells {cells}")
    return lines
