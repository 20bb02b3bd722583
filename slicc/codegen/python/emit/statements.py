"""Statements of the IR as lines of Python.

Invariant: one IR statement becomes consecutive lines marked with its place, in the author's
order; what the language leaves implicit (leaving a port after a transition, copying a value,
the default objects of a new message) is written out.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.conditions import opposite
from slicc.codegen.integer_rules import CannotEmit, is_mutable
from slicc.codegen.python.emit import python_tree, trace_formats
from slicc.codegen.python.emit.emitter import Emitter
from slicc.codegen.python.emit.expressions import Expressions, Scope
from slicc.codegen.python.emit.python_tree import Code
from slicc.text import python_source
from slicc.text.escapes import one_line


class Statements:
    """Writes one body. ``reads`` are the locals whose value matters."""

    def __init__(self, scope: Scope, out: Emitter, reads: frozenset[str]) -> None:
        self.scope = scope
        self.out = out
        self.expression = Expressions(scope)
        self.reads = reads
        self.parameters: frozenset[str] = frozenset()
        self.returns_reference = False

    def body(self, statements: tuple[ir.Stmt, ...]) -> None:
        for statement in statements:
            self.statement(statement)

    def block(self, statements: tuple[ir.Stmt, ...]) -> None:
        with self.out.indented():
            self.body(statements)

    def statement(self, node: ir.Stmt) -> None:
        out, expression = self.out, self.expression
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
                out.statement("return ", self._returned(node.value), "", node.span)
            case ir.Peek():
                self._peek(node)
            case ir.Enqueue():
                self._enqueue(node)
            case ir.Trigger():
                self._trigger(node)
            case ir.StallPort() | ir.CheckNextCycle():
                self._own("stall_port", node)
            case ir.StallAndWait():
                port = expression.port(node.port)
                self._own("stall_and_wait", node, port, expression(node.address))
            case ir.WakeupPort():
                port = expression.port(node.port)
                self._own("wakeup_port", node, port, expression(node.address))
            case ir.CheckOnCacheProbe():
                self._check_on_cache_probe(node)
            case ir.CheckAllocate():
                pass
            case ir.SetTransaction():
                value = python_tree.NONE if node.value is None else expression(node.value)
                out.statement(f"t.{node.field.value} = ", value, "", node.span)
            case ir.Panic():
                self._fail("panic", node.text, node)
            case ir.Assert():
                self._assert(node)
            case ir.Trace():
                self._trace(node)
            case ir.TransitionComment():
                observer = python_tree.attribute(python_tree.SELF, "observer")
                out.statement("if ", observer, " is not None:", node.span)
                with out.indented():
                    self._own("comment", node, trace_formats.readable(node.value, expression))
            case _:
                assert_never(node)

    def function(self, function: ir.Function) -> None:
        """The body of a function, with a final ``return`` if the author left it out."""
        self.parameters = frozenset(each.name for each in function.parameters)
        self.returns_reference = function.by_reference
        self.body(function.body)
        result = function.result
        if not isinstance(result, ir.VoidType) and body_analysis.completes(function.body):
            self.out.statement("return ", self.expression.default(result), "")

    # -------------------------------------------------------------- values

    def _declare(self, node: ir.Declare) -> None:
        value = self._copied(node.initial, node.copying)
        name = self.scope.local(node.name).text
        if value is python_tree.NONE:
            name = f"{name}: {self.scope.annotation(node.type)}"
        self.out.statement(f"{name} = ", value, "", node.span)

    def _assign(self, node: ir.Assign) -> None:
        match node.copying:
            case ir.Copying.OVERWRITE:
                target = self.expression(node.target)
                code = python_tree.method(target, "assign", self.expression(node.value))
                self.out.statement("", code, "", node.span)
                return
            case ir.Copying.REBIND | ir.Copying.COPY:
                value = self._copied(node.value, node.copying)
            case _:
                assert_never(node.copying)
        if not isinstance(node.target, ir.Local | ir.FieldAccess | ir.MachineObject | ir.SelfField):
            raise CannotEmit(f"{node.span}: not a place that can be rebound")
        target = self.expression(node.target)
        if target.text != value.text:
            self.out.statement(f"{target.text} = ", value, "", node.span)

    def _copied(self, node: ir.Expr, copying: ir.Copying) -> Code:
        value = self.expression(node)
        return python_tree.method(value, "copy") if copying is ir.Copying.COPY else value

    def _returned(self, node: ir.Expr) -> Code:
        """A result by value belongs to the caller: an object stored elsewhere is copied."""
        value = self.expression(node)
        if self.returns_reference or not is_mutable(node.type):
            return value
        match node:
            case ir.Local():
                shared = node.name in self.parameters
            case ir.CallFunction():
                shared = node.by_reference
            case ir.FieldAccess() | ir.MachineObject() | ir.SelfField() | ir.Conditional():
                shared = True
            case _:
                shared = False
        return python_tree.method(value, "copy") if shared else value

    def _evaluate(self, node: ir.Evaluate) -> None:
        expression = node.expression
        match expression:
            case ir.Unary(operator=ir.UnaryOperator.INCREMENT):
                target = self.expression(expression.operand)
                self.out.statement(f"{target.text} += ", Code("1"), "", node.span)
            case (
                ir.CallFunction()
                | ir.CallStructMethod()
                | ir.CallMethod()
                | ir.CallBuiltin()
                | ir.PortCall()
            ):
                self.out.statement("", self.expression(expression), "", node.span)
            case _:
                if body_analysis.has_effect(expression):
                    self.out.statement("_ = ", self.expression(expression), "", node.span)

    # -------------------------------------------------------------- control

    def _if(self, node: ir.If) -> None:
        word = "if "
        while True:
            self.out.statement(word, self.expression(node.condition), ":", node.span)
            self.block(node.then)
            match node.orelse:
                case (ir.If() as following,):
                    node, word = following, "elif "
                    continue
                case ():
                    return
                case _:
                    self.out.line("else:")
                    self.block(node.orelse)
                    return

    def _trigger(self, node: ir.Trigger) -> None:
        given = (node.event, node.address, node.entry)
        arguments = [self.expression(each) for each in given if each is not None]
        if node.tbe is not None:
            tbe = self.expression(node.tbe)
            arguments.append(tbe if node.entry is not None else python_tree.keyword("tbe", tbe))
        code = python_tree.method(python_tree.SELF, "trigger", *arguments)
        self.out.statement("if ", code, ":", node.span)
        with self.out.indented():
            self.out.line("return True", node.span)

    def _check_on_cache_probe(self, node: ir.CheckOnCacheProbe) -> None:
        port = self.expression.port(node.port)
        address = self.expression(node.address)
        code = python_tree.method(python_tree.SELF, "is_locked_by", address, port)
        self._delay_if(code, port, node)

    def _delay_if(self, condition: Code, port: Code, node: ir.Stmt) -> None:
        self.out.statement("if ", condition, ":", node.span)
        with self.out.indented():
            delay = python_tree.method(port, "delay_head", Code("1"))
            self.out.statement("", delay, "", node.span)
            self.out.line(f"return {self.scope.imports.runtime('UNCOUNTED')}", node.span)

    # -------------------------------------------------------------- messages

    def _peek(self, node: ir.Peek) -> None:
        port = self.expression.port(node.port)
        kind = Code(self.scope.type_name(node.message))
        code = python_tree.method(port, "peek", kind)
        local = self.scope.local(node.local)
        before = f"{local.text} = " if node.local in self.reads else ""
        self.out.statement(before, code, "", node.span)
        if node.wake_up is not None:
            line = python_tree.attribute(local, self.scope.names.field(node.message, node.wake_up))
            self.out.statement(
                "if ", python_tree.method(port, "hasStalledMsg", line), ":", node.span
            )
            with self.out.indented():
                self._own("wakeUpBuffers", node, line)
        if node.block_on is not None:
            line = python_tree.attribute(local, self.scope.names.field(node.message, node.block_on))
            blocked = python_tree.method(python_tree.SELF, "is_blocked", line, port)
            self._delay_if(blocked, port, node)
        self.body(node.body)

    def _enqueue(self, node: ir.Enqueue) -> None:
        out = self.out
        message = self.scope.local(node.local)
        kind = Code(self.scope.type_name(node.message))
        out.statement(f"{message.text} = ", python_tree.call(kind), "", node.span)
        for name in node.fresh:
            field = python_tree.attribute(message, self.scope.names.field(node.message, name))
            out.statement(f"{field.text} = ", self._fresh(node.message, name), "", node.span)
        self.body(node.body)
        port = self.expression.port(node.port)
        arguments = [message, self.expression.latency(node.latency)]
        if node.bypass is not None:
            arguments.append(self.expression(node.bypass))
        out.statement("", python_tree.method(port, "enqueue", *arguments), "", node.span)

    def _fresh(self, message: ir.TypeRef, name: str) -> Code:
        """An object of its own for a field whose class default is shared."""
        declared = self.scope.names.field_types.get((message, name))
        if declared is not None:
            return self.expression.default(declared)
        kind = Code(self.scope.type_name(message))
        return python_tree.method(python_tree.attribute(kind, name), "copy")

    # -------------------------------------------------------------- verdicts and traces

    def _own(self, name: str, node: ir.Stmt, *arguments: Code) -> None:
        """A call of the controller's own machinery."""
        code = python_tree.method(python_tree.SELF, name, *arguments)
        self.out.statement("", code, "", node.span)

    def _fail(self, how: str, text: str, node: ir.Stmt) -> None:
        literal = Code(python_source.string_literal(text))
        if self.scope.machine is not None:
            self._own(how, node, literal)
            return
        kind = "PANIC" if how == "panic" else "ASSERTION"
        error = Code(self.scope.imports.runtime("ProtocolError"))
        which = Code(f"{self.scope.imports.runtime('ErrorKind')}.{kind}")
        self.out.statement("raise ", python_tree.call(error, which, literal), "", node.span)

    def _assert(self, node: ir.Assert) -> None:
        text = one_line(node.condition.span.text) or "assertion"
        match node.condition:
            case ir.BoolConst(value=True):
                pass
            case ir.BoolConst(value=False):
                self._fail("assertion_failed", text, node)
            case condition:
                self.out.statement("if ", self.expression(opposite(condition)), ":", node.span)
                with self.out.indented():
                    self._fail("assertion_failed", text, node)

    def _trace(self, node: ir.Trace) -> None:
        if self.scope.machine is None:
            raise CannotEmit(f"{node.span}: a trace outside of machines")
        flag = python_source.string_literal(node.flag or "")
        text, arguments = trace_formats.python_format(node.format, node.arguments, self.expression)
        literal = Code(python_source.string_literal(text))
        debug = python_tree.attribute(python_tree.SELF, "debug")
        self.out.statement("if ", debug, ":", node.span)
        with self.out.indented():
            self._own("dprintf", node, Code(flag), literal, *arguments)
