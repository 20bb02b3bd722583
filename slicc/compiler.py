"""The compiler as a whole: load, resolve, check.

:func:`compile` and :func:`compile_source` are for programs: one protocol in, one out, or an
exception. Commands compile many files into a sink. Invariant: a protocol is returned only if
it has no errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from slicc import ir
from slicc.check import check_protocol
from slicc.compiled import CompiledProtocol, CompileError
from slicc.diagnostics.model import Diagnostic, DiagnosticSink
from slicc.loading.checkout import LIBRARY_FILES
from slicc.loading.loader import LoadedProtocol, load, load_text
from slicc.loading.reader import CannotRead
from slicc.loading.texts import Texts, Trees
from slicc.parser.parser import parse
from slicc.resolve.index import Index
from slicc.resolve.library.extensions import Extensions
from slicc.resolve.library.user_library import UserPrelude, read_library, read_preludes
from slicc.resolve.protocol import resolve
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax
from slicc.text.files import Paths, several_paths


def compile(path: str | Path, include: Paths = (), preludes: Paths = ()) -> CompiledProtocol:
    """Compile a ``.slicc`` driver, or a ``.sm`` file of a single protocol.

    ``include``: directories where included files are also looked for. ``preludes``: files that
    declare what the protocol uses and the runtime does not have. Raises CompileError, CannotRead.
    """
    path = Path(path)
    sink = DiagnosticSink()
    roots = [path.parent, *several_paths(include)]
    compiled = compile_files([path], roots, sink, several_paths(preludes))
    if len(compiled) > 1:
        named = ", ".join(str(found.path) for found in compiled)
        raise CannotRead(f"{path} belongs to several protocols ({named}): name one of them")
    return _only(compiled, sink, path)


def compile_source(
    text: str,
    name: str = "Protocol",
    include: Paths = (),
    preludes: Paths = (),
) -> CompiledProtocol:
    """Compile a protocol that is one string, as if it stood in ``NAME.slicc`` in this directory.

    ``protocol "…";`` in the text names it, else ``name`` does. Raises CompileError, CannotRead.
    """
    path = Path(f"{name}.slicc")
    sink = DiagnosticSink()
    prelude = read_preludes(several_paths(preludes), sink)
    loaded = load_text(text, path, several_paths(include), sink, LIBRARY_FILES)
    return _only(_compile_all([loaded], sink, prelude), sink, path)


def check_source(text: str, name: str = "Protocol") -> tuple[Diagnostic, ...]:
    """The errors and warnings of a protocol that is one string."""
    try:
        return compile_source(text, name).diagnostics
    except CompileError as error:
        return error.diagnostics


def _only(compiled: list[CompiledProtocol], sink: DiagnosticSink, path: Path) -> CompiledProtocol:
    diagnostics = tuple(sink.in_source_order())
    if sink.error_count or not compiled:
        raise CompileError(diagnostics, tuple(sink.left_out()), path)
    return replace(compiled[0], diagnostics=diagnostics)


def compile_files(
    paths: Sequence[Path],
    include_roots: Sequence[Path],
    sink: DiagnosticSink,
    preludes: Sequence[Path] = (),
) -> list[CompiledProtocol]:
    """The protocols that the files name; of those with errors only the diagnostics are kept.

    ``preludes`` declare what the protocols use and the runtime does not have.
    Raises :class:`slicc.loading.reader.CannotRead` if a file named here is not there.
    """
    prelude = read_preludes(preludes, sink)
    return _compile_all(load(paths, include_roots, sink, LIBRARY_FILES), sink, prelude)


def what_is_known(
    path: Path, include_roots: Sequence[Path], preludes: Sequence[Path] = ()
) -> CompiledProtocol | None:
    """A protocol with its errors, of which ``diagnostics`` tell: for reading, never for running.

    What could not be parsed or resolved is missing or of an unknown type; of texts with errors of
    syntax only these are reported. None if nothing could be read.
    """
    sink = DiagnosticSink()
    extensions = read_preludes(preludes, DiagnosticSink()).extensions
    texts = Texts(sink, trees=Trees(partial=True))
    for loaded in load([path], include_roots, sink, LIBRARY_FILES, texts):
        if not loaded.sources:
            continue
        known = extensions.beside(read_library(loaded.path))
        names = tuple(source.name for source in loaded.sources)
        span = _whole(loaded.declarations, loaded.sources[0])
        told = sink if loaded.complete else DiagnosticSink()
        protocol = resolve(loaded.name, loaded.declarations, names, span, told, known)
        if protocol.machines:
            diagnostics = tuple(sink.in_source_order())
            return CompiledProtocol(protocol, loaded.path, loaded.sources, diagnostics)
    return None


def _compile_all(
    protocols: Iterable[LoadedProtocol], sink: DiagnosticSink, prelude: UserPrelude
) -> list[CompiledProtocol]:
    found = []
    for loaded in protocols:
        if not prelude.complete:
            break
        protocol = compile_loaded(loaded, sink, prelude.extensions)
        if protocol is not None:
            sources = (*loaded.sources, *prelude.sources)
            found.append(CompiledProtocol(protocol, loaded.path, sources))
    return found


def compile_loaded(
    loaded: LoadedProtocol,
    sink: DiagnosticSink,
    extensions: Extensions | None = None,
    index: Index | None = None,
) -> ir.Protocol | None:
    """One loaded protocol, or None if it has errors.

    One that does not compile is tried again with the library of its own checkout. ``index`` takes
    what an editor asks for, also if texts have syntax errors, but then nothing else is reported.
    """
    if not loaded.complete and index is None:
        return None
    if not loaded.complete:
        sink = DiagnosticSink()
    before = len(sink.diagnostics)
    protocol = _compile_with(loaded, sink, extensions, index)
    if protocol is None:
        beside = read_library(loaded.path)
        if not beside.is_empty:
            sink.take_back(before)
            more = beside if extensions is None else extensions.beside(beside)
            protocol = _compile_with(loaded, sink, more, index)
    if protocol is None and loaded.path.suffix != ".slicc":
        _explain_lone_file(loaded, sink, before)
    return protocol


def _compile_with(
    loaded: LoadedProtocol,
    sink: DiagnosticSink,
    extensions: Extensions | None,
    index: Index | None,
) -> ir.Protocol | None:
    names = tuple(source.name for source in loaded.sources)
    span = _whole(loaded.declarations, loaded.sources[0])
    return _compile(loaded.name, loaded.declarations, names, span, sink, extensions, index)


def _explain_lone_file(loaded: LoadedProtocol, sink: DiagnosticSink, before: int) -> None:
    """Note that types missing in a lone ``.sm`` file are probably in its protocol's other files."""
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
    extensions: Extensions | None = None,
    index: Index | None = None,
) -> ir.Protocol | None:
    errors = sink.error_count
    protocol = resolve(name, declarations, sources, span, sink, extensions, index)
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
