"""A compiled protocol as a value: what a program asks of it, and how it gets an edited copy.

Everything here is a view of the IR. Invariant: a :class:`CompiledProtocol` has no errors; an
edited one has passed the verifier of the IR, and its texts differ from those of the original, so
that no digest takes one for the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slicc.diagnostics.model import Diagnostic, LeftOut, Severity
from slicc.ir import Machine as MachineIR
from slicc.ir import Protocol, Transition
from slicc.source import SourceFile
from slicc.text.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import networkx as nx


class CompileError(ValueError):
    """A text that is no protocol; ``str()`` gives the diagnostics as the command prints them."""

    def __init__(
        self, diagnostics: tuple[Diagnostic, ...], left_out: tuple[LeftOut, ...], path: Path
    ) -> None:
        super().__init__(diagnostics, left_out, path)
        self.diagnostics = diagnostics
        """Errors and warnings in the order of the source, the first ones of each file."""
        self.left_out = left_out
        """How many more there are, by file."""
        self.path = path

    def __str__(self) -> str:
        from slicc.diagnostics.render_text import render_text

        errors = sum(found.severity is Severity.ERROR for found in self.diagnostics)
        errors += sum(file.errors for file in self.left_out)
        count = f"{errors} error{'s' if errors != 1 else ''}"
        return f"{render_text(self.diagnostics, self.left_out)}\n{self.path}: {count}"


class InvalidEdit(ValueError):
    """An edited protocol that does not fit together; the message has the verifier's findings."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One state machine. ``ir`` has everything; the rest is what is asked for most."""

    ir: MachineIR

    @property
    def name(self) -> str:
        return self.ir.name

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.ir.states.members)

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.ir.events.members)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(action.ref.name for action in self.ir.actions)

    @property
    def table(self) -> Mapping[tuple[str, str], Transition]:
        """The transition of every (state, event) pair that has one, sets expanded."""
        return {
            (cell.state, cell.event): self.ir.transitions[cell.transition] for cell in self.ir.cells
        }

    @property
    def graph(self) -> nx.MultiDiGraph[str]:
        """States and transitions, for algorithms of networkx (``slicc.book.state_graph``)."""
        from slicc.book.state_graph import state_graph

        return state_graph(self.ir)


@dataclass(frozen=True, slots=True)
class CompiledProtocol:
    """A protocol without errors. ``protocol`` is its IR, ``path`` the file it was compiled from.

    ``diagnostics``: its warnings.
    """

    protocol: Protocol
    path: Path
    sources: tuple[SourceFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(Machine(machine) for machine in self.protocol.machines)

    def machine(self, name: str) -> Machine:
        """Raises ``KeyError`` if the protocol has no such machine."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        there = ", ".join(machine.name for machine in self.machines)
        raise KeyError(f"{self.name} has no machine {name}; it has {there}")

    def table_page(self) -> str:
        """The transition tables of all machines as one HTML page, as ``slicc table`` writes it."""
        from slicc.book.transition_table import protocol_page

        return protocol_page(self.protocol, self.sources)

    def with_machine(self, machine: MachineIR) -> CompiledProtocol:
        """The protocol with another machine of that name. Raises InvalidEdit, ``KeyError``."""
        from slicc.ir.printer import print_protocol
        from slicc.ir.verifier import verify

        self.machine(machine.name)
        machines = tuple(
            machine if each.name == machine.name else each for each in self.protocol.machines
        )
        protocol = replace(self.protocol, machines=machines)
        findings = verify(protocol)
        if findings:
            raise InvalidEdit("\n".join(findings))
        text = SourceFile(f"{self.name}.ir", print_protocol(protocol))
        sources = tuple(source for source in self.sources if source.name != text.name)
        return replace(self, protocol=protocol, sources=(*sources, text))
