"""What if a statement were another: bodies that are changed for a run.

What is tried is what the operators of mutants make of a statement, and more
(`slicc.mutation.other_statements`). All of it is one object with a switch, as the mutants of a
protocol are, so that it takes a compiler; and it runs in a process of its own, which a change may
bring down. Invariant: the changes depend on the protocol's text and on the lines alone.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol, compiled_again
from protocols.mutated import with_variants
from runtime.native.toolchain.compiler import find_compiler
from runtime.native.toolchain.object_cache import user_cache
from slicc import ir
from slicc.mutation.other_statements import OtherStatement, OtherStatements
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass
from tester import forks
from tester.engines.selection import CANNOT
from tester.execution.handover import handover_rules_of
from tester.native.batch import FAILS
from tester.native.leg import NativeLegRun, sizes_of
from tester.native.mutants import MutantProtocol, mutant_protocol
from tester.program.replay_file import Leg

_MOST: Final = 450
"""Changed statements that are tried, at most: to compile them takes some seconds."""
_AT_FIRST: Final = 4
"""Changes of a statement before all statements had their turn."""
_PATIENCE: Final = 60.0
"""Seconds for a run. Runaways end by themselves; this is for an engine that does not come back."""


@dataclass(frozen=True, slots=True)
class StatementChange:
    """Another statement. ``place``: ``L1Cache.a_issueRequest``, an action, a port or a function;
    ``source``: its line; ``number``: in the object that has all changes."""

    place: str
    words: str
    source: str
    number: int
    small: bool = True


class ChangedStatements:
    """Changes of the statements on some lines, a few of each, those of the first lines first."""

    def __init__(self, protocol: LoadedProtocol, lines: Sequence[str], leg: Leg) -> None:
        """Compiles them for systems as a leg has. Raises ConfigError, NotNative, ToolchainError,
        CacheError, LibraryError."""
        forks.require_forks("changed statements")
        self.changes: list[StatementChange] = []
        self._process: dict[Connection, BaseProcess] = {}
        compiled = compiled_again(protocol)
        if compiled is None or protocol.native is None:
            return
        program = compiled.protocol
        order = {line: number for number, line in enumerate(lines)}
        found = [
            (number // _AT_FIRST, order[line], place, body, line, change)
            for place, body, line, others in _all(program)
            if line in order
            for number, change in enumerate(others)
        ]
        found.sort(key=lambda each: each[:2])
        variants = []
        for number, (*_, place, body, line, change) in enumerate(found[:_MOST], 1):
            machines = program.machines
            name = f"{machines[place].name}.{body}"
            self.changes.append(StatementChange(name, change.words, line, number))
            machines = (*machines[:place], change.machine, *machines[place + 1 :])
            variants.append(replace(program, machines=machines))
        loaded = with_variants(protocol, program, variants)
        self._object = mutant_protocol(loaded, find_compiler(), user_cache(), quickly=True)
        self._object.library(sizes_of(leg.description), 0)

    def traces(self, leg: Leg, changes: Sequence[StatementChange]) -> list[int]:
        """The hash of a leg's transitions with each, or FAILS."""
        found: list[int] = []
        while len(found) < len(changes):
            found += self._received(leg, [each.number for each in changes[len(found) :]])
        return found

    def _received(self, leg: Leg, numbers: list[int]) -> list[int]:
        """The results of the first changes, until the process does not come back."""
        if not self._process:
            self._process = dict([forks.start(partial(_serve, self._object), ())])
        [connection] = self._process
        found: list[int] = []
        try:
            connection.send((leg, numbers))
            while len(found) < len(numbers) and connection.poll(_PATIENCE):
                found.append(connection.recv())
        except (EOFError, ConnectionError):
            pass
        if len(found) < len(numbers):
            self.close()
            found.append(FAILS)
        return found

    def close(self) -> None:
        """No further leg is run."""
        forks.end(self._process)
        self._process = {}


def _serve(protocol: MutantProtocol, connection: Connection) -> None:
    """The main loop of the process, which a changed statement may end by a signal."""
    import resource  # which not every system has

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        while True:
            leg, numbers = connection.recv()
            for number in numbers:
                connection.send(_trace(leg, protocol.chosen(number)))
    except (EOFError, ConnectionError):
        return  # the parent has ended


def _trace(leg: Leg, protocol: MutantProtocol) -> int:
    run = NativeLegRun(leg, protocol, handover_rules_of(leg))
    try:
        return run.system.trace_hash if run.run().finding is None else FAILS
    except CANNOT:  # such as what fills any pool
        return FAILS


def _all(program: ir.Protocol) -> list[tuple[int, str, str, Sequence[OtherStatement]]]:
    """By statement: the place of its machine, its body, its line and other ones."""
    return [
        (place, declared.ref.name, _line_of(others[0].span), others)
        for place, machine in enumerate(program.machines)
        for statements in [OtherStatements(program, machine)]
        for declared in statements.declarations
        for others in statements.of(declared)
        if others
    ]


def _line_of(span: Span) -> str:
    return f"{Path(span.file.name).name}:{span.line}"
