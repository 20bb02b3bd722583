"""Statements of the IR as lines of C++.

Invariant: one IR statement becomes consecutive lines, in the author's order; before a function
of the runtime may fail, the context holds the place of the statement. Text for human readers
(traces, comments of transitions) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.conditions import opposite
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.emit import cpp_tree
from slicc.codegen.cpp.emit.cpp_tree import Code
from slicc.codegen.cpp.emit.emitter import Emitter
from slicc.codegen.cpp.emit.expressions import Expressions
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.types import is_queue
from slicc.codegen.integer_rules import CannotEmit
from slicc.codegen.time_expressions import compares_times

_WORK = Acts.CHANGES | Acts.FAILS | Acts.PLACED
"""Effects of runtime functions that are called as statements."""


class Statements:
    """Writes one body.

    ``leave`` ends the body after a verdict. ``acts``: what the body may do, as far as written.
    """

    def __init__(self, scope: Scope, out: Emitter, leave: str) -> None:
        self.scope = scope
        self.out = out
        self.leave = leave
        self.expression = Expressions(scope)
        self.acts = Acts.NOTHING
        self._sending: list[ir.Enqueue] = []

    def body(self, statements: tuple[ir.Stmt, ...]) -> None:
        for statement in statements:
            self.statement(statement)
            if not body_analysis.completes((statement,)):
                return

    def statement(self, node: ir.Stmt) -> None:
        expression = self.expression
        expression.place = node.span
        match node:
            case ir.Assign():
                self._assign(node)
            case ir.Declare():
                self._declare(node)
            case ir.Evaluate():
                self._evaluate(node)
            case ir.If():
                self._if(node)
            case ir.Return():
                if self._sending:
                    raise Unsupported("`return` out of an `enqueue`", node.span)
                value = expression(node.value)
                self._line(f"return {value.text};", value, node)
            case ir.Peek():
                self._peek(node)
            case ir.Enqueue():
                self._enqueue(node)
            case ir.Trigger():
                self._trigger(node)
            case ir.StallPort() | ir.CheckNextCycle():
                self._line("schedule(x, c.id, now(x) + 1);", Code("", acts=Acts.CHANGES), node)
            case ir.StallAndWait():
                self._waiting("stall_and_wait", node)
            case ir.WakeupPort():
                self._waiting("wakeup_port", node)
            case ir.CheckOnCacheProbe():
                port = expression.buffer(node.port)
                address = expression(node.address)
                locked = cpp_tree.call("controller_is_locked_by", [address, port], before="x, c")
                self._delay_if(locked, port, node)
            case ir.SetTransaction():
                self._set_transaction(node)
            case ir.Panic():
                self._verdict("PANIC", node)
            case ir.Assert():
                self._assert(node)
            case ir.CheckAllocate() | ir.Trace() | ir.TransitionComment():
                pass
            case _:
                assert_never(node)

    def _line(self, text: str, code: Code, node: ir.Stmt) -> None:
        """One line; the context gets the place if the line can fail."""
        self.acts |= code.acts
        if code.acts & Acts.PLACED:
            text = f"x.site = {self.expression.site()}; {text}"
        self.out.line(text, node.span)

    @contextmanager
    def _block(self, head: str, code: Code, node: ir.Stmt) -> Iterator[None]:
        """``head`` with a brace, what is written inside of the ``with``, and the closing brace."""
        self._line(head, code, node)
        with self.out.indented():
            yield
        self.out.line("}")

    # -------------------------------------------------------------- values

    def _declare(self, node: ir.Declare) -> None:
        value = self.expression(node.initial)
        name = self.scope.local(node.name)
        type_ = self.scope.types(node.type, node.span)
        if is_queue(node.type) and not isinstance(node.initial, ir.NewStruct):
            value = cpp_tree.call("TriggerQueue_copy", [value], Acts.CHANGES)
        self.scope.known.discard(name)
        space = "" if type_.endswith("*") else " "
        self._line(
            f"{type_.removesuffix('*')}{'*' if not space else ''} {name} = {value.text};",
            value,
            node,
        )

    def _assign(self, node: ir.Assign) -> None:
        # The value comes first, as C++ has it for `=`.
        value = self.expression(node.value)
        target = self.expression(node.target)
        self._touch(node.target)
        if isinstance(node.target, ir.Local):
            self.scope.known.discard(target.text)
        type_ = node.target.type
        if is_queue(type_):
            code = cpp_tree.call("TriggerQueue_assign", [target, value], Acts.CHANGES)
            self._line(f"{code.text};", code, node)
            return
        if node.copying is ir.Copying.OVERWRITE:
            if isinstance(type_, ir.ClassType) and type_.name == "DataBlock":
                code = cpp_tree.call("DataBlock_assign", [target, value], Acts.CHANGES)
                self._line(f"{code.text};", code, node)
                return
            if isinstance(type_, ir.StructType) and self.expression.is_message(type_.ref):
                code = cpp_tree.call("assign", [target, value], Acts.CHANGES, before="")
                self._line(f"{code.text};", code, node)
                return
        if not isinstance(
            node.target,
            ir.Local | ir.FieldAccess | ir.MachineObject | ir.SelfField | ir.CallFunction,
        ):
            raise CannotEmit(f"{node.span}: not a place that can be stored to")
        if target.text == value.text:
            return
        acts = target.acts | value.acts | Acts.CHANGES
        self._line(f"{target.text} = {value.text};", Code("", acts=acts), node)

    def _touch(self, target: ir.Expr) -> None:
        """Mark a message whose destination was computed: an empty one is then no mistake."""
        match target:
            case ir.FieldAccess(receiver=ir.Local(name=name), name="Destination"):
                sent = next((each for each in self._sending if each.local == name), None)
                if sent is not None and "Destination" not in sent.fresh:
                    self.out.line(f"{self.scope.local(name)}.touched = 1;")
            case _:
                pass

    def _evaluate(self, node: ir.Evaluate) -> None:
        match node.expression:
            case ir.Unary(operator=ir.UnaryOperator.INCREMENT, operand=operand):
                target = self.expression(operand)
                self._line(f"++{target.text};", Code("", acts=target.acts | Acts.CHANGES), node)
            case ir.CallMethod() as call:
                present = self.expression.present(call)
                code = self.expression.method(call)
                if present is None:
                    self._line(f"{code.text};", code, node)
                else:
                    both = Code("", acts=code.acts | present.acts)
                    self._line(f"if ({present.text}) {code.text};", both, node)
            case ir.CallFunction() | ir.CallStructMethod() | ir.CallBuiltin() | ir.PortCall():
                code = self.expression(node.expression)
                self._line(f"{code.text};", code, node)
            case other:
                if body_analysis.has_effect(other):
                    code = self.expression(other)
                    self._line(f"(void)({code.text});", code, node)

    def _set_transaction(self, node: ir.SetTransaction) -> None:
        name = f"t.{node.field.value}"
        value = cpp_tree.NULL if node.value is None else self.expression(node.value)
        self.scope.known.discard(name)
        acts = Code("", acts=value.acts | Acts.CHANGES)
        self._line(f"{name} = {value.text};", acts, node)

    # -------------------------------------------------------------- control

    def _if(self, node: ir.If, keyword: str = "if") -> None:
        """``keyword``: ``} else if`` for a branch of the statement above."""
        scope, learned = self.scope, self.expression.learned
        condition = self.expression(node.condition)
        self._line(f"{keyword} ({condition.text}) {{", condition, node)
        before = set(scope.known)
        then = self._branch(node.then, learned(node.condition, True))
        scope.known = before | learned(node.condition, False)
        match node.orelse:
            case ():
                self.out.line("}")
                orelse: set[str] | None = scope.known
            case (ir.If() as following,) if not self._is_placed(following):
                self._if(following, "} else if")
                orelse = scope.known if body_analysis.completes(node.orelse) else None
            case body:
                self.out.line("} else {")
                orelse = self._branch(body, set())
                self.out.line("}")
        known = _either(then, orelse)
        scope.known = set() if known is None else known

    def _is_placed(self, node: ir.If) -> bool:
        """Whether the context must hold the place of the condition before it is evaluated."""
        self.expression.place = node.span
        return Acts.PLACED in self.expression(node.condition).acts

    def _branch(self, body: tuple[ir.Stmt, ...], learned: set[str]) -> set[str] | None:
        """One branch; the pointers known at its end, None if control does not reach it."""
        self.scope.known = self.scope.known | learned
        with self.out.indented():
            self.body(body)
        return set(self.scope.known) if body_analysis.completes(body) else None

    def _trigger(self, node: ir.Trigger) -> None:
        given = (node.event, node.address, node.entry, node.tbe)
        arguments = [self.expression(each) for each in given if each is not None]
        code = cpp_tree.call("trigger", arguments, _WORK, "x, c")
        self._line(f"if ({code.text}) return POLL_RAN;", code, node)

    def _waiting(self, name: str, node: ir.StallAndWait | ir.WakeupPort) -> None:
        number = Code(f"Port::{self.scope.machine.names.polls[node.port.name]}")
        arguments = [number, self.expression(node.address)]
        code = cpp_tree.call(f"controller_{name}", arguments, _WORK, "x, c")
        self._line(f"{code.text};", code, node)

    def _delay_if(self, condition: Code, port: Code, node: ir.Stmt) -> None:
        delay = cpp_tree.call("MessageBuffer_delay_head", [port, Code("1")], _WORK)
        with self._block(f"if ({condition.text}) {{", condition, node):
            self._line(f"{delay.text};", delay, node)
            self.out.line("return POLL_UNCOUNTED;")

    # -------------------------------------------------------------- messages

    def _peek(self, node: ir.Peek) -> None:
        port = self.expression.buffer(node.port)
        kind = self.scope.names.type(node.message)
        local = self.scope.local(node.local)
        code = Code("", acts=Acts.READS | Acts.FAILS | Acts.PLACED)
        # The scope of the message ends where the author's block does.
        head = f"peek<{kind}>(x, {port.text})"
        if body_analysis.assigns_part_of(node.local, node.body):
            head = f"{{ {kind}& {local} = const_cast<{kind}&>({head});"
        else:
            head = f"{{ const {kind}& {local} = {head};"
        with self._block(head, code, node):
            message = Code(local)
            if node.wake_up is not None:
                line = cpp_tree.field(message, self.scope.names.field(node.message, node.wake_up))
                stalled = cpp_tree.call("MessageBuffer_hasStalledMsg", [port, line])
                wake = cpp_tree.call("controller_wakeUpBuffers", [line], Acts.CHANGES, "x, c")
                self._line(f"if ({stalled.text}) {wake.text};", wake, node)
            if node.block_on is not None:
                line = cpp_tree.field(message, self.scope.names.field(node.message, node.block_on))
                blocked = cpp_tree.call("controller_is_blocked", [line, port], before="x, c")
                self._delay_if(blocked, port, node)
            self.body(node.body)

    def _enqueue(self, node: ir.Enqueue) -> None:
        out = self.out
        kind = self.scope.names.type(node.message)
        local = self.scope.local(node.local)
        touched = f" {local}.touched = 1;" if "Destination" in node.fresh else ""
        opening = f"{{ {kind}& {local} = new_message<{kind}>(x);{touched}"
        with self._block(opening, Code("", acts=Acts.CHANGES), node):
            self._sending.append(node)
            self.body(node.body)
            self._sending.pop()
            self.expression.place = node.span
            name = self.scope.machine.buffers[node.port]
            sender = "NetworkPort" if name in self.scope.machine.senders else "MessageBuffer"
            arguments = [
                self.expression.buffer(node.port),
                Code(local),
                self.expression(node.latency),
            ]
            if node.bypass is not None:
                arguments.append(self.expression(node.bypass))
            code = cpp_tree.call(f"{sender}_enqueue", arguments, _WORK)
            self.acts |= code.acts
            out.line(f"x.site = {self.expression.site()}; {code.text};")

    # -------------------------------------------------------------- verdicts

    def _verdict(self, kind: str, node: ir.Stmt) -> None:
        self.acts |= Acts.FAILS
        site = self.expression.site()
        self.out.line(f"fail(x, ErrorKind::{kind}, {site}); {self.leave}", node.span)

    def _assert(self, node: ir.Assert) -> None:
        match node.condition:
            case ir.BoolConst(value=True):
                pass
            case ir.BoolConst(value=False):
                self._verdict("ASSERTION", node)
            case condition:
                broken = self.expression(opposite(condition))
                text = broken.text
                if compares_times(condition):
                    text = f"({text}) && JUDGES_TIMES"
                with self._block(f"if ({text}) {{", broken, node):
                    self._verdict("ASSERTION", node)


def _either(first: set[str] | None, second: set[str] | None) -> set[str] | None:
    """The pointers known after two branches."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
