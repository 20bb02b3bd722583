"""Where names are declared and used, and the outline of a file.

Invariant: places are spans of the texts that were compiled; the caller moves them to those of now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc.editor.snapshot import Snapshot
from slicc.resolve.scope.uses import Use
from slicc.source import BUILTIN, Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass


def definitions(snapshots: Iterable[Snapshot], path: str, offset: int) -> list[Span]:
    """Where the name at a place is declared, by all protocols that the file belongs to."""
    found = {}
    for snapshot in snapshots:
        use = snapshot.use_at(path, offset)
        if use is not None and use.target.file is not BUILTIN:
            target = use.target
            found[target.file.name, target.start] = target
    return list(found.values())


def references(snapshots: Iterable[Snapshot], path: str, offset: int) -> list[Use]:
    """All uses of the name at a place."""
    found: dict[tuple[str, int], Use] = {}
    for snapshot in snapshots:
        use = snapshot.use_at(path, offset)
        for each in () if use is None else snapshot.references(use.target):
            found[each.span.file.name, each.span.start] = each
    return [found[key] for key in sorted(found)]


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry of the outline. ``kind``: the word of the declaration."""

    name: str
    kind: str
    detail: str
    span: Span
    name_span: Span
    parts: tuple[Symbol, ...] = ()


def outline(declarations: Iterable[syntax.Declaration]) -> Iterator[Symbol]:
    """The declarations of one file, those of included files left out."""
    for node in declarations:
        match node:
            case syntax.Machine():
                yield _symbol(node.type.member, "machine", node, outline(node.body))
            case syntax.Action() | syntax.Function():
                kind = "action" if isinstance(node, syntax.Action) else "function"
                yield _symbol(node.name, kind, node)
            case syntax.InPort() | syntax.OutPort():
                yield _symbol(node.name, "port", node)
            case syntax.Structure():
                members = (
                    _symbol(each.name, "field", each)
                    for each in node.members
                    if isinstance(each, syntax.ObjectDeclaration)
                )
                yield _symbol(node.type, "structure", node, members)
            case syntax.Enumeration() | syntax.StateDeclaration():
                values = (_symbol(each.name, "member", each) for each in node.members)
                yield _symbol(node.type, "enumeration", node, values)
            case syntax.ObjectDeclaration():
                yield _symbol(node.name, "object", node)
            case syntax.Transition():
                yield _transition(node)
            case _:
                pass


def _symbol(
    name: syntax.Name | syntax.TypeName,
    kind: str,
    node: syntax.Node,
    parts: Iterable[Symbol] = (),
) -> Symbol:
    pairs = getattr(node, "pairs", None)
    detail = (pairs.get("desc") or "") if isinstance(pairs, syntax.Pairs) else ""
    return Symbol(name.text or "?", kind, detail, node.span, name.span, tuple(parts))


def _transition(node: syntax.Transition) -> Symbol:
    states, events = (
        ", ".join(name.text for name in names.names) for names in (node.states, node.events)
    )
    following = f" → {node.next_state.text}" if node.next_state is not None else ""
    name_span = node.states.span.to(node.events.span)
    return Symbol(f"{states} on {events}{following}", "transition", "", node.span, name_span)
