"""The language server: messages of an editor become calls of the features, and back.

Texts are understood in one thread behind the one that reads messages, a moment after the last
edit; requests are answered at once from what was understood last. Invariant: no decision about
protocols is made here, and a request that fails ends that request alone.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from slicc.diagnostics.fixes import Fix, allowance, fixes
from slicc.diagnostics.model import Diagnostic, Severity
from slicc.editor.completion import complete
from slicc.editor.coverage_hints import CoverageFile, hints
from slicc.editor.hover import hover
from slicc.editor.navigation import Symbol, definitions, outline, references
from slicc.editor.positions import Units, change, offset_of, place_of, real, utf8, utf16
from slicc.editor.project import Project
from slicc.garbage import collect_all, set_aside, uncollected
from slicc.resolve.scope.uses import NameKind
from slicc.source import SourceFile, Span

_LOG = logging.getLogger(__name__)
_DELAY_SECONDS: Final = 0.15
"""After the last edit, before the texts are understood anew."""
_TURN_SECONDS: Final = 0.0005
"""How long the thread that understands texts may keep a request waiting for its turn."""
_PAUSE_SECONDS: Final = 0.4
"""After that, before the analysis."""

_UNITS: Final[dict[object, Units]] = {
    types.PositionEncodingKind.Utf8: utf8,
    types.PositionEncodingKind.Utf32: len,
}
_SYMBOLS: Final = {
    "machine": types.SymbolKind.Class,
    "action": types.SymbolKind.Method,
    "function": types.SymbolKind.Function,
    "port": types.SymbolKind.Interface,
    "structure": types.SymbolKind.Struct,
    "enumeration": types.SymbolKind.Enum,
    "member": types.SymbolKind.EnumMember,
    "field": types.SymbolKind.Field,
    "object": types.SymbolKind.Variable,
    "transition": types.SymbolKind.Event,
}
_COMPLETIONS: Final = {
    NameKind.TYPE: types.CompletionItemKind.Class,
    NameKind.MEMBER: types.CompletionItemKind.EnumMember,
    NameKind.FIELD: types.CompletionItemKind.Field,
    NameKind.FUNCTION: types.CompletionItemKind.Function,
    NameKind.METHOD: types.CompletionItemKind.Method,
    NameKind.VARIABLE: types.CompletionItemKind.Variable,
    NameKind.PORT: types.CompletionItemKind.Interface,
    NameKind.ACTION: types.CompletionItemKind.Method,
    NameKind.MACHINE: types.CompletionItemKind.Module,
    NameKind.FILE: types.CompletionItemKind.File,
    NameKind.KEYWORD: types.CompletionItemKind.Keyword,
}


class SliccServer(LanguageServer):
    """One editor. ``coverage``: a file whose counts are shown behind transitions."""

    def __init__(
        self,
        version: str,
        include: Sequence[Path] = (),
        preludes: Sequence[Path] = (),
        coverage: Path | None = None,
    ) -> None:
        super().__init__("slicc", version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.project = Project(include, preludes)
        self.coverage = None if coverage is None else CoverageFile(coverage)
        self.opened: dict[str, SourceFile] = {}
        """The texts as they are now, by real path."""
        self._uris: dict[str, str] = {}
        self._published: set[str] = set()
        self._edits = 0
        self._understood = asyncio.Event()
        self._worker = ThreadPoolExecutor(1, "slicc")
        sys.setswitchinterval(_TURN_SECONDS)

    def end(self) -> None:
        """Let the process end."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------------ texts

    def path(self, uri: str) -> str:
        """The real path of a document."""
        path = real(uris.to_fs_path(uri) or uri)
        self._uris[path] = uri
        return path

    def text(self, path: str) -> SourceFile | None:
        """The text as it is now: in the editor, else as it was compiled."""
        if path in self.opened:
            return self.opened[path]
        for snapshot in self.project.of(path):
            return snapshot.sources[path]
        return None

    def set_text(self, path: str, text: str | None) -> None:
        """Note an edit, or that a file was closed."""
        if text is None:
            self.opened.pop(path, None)
        else:
            self.opened[path] = SourceFile(path, text)

    async def changed(self) -> None:
        """Understand the texts, unless another edit follows."""
        self._edits += 1
        edit = self._edits
        await asyncio.sleep(_DELAY_SECONDS)
        if edit != self._edits:
            return
        texts = {path: source.text for path, source in self.opened.items()}
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._worker, self._compile, texts)
        self._understood.set()
        self._publish()
        await asyncio.sleep(_PAUSE_SECONDS)
        if edit != self._edits:
            return
        if await loop.run_in_executor(self._worker, self.project.analyse):
            self._publish()
        await asyncio.sleep(_PAUSE_SECONDS)
        if edit == self._edits:
            await loop.run_in_executor(self._worker, collect_all)

    def _compile(self, texts: Mapping[str, str]) -> None:
        """A collection meanwhile would walk whole protocols, and requests would wait for it."""
        with uncollected():
            self.project.compile(texts)
            set_aside()

    async def understood(self) -> None:
        """Wait for the first time that texts were understood."""
        await self._understood.wait()

    def _publish(self) -> None:
        by_path: dict[str, list[types.Diagnostic]] = {path: [] for path in self.opened}
        for found in self.project.findings():
            path = real(found.primary.span.file.name)
            by_path.setdefault(path, []).append(self._diagnostic(found))
        for path in self._published - by_path.keys():
            by_path[path] = []
        self._published = {path for path, found in by_path.items() if found}
        for path, diagnostics in by_path.items():
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(self._uri(path), diagnostics)
            )

    # ------------------------------------------------------------------ places

    @property
    def _units(self) -> Units:
        return _UNITS.get(self.workspace.position_encoding, utf16)

    def _uri(self, path: str) -> str:
        return self._uris.get(path) or uris.from_fs_path(path) or path

    def range(self, span: Span) -> types.Range:
        """A span of a compiled text, where it is in the text of now."""
        now = self.text(real(span.file.name)) or span.file
        moved = change(span.file.text, now.text)
        ends = (moved.forward(span.start), moved.forward(span.end))
        return types.Range(
            *(types.Position(*place_of(now, offset, self._units)) for offset in ends)
        )

    def location(self, span: Span) -> types.Location:
        """A span as a range of its document."""
        return types.Location(self._uri(real(span.file.name)), self.range(span))

    def offset(self, path: str, position: types.Position) -> int:
        """The character of the text of now."""
        source = self.text(path)
        if source is None:
            return 0
        return offset_of(source, position.line, position.character, self._units)

    def compiled_offset(self, path: str, position: types.Position) -> int:
        """The character of the text that was compiled last."""
        offset = self.offset(path, position)
        now = self.text(path)
        for snapshot in self.project.of(path):
            if now is not None:
                return change(snapshot.sources[path].text, now.text).backward(offset)
        return offset

    # ------------------------------------------------------------------ values for the editor

    def _diagnostic(self, found: Diagnostic) -> types.Diagnostic:
        parts = [found.headline, found.primary.text, *found.notes]
        if found.help:
            parts.append(f"help: {found.help}")
        severity = types.DiagnosticSeverity
        return types.Diagnostic(
            self.range(found.primary.span),
            "\n".join(filter(None, parts)),
            severity=severity.Error if found.severity is Severity.ERROR else severity.Warning,
            code=found.slug,
            source="slicc",
            related_information=[
                types.DiagnosticRelatedInformation(self.location(label.span), label.text or "here")
                for label in found.secondary
            ],
        )

    def symbol(self, symbol: Symbol) -> types.DocumentSymbol:
        """An entry of the outline."""
        whole, name = self.range(symbol.span), self.range(symbol.name_span)
        if not _within(name, whole):
            name = types.Range(whole.start, whole.start)
        return types.DocumentSymbol(
            symbol.name,
            _SYMBOLS[symbol.kind],
            whole,
            name,
            symbol.detail,
            children=[self.symbol(part) for part in symbol.parts],
        )

    def actions(self, path: str, wanted: types.Range) -> list[types.CodeAction]:
        """What can be done about the findings in a range."""
        found = []
        for finding in self.project.findings():
            span = finding.primary.span
            if real(span.file.name) != path or not _touch(self.range(span), wanted):
                continue
            allowed = allowance(finding)
            offered = [*fixes(finding), *((allowed,) if allowed else ())]
            found += [self._action(finding, fix) for fix in offered]
        return found

    def _action(self, finding: Diagnostic, fix: Fix) -> types.CodeAction:
        changes: dict[str, list[types.TextEdit]] = {}
        for location in map(self.location, fix.spans):
            changes.setdefault(location.uri, []).append(types.TextEdit(location.range, fix.text))
        return types.CodeAction(
            fix.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(finding)],
            is_preferred=fix.certain,
            edit=types.WorkspaceEdit(changes=changes),
        )


def _ends(range_: types.Range) -> tuple[tuple[int, int], tuple[int, int]]:
    return (range_.start.line, range_.start.character), (range_.end.line, range_.end.character)


def _within(inner: types.Range, outer: types.Range) -> bool:
    (start, end), (first, last) = _ends(inner), _ends(outer)
    return first <= start and end <= last


def _touch(one: types.Range, other: types.Range) -> bool:
    (start, end), (first, last) = _ends(one), _ends(other)
    return start <= last and first <= end


# ------------------------------------------------------------------ requests


async def _opened(server: SliccServer, params: types.DidOpenTextDocumentParams) -> None:
    document = params.text_document
    server.set_text(server.path(document.uri), document.text)
    await server.changed()


async def _edited(server: SliccServer, params: types.DidChangeTextDocumentParams) -> None:
    path = server.path(params.text_document.uri)
    server.set_text(path, params.content_changes[-1].text)
    await server.changed()


async def _closed(server: SliccServer, params: types.DidCloseTextDocumentParams) -> None:
    server.set_text(server.path(params.text_document.uri), None)
    await server.changed()


async def _saved(server: SliccServer, params: types.DidSaveTextDocumentParams) -> None:
    await server.changed()


async def _files_changed(server: SliccServer, params: types.DidChangeWatchedFilesParams) -> None:
    await server.changed()


async def _hover(server: SliccServer, params: types.HoverParams) -> types.Hover | None:
    await server.understood()
    path = server.path(params.text_document.uri)
    offset = server.compiled_offset(path, params.position)
    for snapshot in server.project.of(path):
        use = snapshot.use_at(path, offset)
        if use is not None:
            text = types.MarkupContent(types.MarkupKind.Markdown, hover(snapshot, use))
            return types.Hover(text, server.range(use.span))
    return None


async def _definition(
    server: SliccServer, params: types.DefinitionParams
) -> Sequence[types.Location]:
    await server.understood()
    path = server.path(params.text_document.uri)
    offset = server.compiled_offset(path, params.position)
    return [server.location(span) for span in definitions(server.project.of(path), path, offset)]


async def _references(
    server: SliccServer, params: types.ReferenceParams
) -> Sequence[types.Location]:
    await server.understood()
    path = server.path(params.text_document.uri)
    offset = server.compiled_offset(path, params.position)
    found = references(server.project.of(path), path, offset)
    declared = params.context.include_declaration
    return [server.location(use.span) for use in found if declared or use.span != use.target]


async def _completion(server: SliccServer, params: types.CompletionParams) -> types.CompletionList:
    await server.understood()
    path = server.path(params.text_document.uri)
    source, snapshots = server.text(path), server.project.of(path)
    if source is None or not snapshots:
        return types.CompletionList(is_incomplete=False, items=[])
    offset = server.offset(path, params.position)
    found = complete(snapshots[0], path, source.text, offset)
    items = [types.CompletionItem(each.name, kind=_COMPLETIONS[each.kind]) for each in found]
    return types.CompletionList(is_incomplete=False, items=items)


async def _symbols(
    server: SliccServer, params: types.DocumentSymbolParams
) -> Sequence[types.DocumentSymbol]:
    await server.understood()
    tree = server.project.trees.last(Path(server.path(params.text_document.uri)))
    if tree is None or tree.unit is None:
        return []
    return [server.symbol(each) for each in outline(tree.unit.declarations)]


async def _code_actions(
    server: SliccServer, params: types.CodeActionParams
) -> Sequence[types.CodeAction]:
    await server.understood()
    return server.actions(server.path(params.text_document.uri), params.range)


async def _inlay_hints(
    server: SliccServer, params: types.InlayHintParams
) -> Sequence[types.InlayHint]:
    await server.understood()
    path = server.path(params.text_document.uri)
    snapshots = server.project.of(path)
    if server.coverage is None or not snapshots:
        return []
    found = []
    for hint in hints(snapshots[0], path, server.coverage):
        range_ = server.range(hint.span)
        if _touch(range_, params.range):
            shown = types.InlayHint(range_.end, hint.text, padding_left=True, tooltip=hint.detail)
            found.append(shown)
    return found


def new_server(
    version: str,
    include: Sequence[Path] = (),
    preludes: Sequence[Path] = (),
    coverage: Path | None = None,
) -> SliccServer:
    """A server with all its features; it is started by the caller."""
    server = SliccServer(version, include, preludes, coverage)
    for name, feature in _FEATURES:
        server.feature(name)(feature)
    server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=list(".:({,")),
    )(_completion)
    server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )(_code_actions)
    return server


_FEATURES: Final = (
    (types.TEXT_DOCUMENT_DID_OPEN, _opened),
    (types.TEXT_DOCUMENT_DID_CHANGE, _edited),
    (types.TEXT_DOCUMENT_DID_CLOSE, _closed),
    (types.TEXT_DOCUMENT_DID_SAVE, _saved),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _files_changed),
    (types.TEXT_DOCUMENT_HOVER, _hover),
    (types.TEXT_DOCUMENT_DEFINITION, _definition),
    (types.TEXT_DOCUMENT_REFERENCES, _references),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols),
    (types.TEXT_DOCUMENT_INLAY_HINT, _inlay_hints),
)
