"""An editor for tests: pygls' own client, with calls that wait for their answers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

T = TypeVar("T")
PATIENCE = 60
"""Seconds after which a server that does not answer is taken for dead."""


class Editor:
    """A server in a process of its own, and the texts that are open."""

    def __init__(self, *arguments: str) -> None:
        self._loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self.published: dict[str, list[types.Diagnostic]] = {}
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = list(params.diagnostics)
            self._news.set()

        command = [sys.executable, "-m", "slicc", "lsp", *arguments]
        self.run(self.client.start_io(*command))
        self.initialized = self.run(
            self.client.initialize_async(
                types.InitializeParams(capabilities=types.ClientCapabilities())
            )
        )
        self.client.initialized(types.InitializedParams())

    def run(self, wanted: Awaitable[T]) -> T:
        """The result of a request."""
        return self._loop.run_until_complete(asyncio.wait_for(wanted, PATIENCE))

    def end(self) -> int | None:
        """End the server as an editor does; its exit status."""
        self.run(self.client.shutdown_async(None))
        self.client.exit(None)
        process = self.client._server
        assert process is not None
        status = self.run(process.wait())
        self.run(self.client.stop())
        self._loop.close()
        return status

    # ------------------------------------------------------------------ texts

    def open(self, path: Path, text: str | None = None) -> Document:
        """Open a file, with a text that need not be the one on the disk."""
        document = Document(self, path, path.read_text() if text is None else text)
        item = types.TextDocumentItem(document.uri, "slicc", 1, document.text)
        self._versions[document.uri] = 1
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return document

    def edit(self, document: Document, text: str) -> None:
        """Replace the text."""
        version = self._versions[document.uri] = self._versions[document.uri] + 1
        document.text = text
        identifier = types.VersionedTextDocumentIdentifier(version, document.uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [whole]))

    def wait_for(self, uri: str, wanted: Any) -> list[types.Diagnostic]:
        """The findings of a file, once they are as wanted."""

        async def wait() -> list[types.Diagnostic]:
            while uri not in self.published or not wanted(self.published[uri]):
                self._news.clear()
                await self._news.wait()
            return self.published[uri]

        coroutine: Coroutine[Any, Any, list[types.Diagnostic]] = wait()
        return self.run(coroutine)


class Document:
    """An open file, in which places are found by the text before and behind them."""

    def __init__(self, editor: Editor, path: Path, text: str) -> None:
        self.editor, self.path, self.text = editor, path, text
        self.uri = uris.from_fs_path(str(path)) or ""
        self.identifier = types.TextDocumentIdentifier(self.uri)

    def place(self, marked: str) -> types.Position:
        """The place of ``|`` in a part of the text that occurs first there."""
        before, _, behind = marked.partition("|")
        start = self.text.index(before + behind) + len(before)
        line = self.text.count("\n", 0, start)
        return types.Position(line, start - (self.text.rfind("\n", 0, start) + 1))

    def hover(self, marked: str) -> str:
        """The text of the hover, or nothing."""
        params = types.HoverParams(self.identifier, self.place(marked))
        found = self.editor.run(self.editor.client.text_document_hover_async(params))
        return "" if found is None else getattr(found.contents, "value", "")

    def complete(self, marked: str) -> list[str]:
        """The names that are offered."""
        params = types.CompletionParams(self.identifier, self.place(marked))
        found = self.editor.run(self.editor.client.text_document_completion_async(params))
        assert isinstance(found, types.CompletionList)
        return [item.label for item in found.items]

    def definition(self, marked: str) -> list[tuple[str, int]]:
        """File names and lines (from 1) of the declarations."""
        params = types.DefinitionParams(self.identifier, self.place(marked))
        found = self.editor.run(self.editor.client.text_document_definition_async(params))
        assert isinstance(found, list)
        return [_line(each) for each in found if isinstance(each, types.Location)]

    def references(self, marked: str, declared: bool = True) -> list[tuple[str, int]]:
        """File names and lines of the uses."""
        context = types.ReferenceContext(declared)
        params = types.ReferenceParams(context, self.identifier, self.place(marked))
        found = self.editor.run(self.editor.client.text_document_references_async(params))
        return [_line(each) for each in found or ()]

    def actions(self, range_: types.Range) -> list[types.CodeAction]:
        """What can be done about what is found in a range."""
        context = types.CodeActionContext([])
        params = types.CodeActionParams(self.identifier, range_, context)
        found = self.editor.run(self.editor.client.text_document_code_action_async(params))
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    def symbols(self) -> list[types.DocumentSymbol]:
        """The outline."""
        params = types.DocumentSymbolParams(self.identifier)
        found = self.editor.run(self.editor.client.text_document_document_symbol_async(params))
        return [each for each in found or () if isinstance(each, types.DocumentSymbol)]

    def ask_all(self, offset: int) -> None:
        """Every request at a place; none of them may fail."""
        before = self.text[:offset]
        column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
        place = types.Position(before.count("\n"), column)
        client, here = self.editor.client, self.identifier

        async def ask() -> None:
            spot = types.Range(place, place)
            await asyncio.gather(
                client.text_document_hover_async(types.HoverParams(here, place)),
                client.text_document_completion_async(types.CompletionParams(here, place)),
                client.text_document_definition_async(types.DefinitionParams(here, place)),
                client.text_document_references_async(
                    types.ReferenceParams(types.ReferenceContext(True), here, place)
                ),
                client.text_document_document_symbol_async(types.DocumentSymbolParams(here)),
                client.text_document_code_action_async(
                    types.CodeActionParams(here, spot, types.CodeActionContext([]))
                ),
            )

        self.editor.run(ask())

    def line(self, marked: str) -> int:
        """The line, from 1."""
        return self.place(marked).line + 1


def _line(location: types.Location) -> tuple[str, int]:
    path = uris.to_fs_path(location.uri) or ""
    return Path(path).name, location.range.start.line + 1
