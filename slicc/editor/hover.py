"""What a name is: its declaration, its description, its type; of events who sends them.

Invariant: the text is Markdown in which nothing of the protocol is mark-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.editor.senders import Senders
from slicc.editor.snapshot import Snapshot
from slicc.ir import type_rules
from slicc.resolve.scope.uses import NameKind, Use
from slicc.source import BUILTIN, Span
from slicc.text.markup import markdown_block, markdown_text

_ROWS = 40
_SENDERS = 12
_DECLARATION = 6
"""Lines of a declaration that are shown."""


def hover(snapshot: Snapshot, use: Use) -> str:
    """The text for a name."""
    parts = [_declaration(use)]
    desc = _description(snapshot, use.target)
    if desc:
        parts.append(markdown_text(desc))
    if use.type is not None and use.kind not in (NameKind.TYPE, NameKind.MEMBER):
        described = markdown_text(type_rules.describe(use.type))
        if not isinstance(use.type, ir.UnknownType):
            parts.append(f"{use.kind.value} of type {described}")
    machine = _machine_of(snapshot, use)
    if machine is not None and isinstance(use.type, ir.EnumType):
        name = use.span.text
        if use.type.ref == machine.states.ref:
            parts += _row(machine, name)
        elif use.type.ref == machine.events.ref and snapshot.senders is not None:
            parts += _senders(snapshot.senders, machine.name, name)
    return "\n\n".join(parts)


def _declaration(use: Use) -> str:
    target = use.target
    if target.file is BUILTIN or target.file.name.startswith("<"):
        return f"{use.kind.value} {markdown_text(use.span.text)} of the library"
    return markdown_block(declaration_text(target), "slicc")


def declaration_text(target: Span) -> str:
    """The text from the line of a declaration to the end of its head."""
    source = target.file
    start = source.line_bounds(target.line)[0]
    lines = source.text[start : start + 2000].split("\n")[:_DECLARATION]
    text = "\n".join(lines)
    behind = target.end - start
    ends = [end for end in (text.find(";", behind), text.find("{", behind)) if end >= 0]
    return text[: min(ends)].strip() if ends else lines[0].strip()


def _description(snapshot: Snapshot, target: Span) -> str:
    protocol = snapshot.protocol
    if protocol is None:
        return ""
    for node, desc in _described(protocol):
        if node.span.start == target.start and node.span.file.name == target.file.name:
            return desc
    return ""


def _described(protocol: ir.Protocol) -> Iterator[tuple[ir.Node, str]]:
    scopes: tuple[ir.Protocol | ir.Machine, ...] = (protocol, *protocol.machines)
    for scope in scopes:
        own = (scope.states, scope.events) if isinstance(scope, ir.Machine) else ()
        for enum in (*scope.enums, *own):
            yield enum, enum.desc
            yield from ((member, member.desc) for member in enum.members)
        for struct in scope.structs:
            yield struct, struct.desc
            yield from ((each, each.desc) for each in struct.fields)
    for machine in protocol.machines:
        for parts in (
            *(machine.actions, machine.functions, machine.in_ports, machine.out_ports),
            *(machine.parameters, machine.objects),
        ):
            yield from ((part, part.desc) for part in parts)


def _machine_of(snapshot: Snapshot, use: Use) -> ir.Machine | None:
    if isinstance(use.type, ir.EnumType) and use.kind is NameKind.MEMBER:
        return snapshot.machine(use.type.ref.machine)
    return None


def _row(machine: ir.Machine, state: str) -> Iterator[str]:
    """The transitions of a state as a table."""
    rows = [
        (cell.event, machine.transitions[cell.transition])
        for cell in machine.cells
        if cell.state == state
    ]
    if not rows:
        yield "no transition leaves this state"
        return
    lines = ["| event | next | actions |", "| --- | --- | --- |"]
    for event, transition in rows[:_ROWS]:
        actions = ", ".join(f"`{action.name}`" for action in transition.actions)
        lines.append(f"| `{event}` | {_next(transition)} | {actions} |")
    yield "\n".join(lines)
    if len(rows) > _ROWS:
        yield f"and {len(rows) - _ROWS} more"


def _next(transition: ir.Transition) -> str:
    if transition.next.kind is ir.NextKind.COMPUTED:
        return "computed"
    return "" if transition.next.state is None else f"`{transition.next.state}`"


def _senders(protocol: Senders, machine: str, event: str) -> Iterator[str]:
    lines = []
    for cause in protocol.causes(machine, event):
        types = ", ".join(f"`{each}`" for each in cause.types) or "any message"
        lines.append(f"triggered by `{cause.port.ref.name}` for {types}")
        found = list(protocol.senders(machine, cause))
        for sender in found[:_SENDERS]:
            what = f"`{sender.action}` of {sender.machine}" if sender.action else sender.machine
            sent = f": {', '.join(f'`{each}`' for each in sender.types)}" if sender.types else ""
            lines.append(f"- sent by {what}{sent}")
        if len(found) > _SENDERS:
            lines.append(f"- and {len(found) - _SENDERS} more")
    yield "\n".join(lines) or "no port triggers this event"
