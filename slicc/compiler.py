"""The compiler, read aloud: load, resolve, check.

Invariant: a protocol is only handed on if nothing was wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slicc import ir
from slicc.check import check_protocol
from slicc.diagnostics.model import DiagnosticSink
from slicc.loading.loader import LoadedProtocol, load
from slicc.parser.parser import parse
from slicc.resolve.library.extensions import Additions
from slicc.resolve.library.user_library import read_library, read_preludes
from slicc.resolve.protocol import resolve
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax

LIBRARY_FILES: tuple[str, ...] = (
    "RubySlicc_interfaces.slicc",
    "RubySlicc_Exports.sm",
    "RubySlicc_Types.sm",
    "RubySlicc_Util.sm",
    "RubySlicc_ComponentMapping.sm",
    "RubySlicc_Defines.sm",
    "RubySlicc_MemControl.sm",
)
"""Files whose contents the compiler declares itself; including them is allowed and does nothing."""


@dataclass(frozen=True)
class CompiledProtocol:
    """A protocol without errors. ``path`` is the file it was compiled from."""

    protocol: ir.Protocol
    path: Path
    sources: tuple[SourceFile, ...]


def compile_files(
    paths: Sequence[Path],
    include_roots: Sequence[Path],
    sink: DiagnosticSink,
    preludes: Sequence[Path] = (),
) -> list[CompiledProtocol]:
    """The protocols that the files stand for; those with errors are only in the sink.

    ``preludes`` declare what the protocols use and the runtime does not have.
    Raises :class:`slicc.loading.reader.CannotRead` if a file named here is not there.
    """
    prelude = read_preludes(preludes, sink)
    found = []
    for loaded in load(paths, include_roots, sink, LIBRARY_FILES):
        if not prelude.complete:
            break
        protocol = compile_loaded(loaded, sink, prelude.additions)
        if protocol is not None:
            sources = (*loaded.sources, *prelude.sources)
            found.append(CompiledProtocol(protocol, loaded.path, sources))
    return found


def compile_loaded(
    loaded: LoadedProtocol, sink: DiagnosticSink, additions: Additions | None = None
) -> ir.Protocol | None:
    """One loaded protocol, or None if anything is wrong with it.

    One that does not compile is tried again with the types of the library that it lies beside.
    """
    if not loaded.complete:
        return None
    before = len(sink.diagnostics)
    protocol = _compile_with(loaded, sink, additions)
    if protocol is None:
        beside = read_library(loaded.path, frozenset(LIBRARY_FILES))
        if beside.adds_types:
            sink.take_back(before)
            more = beside if additions is None else additions.beside(beside)
            protocol = _compile_with(loaded, sink, more)
    if protocol is None and loaded.path.suffix != ".slicc":
        _explain_lone_file(loaded, sink, before)
    return protocol


def _compile_with(
    loaded: LoadedProtocol, sink: DiagnosticSink, additions: Additions | None
) -> ir.Protocol | None:
    names = tuple(source.name for source in loaded.sources)
    span = _whole(loaded.declarations, loaded.sources[0])
    return _compile(loaded.name, loaded.declarations, names, span, sink, additions)


def _explain_lone_file(loaded: LoadedProtocol, sink: DiagnosticSink, before: int) -> None:
    """A lone file of machines misses types that are probably in another file of its protocol."""
    if len(loaded.sources) > 1 or not all(
        isinstance(node, syntax.Machine | syntax.Protocol) for node in loaded.declarations
    ):
        return
    if not any(found.slug == "unknown-type" for found in sink.diagnostics[before:]):
        return
    start = Span(loaded.sources[0], 0, 0)
    sink.warning(
        "compiled-alone",
        f"`{loaded.path.name}` was compiled alone: no driver beside it includes it",
        start,
        "types of other files are missing",
        help="compile the protocol's `.slicc` file instead",
    )


def compile_text(
    text: str, sink: DiagnosticSink | None = None, name: str = "Test"
) -> ir.Protocol | None:
    """A protocol written in one string (for tests and examples); None if anything is wrong."""
    if sink is None:
        sink = DiagnosticSink()
    source = SourceFile(f"{name}.sm", text)
    unit = parse(source, sink)
    if unit is None or sink.error_count:
        return None
    span = _whole(unit.declarations, source)
    return _compile(name, unit.declarations, (source.name,), span, sink)


def _whole(declarations: Sequence[syntax.Declaration], source: SourceFile) -> Span:
    return Span(source, 0, 0) if not declarations else declarations[0].span


def _compile(
    name: str,
    declarations: Sequence[syntax.Declaration],
    sources: tuple[str, ...],
    span: Span,
    sink: DiagnosticSink,
    additions: Additions | None = None,
) -> ir.Protocol | None:
    errors = sink.error_count
    protocol = resolve(name, declarations, sources, span, sink, additions)
    if sink.error_count > errors:
        return None
    if not protocol.machines:
        sink.warning(
            "no-machine",
            f"the protocol `{name}` declares no machine",
            span,
            "nothing to generate",
        )
    check_protocol(protocol, sink)
    return None if sink.error_count > errors else protocol
