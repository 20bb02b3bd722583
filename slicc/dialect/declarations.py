"""Moves or replaces declarations of older versions, as today's language has them.

    message buffers in the body of a machine         parameters
    a memory controller behind two ports             the two queues of memory, which repeats data
    queueMemoryRead(…) and the like                  messages to the request queue
    no functional accesses                           functions that hand them to memory
    states as an enumeration, no permissions         a state declaration, and functions for them
    virtual networks without a type                  networks of requests
    entries that a directory makes when asked        entries allocated when missing

Invariant: a machine without older declarations is returned unchanged, node for node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.older_dialect import note_dialect
from slicc.parser.parser import parse
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax

REQUEST_QUEUE, RESPONSE_QUEUE = "requestToMemory", "responseFromMemory"
_MEMORY_FUNCTIONS = {"queueMemoryRead", "queueMemoryWrite", "queueMemoryWritePartial"}


def modern_machine(
    node: syntax.Machine, body: list[syntax.Declaration], sink: DiagnosticSink
) -> tuple[syntax.Machine, list[syntax.Declaration]]:
    """The machine in today's language, and its declarations with included files in place."""
    machine = _Machine(node, body, sink)
    machine.move_buffers()
    machine.split_memory_controller()
    machine.send_to_memory()
    machine.hold_entries()
    if machine.older_header:
        machine.size_tables()
        machine.answer_functional_accesses()
        machine.type_networks()
        machine.permit_states()
        machine.allocate_entries()
    if machine.parameters == list(node.parameters):
        return node, machine.body
    return replace(node, parameters=tuple(machine.parameters)), machine.body


def is_older(node: syntax.Machine) -> bool:
    """Whether the machine has one of the older headers: its type was inserted, not written."""
    return node.type.type.span.start == node.type.type.span.end


@cache
def snippet(name: str) -> tuple[syntax.Declaration, ...]:
    """What a file of this package declares."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    sink = DiagnosticSink()
    unit = parse(SourceFile(name, text), sink)
    assert unit is not None, sink.diagnostics
    return unit.declarations


class _Machine:
    """The parameters and the body of one machine; each method moves or replaces one older form."""

    def __init__(
        self, node: syntax.Machine, body: list[syntax.Declaration], sink: DiagnosticSink
    ) -> None:
        self.parameters = list(node.parameters)
        self.body = body
        self.older_header = is_older(node)
        self._sink = sink

    def _note(self, what: str, span: Span, now: str) -> None:
        note_dialect(self._sink, what, span, now)

    # ------------------------------------------------------------ buffers

    def move_buffers(self) -> None:
        """``MessageBuffer b;`` of a body: today every buffer is connected from outside."""
        moved = [one for one in self.body if self._is_buffer(one)]
        if not moved:
            return
        self._note(
            "a message buffer in the body of a machine", moved[0].span, "a parameter of the machine"
        )
        removed = {id(one) for one in moved}
        self.body = [one for one in self.body if id(one) not in removed]
        for one in moved:
            assert isinstance(one, syntax.ObjectDeclaration)
            self.parameters.append(replace(one, pointer=True))

    def _is_buffer(self, one: syntax.Declaration) -> bool:
        return (
            isinstance(one, syntax.ObjectDeclaration)
            and one.type.text == "MessageBuffer"
            and (self.older_header or "network" in one.pairs)
        )

    # ------------------------------------------------------------ memory

    def split_memory_controller(self) -> None:
        """``MemoryControl * m`` behind an out-port and an in-port: memory's two queues."""
        controllers = {
            one.name.text: one for one in self.parameters if one.type.text == "MemoryControl"
        }
        if not controllers:
            return
        ports = [
            one
            for one in self.body
            if isinstance(one, syntax.InPort | syntax.OutPort) and one.buffer.text in controllers
        ]
        if not ports:
            return
        one = controllers[ports[0].buffer.text]
        self._note("a memory controller behind ports", one.span, "the two queues of memory")
        self.parameters = [other for other in self.parameters if other is not one]
        self._add_queue(REQUEST_QUEUE, one.name.span)
        self._add_queue(RESPONSE_QUEUE, one.name.span)
        self.body = [self._connect(other, one.name.text) for other in self.body]
        senders = {port.name.text for port in ports if isinstance(port, syntax.OutPort)}
        self.body = [_MemorySender(senders).declaration(other) for other in self.body]

    def _add_queue(self, name: str, span: Span) -> None:
        if any(one.name.text == name for one in self.parameters):
            return
        type_name = syntax.TypeName((syntax.Name("MessageBuffer", span=span),), span=span)
        pairs = syntax.Pairs((), span=Span(span.file, span.end, span.end))
        self.parameters.append(
            syntax.ObjectDeclaration(
                type_name, True, syntax.Name(name, span=span), pairs, None, span=span
            )
        )

    @staticmethod
    def _connect(one: syntax.Declaration, controller: str) -> syntax.Declaration:
        if isinstance(one, syntax.InPort | syntax.OutPort) and one.buffer.text == controller:
            queue = REQUEST_QUEUE if isinstance(one, syntax.OutPort) else RESPONSE_QUEUE
            return replace(one, buffer=syntax.Name(queue, span=one.buffer.span))
        return one

    def send_to_memory(self) -> None:
        """A machine with responses from memory but without a request queue calls memory."""
        queues = {one.name.text: one for one in self.parameters}
        if REQUEST_QUEUE in queues:
            return
        if RESPONSE_QUEUE not in queues:  # once a part of every controller
            for one in self.body:
                if isinstance(one, syntax.InPort) and one.buffer.text == RESPONSE_QUEUE:
                    self._add_queue(RESPONSE_QUEUE, one.buffer.span)
                    queues[RESPONSE_QUEUE] = self.parameters[-1]
                    break
            else:
                return
        prototypes = [
            one
            for one in self.body
            if isinstance(one, syntax.Function) and one.name.text in _MEMORY_FUNCTIONS
        ]
        called = {name for name in _MEMORY_FUNCTIONS if self._uses(name)}
        if not called or any(one.body is not None for one in prototypes):
            return
        at = queues[RESPONSE_QUEUE].name.span
        self._note("memory called by functions", at, f"messages to `{REQUEST_QUEUE}`")
        self._add_queue(REQUEST_QUEUE, at)
        removed = {id(one) for one in prototypes}
        if "queueMemoryWrite" in called:
            called.add("queueMemoryWritePartial")
        kept = [one for one in self.body if id(one) not in removed]
        self.body = [*self._wanted(called), *self._with_more_arguments(prototypes), *kept]

    def _uses(self, name: str) -> bool:
        texts = {one.span.file.name: one.span.file.text for one in self.body}
        return any(name in text for text in texts.values())

    @staticmethod
    def _wanted(names: set[str]) -> Iterable[syntax.Declaration]:
        for one in snippet("memory.sm"):
            if not isinstance(one, syntax.Function) or one.name.text in names:
                yield one

    def _with_more_arguments(
        self, prototypes: Sequence[syntax.Function]
    ) -> Iterable[syntax.Declaration]:
        """Forks name who asked, and for what, to a buffer before memory: reads have memory's data,
        as without that buffer."""
        functions = {
            one.name.text: one for one in snippet("memory.sm") if isinstance(one, syntax.Function)
        }
        made = set()
        for one in prototypes:
            ours = functions[one.name.text]
            more = one.parameters[len(ours.parameters) :]
            shape = (one.name.text, *(parameter.type.text for parameter in more))
            if not more or shape in made:
                continue
            made.add(shape)
            what = f"further arguments of `{one.name.text}`"
            self._note(what, one.name.span, "no arguments: they have no effect here")
            names = [
                syntax.Name(f"unused_{number}", span=each.span) for number, each in enumerate(more)
            ]
            unused = [replace(each, name=name) for each, name in zip(more, names)]
            yield replace(ours, parameters=(*ours.parameters, *unused))

    # ------------------------------------------------------------ tables and functions

    def hold_entries(self) -> None:
        """A structure kept in a ``PerfectCacheMemory`` is an entry, reached by pointer."""
        held = set()
        for one in (*self.parameters, *self.body):
            if isinstance(one, syntax.ObjectDeclaration) and one.type.text == "PerfectCacheMemory":
                pair = one.pairs.find_any("template", "template_hack")
                if pair is not None:
                    held.add(pair.value.strip("<> ").rpartition("_")[2])
        if not held:
            return
        for position, one in enumerate(self.body):
            if (
                isinstance(one, syntax.Structure)
                and one.type.text in held
                and not one.pairs.find_any("interface", "external")
            ):
                span = one.type.span
                self._note("a plain structure in a `PerfectCacheMemory`", span, "an entry")
                pairs = [("interface", "AbstractCacheEntry"), ("main", "false")]
                self.body[position] = replace(one, pairs=_with_pairs(one.pairs, pairs))

    def size_tables(self) -> None:
        for position, one in enumerate(self.body):
            if (
                isinstance(one, syntax.ObjectDeclaration)
                and one.type.text == "TBETable"
                and not one.pairs.find_any("constructor", "constructor_hack")
            ):
                pairs = _with_pairs(one.pairs, [("constructor", "m_number_of_TBEs")])
                self.body[position] = replace(one, pairs=pairs)

    def answer_functional_accesses(self) -> None:
        present = {one.name.text for one in self.body if isinstance(one, syntax.Function)}
        missing = [
            one
            for one in snippet("functional.sm")
            if isinstance(one, syntax.Function) and one.name.text not in present
        ]
        self.body = [*self.body, *missing]

    def type_networks(self) -> None:
        """A virtual network had no ``vnet_type`` until 2011; it only names a kind of traffic."""
        for position, one in enumerate(self.parameters):
            if "virtual_network" in one.pairs and "vnet_type" not in one.pairs:
                now = '`vnet_type="request"`'
                self._note("a virtual network without `vnet_type`", one.name.span, now)
                pairs = _with_pairs(one.pairs, [("vnet_type", "request")])
                self.parameters[position] = replace(one, pairs=pairs)

    def permit_states(self) -> None:
        """Permissions of lines belonged to entries alone until 2011, those of states to none."""
        for position, one in enumerate(self.body):
            if isinstance(one, syntax.Enumeration) and one.type.text == "State":
                now = "a `state_declaration`"
                self._note("states in a plain enumeration", one.type.span, now)
                self.body[position] = _state_declaration(one)
        functions = {one.name.text: one for one in self.body if isinstance(one, syntax.Function)}
        setter = functions.get("setState")
        if setter is None:
            return
        entries = {
            one.type.text
            for one in self.body
            if isinstance(one, syntax.Structure) and "interface" in one.pairs
        }
        for one in snippet("permissions.sm"):
            if not isinstance(one, syntax.Function) or one.name.text in functions:
                continue
            if one.name.text == "setAccessPermission":
                held = [p for p in setter.parameters if p.type.text in entries]
                one = replace(one, parameters=(*held, *one.parameters))
            self.body = [*self.body, one]

    def allocate_entries(self) -> None:
        """``return static_cast(E, directory[a]);``: until 2011 the directory had every entry."""
        directories = {
            one.name.text for one in self.parameters if one.type.text == "DirectoryMemory"
        }
        for position, one in enumerate(self.body):
            if not isinstance(one, syntax.Function) or one.body is None:
                continue
            match one.body.statements:
                case (syntax.Return(syntax.StaticCast(mode=None, operand=entry) as cast),):
                    pass
                case _:
                    continue
            match entry:
                case syntax.Index(syntax.Variable(name)) if name.text in directories:
                    now = "an entry that is allocated when it is missing"
                    self._note("an entry that the directory always has", one.name.span, now)
                    self.body[position] = replace(one, body=_allocated(one.body, cast, entry))
                case _:
                    pass


def _allocated(body: syntax.Block, cast: syntax.StaticCast, entry: syntax.Index) -> syntax.Block:
    """``if (is_invalid(directory[a])) { directory.allocate(a, new E); }`` before the return."""
    span = cast.span
    allocate = syntax.MethodCall(
        entry.receiver,
        syntax.Name("allocate", span=span),
        (*entry.arguments, syntax.New(cast.type, span=span)),
        span=span,
    )
    block = syntax.Block((syntax.ExpressionStatement(allocate, span=span),), span=span)
    missing = syntax.If(syntax.NullTest(False, entry, span=span), block, None, span=span)
    pointer = replace(cast, mode=syntax.StringLiteral("pointer", '"', span=span))
    return replace(body, statements=(missing, syntax.Return(pointer, span=span)))


def _state_declaration(states: syntax.Enumeration) -> syntax.StateDeclaration:
    """With a permission that says nothing."""
    return syntax.StateDeclaration(
        states.type,
        states.pairs,
        tuple(
            syntax.StateMember(
                one.name,
                syntax.EnumMember(
                    syntax.Name("AccessPermission", span=one.name.span),
                    syntax.Name("Maybe_Stale", span=one.name.span),
                    span=one.name.span,
                ),
                one.pairs,
                span=one.span,
            )
            for one in states.members
        ),
        span=states.span,
    )


def _with_pairs(pairs: syntax.Pairs, more: Sequence[tuple[str, str]]) -> syntax.Pairs:
    at = pairs.span
    added = tuple(
        syntax.Pair(syntax.Name(key, span=at), value, "string", value_span=at, span=at)
        for key, value in more
    )
    return syntax.Pairs((*pairs.items, *added), span=at)


class _MemorySender:
    """Enqueues to memory: fields that are returned with the answer had other names, and data is
    among them, because a memory controller knew times, and the directory's entries the bytes."""

    def __init__(self, ports: set[str]) -> None:
        self._ports = ports

    def declaration(self, one: syntax.Declaration) -> syntax.Declaration:
        if isinstance(one, syntax.Action):
            return replace(one, body=self._block(one.body))
        if isinstance(one, syntax.Function) and one.body is not None:
            return replace(one, body=self._block(one.body))
        return one

    def _block(self, block: syntax.Block) -> syntax.Block:
        return replace(block, statements=tuple(map(self._statement, block.statements)))

    def _statement(self, one: syntax.Statement) -> syntax.Statement:
        if isinstance(one, syntax.Peek):
            return replace(one, body=self._block(one.body))
        if isinstance(one, syntax.If):
            orelse = one.orelse
            if isinstance(orelse, syntax.Block):
                orelse = self._block(orelse)
            elif orelse is not None:
                changed = self._statement(orelse)
                assert isinstance(changed, syntax.If)
                orelse = changed
            return replace(one, then=self._block(one.then), orelse=orelse)
        if isinstance(one, syntax.Enqueue) and one.port.text in self._ports:
            return replace(one, body=_echoed(_answered(one.body)))
        return one


def _answered(block: syntax.Block) -> syntax.Block:
    """``OriginalRequestorMachId`` of a request is its ``Sender`` today; the answer has both."""
    fields = [_assigned_field(one) for one in block.statements]
    if "OriginalRequestorMachId" not in fields:
        return block
    kept: list[syntax.Statement] = []
    for one, name in zip(block.statements, fields):
        if name == "OriginalRequestorMachId":
            assert isinstance(one, syntax.Assign) and isinstance(one.target, syntax.FieldAccess)
            field = replace(one.target.field, text="Sender")
            one = replace(one, target=replace(one.target, field=field))
        if name != "Sender":
            kept.append(one)
    return replace(block, statements=tuple(kept))


def _echoed(block: syntax.Block) -> syntax.Block:
    """``out_msg.Echoed := true;`` at the end."""
    at = Span(block.span.file, block.span.end, block.span.end)
    message = syntax.Variable(syntax.Name("out_msg", span=at), span=at)
    field = syntax.FieldAccess(message, syntax.Name("Echoed", span=at), span=at)
    one = syntax.Assign(field, syntax.BoolLiteral(True, span=at), span=at)
    return replace(block, statements=(*block.statements, one))


def _assigned_field(one: syntax.Statement) -> str:
    """The field of ``out_msg`` that a statement sets, or nothing."""
    if isinstance(one, syntax.Assign) and isinstance(one.target, syntax.FieldAccess):
        target = one.target
        if isinstance(target.receiver, syntax.Variable) and target.receiver.name.text == "out_msg":
            return target.field.text
    return ""
