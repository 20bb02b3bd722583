"""What the commands of ``slicc`` share: compiling their files and reporting what was found.

Invariant: findings go to stderr before the command's own output goes to stdout.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slicc.cli.options import Color, CompilerOptions, DiagnosticFormat
from slicc.garbage import uncollected
from slicc.text.command.exit_status import FOUND, Stop
from slicc.text.command.progress import colored
from slicc.text.terminal import own
from slicc.text.wording import counted

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol
    from slicc.coverage.results import Results
    from slicc.diagnostics.model import DiagnosticSink


class Session:
    """The protocols of one command and what was found in them."""

    def __init__(self, protocols: list[CompiledProtocol], sink: DiagnosticSink) -> None:
        self.protocols = protocols
        self.sink = sink

    def require_different_names(self) -> None:
        """Two protocols of one name would be written to one place."""
        seen: dict[str, Path] = {}
        for compiled in self.protocols:
            name = compiled.protocol.name
            if name.lower() in seen:
                raise Stop(
                    f"{seen[name.lower()]} and {compiled.path} both define a protocol {name}; "
                    "compile them into different directories"
                )
            seen[name.lower()] = compiled.path

    def require_directory(self, output: Path) -> None:
        """What is written goes into a directory; one that is not there yet is made."""
        if output.exists() and not output.is_dir():
            raise Stop(f"cannot write into {output}: it is not a directory")

    def results(self, files: Sequence[Path]) -> Results:
        """What files of gpu-tester say of the protocols of the command, which are one text."""
        from protocols.compile_cache import digest_of
        from slicc.coverage.file import CoverageError
        from slicc.coverage.results import NOTHING, read_results

        found = NOTHING
        for compiled in self.protocols if files else ():
            try:
                found = read_results(files, digest_of(compiled), compiled.path)
            except CoverageError as error:
                raise Stop(str(error)) from None
        return found

    def require_machine(self, machine: str | None) -> None:
        """At least one protocol has the machine that was asked for."""
        from slicc.text.suggest import suggest

        names = [each.name for one in self.protocols for each in one.protocol.machines]
        if machine is None or machine in names or not self.protocols:
            return
        close = suggest(machine, names)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(sorted(set(names)))}"
        raise Stop(f"there is no machine {machine}; {hint}")


@contextmanager
def compiling(
    files: Sequence[Path],
    options: CompilerOptions,
    examine: Callable[[Sequence[CompiledProtocol], DiagnosticSink], None] | None = None,
    warnings_are_errors: bool = False,
) -> Iterator[Session]:
    """Compile, report, run the command on the protocols without errors, then print the counts.

    What is no file may be the name of a shipped protocol. ``examine`` may change what was found.
    """
    from slicc.compiler import compile_files
    from slicc.diagnostics.model import DiagnosticSink
    from slicc.loading.reader import CannotRead

    format, color = options.diagnostics, options.color
    sink = DiagnosticSink()
    with uncollected():  # to the end: what a command builds, it needs until it ends
        try:
            _check_include(options)
            named = [named_file(file) for file in files]
            protocols = compile_files(named, options.include, sink, options.prelude)
            if examine is not None:
                examine(protocols, sink)
        except (Stop, CannotRead) as error:
            # What was found by then is whole only where a file is missing.
            found = sink if isinstance(error, CannotRead) else DiagnosticSink()
            _report(found, format, color, str(error))
            stop = error if isinstance(error, Stop) else Stop(str(error))
            if format is DiagnosticFormat.JSON:  # the document has the message
                raise SystemExit(stop.status) from None
            raise stop from None
        _report(sink, format, color)
        yield Session(protocols, sink)
        sys.stdout.flush()
        if format is not DiagnosticFormat.JSON:
            print(_summary(sink), file=sys.stderr)
        gc.freeze()
    if sink.error_count or (warnings_are_errors and sink.warning_count):
        raise SystemExit(FOUND)


def _check_include(options: CompilerOptions) -> None:
    for root in options.include:
        if not root.is_dir():
            raise Stop(f"cannot read from {root}: it is not a directory")


def named_file(file: Path) -> Path:
    """The file, or that of the shipped protocol. Raises Stop for a name that is neither."""
    from protocols import shipped as shipped_protocols
    from slicc.text.suggest import suggest

    name, shipped = str(file), shipped_protocols()
    if file.exists() or (name not in shipped and (file.suffix or file.name != name or name == ".")):
        return file
    if name not in shipped:
        close = suggest(name, shipped)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(shipped)}"
        raise Stop(f"there is no file {name}, and no shipped protocol of that name; {hint}")
    return shipped[name]


def _report(
    sink: DiagnosticSink, format: DiagnosticFormat, color: Color, error: str | None = None
) -> None:
    """``error``: why the command cannot look at its files."""
    if format is DiagnosticFormat.JSON:
        from slicc.diagnostics.render_json import render_json

        sys.stderr.write(render_json(sink.in_source_order(), sink.left_out(), error))
    elif sink.diagnostics and format is not DiagnosticFormat.GITHUB:
        from slicc.diagnostics.render_text import render_text

        colored = _colored(color)
        stream = own(sys.stderr) if colored else sys.stderr
        text = render_text(sink.in_source_order(), sink.left_out(), color=colored)
        stream.write(f"{text}\n")
    sys.stderr.flush()


def _colored(color: Color) -> bool:
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    return colored(sys.stderr)


def _summary(sink: DiagnosticSink) -> str:
    from slicc.diagnostics.model import Severity

    errors, warnings = sink.error_count, sink.warning_count
    if not errors and not warnings:
        return "slicc: no errors"
    found = [counted(errors, "error") if errors else "no errors"]
    if warnings:
        found.append(counted(warnings, "warning"))
    ordered = sink.in_source_order()
    slug = next((one for one in ordered if one.severity is Severity.ERROR), ordered[0]).slug
    return f"slicc: {', '.join(found)} (see `slicc explain {slug}`)"
