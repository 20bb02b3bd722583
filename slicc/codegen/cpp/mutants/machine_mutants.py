"""The mutants of one machine: a second form of it, beside the original, that asks which one runs.

A body that some mutant changes is written once for each of them; what calls it is written again, so
that it calls the one that is meant. The original is not touched: it has no switch, and costs what
it costs without mutants. Invariant: with number 0 both forms do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.emit.emitter import Emitter
from slicc.codegen.cpp.machine import MachineWriter
from slicc.codegen.cpp.mutants.differences import MachineDifferences
from slicc.codegen.cpp.transition_switch import TableParts, Transitions

_Node = TypeVar("_Node", ir.Function, ir.Action, ir.InPort)
_HEAD: Final = "inline "
_RARE: Final = "inline COLD "
"""Compiled for size: there is much of it, and it runs in mutants only."""


class MachineMutants:
    """Writes it. The original has been written by the same ``writer`` before."""

    def __init__(self, writer: MachineWriter, found: MachineDifferences) -> None:
        self._writer = writer
        self._machine = writer.machine
        self._found = found
        own = [each for each in writer.functions if each.ref.owner is None]
        self._functions = [each for each in own if self._again(each)]
        # Rows of mutants may run what no row of the original does.
        used = {
            action
            for rows in found.rows.values()
            for node in rows.values()
            if node is not None and not node.stalls
            for action in node.actions
        }
        written = {each.ref for each in writer.actions}
        self._actions = [
            each
            for each in self._machine.actions
            if (each.ref in written and self._again(each))
            or (each.ref in used and each.ref not in written)
        ]

    def _again(self, node: ir.Function | ir.Action) -> bool:
        """Whether it is changed, or may come to what is changed."""
        return self._reaches(node.ref, node.body, set())

    def _reaches(
        self,
        ref: ir.FunctionRef | ir.ActionRef,
        body: tuple[ir.Stmt, ...],
        seen: set[ir.FunctionRef],
    ) -> bool:
        if ref in self._found.functions or ref in self._found.actions:
            return True
        functions = {each.ref: each for each in self._machine.functions}
        for node in body_analysis.walk(body):
            match node:
                case ir.Trigger():
                    return True
                case ir.CallFunction(function=called) if called in functions and called not in seen:
                    seen.add(called)
                    if self._reaches(called, functions[called].body, seen):
                        return True
                case _:
                    pass
        return False

    def text(self) -> str:
        """The structure that holds it all; empty if no mutant changes this machine."""
        found = self._found
        if not (found.functions or found.actions or found.ports or found.rows):
            return ""
        writer = self._writer
        texts: list[str] = []
        for function in self._functions:
            texts += self._function(function)
        for action in self._actions:
            texts += self._versions(action, found.actions.get(action.ref, ()), writer.action)
        table = _MutantTable(writer.parts, found)
        texts += [table.row_of(), *table.stalls(), table.take_arrays(), table.trigger()]
        for port in self._machine.in_ports:
            texts += self._versions(port, found.ports.get(port.ref, ()), writer.poll)
        texts.append(writer.wakeup())
        out = Emitter()
        out.comment("The machine again, as the chosen mutant has it.")
        with out.block("struct Mutants", tail="};"):
            out.line("template <u32>")
            out.line("struct Variant {};")
            for text in filter(None, texts):
                out.lines += ["", *(f"    {line}" if line else "" for line in _rare(text))]
        return out.text()

    def _function(self, function: ir.Function) -> list[str]:
        """All versions; what any of them may do counts for its callers."""
        writer = self._writer
        acts = writer.facts.acts

        def written(version: ir.Function) -> str:
            before = acts.get(function.ref, Acts.NOTHING)
            text = writer.function(version)
            acts[function.ref] |= before
            return text

        texts = self._versions(function, self._found.functions.get(function.ref, ()), written)
        if function.ref not in writer.numbers:
            name = writer.reported.functions[function.ref.name]
            writer.numbers[function.ref] = writer.sites.action(name)
        return texts

    @staticmethod
    def _versions(
        node: _Node, changed: Sequence[tuple[int, _Node]], written: Callable[[_Node], str]
    ) -> list[str]:
        """The original, alone or with what mutants make of it and a function that chooses."""
        original = written(node)
        if not changed:
            return [original]
        texts: list[str] = [_tagged(original, 0)]
        texts += [_tagged(written(version), number) for number, version in changed]
        assert all(number > 0 for number, _ in changed), "0 is the original"
        head = original[original.index(_HEAD) :].partition("\n")[0]
        head = head.partition("\x1f")[0].partition("{")[0].rstrip()
        name, _, parameters = head.partition("(")
        name = name.rpartition(" ")[2]
        handed = ", ".join(_names(parameters.removesuffix(")")))
        out = Emitter()
        with out.block(head), out.block("switch (x.s->mutant)"):
            for number, _ in changed:
                out.line(f"case {number}: return {name}(Variant<{number}>{{}}, {handed});")
            out.line(f"default: return {name}(Variant<0>{{}}, {handed});")
        return [*texts, out.text()]


class _MutantTable(Transitions):
    """The table with further rows behind those of the original."""

    selector = "row_of(x, state * STRIDE + event)"

    def __init__(self, parts: TableParts, found: MachineDifferences) -> None:
        super().__init__(parts)
        self._of_mutants = found.rows
        self._numbers: dict[ir.Transition, int] = {}
        for rows in found.rows.values():
            for node in rows.values():
                if node is not None:
                    self._numbers.setdefault(node, len(self._numbers))

    def row_of(self) -> str:
        """The function that says which row a cell has in the chosen mutant."""
        out = Emitter()
        with out.block("inline i32 row_of(const Context& x, i32 row)"):
            with out.block("switch (x.s->mutant)"):
                for number, rows in self._of_mutants.items():
                    out.line(f"case {number}:")
                    with out.indented():
                        self._choice(out, rows)
            out.line("return row;")
        return out.text()

    def _choice(self, out: Emitter, rows: dict[tuple[str, str], ir.Transition | None]) -> None:
        for (state, event), node in rows.items():
            cell = self.cell(ir.Cell(state, event, 0))
            row = "-1" if node is None else self._row_number(node)
            out.line(f"if (row == {cell}) return {row};")
        out.line("break;")

    def _row_number(self, node: ir.Transition) -> str:
        return f"cell(State::NUM, Event::NUM) + {self._numbers[node] + 1}"

    def rows(self, out: Emitter) -> None:
        super().rows(out)
        for node in self._numbers:
            out.line(f"case {self._row_number(node)}:")
            with out.indented():
                self.row(out, node)


def _tagged(text: str, number: int) -> str:
    """A function with the number of its mutant as first parameter."""
    start = text.index("(", text.index(_HEAD))
    return f"{text[: start + 1]}Variant<{number}>, {text[start + 1 :]}"


def _rare(text: str) -> list[str]:
    lines = text.split("\n")
    return [
        f"{_RARE}{line.removeprefix(_HEAD).removeprefix('COLD ')}"
        if line.startswith(_HEAD)
        else line
        for line in lines
    ]


def _parameters(text: str) -> list[str]:
    """The parameters of a function, commas of template arguments left alone."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _names(parameters: str) -> list[str]:
    return [
        part.replace("&", " ").replace("*", " ").split()[-1] for part in _parameters(parameters)
    ]
